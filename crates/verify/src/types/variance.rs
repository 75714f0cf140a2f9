//! Variant generic parameters, and the places where they may stand (II.9.7).

use ecma335::{
    flags::generic_param_attributes as variance,
    schema::TypeDefOrRef,
    signature::{MethodSig, TypeSig},
};

use crate::{
    model::type_token,
    types::library::{Def, Library},
};

/// A place in a signature: values come out of it, go in, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Out,
    In,
    Both,
}

impl Direction {
    fn through(self, way: u16) -> Self {
        match (way, self) {
            (variance::COVARIANT, direction) => direction,
            (variance::CONTRAVARIANT, Self::Out) => Self::In,
            (variance::CONTRAVARIANT, Self::In) => Self::Out,
            _ => Self::Both,
        }
    }
}

/// The variance of each generic parameter of a type.
pub(crate) fn variance_of(library: &Library<'_>, def: Def) -> Vec<u16> {
    library.bounds(def.module, type_token(def.rid)).iter().map(|bound| bound.param.variance()).collect()
}

/// Whether the variant parameters of a type stand only where they may in a type that a module names.
pub(crate) fn permits(library: &Library<'_>, module: usize, ways: &[u16], signature: &TypeSig, direction: Direction) -> bool {
    let inner = |inner: &TypeSig, direction| permits(library, module, ways, inner, direction);
    match signature {
        TypeSig::Var(number) => match ways.get(*number as usize) {
            Some(&variance::COVARIANT) => direction == Direction::Out,
            Some(&variance::CONTRAVARIANT) => direction == Direction::In,
            _ => true,
        },
        TypeSig::GenericInst { token, arguments, .. } => {
            // The variance of an absent type's parameters is unknown.
            let Some(def) = resolve(library, module, *token) else { return true };
            let of_generic = variance_of(library, def);
            let way = |number: usize| of_generic.get(number).copied().unwrap_or(0);
            arguments.iter().enumerate().all(|(number, argument)| inner(argument, direction.through(way(number))))
        }
        TypeSig::SzArray(element) | TypeSig::Array(element, _) => inner(element, direction),
        TypeSig::ByRef(target) | TypeSig::Ptr(target) => inner(target, Direction::Both),
        TypeSig::Pinned(of) | TypeSig::Modified { inner: of, .. } => inner(of, direction),
        TypeSig::Element(_) | TypeSig::Named { .. } | TypeSig::MVar(_) | TypeSig::FnPtr(_) => true,
    }
}

/// Whether the variant parameters of a type stand only where they may in a method's signature.
pub(crate) fn permits_method(library: &Library<'_>, module: usize, ways: &[u16], signature: &MethodSig) -> bool {
    permits(library, module, ways, &signature.return_type, Direction::Out)
        && signature.params.iter().all(|param| permits(library, module, ways, param, Direction::In))
}

fn resolve(library: &Library<'_>, module: usize, index: TypeDefOrRef) -> Option<Def> {
    library.resolve(module, index.token()?)
}
