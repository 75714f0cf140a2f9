//! The calls that pass captured values: each goes to the tracker with its own type.

use std::sync::Arc;

use ecma335::{
    Metadata, Rid, Table, Token,
    element::{ElementType, convention},
    schema::{GenericParam, MethodDef, Module, Param, TypeDef, TypeDefOrRef, TypeRef},
    signature::{MethodSig, Signature, TypeSig},
};
use ilrewrite::{MethodName, OwnArgument, OwnCall, OwnCalls, TokenRequest};
use names::MethodId;

use super::{
    captured::Captured,
    hook_values::{Boxing, HookContext, MethodContext},
    tracker::Tracker,
};

/// The flags of a record's contents: see docs/profile-format.md.
mod what {
    pub(super) const THIS: u32 = 1;
    pub(super) const ARGUMENTS: u32 = 2;
    pub(super) const RETURNED: u32 = 16;
    pub(super) const BY_REFERENCE: u32 = 32;
    /// Only the tracker uses this flag.
    pub(super) const TEXTS: u32 = 256;
}

/// The reasons for not reading a value: see docs/profile-format.md.
mod unread {
    pub(super) const UNKNOWN_TYPE: u32 = 1;
    pub(super) const TYPED_REFERENCE: u32 = 3;
    pub(super) const OUT: u32 = 5;
    pub(super) const ON_STACK: u32 = 9;
    pub(super) const UNDER_CONSTRUCTION: u32 = 10;
}

/// The way a parameter is passed, with its number in descriptions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterMode {
    Value = 0,
    Ref = 1,
    In = 2,
    Out = 3,
}

/// The methods that receive values. Only the first has a return value.
pub(crate) struct Receiver {
    enter: Arc<MethodName>,
    left: Arc<MethodName>,
    tail_calling: Arc<MethodName>,
    returning: Arc<MethodName>,
    catching: Arc<MethodName>,
    passing: Arc<MethodName>,
    value: Arc<MethodName>,
    reference: Arc<MethodName>,
    object: Arc<MethodName>,
    pointer: Arc<MethodName>,
    unread: Arc<MethodName>,
    end: Arc<MethodName>,
}

impl Receiver {
    pub(crate) fn new(tracker: &Tracker) -> Self {
        const GENERIC: u8 = convention::GENERIC;
        let method = |name, signature: &[u8]| Arc::new(tracker.capture_method(name, signature));
        Self {
            enter: method("Enter", &[0x00, 0x03, 0x0A, 0x0A, 0x0E, 0x08]),
            left: method("Left", &[0x00, 0x01, 0x01, 0x0A]),
            tail_calling: method("TailCalling", &[0x00, 0x01, 0x01, 0x0A]),
            returning: method("Returning", &[0x00, 0x02, 0x01, 0x0A, 0x08]),
            catching: method("Catching", &[0x00, 0x02, 0x01, 0x1C, 0x0A]),
            passing: method("Passing", &[0x00, 0x02, 0x01, 0x1C, 0x0A]),
            value: method("Value", &[GENERIC, 0x01, 0x01, 0x01, 0x1E, 0x00]),
            reference: method("Reference", &[GENERIC, 0x01, 0x01, 0x01, 0x10, 0x1E, 0x00]),
            object: method("Object", &[0x00, 0x01, 0x01, 0x1C]),
            pointer: method("Pointer", &[0x00, 0x01, 0x01, 0x0B]),
            unread: method("Unread", &[0x00, 0x01, 0x01, 0x08]),
            end: method("End", &[0x00, 0x00, 0x01]),
        }
    }

    fn unread(&self, reason: u32) -> OwnCall {
        call(&self.unread, vec![OwnArgument::Int32(reason)])
    }

    fn end(&self) -> OwnCall {
        call(&self.end, Vec::new())
    }
}

fn call(method: &Arc<MethodName>, arguments: Vec<OwnArgument>) -> OwnCall {
    OwnCall { method: TokenRequest::MemberRef(method.clone()), arguments }
}

/// A call of a method's instantiation for one type.
fn call_instance(method: &Arc<MethodName>, ty: &TypeSig, argument: OwnArgument) -> OwnCall {
    let mut instantiation = vec![convention::GENERIC_INST, 1];
    ty.write(&mut instantiation);
    OwnCall { method: TokenRequest::MethodSpec(method.clone(), instantiation), arguments: vec![argument] }
}

