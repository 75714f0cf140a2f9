//! Types that a module names, and that the assembly which must define them lacks.

use ecma335::{
    Rid, Table, Token,
    schema::{TypeDefOrRef, TypeSpec},
    signature::{MethodSig, TypeSig},
};

use crate::types::library::Scope;

/// The first missing type that a TypeDef, TypeRef or TypeSpec names.
pub(crate) fn in_token(scope: Scope<'_>, token: Token) -> Option<Token> {
    if token.table() != Some(Table::TypeSpec) {
        return scope.library.is_absent(scope.module, token).then_some(token);
    }
    let metadata = scope.library.metadata(scope.module)?;
    let row = metadata.row(Rid::<TypeSpec>::new(token.rid())).ok()?;
    in_type(scope, &TypeSig::parse(metadata.blobs.blob(row.signature).ok()?).ok()?)
}

/// The first missing type in a signature. Runtimes look up neither modifiers nor the targets of pointers.
pub(crate) fn in_type(scope: Scope<'_>, signature: &TypeSig) -> Option<Token> {
    let named = |index: &TypeDefOrRef| index.token().and_then(|token| in_token(scope, token));
    match signature {
        TypeSig::Named { token, .. } => named(token),
        TypeSig::GenericInst { token, arguments, .. } => {
            named(token).or_else(|| arguments.iter().find_map(|argument| in_type(scope, argument)))
        }
        TypeSig::SzArray(inner) | TypeSig::Array(inner, _) | TypeSig::Pinned(inner) => in_type(scope, inner),
        TypeSig::Modified { inner, .. } => in_type(scope, inner),
        TypeSig::Element(_) | TypeSig::Var(_) | TypeSig::MVar(_) => None,
        TypeSig::Ptr(_) | TypeSig::ByRef(_) | TypeSig::FnPtr(_) => None,
    }
}

/// The first missing type in a method's signature.
pub(crate) fn in_method(scope: Scope<'_>, signature: &MethodSig) -> Option<Token> {
    signature.params.iter().chain([&signature.return_type]).find_map(|each| in_type(scope, each))
}

/// The first missing type that a value of a field's type needs. Runtimes look up a field's class only where code uses it.
pub(crate) fn in_field(scope: Scope<'_>, signature: &TypeSig) -> Option<Token> {
    match signature {
        TypeSig::Named { is_value: true, .. } | TypeSig::GenericInst { is_value: true, .. } => in_type(scope, signature),
        TypeSig::Modified { inner, .. } => in_field(scope, inner),
        _ => None,
    }
}
