//! The types of merged stack values where paths meet (III.1.8.1.3).

use crate::types::{
    assign, hierarchy, resolve,
    store::{Type, TypeId, Types},
};

/// The limit of base classes in a chain.
const MAX_BASES: u32 = 64;

/// The merged type of a value that has either of two types. `None` if there is none.
pub(crate) fn merge(types: &Types<'_>, one: TypeId, other: TypeId) -> Option<TypeId> {
    // If both fit, the first type stays, so that the analysis terminates.
    match (assign::assignable(types, other, one), assign::assignable(types, one, other)) {
        (Some(true), _) => Some(one),
        (_, Some(true)) => Some(other),
        (None, _) | (_, None) => Some(TypeId::UNKNOWN),
        // The merged value no longer names one method.
        _ if matches!((types.get(one), types.get(other)), (Type::Method(_), Type::Method(_))) => Some(TypeId::UNKNOWN),
        _ if types.is_reference(one) && types.is_reference(other) => Some(common_reference(types, one, other)),
        _ => None,
    }
}

/// The merged type of two references that are not assignable to each other. For arrays of references, it merges their
/// elements.
fn common_reference(types: &Types<'_>, one: TypeId, other: TypeId) -> TypeId {
    match (types.get(one), types.get(other)) {
        // The constraints of a generic parameter tell what it has in common with others.
        (Type::Boxed(inner), _) | (_, Type::Boxed(inner)) if types.is_parameter(inner) => TypeId::UNKNOWN,
        (Type::Array(a, rank), Type::Array(b, of)) if rank == of && types.is_reference(a) && types.is_reference(b) => {
            match merge(types, a, b) {
                None | Some(TypeId::UNKNOWN) => TypeId::UNKNOWN,
                Some(element) => types.intern(Type::Array(element, rank)),
            }
        }
        _ => common_base(types, one, other),
    }
}

/// The closest common base class. Unknown if an interface of both types says more.
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
    // Compilers rely on common interfaces too, which the standard leaves open.
    let is_of_both = |interface: TypeId| {
        assign::assignable(types, other, interface) == Some(true) && assign::assignable(types, base, interface) != Some(true)
    };
    if hierarchy::interfaces(types, one).into_iter().any(is_of_both) { TypeId::UNKNOWN } else { base }
}