/// A method whose values are captured.
struct Capturing<'c, 'a, 'm> {
    receiver: &'c Receiver,
    context: MethodContext<'c, 'a, 'm>,
    metadata: &'m Metadata<'a>,
    row: &'c MethodDef,
}

impl<'a, 'm> HookContext<'a, 'm> {
    /// The calls that pass a method's values. `None` if the method's signature cannot be read.
    pub(crate) fn capturing(
        &self,
        receiver: &Receiver,
        captured: Captured,
        (rid, row): (Rid<MethodDef>, &MethodDef),
        id: MethodId,
    ) -> Option<OwnCalls> {
        let metadata = self.metadata();
        let Signature::Method(signature) = Signature::parse(metadata.blobs.blob(row.signature).ok()?).ok()? else { return None };
        let capturing = Capturing { receiver, context: self.method_context(rid), metadata, row };
        let parameters = capturing.parameters(rid, &signature);
        let description = capturing.description(rid, &signature, &parameters)?;
        let is_instance = !row.is_static();

        let (mut what_enter, mut enter) = (0, Vec::new());
        if captured.this && is_instance {
            what_enter |= what::THIS;
            enter.push(capturing.this());
        }
        let first = u16::from(is_instance);
        let places = || (first..).zip(signature.params.iter().zip(&parameters));
        if captured.arguments && !signature.params.is_empty() {
            what_enter |= what::ARGUMENTS;
            for (place, (ty, (mode, _))) in places() {
                enter.push(if *mode == ParameterMode::Out {
                    receiver.unread(unread::OUT)
                } else {
                    capturing.argument(place, ty)
                });
            }
        }
        let (mut what_ret, mut ret) = (0, Vec::new());
        let returned = stripped(&signature.return_type);
        if captured.returned && *returned != TypeSig::Element(ElementType::Void) {
            what_ret |= what::RETURNED;
            ret.push(capturing.returned(returned));
        }
        let is_changed = |mode: ParameterMode| matches!(mode, ParameterMode::Ref | ParameterMode::Out);
        if captured.arguments && parameters.iter().any(|(mode, _)| is_changed(*mode)) {
            what_ret |= what::BY_REFERENCE;
            ret.extend(places().filter(|(_, (_, (mode, _)))| is_changed(*mode)).map(|(at, (ty, _))| capturing.argument(at, ty)));
        }
        if captured.texts {
            [&mut what_enter, &mut what_ret].into_iter().filter(|what| **what != 0).for_each(|what| *what |= what::TEXTS);
        }
        let begin = vec![OwnArgument::Int64(id.0), OwnArgument::String(description), OwnArgument::Int32(what_enter)];
        enter.insert(0, call(&receiver.enter, begin));
        ret.insert(0, call(&receiver.returning, vec![OwnArgument::Kept, OwnArgument::Int32(what_ret)]));
        for (calls, what) in [(&mut enter, what_enter), (&mut ret, what_ret)] {
            calls.extend((what != 0).then(|| receiver.end()));
        }
        let exception = |method| {
            let call = || call(method, vec![OwnArgument::Exception, OwnArgument::Kept]);
            captured.exception.then(call).into_iter().collect()
        };
        Some(OwnCalls {
            enter,
            end: vec![call(&receiver.left, vec![OwnArgument::Kept])],
            replace: vec![call(&receiver.tail_calling, vec![OwnArgument::Kept])],
            ret,
            catch: exception(&receiver.catching),
            pass: exception(&receiver.passing),
        })
    }
}

/// A type without its custom modifiers.
fn stripped(mut ty: &TypeSig) -> &TypeSig {
    while let TypeSig::Modified { inner, .. } | TypeSig::Pinned(inner) = ty {
        ty = inner;
    }
    ty
}

