//! Pairs compiler-generated items: by the method they come from, by kind, by likeness, by order.

use std::{
    collections::{BTreeMap, HashSet},
    hash::Hash,
};

use ecma335::{
    Rid, Table,
    schema::{Field, MethodDef, TypeDef},
};

use super::{
    half::Half,
    matcher::{IN_TYPE, Matcher},
    matches::Both,
    pair::How,
};
use crate::{
    assign::{Candidate, Least, assign},
    generated_names,
    shape::{self, Mentions},
};

/// The minimum likeness of items from one method, and from different ones.
const GENERATED: Least = Least { owned: 0.0, other: 0.6 };

impl Matcher<'_, '_, '_, '_, '_, '_> {
    pub(super) fn generated_types(&mut self) {
        let mut parents: Vec<(u32, u32)> = self.type_pairs().into_iter().map(|(old, new)| (old.get(), new.get())).collect();
        parents.push((0, 0));
        while let Some((old_parent, new_parent)) = parents.pop() {
            let nested = |half: &Half<'_, '_, '_>, parent: u32| -> Vec<Rid<TypeDef>> {
                let nested = half.nested.get(&parent).cloned().unwrap_or_default();
                nested.into_iter().filter(|rid| half.is_generated_type(*rid)).collect()
            };
            let old = self.types.old_left(nested(&self.old, old_parent).into_iter());
            let new = self.types.new_left(nested(&self.new, new_parent).into_iter());
            let old: Vec<_> = old.into_iter().map(|rid| (rid, self.old.type_name(rid))).collect();
            let new: Vec<_> = new.into_iter().map(|rid| (rid, self.new.type_name(rid))).collect();
            let pairs = self.pair_generated(&old, &new, |half, mentions, rid| {
                (mentions.owner_of_type(half.names, rid), shape::of_type(half.names, rid, &half.room))
            });
            for (old, new) in pairs {
                self.add_type(old, new, How::Same, 1);
                parents.push((old.get(), new.get()));
            }
        }
    }

    pub(super) fn generated_methods(&mut self) {
        for (old_type, new_type) in self.type_pairs() {
            let old = self.methods.old_left(self.old.names.metadata.children(old_type));
            let new = self.methods.new_left(self.new.names.metadata.children(new_type));
            let generated = |half: &Half<'_, '_, '_>, rids: Vec<Rid<MethodDef>>| -> Vec<(Rid<MethodDef>, String)> {
                let named = rids.into_iter().map(|rid| (rid, half.method_name(rid)));
                named.filter(|(rid, _)| half.is_generated_method(*rid)).collect()
            };
            let (old, new) = (generated(&self.old, old), generated(&self.new, new));
            self.add_generated_methods(&old, &new);
        }
        // A lambda with other captures is in another type.
        let left = |half: &Half<'_, '_, '_>, rids: Vec<Rid<MethodDef>>| -> Vec<(Rid<MethodDef>, String)> {
            let named = rids.into_iter().map(|rid| (rid, half.method_name(rid)));
            named.filter(|(_, name)| generated_names::stem(name).is_some()).map(|(rid, name)| (rid, lambda(&name))).collect()
        };
        let all = |half: &Half<'_, '_, '_>| (1..=half.names.metadata.tables.count(Table::MethodDef)).map(Rid::new);
        let old = left(&self.old, self.methods.old_left(all(&self.old)));
        let new = left(&self.new, self.methods.new_left(all(&self.new)));
        self.add_generated_methods(&old, &new);
    }

    pub(super) fn add_generated_methods(&mut self, old: &[(Rid<MethodDef>, String)], new: &[(Rid<MethodDef>, String)]) {
        let pairs = self
            .pair_generated(old, new, |half, mentions, rid| (mentions.owner_of_method(half.names, rid), half.method_shape(rid)));
        for (old, new) in pairs {
            self.add_method(old, new, How::Same);
        }
    }

    /// Pairs compiler-generated items: by stems, then the rest by kind.
    pub(super) fn pair_generated<T: Copy + Eq + Hash>(
        &mut self,
        old: &[(T, String)],
        new: &[(T, String)],
        look: impl Fn(&Half<'_, '_, '_>, &Mentions, T) -> (Option<Rid<MethodDef>>, shape::Shape),
    ) -> Vec<(T, T)> {
        let mut found: Vec<(T, T)> = Vec::new();
        let stem = |name: &str| generated_names::stem(name).unwrap_or_else(|| name.to_owned());
        let kind = |name: &str| {
            generated_names::stem(name).map_or_else(|| name.to_owned(), |stem| generated_names::kind(&stem).to_owned())
        };
        for (least, key) in [(GENERATED, &stem as &dyn Fn(&str) -> String), (IN_TYPE, &kind)] {
            let (old_found, new_found): (HashSet<T>, HashSet<T>) = found.iter().copied().unzip();
            let mut groups: BTreeMap<String, Both<T>> = BTreeMap::new();
            for (each, name) in old.iter().filter(|(each, _)| !old_found.contains(each)) {
                groups.entry(key(name)).or_default().0.push(*each);
            }
            for (each, name) in new.iter().filter(|(each, _)| !new_found.contains(each)) {
                groups.entry(key(name)).or_default().1.push(*each);
            }
            for (old, new) in groups.into_values().filter(|(old, new)| !old.is_empty() && !new.is_empty()) {
                if let ([old], [new], 0.0) = (&old[..], &new[..], least.owned) {
                    found.push((*old, *new));
                    continue;
                }
                self.old.find_mentions();
                self.new.find_mentions();
                let (Some(old_mentions), Some(new_mentions)) = (&self.old.mentions, &self.new.mentions) else { continue };
                let olds: Vec<Candidate> = (old.iter())
                    .map(|each| look(&self.old, old_mentions, *each))
                    .map(|(owner, shape)| Candidate { owner: self.owner(owner, None), shape })
                    .collect();
                let news: Vec<Candidate> = (new.iter())
                    .map(|each| look(&self.new, new_mentions, *each))
                    .map(|(owner, shape)| Candidate { owner: self.owner(None, owner), shape })
                    .collect();
                let pairs = assign(&olds, &news, least).into_iter();
                found.extend(pairs.filter_map(|(one, two)| Some((*old.get(one)?, *new.get(two)?))));
            }
        }
        found
    }

    /// Pairs the fields that cache delegates by the delegates' methods.
    pub(super) fn delegate_caches(&mut self) {
        let has_caches = |half: &Half<'_, '_, '_>| {
            let mut fields = half.names.metadata.tables.rows::<Field>();
            fields.any(|(_, row)| generated_names::keeps_delegate(&half.text(Ok(row.name))))
        };
        if !has_caches(&self.old) || !has_caches(&self.new) {
            return;
        }
        self.old.find_mentions();
        self.new.find_mentions();
        let (Some(old), Some(new)) = (&self.old.mentions, &self.new.mentions) else { return };
        for ((old_type, method), field) in &old.caches {
            let (Some((new_type, ..)), Some((new_method, ..))) =
                (self.types.new_of.get(old_type), self.methods.new_of.get(method))
            else {
                continue;
            };
            if let Some(new_field) = new.caches.get(&(*new_type, *new_method)) {
                self.fields.add(*field, *new_field, How::Same, 1);
                self.aliases.fields((self.old.names, *field, *old_type), (self.new.names, *new_field, *new_type));
            }
        }
    }
}

/// The part of a lambda's name that does not depend on its class.
fn lambda(name: &str) -> String {
    name.rsplit_once("__").map_or(name, |(head, _)| head).to_owned() + "__0"
}
