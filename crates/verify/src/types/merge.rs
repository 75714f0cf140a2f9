//! What values are where paths meet (III.1.8.1.3).

use crate::types::{
    assign, hierarchy, resolve,
    store::{Type, TypeId, Types},
};

/// A chain of base classes is followed no further than this.
const MAX_BASES: u32 = 64;

/// What a value is that comes as either of two; none if there is no such type.
pub(crate) fn merge(types: &Types<'_>, one: TypeId, other: TypeId) -> Option<TypeId> {
    // The first one stays where both fit, so that it never goes back and forth.
    match (assign::assignable(types, other, one), assign::assignable(types, one, other)) {
        (Some(true), _) => Some(one),
        (_, Some(true)) => Some(other),
        (None, _) | (_, None) => Some(TypeId::UNKNOWN),
        // Which one it is has been lost.
        _ if matches!((types.get(one), types.get(other)), (Type::Method(_), Type::Method(_))) => Some(TypeId::UNKNOWN),
        _ if types.is_reference(one) && types.is_reference(other) => Some(common_reference(types, one, other)),
        _ => None,
    }
}

/// What two references are that may not stand for each other: arrays of references are one of what these have in common.
fn common_reference(types: &Types<'_>, one: TypeId, other: TypeId) -> TypeId {
    match (types.get(one), types.get(other)) {
        (Type::Array(a, rank), Type::Array(b, of)) if rank == of && types.is_reference(a) && types.is_reference(b) => {
            match merge(types, a, b) {
                None | Some(TypeId::UNKNOWN) => TypeId::UNKNOWN,
                Some(element) => types.intern(Type::Array(element, rank)),
            }
        }
        _ => common_base(types, one, other),
    }
}

/// The closest class that both extend; unknown if it says less than an interface of both.
fn common_base(types: &Types<'_>, one: TypeId, other: TypeId) -> TypeId {
    let mut base = one;
    for _ in 0..MAX_BASES {
        match hierarchy::base(types, base) {
            Some(next) if assign::assignable(types, other, next) == Some(true) => {
                base = next;
                break;
            }
            Some(next) => base = next,
            None => {
                base = resolve::system(types, "Object");
                break;
            }
        }
    }
    // Compilers count on the interfaces of both too, which the standard leaves open.
    let is_of_both = |interface: TypeId| {
        assign::assignable(types, other, interface) == Some(true) && assign::assignable(types, base, interface) != Some(true)
    };
    if hierarchy::interfaces(types, one).into_iter().any(is_of_both) { TypeId::UNKNOWN } else { base }
}
