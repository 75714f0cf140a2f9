//! What values are where paths meet (III.1.8.1.3), and what types extend and implement.

use std::collections::HashSet;

use crate::{
    model::TypeKind,
    types::{
        assign::{MAX_DEPTH, MAX_STEPS},
        store::{Named, Type, TypeId, Types},
    },
};

impl Types<'_> {
    /// What a value is that comes as either of two; none if there is no such type.
    pub(crate) fn merge(&self, one: TypeId, other: TypeId) -> Option<TypeId> {
        // The first one stays where both fit, so that it never goes back and forth.
        match (self.fits(other, one), self.fits(one, other)) {
            (Some(true), _) => Some(one),
            (_, Some(true)) => Some(other),
            (None, _) | (_, None) => Some(TypeId::UNKNOWN),
            // Which one it is has been lost.
            _ if matches!((self.get(one), self.get(other)), (Type::Method(_), Type::Method(_))) => Some(TypeId::UNKNOWN),
            _ if self.is_reference(one) && self.is_reference(other) => Some(self.common_base(one, other)),
            _ => None,
        }
    }

    /// The closest class that both extend; unknown if it says less than an interface of both.
    fn common_base(&self, one: TypeId, other: TypeId) -> TypeId {
        let mut base = one;
        for _ in 0..MAX_DEPTH * 4 {
            match self.base(base) {
                Some(next) if self.fits(other, next) == Some(true) => {
                    base = next;
                    break;
                }
                Some(next) => base = next,
                None => {
                    base = self.system("Object");
                    break;
                }
            }
        }
        // Compilers count on the interfaces of both too, which the standard leaves open.
        let is_of_both =
            |interface: TypeId| self.fits(other, interface) == Some(true) && self.fits(base, interface) != Some(true);
        if self.interfaces(one).into_iter().any(is_of_both) { TypeId::UNKNOWN } else { base }
    }

    /// All that a type implements, by its bases too.
    pub(crate) fn interfaces(&self, of: TypeId) -> Vec<TypeId> {
        let mut found = Vec::new();
        let mut work = vec![of];
        let mut seen = HashSet::new();
        while let Some(id) = work.pop() {
            let Type::Named(Named::Known(def, kind), arguments) = self.get(id) else { continue };
            if !seen.insert(id) || seen.len() > MAX_STEPS as usize {
                continue;
            }
            if kind == TypeKind::Interface {
                found.push(id);
            }
            let parents = self.parents(def);
            work.extend(parents.interfaces.iter().chain(&parents.base).map(|parent| self.with(*parent, &arguments)));
        }
        found
    }

    /// What a type extends; none if it is the root, or if no assembly at hand tells.
    pub(crate) fn base(&self, of: TypeId) -> Option<TypeId> {
        match self.get(of) {
            Type::Named(Named::Known(def, _), arguments) => Some(self.with(self.parents(def).base?, &arguments)),
            Type::Array(..) => Some(self.system("Array")),
            _ => None,
        }
    }
}
