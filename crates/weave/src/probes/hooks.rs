//! Turns hooks into probes: the method to call at each point, and the argument for each parameter.

use std::sync::Arc;

use ecma335::{
    element::ElementType,
    signature::{MethodSig, TypeSig},
};
use ilrewrite::{Argument, Call, NamedType, Probe, TypeName};

use super::hook_method::{HookError, HookMethod};

/// The hooks of a method in place of the tracker's probes. A method without hooks has the tracker's probes.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    methods: [Option<HookMethod>; 3],
    probe: Option<Probe>,
    /// The values for [`Argument::Value`], by place.
    values: Vec<Wanted>,
}

/// The place of a hook's call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookPoint {
    /// The start of a method.
    Enter,
    /// The end of a method.
    Leave,
    /// A handler that catches an exception.
    Handle,
}

impl HookPoint {
    /// All places, in the order of lists.
    pub const ALL: [Self; 3] = [Self::Enter, Self::Leave, Self::Handle];

    /// The name of the place's option, without dashes.
    pub fn option(self) -> &'static str {
        match self {
            Self::Enter => "enter",
            Self::Leave => "leave",
            Self::Handle => "handle",
        }
    }
}

/// A value that hooks want from each method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    Id,
    FullName,
    Handle,
    /// `this`. It depends on the place: constructors have it for sure where they return, and runtime-async methods at the
    /// start.
    Instance {
        point: HookPoint,
    },
    Arguments,
    /// The argument of this name, if it is of this type.
    Argument {
        name: String,
        element: ElementType,
    },
}

impl Hooks {
    /// The tracker's own probes.
    pub const TRACKER: Self = Self { methods: [None, None, None], probe: None, values: Vec::new() };

    /// The hooks of each point, in the order of [`HookPoint::ALL`].
    ///
    /// # Errors
    /// If a hook has a parameter without a matching value.
    pub fn new(methods: [Option<HookMethod>; 3]) -> Result<Self, HookError> {
        let mut hooks = Self { methods, ..Self::TRACKER };
        let mut values = Vec::new();
        let result = hooks.methods[0].as_ref().map(Type::returned).transpose()?.flatten();
        let mut calls = Vec::new();
        for (point, method) in HookPoint::ALL.into_iter().zip(&hooks.methods) {
            calls.push(method.as_ref().map(|method| call(method, point, result.as_ref(), &mut values)).transpose()?);
        }
        let mut calls = calls.into_iter();
        let mut next = || calls.next().flatten();
        let probe = Probe { enter: next(), leave: next(), handle: None, catch: next(), sites: Vec::new() };
        probe.validate()?;
        (hooks.values, hooks.probe) = (values, hooks.methods.iter().any(Option::is_some).then_some(probe));
        Ok(hooks)
    }

    /// The hook of each place.
    pub fn methods(&self) -> impl Iterator<Item = (HookPoint, &HookMethod)> {
        HookPoint::ALL.into_iter().zip(&self.methods).filter_map(|(point, method)| Some((point, method.as_ref()?)))
    }

    /// The probe to insert. `None` for the tracker's probes.
    pub(crate) fn probe(&self) -> Option<&Probe> {
        self.probe.as_ref()
    }

    /// The values that the hooks want from each method.
    pub(crate) fn values(&self) -> &[Wanted] {
        &self.values
    }
}

/// A type taken out of a hook's signature.
#[derive(PartialEq, Eq, Debug)]
struct Type {
    signature: TypeSig,
    names: Vec<Arc<TypeName>>,
}

impl Type {
    fn all(hook: &HookMethod) -> Result<Vec<Self>, HookError> {
        let MethodSig { return_type, params, .. } = hook.signature()?;
        let mut names = hook.method.types.iter().map(|NamedType { name, .. }| name.clone());
        let types = std::iter::once(return_type).chain(params);
        Ok(types.map(|signature| Self { names: names.by_ref().take(count_names(&signature)).collect(), signature }).collect())
    }

    /// The type that a hook returns. `None` for void.
    fn returned(hook: &HookMethod) -> Result<Option<Self>, HookError> {
        let returned = Self::all(hook)?.into_iter().next();
        Ok(returned.filter(|returned| returned.signature != TypeSig::Element(ElementType::Void)))
    }

    /// Whether the type is this one of the framework.
    fn is(&self, namespace: &str, name: &str) -> bool {
        let is_named = matches!(self.signature, TypeSig::Named { .. });
        is_named && self.names.first().is_some_and(|it| it.namespace == namespace && it.name == name)
    }
}