impl Capturing<'_, '_, '_> {
    fn this(&self) -> OwnCall {
        let is_constructor = self.metadata.strings.string_bytes(self.row.name) == Ok(b".ctor");
        if is_constructor {
            return self.receiver.unread(unread::UNDER_CONSTRUCTION);
        }
        match self.context.own_type().filter(|_| !self.context.is_of_interface()) {
            Some(ty) if ty.is_value => match self.context.boxing(&ty.signature) {
                Some(_) => call_instance(&self.receiver.reference, &ty.signature, OwnArgument::Argument(0)),
                None => self.receiver.unread(unread::ON_STACK),
            },
            Some(_) => call(&self.receiver.object, vec![OwnArgument::Argument(0)]),
            // The value may be boxed or not.
            None => self.receiver.unread(unread::UNKNOWN_TYPE),
        }
    }

    fn argument(&self, place: u16, ty: &TypeSig) -> OwnCall {
        let (argument, address) = (OwnArgument::Argument(place), OwnArgument::Address(place));
        self.value(stripped(ty), argument, address)
    }

    fn returned(&self, ty: &TypeSig) -> OwnCall {
        self.value(ty, OwnArgument::ReturnValue, OwnArgument::ReturnAddress)
    }

    fn value(&self, ty: &TypeSig, argument: OwnArgument, address: OwnArgument) -> OwnCall {
        match ty {
            TypeSig::Ptr(_) | TypeSig::FnPtr(_) => call(&self.receiver.pointer, vec![address]),
            TypeSig::Element(ElementType::TypedByRef) => self.receiver.unread(unread::TYPED_REFERENCE),
            TypeSig::ByRef(inner) => {
                let inner = stripped(inner);
                match self.context.boxing(inner) {
                    Some(_) => call_instance(&self.receiver.reference, inner, argument),
                    None => self.receiver.unread(unread::ON_STACK),
                }
            }
            _ => match self.context.boxing(ty) {
                Some(Boxing::Reference) => call(&self.receiver.object, vec![argument]),
                Some(Boxing::Boxed(_)) => call_instance(&self.receiver.value, ty, argument),
                None => self.receiver.unread(unread::ON_STACK),
            },
        }
    }

    /// The way each parameter is passed, and its name.
    fn parameters(&self, rid: Rid<MethodDef>, signature: &MethodSig) -> Vec<(ParameterMode, String)> {
        let metadata = self.metadata;
        let rows: Vec<Param> = metadata.children::<MethodDef, Param>(rid).filter_map(|rid| metadata.row(rid).ok()).collect();
        let parameter = |(place, ty): (usize, &TypeSig)| {
            let row = rows.iter().find(|row| usize::from(row.sequence) == place + 1);
            let name = row.and_then(|row| metadata.name(row.name).ok()).unwrap_or_default();
            (self.parameter_mode(ty, row), name)
        };
        signature.params.iter().enumerate().map(parameter).collect()
    }

    /// C#'s modifiers decide, then the flags of the Param row.
    fn parameter_mode(&self, ty: &TypeSig, row: Option<&Param>) -> ParameterMode {
        let (mut at, mut is_read_only) = (ty, false);
        while let TypeSig::Modified { modifier, inner, .. } = at {
            is_read_only |= self.type_name(*modifier) == "System.Runtime.InteropServices.InAttribute";
            at = inner;
        }
        match row {
            _ if !matches!(at, TypeSig::ByRef(_)) => ParameterMode::Value,
            Some(row) if row.is_out() && !row.is_in() => ParameterMode::Out,
            Some(row) if is_read_only || row.is_in() && !row.is_out() => ParameterMode::In,
            _ if is_read_only => ParameterMode::In,
            _ => ParameterMode::Ref,
        }
    }

    /// The method's description in the profile, in the lines that the tracker's `CapturedTypes.Signature` reads.
    fn description(&self, rid: Rid<MethodDef>, signature: &MethodSig, parameters: &[(ParameterMode, String)]) -> Option<String> {
        let metadata = self.metadata;
        let token = Token::new(Table::MethodDef, rid.get());
        let module: Module = metadata.row(Rid::new(1)).ok()?;
        let own = self.context.own_type()?;
        let class = self.text(&own.signature);
        let generics: Vec<String> = (0..signature.generic_params).map(|number| self.text(&TypeSig::MVar(number))).collect();
        let generics = if generics.is_empty() { String::new() } else { format!("<{}>", generics.join(", ")) };
        let method = format!("{class}.{}{generics}", metadata.name(self.row.name).ok()?);
        let this = if self.row.is_static() { String::new() } else { class };
        let returned = self.text(&signature.return_type);
        let mut lines = vec![token.0.to_string(), metadata.name(module.name).ok()?, method, returned, this];
        for (ty, (mode, name)) in signature.params.iter().zip(parameters) {
            let mut ty = stripped(ty);
            if let TypeSig::ByRef(inner) = ty {
                ty = stripped(inner);
            }
            lines.extend([format!("{}{}", *mode as u8, self.text(ty)), name.clone()]);
        }
        Some(lines.iter().map(|line| line.replace('\n', " ")).collect::<Vec<_>>().join("\n"))
    }

    /// The type in C# syntax.
    fn text(&self, ty: &TypeSig) -> String {
        match ty {
            TypeSig::Element(element @ (ElementType::I | ElementType::U | ElementType::TypedByRef)) => {
                format!("System.{}", element.class())
            }
            TypeSig::Element(element) => element.keyword().to_owned(),
            TypeSig::Named { token, .. } => written(&self.type_name(*token), &[]),
            TypeSig::GenericInst { token, arguments, .. } => {
                let arguments: Vec<String> = arguments.iter().map(|argument| self.text(argument)).collect();
                match (&*self.type_name(*token), &arguments[..]) {
                    ("System.Nullable`1", [of]) => format!("{of}?"),
                    (name, _) => written(name, &arguments),
                }
            }
            TypeSig::SzArray(_) | TypeSig::Array(..) => {
                // C# writes the outermost dimensions first.
                let (mut element, mut dimensions) = (ty, String::new());
                loop {
                    element = match element {
                        TypeSig::SzArray(inner) => {
                            dimensions.push_str("[]");
                            inner
                        }
                        TypeSig::Array(inner, shape) => {
                            dimensions.push_str(&format!("[{}]", ",".repeat(shape.rank.saturating_sub(1) as usize)));
                            inner
                        }
                        _ => break,
                    };
                }
                self.text(element) + &dimensions
            }
            TypeSig::Ptr(inner) => self.text(inner) + "*",
            TypeSig::ByRef(inner) => format!("ref {}", self.text(inner)),
            TypeSig::Modified { inner, .. } | TypeSig::Pinned(inner) => self.text(inner),
            TypeSig::Var(number) => self.parameter(self.context.class_token(), *number),
            TypeSig::MVar(number) => self.parameter(Some(self.context.method_token()), *number),
            TypeSig::FnPtr(_) => "delegate*".into(),
        }
    }

    /// The name of a type parameter.
    fn parameter(&self, owner: Option<Token>, number: u32) -> String {
        let mut rows = self.metadata.tables.rows::<GenericParam>().map(|(_, row)| row);
        let row = rows.find(|row| row.owner.token() == owner && u32::from(row.number) == number);
        row.and_then(|row| self.metadata.name(row.name).ok()).unwrap_or_else(|| format!("!{number}"))
    }

    fn type_name(&self, token: TypeDefOrRef) -> String {
        let token = token.token();
        let defined = token.and_then(Token::rid_in::<TypeDef>).and_then(|rid| self.context.full_name_of(rid));
        let referred = || token.and_then(Token::rid_in::<TypeRef>).and_then(|rid| self.metadata.type_ref_name(rid).ok());
        defined.or_else(referred).unwrap_or_else(|| "?".into())
    }
}

/// A type's name, with its type arguments distributed over its levels of nesting.
fn written(name: &str, mut arguments: &[String]) -> String {
    let mut out = String::new();
    for (depth, level) in name.split('/').enumerate() {
        if depth > 0 {
            out.push('.');
        }
        let (name, arity) = level.split_once('`').unwrap_or((level, ""));
        out.push_str(name);
        let (own, rest) = arguments.split_at(arity.parse().unwrap_or(0).min(arguments.len()));
        if !own.is_empty() {
            out.push_str(&format!("<{}>", own.join(", ")));
        }
        arguments = rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_in_csharp() {
        assert_eq!(
            written("Ns.Generic`2/In`1", &["int".into(), "string".into(), "byte".into()]),
            "Ns.Generic<int, string>.In<byte>"
        );
        assert_eq!(written("A/B", &[]), "A.B");
    }
}
