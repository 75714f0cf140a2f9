//! Base types and interfaces of types (I.8.9).

use std::{cell::RefCell, rc::Rc};

use ecma335::schema::TypeDefOrRef;
use foldhash::{HashMap, HashSet};

use crate::{
    model::TypeKind,
    types::{
        library::Def,
        resolve,
        store::{Arguments, Named, Type, TypeId, Types},
    },
};

/// The limit of base classes. A longer chain is a cycle.
const MAX_BASES: usize = 256;
/// The limit of types whose interfaces are searched. Generic types can form endless chains.
const MAX_PARENTS: usize = 20_000;

#[derive(Default)]
struct Cache(RefCell<HashMap<Def, Rc<Parents>>>);

/// The direct interfaces and base class of a type, in its own generic parameters.
#[derive(Default, Debug)]
pub(crate) struct Parents {
    base: Option<TypeId>,
    interfaces: Vec<TypeId>,
}

impl Parents {
    /// The base class.
    pub(crate) fn base(&self) -> Option<TypeId> {
        self.base
    }

    /// The direct interfaces.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = TypeId> {
        self.interfaces.iter().copied()
    }

    /// The interfaces and then the base class.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TypeId> {
        self.interfaces.iter().chain(&self.base).copied()
    }
}

/// The direct interfaces and base class of a definition.
pub(crate) fn parents(types: &Types<'_>, def: Def) -> Rc<Parents> {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&def) {
        return known.clone();
    }
    let mut parents = Parents::default();
    if let Some(scope) = types.scope {
        let of = |index: TypeDefOrRef| {
            let token = index.token().filter(|token| token.rid() != 0)?;
            Some(resolve::of_token(types, def.module, token, Arguments::default()))
        };
        parents.base = scope.library.row(def).and_then(|row| of(row.extends));
        parents.interfaces = scope.library.interfaces(def).iter().filter_map(|index| of(*index)).collect();
    }
    let parents = Rc::new(parents);
    cache.0.borrow_mut().insert(def, parents.clone());
    parents
}

/// All interfaces of a type, including those of its base types.
pub(crate) fn interfaces(types: &Types<'_>, of: TypeId) -> Vec<TypeId> {
    let mut found = Vec::new();
    let mut work = vec![of];
    let mut seen = HashSet::default();
    while let Some(id) = work.pop() {
        let (def, kind, arguments) = match types.get(id) {
            Type::Named(Named::Known(def, kind), arguments) => (def, kind, arguments),
            Type::Boxed(inner) => {
                work.push(inner);
                continue;
            }
            _ => continue,
        };
        if !seen.insert(id) || seen.len() > MAX_PARENTS {
            continue;
        }
        if kind == TypeKind::Interface {
            found.push(id);
        }
        work.extend(parents(types, def).iter().map(|parent| types.substitute(parent, &arguments)));
    }
    found
}

/// A type with all its base types and interfaces. `None` if one is not known.
pub(crate) fn ancestors(types: &Types<'_>, of: TypeId) -> Option<Vec<TypeId>> {
    let mut found = vec![of];
    let mut seen = HashSet::from_iter([of]);
    let mut next = 0;
    while let Some(id) = found.get(next).copied().filter(|_| next < MAX_PARENTS) {
        next += 1;
        let Type::Named(Named::Known(def, _), arguments) = types.get(id) else { return None };
        let parents = parents(types, def);
        let of_id = parents.iter().map(|parent| types.substitute(parent, &arguments));
        found.extend(of_id.filter(|parent| seen.insert(*parent)));
    }
    (next == found.len()).then_some(found)
}

/// The base class of a type. `None` for the root, or if no assembly at hand tells.
pub(crate) fn base(types: &Types<'_>, of: TypeId) -> Option<TypeId> {
    match types.get(of) {
        Type::Named(Named::Known(def, _), arguments) => Some(types.substitute(parents(types, def).base?, &arguments)),
        Type::Array(..) => Some(resolve::system(types, "Array")),
        Type::Boxed(inner) => match types.get(inner) {
            Type::Primitive(_) => Some(resolve::system(types, "ValueType")),
            _ => base(types, inner),
        },
        _ => None,
    }
}

/// Whether all base classes of a definition are known, up to the root.
pub(crate) fn is_rooted(types: &Types<'_>, def: Def) -> bool {
    let row = base_chain(types, def).last().and_then(|last| types.scope?.library.row(*last));
    row.is_some_and(|row| row.extends.token().is_none_or(|token| token.rid() == 0))
}

/// A definition and its base classes, as far as they are known.
pub(crate) fn base_chain(types: &Types<'_>, def: Def) -> Vec<Def> {
    let base_of = |def: Def| match types.get(parents(types, def).base?) {
        Type::Named(Named::Known(base, _), _) => Some(base),
        _ => None,
    };
    std::iter::successors(Some(def), |def| base_of(*def)).take(MAX_BASES).collect()
}