/// The number of types in a type that are given by name, including itself.
fn count_names(ty: &TypeSig) -> usize {
    match ty {
        TypeSig::Named { .. } => 1,
        TypeSig::GenericInst { arguments, .. } => 1 + arguments.iter().map(count_names).sum::<usize>(),
        TypeSig::SzArray(inner) | TypeSig::ByRef(inner) => count_names(inner),
        _ => 0,
    }
}

/// The call of a hook. The values that it wants are added to `values`.
fn call(hook: &HookMethod, point: HookPoint, entered: Option<&Type>, values: &mut Vec<Wanted>) -> Result<Call, HookError> {
    let unfit = |what: String| HookError::Signature { method: hook.full_name(), what };
    let types = Type::all(hook)?;
    if point != HookPoint::Enter && types[0].signature != TypeSig::Element(ElementType::Void) {
        return Err(unfit(format!("nobody takes what a hook of --{} returns", point.option())));
    }
    if matches!(types[0].signature, TypeSig::ByRef(_) | TypeSig::MVar(_)) {
        return Err(unfit("what it returns cannot be kept in a local".into()));
    }
    let type_parameters = hook.signature()?.generic_params;
    let mut call = Call { method: hook.method.clone(), arguments: Vec::new(), exception: None, address: None };
    for (ty, name) in types[1..].iter().zip(&hook.parameters) {
        let argument = argument(ty, name, point, entered, values);
        let argument = argument.ok_or_else(|| unfit(format!("nothing is known to be passed for its parameter '{name}'")))?;
        if argument == Argument::Exception && ty.signature != TypeSig::Element(ElementType::Object) {
            call.exception = ty.names.first().cloned();
        }
        call.arguments.push(argument);
    }
    let takes_any = types[1..].iter().any(|ty| is_type_parameter(&ty.signature));
    if type_parameters > 1 || (type_parameters == 1) != takes_any {
        return Err(unfit("a type parameter can only be that of what is returned".into()));
    }
    Ok(call)
}

fn is_type_parameter(ty: &TypeSig) -> bool {
    match ty {
        TypeSig::ByRef(inner) => is_type_parameter(inner),
        _ => *ty == TypeSig::MVar(0),
    }
}

/// The argument for a parameter.
fn argument(ty: &Type, name: &str, point: HookPoint, entered: Option<&Type>, values: &mut Vec<Wanted>) -> Option<Argument> {
    let element = if let TypeSig::Element(element) = ty.signature { Some(element) } else { None };
    let is_object = element == Some(ElementType::Object);
    let is_objects = matches!(&ty.signature, TypeSig::SzArray(of) if **of == TypeSig::Element(ElementType::Object));
    let wanted = match name {
        "id" if matches!(element, Some(ElementType::I8 | ElementType::U8)) => Wanted::Id,
        "fullName" if element == Some(ElementType::String) => Wanted::FullName,
        "instance" if is_object => Wanted::Instance { point },
        "arguments" if is_objects => Wanted::Arguments,
        "returnValue" if point == HookPoint::Leave => {
            return match &ty.signature {
                TypeSig::ByRef(inner) if **inner == TypeSig::MVar(0) => Some(Argument::ReturnAddress),
                signature if is_object || *signature == TypeSig::MVar(0) => Some(Argument::ReturnValue),
                _ => None,
            };
        }
        "exception" if point == HookPoint::Handle && (is_object || ty.is("System", "Exception")) => {
            return Some(Argument::Exception);
        }
        _ if ty.is("System", "RuntimeMethodHandle") => Wanted::Handle,
        _ => {
            let argument = name.strip_prefix("arg_").zip(element.filter(|element| is_passed_by_name(*element)));
            match argument {
                Some((name, element)) => Wanted::Argument { name: name.to_owned(), element },
                None if point != HookPoint::Enter && entered == Some(ty) => return Some(Argument::EnterResult),
                None => return None,
            }
        }
    };
    let known = values.iter().position(|value| *value == wanted);
    Some(Argument::Value(known.unwrap_or_else(|| {
        values.push(wanted);
        values.len() - 1
    })))
}

/// Whether single arguments of this type are passed by name: objects, strings and numbers.
fn is_passed_by_name(element: ElementType) -> bool {
    element.is_primitive() || matches!(element, ElementType::String | ElementType::Object)
}
