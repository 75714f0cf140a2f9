//! The search for pairs: both sides, and the pairs found so far.

use ecma335::{
    Rid,
    schema::{Field, MethodDef, TypeDef},
};

use super::{half::Half, matches::Matches, pair::How};
use crate::{aliases::Aliases, assign::Least};

/// The minimum likeness of methods within one type, with equal and with different names.
pub(super) const IN_TYPE: Least = Least { owned: 0.3, other: 0.6 };
pub(super) struct Matcher<'n, 'a, 'm, 'o, 'c, 'd> {
    pub(super) old: Half<'n, 'a, 'm>,
    pub(super) new: Half<'o, 'c, 'd>,
    pub(super) by_name: bool,
    pub(super) aliases: Aliases,
    pub(super) types: Matches<TypeDef>,
    pub(super) methods: Matches<MethodDef>,
    pub(super) fields: Matches<Field>,
}

impl Matcher<'_, '_, '_, '_, '_, '_> {
    pub(super) fn add_type(&mut self, old: Rid<TypeDef>, new: Rid<TypeDef>, how: How, number: usize) {
        self.types.add(old, new, how, number);
        if !self.by_name {
            self.aliases.types((self.old.names, old), (self.new.names, new));
        }
    }

    pub(super) fn add_method(&mut self, old: Rid<MethodDef>, new: Rid<MethodDef>, how: How) {
        self.methods.add(old, new, how, 1);
        self.aliases.methods((self.old.names, old), (self.new.names, new));
        if matches!(how, How::Moved | How::Resigned) {
            self.aliases.calls((self.old.names, old), (self.new.names, new));
        }
    }

    pub(super) fn type_pairs(&self) -> Vec<(Rid<TypeDef>, Rid<TypeDef>)> {
        let mut pairs: Vec<_> = self.types.new_of.iter().map(|(old, (new, ..))| (*old, *new)).collect();
        pairs.sort_unstable();
        pairs
    }

    /// The owner of an item, as a number that both sides share.
    pub(super) fn owner(&self, old: Option<Rid<MethodDef>>, new: Option<Rid<MethodDef>>) -> Option<usize> {
        let alone = |rid: Rid<MethodDef>| usize::MAX - rid.get() as usize;
        let of_old = |rid: Rid<MethodDef>| if self.methods.new_of.contains_key(&rid) { rid.get() as usize } else { alone(rid) };
        let of_new = |rid: Rid<MethodDef>| {
            let both = u32::MAX as usize + 1;
            self.methods.old_of.get(&rid).map_or(both + rid.get() as usize, |old| old.get() as usize)
        };
        old.map(of_old).or(new.map(of_new))
    }
}
