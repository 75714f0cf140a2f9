//! `this`: before a class's constructor has called another one (III.1.8.1.4), and what is called on it alone (III.3.19).

use ecma335::Token;

use crate::{
    body::{
        Method,
        eval_stack::Machine,
        stack_value::{Kind, Value},
    },
    rule::{Rule, rule},
    types::store::{Type, TypeId},
};

/// Puts it on the stack before it is initialized.
pub(crate) fn push(machine: &mut Machine<'_, '_, '_>, class: TypeId, this: Value) {
    let ty = machine.types().put(Type::Uninitialized(class));
    machine.push(Value { ty, ..this });
}

/// The class, if the value is it.
fn class_of(machine: &Machine<'_, '_, '_>, value: Value) -> Option<TypeId> {
    match machine.types().get(value.ty) {
        Type::Uninitialized(class) if !machine.is_initialized => Some(class),
        _ => None,
    }
}

/// The value where an object is needed; as one of unknown type if it is `this` too early.
#[cold]
pub(crate) fn expect_initialized(machine: &mut Machine<'_, '_, '_>, value: Value) -> Value {
    let Some(class) = class_of(machine, value) else { return value };
    doubt(machine, class);
    Value::of(value.kind)
}

/// An argument that is stored to, or whose address is taken, is another.
pub(crate) fn expect_other(machine: &mut Machine<'_, '_, '_>, method: &Method<'_>, number: usize) {
    if let (0, false, Some(class)) = (number, machine.is_initialized, method.constructs) {
        doubt(machine, class);
    }
}

fn doubt(machine: &mut Machine<'_, '_, '_>, class: TypeId) {
    let types = machine.types();
    machine.doubt(rule!("III.1.8.1.4-a"), || types.name(class));
}

/// Whether the object of a field is `this`, not yet initialized: its fields can be set and read.
pub(crate) fn has_own(machine: &mut Machine<'_, '_, '_>, object: Value, owner: TypeId) -> bool {
    if machine.is_initialized {
        return false;
    }
    let Some(class) = class_of(machine, object) else { return false };
    if machine.types().fits(class, owner) == Some(false) {
        doubt(machine, class);
    }
    true
}

/// A constructor is called on a value: whether that was `this`, not yet initialized.
pub(crate) fn construct(machine: &mut Machine<'_, '_, '_>, this: Value, owner: TypeId) -> bool {
    let types = machine.types();
    let Some(class) = class_of(machine, this) else {
        if machine.has_types() && this.kind == Kind::Object {
            machine.doubt(rule!("III.1.8.1.4-b"), || types.name(owner));
        }
        return false;
    };
    let is_base = || types.base(class).is_none_or(|base| types.is_same(owner, base) != Some(false));
    if types.is_same(owner, class) == Some(false) && !is_base() {
        machine.doubt(rule!("III.1.8.1.4-b"), || format!("{} in {}", types.name(owner), types.name(class)));
    }
    machine.is_initialized = true;
    for value in machine.stack.iter_mut().filter(|value| matches!(types.get(value.ty), Type::Uninitialized(_))) {
        value.ty = class;
    }
    true
}

/// It does not return before it has called one.
pub(crate) fn check_return(machine: &mut Machine<'_, '_, '_>) {
    if !machine.is_initialized {
        machine.doubt(rule!("III.1.8.1.4-c"), String::new);
    }
}

/// Without dispatch, a method that derived classes may override is for `this`, and for boxes, whose types have none.
pub(crate) fn expect_own(machine: &mut Machine<'_, '_, '_>, rule: &'static Rule, object: Value, method: Token) {
    let types = machine.types();
    let is_box = |ty| matches!(types.get(ty), Type::Boxed(inner) if !types.is_parameter(inner));
    if object.is_this || object.kind != Kind::Object || !machine.has_types() || is_box(object.ty) {
        return;
    }
    match machine.callees.is_overridable(method) {
        Some(false) => {}
        Some(true) if object.ty != TypeId::UNKNOWN => {
            let context = machine.context;
            machine.doubt(rule, || context.full_name(method));
        }
        _ => machine.assumed += 1,
    }
}
