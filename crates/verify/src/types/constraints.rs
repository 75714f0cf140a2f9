//! Constraints of generic parameters: type arguments must satisfy them (II.10.1.7).

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use ecma335::{Table, Token, schema::MethodDef};
use foldhash::HashMap;

use crate::{
    model::{TypeKind, type_token},
    types::{
        assign,
        library::{Bound, Def},
        members, parameters, resolve,
        store::{Arguments, GenericContext, Named, Type, TypeId, Types},
        verdict::{Limit, Verdict, all},
    },
};

/// The limit of depth at which constraints are followed.
const MAX_DEPTH: u32 = 16;
/// The limit of steps for one question.
const MAX_STEPS: u32 = 1000;

/// An instantiation of a constrained type or method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instantiation {
    module: usize,
    /// The TypeDef or MethodDef with the parameters.
    generic: Token,
    of_type: Rc<[TypeId]>,
    of_method: Rc<[TypeId]>,
}

#[derive(Default)]
struct Cache(RefCell<HashMap<TypeId, Rc<[Instantiation]>>>);

/// The constrained instantiations in a type, except those that are valid everywhere.
pub(crate) fn instantiations(types: &Types<'_>, id: TypeId) -> Rc<[Instantiation]> {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&id) {
        return known.clone();
    }
    let mut found = Vec::new();
    collect(types, id, &mut found);
    let found: Rc<[Instantiation]> = found.into();
    cache.0.borrow_mut().insert(id, found.clone());
    found
}

fn collect(types: &Types<'_>, id: TypeId, found: &mut Vec<Instantiation>) {
    match types.get(id) {
        Type::Named(Named::Known(def, _), of_type) if !of_type.is_empty() => {
            of_type.iter().for_each(|argument| collect(types, *argument, found));
            let generic = type_token(def.rid);
            require(types, Instantiation { module: def.module, generic, of_type, of_method: Rc::default() }, found);
        }
        Type::Array(inner, _) | Type::ByRef(inner) | Type::In(inner) | Type::Boxed(inner) => collect(types, inner, found),
        _ => {}
    }
}

/// Adds an instantiation, unless it satisfies all constraints everywhere.
pub(crate) fn require(types: &Types<'_>, instance: Instantiation, found: &mut Vec<Instantiation>) {
    let arguments = instance.arguments();
    let is_any_open = arguments.iter().any(|argument| types.is_open(*argument));
    let is_kept = bounds(types, &instance).iter().zip(arguments.iter()).any(|(bound, argument)| {
        let is_free = bound.is_free();
        match (is_free, is_any_open) {
            (true, _) => !bound.param.allows_by_ref_like() && (types.is_open(*argument) || is_ref_struct(types, *argument)),
            (false, true) => true,
            (false, false) => satisfies(types, None, *argument, bound, &instance) == Some(false),
        }
    });
    if is_kept && !found.contains(&instance) {
        found.push(instance);
    }
}

fn bounds<'l>(types: &Types<'l>, instance: &Instantiation) -> &'l [Bound] {
    types.scope.map_or(&[], |scope| scope.library.bounds(instance.module, instance.generic))
}

/// The argument that violates its constraints in a context, and the generic type or method.
pub(crate) fn violated(types: &Types<'_>, within: GenericContext, instance: &Instantiation) -> Option<String> {
    let pairs = bounds(types, instance).iter().zip(instance.arguments().iter());
    for (bound, argument) in pairs {
        if satisfies(types, Some(within), *argument, bound, instance) == Some(false) {
            return Some(format!("{} for a parameter of {}", types.name(*argument), name_of_generic(types, instance)?));
        }
    }
    None
}

fn name_of_generic(types: &Types<'_>, instance: &Instantiation) -> Option<String> {
    let library = types.scope?.library;
    let Some(rid) = instance.generic.rid_in::<MethodDef>() else {
        return Some(library.full_name(Def { module: instance.module, rid: instance.generic.rid() }));
    };
    let metadata = library.metadata(instance.module)?;
    metadata.name(metadata.row(rid).ok()?.name).ok()
}

/// Whether a type satisfies all constraints.
fn satisfies(
    types: &Types<'_>,
    within: Option<GenericContext>,
    argument: TypeId,
    bound: &Bound,
    instance: &Instantiation,
) -> Verdict {
    let arguments = Arguments { of_type: &instance.of_type, of_method: &instance.of_method };
    let steps = Cell::new(MAX_STEPS);
    let limit = Limit::new(MAX_DEPTH, &steps);
    let checks = [
        bound.param.is_reference_type().then(|| is_class(types, within, argument, limit)),
        bound.param.is_not_nullable_value_type().then(|| is_value(types, within, argument)),
        bound.param.has_default_constructor().then(|| is_constructible(types, within, argument)),
        (!bound.param.allows_by_ref_like()).then(|| can_be_boxed(types, within, argument)),
    ];
    let constraints = bound.constraints.iter().map(|constraint| {
        let wanted = resolve::of_token(types, instance.module, constraint.token()?, arguments);
        meets(types, within, argument, wanted, limit)
    });
    all(checks.into_iter().flatten().chain(constraints))
}

