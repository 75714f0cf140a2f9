//! Pointers without write access: of controlled mutability, and to initonly fields (III.1.8.1.2.2, II.16.1.2).

use ecma335::{
    schema::{Blob, TypeDef, TypeRef},
    signature::{Signature, TypeSig},
};

use crate::{
    body::eval_stack::EvalStack,
    model::at,
    signatures,
    types::{library::Def, store::Type},
};

/// Checks that the pointer on the stack may be stored through.
pub(crate) fn require_mutable(stack: &mut EvalStack<'_>) {
    if let Some(value) = stack.values.last().copied()
        && matches!(stack.types().get(value.ty), Type::ReadOnly(_) | Type::In(_))
    {
        stack.read_only(value);
    }
}

/// Whether the current code may store to initonly fields of a type. Its type initializer may store to static fields. Its
/// constructors and `init` accessors, as compilers mark them, may store to instance fields.
pub(crate) fn may_store(stack: &EvalStack<'_>, owner: Def, is_static: bool) -> bool {
    let (context, user) = (stack.context, stack.owner);
    let is_own = stack.types().scope.is_some_and(|scope| owner == Def { module: scope.module, rid: user });
    let Some(row) = at(&context.model.methods, stack.token.rid()).filter(|_| is_own) else { return false };
    match context.name(row.name) {
        b".cctor" => is_static,
        b".ctor" => !is_static,
        _ => !is_static && is_init_accessor(stack, row.signature),
    }
}

fn is_init_accessor(stack: &EvalStack<'_>, signature: Blob) -> bool {
    let context = stack.context;
    let Ok(Signature::Method(signature)) = signatures::parse(context, signature) else { return false };
    let TypeSig::Modified { modifier, .. } = signature.return_type else { return false };
    let Some(token) = modifier.token() else { return false };
    let name = match (token.rid_in::<TypeRef>(), token.rid_in::<TypeDef>()) {
        (Some(rid), _) => context.metadata.row(rid).map(|row| row.name),
        (_, Some(rid)) => context.metadata.row(rid).map(|row| row.name),
        _ => return false,
    };
    name.is_ok_and(|name| context.name(name) == b"IsExternalInit")
}
