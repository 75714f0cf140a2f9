//! Generic parameters of the current code, and their constraints (II.10.1.7).

use crate::{
    model::{TypeKind, type_token},
    types::{
        library::Bound,
        resolve,
        store::{Arguments, GenericContext, Named, Type, TypeId, Types},
        verdict::Verdict,
    },
};

/// The constraints of a generic parameter of the current code.
pub(crate) fn bound_of<'l>(types: &Types<'l>, within: Option<GenericContext>, id: TypeId) -> Option<&'l Bound> {
    let (scope, within) = (types.scope?, within?);
    let (owner, number) = match types.get(id) {
        Type::Var(number) => (type_token(within.owner), number),
        Type::MVar(number) => (within.method, number),
        _ => return None,
    };
    scope.library.bounds(scope.module, owner).get(number as usize)
}

/// The types that a generic parameter of the current code is constrained to.
pub(crate) fn constraints_of(types: &Types<'_>, bound: &Bound) -> Vec<TypeId> {
    let Some(scope) = types.scope else { return Vec::new() };
    let tokens = bound.constraints.iter().filter_map(|constraint| constraint.token());
    tokens.map(|token| resolve::of_token(types, scope.module, token, Arguments::default())).collect()
}

/// Whether a generic parameter of the current code is constrained to reference types. `None` if it is no such parameter.
pub(crate) fn is_reference(types: &Types<'_>, within: Option<GenericContext>, id: TypeId) -> Verdict {
    let bound = bound_of(types, within, id)?;
    let is_class = |id: &TypeId| match types.get(*id) {
        Type::Named(Named::Known(def, kind), _) => {
            // A value type may implement an interface.
            let names = ["System.Object", "System.ValueType", "System.Enum"];
            kind != TypeKind::Interface && !types.scope.is_some_and(|of| names.contains(&&*of.library.full_name(def)))
        }
        _ => true,
    };
    Some(bound.param.is_reference_type() || constraints_of(types, bound).iter().any(is_class))
}
