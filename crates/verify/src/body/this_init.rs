//! Rules of `this` before a class's constructor has called another (III.1.8.1.4), and of non-virtual calls (III.3.19).

use ecma335::Token;

use crate::{
    body::{eval_stack::EvalStack, method::Method, stack_value::StackValue},
    rule::{Rule, rule},
    types::{
        assign, hierarchy,
        store::{Type, TypeId},
        value_kind::ValueKind,
    },
};

/// Pushes `this` before it is initialized.
pub(crate) fn push(stack: &mut EvalStack<'_>, class: TypeId, this: StackValue) {
    let ty = stack.types().intern(Type::Uninitialized(class));
    stack.push(StackValue { ty, ..this });
}

/// Reports access to argument 0 before `this` is initialized, if the argument is stored to or its address is taken.
pub(crate) fn require_initialized_argument(stack: &mut EvalStack<'_>, method: &Method<'_>, number: usize) {
    if let (0, false, Some(class)) = (number, stack.is_initialized, method.constructs) {
        stack.uninitialized(class);
    }
}

/// Whether the object of a field is an uninitialized `this`. Its own fields can be read and written.
pub(crate) fn has_own(stack: &mut EvalStack<'_>, object: StackValue, owner: TypeId) -> bool {
    if stack.is_initialized {
        return false;
    }
    let Some(class) = stack.uninitialized_class(object) else { return false };
    if assign::assignable(stack.types(), class, owner) == Some(false) {
        stack.uninitialized(class);
    }
    true
}

/// Applies a constructor call on a value. Returns whether the value was an uninitialized `this`.
pub(crate) fn construct(stack: &mut EvalStack<'_>, this: StackValue, owner: TypeId) -> bool {
    let types = stack.types();
    let Some(class) = stack.uninitialized_class(this) else {
        if stack.has_types() && this.kind == ValueKind::Object {
            stack.unverifiable(rule!("III.1.8.1.4-b"), || types.name(owner));
        }
        return false;
    };
    let is_base = || hierarchy::base(types, class).is_none_or(|base| assign::is_same(types, owner, base) != Some(false));
    if assign::is_same(types, owner, class) == Some(false) && !is_base() {
        stack.unverifiable(rule!("III.1.8.1.4-b"), || format!("{} in {}", types.name(owner), types.name(class)));
    }
    stack.is_initialized = true;
    for value in stack.values.iter_mut().filter(|value| matches!(types.get(value.ty), Type::Uninitialized(_))) {
        value.ty = class;
    }
    true
}

/// Checks that a constructor calls another before it returns.
pub(crate) fn check_return(stack: &mut EvalStack<'_>) {
    if !stack.is_initialized {
        stack.unverifiable(rule!("III.1.8.1.4-c"), String::new);
    }
}

/// A non-virtual call of an overridable method must be on `this`, or on a box, whose type has no derived types.
pub(crate) fn require_nonvirtual_receiver(stack: &mut EvalStack<'_>, rule: &'static Rule, object: StackValue, method: Token) {
    let types = stack.types();
    let is_box = |ty| matches!(types.get(ty), Type::Boxed(inner) if !types.is_parameter(inner));
    if object.is_this && stack.keeps_this || object.kind != ValueKind::Object || !stack.has_types() || is_box(object.ty) {
        return;
    }
    match stack.tokens.is_overridable(method) {
        Some(false) => {}
        Some(true) if object.ty != TypeId::UNKNOWN => {
            let context = stack.context;
            stack.unverifiable(rule, || context.full_name(method));
        }
        _ => stack.assumed += 1,
    }
}
