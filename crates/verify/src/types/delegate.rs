//! What a delegate's Invoke takes and returns (II.14.6).

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    element::ElementType,
    signature::{Signature, TypeSig},
};
use foldhash::HashMap;

use crate::types::{
    members, resolve,
    store::{Arguments, Named, Type, TypeId, Types},
};

#[derive(Default)]
struct Cache(RefCell<HashMap<TypeId, Option<Rc<Invoke>>>>);

/// What `Invoke` of a delegate takes and returns.
#[derive(Debug)]
pub(crate) struct Invoke {
    pub(crate) params: Vec<TypeId>,
    pub(crate) returned: Option<TypeId>,
}

/// `Invoke` of a delegate; none if only an assembly that is not at hand tells.
pub(crate) fn invoke(types: &Types<'_>, id: TypeId) -> Option<Rc<Invoke>> {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&id) {
        return known.clone();
    }
    let found = find_invoke(types, id).map(Rc::new);
    cache.0.borrow_mut().insert(id, found.clone());
    found
}

fn find_invoke(types: &Types<'_>, id: TypeId) -> Option<Invoke> {
    let Type::Named(Named::Known(def, _), of_type) = types.get(id) else { return None };
    let Signature::Method(signature) = members::signature(types, def, members::method_named(types, def, b"Invoke")?.signature)?
    else {
        return None;
    };
    let of = |sig: &TypeSig| resolve::of_signature(types, def.module, sig, Arguments { of_type: &of_type, of_method: &[] });
    let is_void = is_void(&signature.return_type);
    let returned = (!is_void).then(|| of(&signature.return_type));
    Some(Invoke { params: signature.params.iter().map(of).collect(), returned })
}

fn is_void(signature: &TypeSig) -> bool {
    match signature {
        TypeSig::Modified { inner, .. } => is_void(inner),
        _ => *signature == TypeSig::Element(ElementType::Void),
    }
}
