//! The parameter types and return type of a method, without its name (II.23.2.1).

use ecma335::{
    element::ElementType,
    signature::{MethodSig, TypeSig},
};

use crate::types::{
    assign, resolve,
    store::{Arguments, TypeId, Types},
    verdict::{Verdict, all},
};

/// The parameter types and return type of a method.
#[derive(Debug)]
pub(crate) struct MethodType {
    pub(crate) generic_params: u32,
    pub(crate) params: Vec<TypeId>,
    /// The return type. `None` for void.
    pub(crate) returned: Option<TypeId>,
}

impl MethodType {
    /// The types in a signature of a module, with arguments for its type's generic parameters.
    pub(crate) fn new(types: &Types<'_>, module: usize, signature: &MethodSig, of_type: &[TypeId]) -> Self {
        let of = |sig: &TypeSig| resolve::of_signature(types, module, sig, Arguments { of_type, of_method: &[] });
        Self {
            generic_params: signature.generic_params,
            params: signature.params.iter().map(of).collect(),
            returned: (!is_void(&signature.return_type)).then(|| of(&signature.return_type)),
        }
    }

    /// Whether two are the same, regardless of the modifiers of their managed pointers.
    pub(crate) fn is_same(&self, types: &Types<'_>, other: &Self) -> Verdict {
        let is_same = |(one, other): (&TypeId, &TypeId)| match (types.target(*one), types.target(*other)) {
            (Some(one), Some(other)) => assign::is_same(types, one, other),
            _ => assign::is_same(types, *one, *other),
        };
        let counts = |of: &Self| (of.generic_params, of.params.len(), of.returned.is_some());
        if counts(self) != counts(other) {
            return Some(false);
        }
        let one = self.params.iter().chain(&self.returned);
        all(one.zip(other.params.iter().chain(&other.returned)).map(is_same))
    }
}

/// Whether a return type is void.
pub(crate) fn is_void(signature: &TypeSig) -> bool {
    match signature {
        TypeSig::Modified { inner, .. } => is_void(inner),
        _ => *signature == TypeSig::Element(ElementType::Void),
    }
}
