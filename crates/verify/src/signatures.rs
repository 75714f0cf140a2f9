//! Checks of signatures (II.23.2) beyond their syntax.

use ecma335::{
    Rid, Table, Token,
    element::{ElementType, convention},
    schema::{Blob, Field, TypeDef, TypeDefOrRef},
    signature::{MethodSig, Signature, TypeSig},
};

use crate::{
    assembly::Assembly,
    context::Context,
    model::{TypeKind, at},
    rule::rule,
};

/// The place of a type in a signature, which decides the permitted types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The return type. It may be void.
    Return,
    /// A parameter, or a field of a ref struct. It may be a managed pointer.
    Param,
    /// A local variable. It may be pinned.
    Local,
    /// The target of a pointer. It may be void.
    Target,
    /// An element or a type argument. Only plain types are permitted.
    Inner,
    /// A TypeSpec. It may be a managed pointer or void, for `ldtoken`.
    Spec,
}

/// Reads a signature blob. The error says why it cannot be read.
pub(crate) fn parse(assembly: &Assembly<'_>, blob: Blob) -> Result<Signature, String> {
    assembly.metadata.blobs.blob(blob).and_then(Signature::parse).map_err(|error| error.to_string())
}

/// The underlying type of an enumeration of this module.
pub(crate) fn underlying(assembly: &Assembly<'_>, rid: u32) -> Option<ElementType> {
    let model = assembly.model;
    if model.kind(rid) != TypeKind::Enum {
        return None;
    }
    let fields = assembly.metadata.children::<_, Field>(Rid::<TypeDef>::new(rid));
    let value = fields.filter_map(|field| at(&model.fields, field.get())).find(|row| !row.is_static())?;
    match parse(assembly, value.signature) {
        Ok(Signature::Field(TypeSig::Element(element))) => Some(element),
        _ => None,
    }
}

/// The first error in a type.
pub(crate) fn check_type(context: &Context<'_>, owner: Token, signature: &TypeSig, place: Place) -> Result<(), String> {
    match signature {
        TypeSig::Element(ElementType::Void) if !matches!(place, Place::Return | Place::Target | Place::Spec) => {
            Err("void stands where a type is needed".into())
        }
        TypeSig::Element(_) | TypeSig::Var(_) | TypeSig::MVar(_) => Ok(()),
        TypeSig::Named { is_value, token } => check_named(context, owner, *token, *is_value),
        TypeSig::Ptr(inner) => check_type(context, owner, inner, Place::Target),
        TypeSig::ByRef(inner) => match place {
            Place::Inner | Place::Target => Err("a reference stands where it cannot".into()),
            // Old compilers emit a managed pointer to void as a return type, and runtimes accept it.
            _ => check_type(context, owner, inner, Place::Target),
        },
        TypeSig::Pinned(inner) if place == Place::Local => check_type(context, owner, inner, Place::Param),
        TypeSig::Pinned(_) => Err("only a local variable is pinned".into()),
        TypeSig::SzArray(inner) => check_type(context, owner, inner, Place::Inner),
        TypeSig::Array(inner, shape) => {
            if shape.rank == 0 || shape.sizes.len() > shape.rank as usize || shape.lower_bounds.len() > shape.rank as usize {
                return Err("an array's shape has no rank, or more bounds than that".into());
            }
            check_type(context, owner, inner, Place::Inner)
        }
        TypeSig::GenericInst { is_value, token, arguments } => {
            check_named(context, owner, *token, *is_value)?;
            if arguments.is_empty() {
                return Err("an instantiation has no arguments".into());
            }
            arguments.iter().try_for_each(|argument| check_type(context, owner, argument, Place::Inner))
        }
        TypeSig::FnPtr(method) => check_method(context, owner, method),
        TypeSig::Modified { modifier, inner, .. } => {
            check_token(context, *modifier)?;
            check_type(context, owner, inner, place)
        }
    }
}

/// The first error in a method's signature.
pub(crate) fn check_method(context: &Context<'_>, owner: Token, signature: &MethodSig) -> Result<(), String> {
    if signature.convention & convention::GENERIC != 0 && signature.generic_params == 0 {
        return Err("it is generic without parameters".into());
    }
    check_type(context, owner, &signature.return_type, Place::Return)?;
    signature.params.iter().try_for_each(|param| check_type(context, owner, param, Place::Param))
}

/// The first error in the types of local variables.
pub(crate) fn check_locals(context: &Context<'_>, owner: Token, types: &[TypeSig]) -> Result<(), String> {
    types.iter().try_for_each(|each| check_type(context, owner, each, Place::Local))
}

/// The highest number, plus one, of the generic parameters in a type: of the type's and of the method's.
pub(crate) fn generic_reach(signature: &TypeSig) -> (u32, u32) {
    let join = |one: (u32, u32), other: (u32, u32)| (one.0.max(other.0), one.1.max(other.1));
    match signature {
        TypeSig::Var(number) => (number.saturating_add(1), 0),
        TypeSig::MVar(number) => (0, number.saturating_add(1)),
        TypeSig::Element(_) | TypeSig::Named { .. } => (0, 0),
        TypeSig::Ptr(inner) | TypeSig::ByRef(inner) | TypeSig::Pinned(inner) | TypeSig::SzArray(inner) => generic_reach(inner),
        TypeSig::Array(inner, _) | TypeSig::Modified { inner, .. } => generic_reach(inner),
        TypeSig::GenericInst { arguments, .. } => arguments.iter().map(generic_reach).fold((0, 0), join),
        TypeSig::FnPtr(method) => method_reach(method),
    }
}

/// The highest numbers of generic parameters in a method's signature, as [`generic_reach`] gives them for a type.
pub(crate) fn method_reach(signature: &MethodSig) -> (u32, u32) {
    let types = signature.params.iter().chain([&signature.return_type]);
    types.map(generic_reach).fold((0, 0), |one, other| (one.0.max(other.0), one.1.max(other.1)))
}

fn check_named(context: &Context<'_>, owner: Token, token: TypeDefOrRef, is_value: bool) -> Result<(), String> {
    let target = check_token(context, token)?;
    if target.table() == Some(Table::TypeDef) && context.wants(rule!("II.23.2.12-a")) {
        let is_really = context.model.kind(target.rid()).is_value();
        if is_really != is_value {
            context.report(rule!("II.23.2.12-a"), owner, target);
        }
    }
    Ok(())
}

fn check_token(context: &Context<'_>, index: TypeDefOrRef) -> Result<Token, String> {
    match index.token() {
        Some(token) if context.is_row(token) => Ok(token),
        Some(token) => Err(format!("{token} is not there")),
        None => Err(format!("{:#x} is no type index", index.0)),
    }
}
