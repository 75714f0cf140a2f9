//! `this` of a class's constructor, before that has called another one (III.1.8.1.4).

use crate::{
    body::Method,
    kind::{Kind, Value},
    machine::Machine,
    rule::rule,
    typing::{Type, TypeId},
};

/// Puts it on the stack.
pub(crate) fn push(machine: &mut Machine<'_, '_, '_>, class: TypeId) {
    let ty = machine.types().put(Type::Uninitialized(class));
    machine.push_type(Kind::Object, ty);
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
