//! The signature of a delegate's Invoke (II.14.6).

use std::{cell::RefCell, rc::Rc};

use ecma335::signature::Signature;
use foldhash::HashMap;

use crate::types::{
    members,
    method_type::MethodType,
    store::{Named, Type, TypeId, Types},
};

#[derive(Default)]
struct Cache(RefCell<HashMap<TypeId, Option<Rc<MethodType>>>>);

/// `Invoke` of a delegate. `None` if only an absent assembly defines it.
pub(crate) fn invoke(types: &Types<'_>, id: TypeId) -> Option<Rc<MethodType>> {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&id) {
        return known.clone();
    }
    let found = find_invoke(types, id).map(Rc::new);
    cache.0.borrow_mut().insert(id, found.clone());
    found
}

fn find_invoke(types: &Types<'_>, id: TypeId) -> Option<MethodType> {
    let Type::Named(Named::Known(def, _), of_type) = types.get(id) else { return None };
    let Signature::Method(signature) = members::signature(types, def, members::method_named(types, def, b"Invoke")?.signature)?
    else {
        return None;
    };
    Some(MethodType::new(types, def.module, &signature, &of_type))
}
