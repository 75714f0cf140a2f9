//! Types of boxed values (III.4.1), and `constrained.` prefixes (III.2.1).

use crate::{
    body::{eval_stack::EvalStack, stack_value::StackValue},
    types::{
        store::{Type, TypeId},
        value_kind::ValueKind,
    },
};

/// The type of a boxed value. A reference type stays the same.
pub(crate) fn boxed(stack: &EvalStack<'_>, ty: TypeId) -> TypeId {
    let types = stack.types();
    match types.get(ty) {
        // A box of `Nullable<T>` is one of `T` (III.4.1).
        Type::Named(_, arguments) if types.may_be_boxed(ty) && types.name(ty).starts_with("System.Nullable`1<") => {
            types.intern(Type::Boxed(arguments.first().copied().unwrap_or(TypeId::UNKNOWN)))
        }
        _ if types.may_be_boxed(ty) => types.intern(Type::Boxed(ty)),
        _ => ty,
    }
}

/// III.2.1: the type of a `constrained.` prefix has the method's type.
pub(crate) fn require_constrained(stack: &mut EvalStack<'_>, constrained: StackValue, owner: TypeId) {
    let boxed = |ty| StackValue::new(ValueKind::Object, boxed(stack, ty));
    let (value, owner) = (boxed(constrained.ty), boxed(owner));
    stack.require_assignable(value, owner);
}