fn is_class(types: &Types<'_>, within: Option<GenericContext>, id: TypeId, limit: Limit<'_>) -> Verdict {
    if types.is_parameter(id) {
        let bound = parameters::bound_of(types, within, id)?;
        let limit = limit.deeper()?;
        // A value type may implement an interface.
        let is_class = |id: &TypeId| match types.get(*id) {
            Type::Named(Named::Known(def, kind), _) => {
                let names = ["System.Object", "System.ValueType", "System.Enum"];
                kind != TypeKind::Interface && !types.scope.is_some_and(|of| names.contains(&&*of.library.full_name(def)))
            }
            Type::Array(..) => true,
            _ => is_class(types, within, *id, limit) != Some(false),
        };
        return Some(bound.param.is_reference_type() || parameters::constraints_of(types, bound).iter().any(is_class));
    }
    match types.get(id) {
        Type::Unknown | Type::Named(Named::Missing(_), _) => None,
        _ => Some(types.is_reference(id)),
    }
}

fn is_value(types: &Types<'_>, within: Option<GenericContext>, id: TypeId) -> Verdict {
    match types.get(id) {
        Type::Var(_) | Type::MVar(_) => Some(parameters::bound_of(types, within, id)?.param.is_not_nullable_value_type()),
        Type::Unknown | Type::Pointer | Type::Named(Named::Missing(_), _) => None,
        Type::Named(Named::Known(_, TypeKind::Value), of) if of.len() == 1 => {
            Some(!types.name(id).starts_with("System.Nullable`1<"))
        }
        _ => Some(types.may_be_boxed(id)),
    }
}

/// Whether a type has a public constructor without parameters, as all value types do.
fn is_constructible(types: &Types<'_>, within: Option<GenericContext>, id: TypeId) -> Verdict {
    match types.get(id) {
        Type::Var(_) | Type::MVar(_) => {
            let param = &parameters::bound_of(types, within, id)?.param;
            Some(param.has_default_constructor() || param.is_not_nullable_value_type())
        }
        Type::Unknown | Type::Pointer | Type::Named(Named::Missing(_), _) => None,
        Type::Named(Named::Known(def, TypeKind::Class), _) => {
            let is_abstract = types.scope?.library.row(def)?.is_abstract();
            Some(!is_abstract && members::has_default_constructor(types, def))
        }
        _ => Some(types.may_be_boxed(id)),
    }
}

/// Whether a type may be the argument of a parameter that does not allow ref structs.
fn can_be_boxed(types: &Types<'_>, within: Option<GenericContext>, id: TypeId) -> Verdict {
    match parameters::bound_of(types, within, id) {
        Some(bound) => Some(!bound.param.allows_by_ref_like()),
        None => Some(!is_ref_struct(types, id)),
    }
}

/// Whether values of the type live only on the stack.
pub(crate) fn is_ref_struct(types: &Types<'_>, id: TypeId) -> bool {
    match types.get(id) {
        Type::Named(Named::Known(def, TypeKind::Value), _) => {
            types.scope.is_some_and(|scope| scope.library.is_ref_struct(def)) || is_frames_own(types, id)
        }
        _ => false,
    }
}

/// Whether a type is one of those that predate ref structs and whose values refer to stack frames.
pub(crate) fn is_frames_own(types: &Types<'_>, id: TypeId) -> bool {
    ["TypedReference", "ArgIterator", "RuntimeArgumentHandle"].into_iter().any(|name| resolve::system(types, name) == id)
}

/// Whether a type is the type of a constraint, or converts to it.
fn meets(types: &Types<'_>, within: Option<GenericContext>, id: TypeId, wanted: TypeId, limit: Limit<'_>) -> Verdict {
    let limit = limit.deeper()?;
    if id == wanted || wanted == resolve::system(types, "Object") {
        return Some(true);
    }
    if types.is_parameter(id) {
        let bound = parameters::bound_of(types, within, id)?;
        if bound.param.is_not_nullable_value_type() && wanted == resolve::system(types, "ValueType") {
            return Some(true);
        }
        let mut verdict = Some(false);
        for constraint in parameters::constraints_of(types, bound) {
            match meets(types, within, constraint, wanted, limit) {
                Some(true) => return Some(true),
                None => verdict = None,
                Some(false) => {}
            }
        }
        return verdict;
    }
    match types.get(id) {
        Type::Pointer => None,
        _ if types.may_be_boxed(id) => assign::assignable(types, types.intern(Type::Boxed(id)), wanted),
        _ => assign::assignable(types, id, wanted),
    }
}

impl Instantiation {
    /// An instantiation of a method.
    pub(crate) fn of_method(module: usize, rid: u32, of_type: Rc<[TypeId]>, of_method: Rc<[TypeId]>) -> Self {
        Self { module, generic: Token::new(Table::MethodDef, rid), of_type, of_method }
    }

    fn arguments(&self) -> &[TypeId] {
        if self.generic.table() == Some(Table::MethodDef) { &self.of_method } else { &self.of_type }
    }
}
