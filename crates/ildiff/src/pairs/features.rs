//! Pairs fields, properties and events: by name, then those that differ only in their names.

use std::collections::BTreeMap;

use ecma335::{
    Rid,
    schema::{Event, Field, Property},
    signature::Signature,
};

use super::{
    half::Half,
    matcher::Matcher,
    matches::{Both, Matches, exact, keyed},
    pair::{How, Pair},
};
use crate::generated_names;
use disasm::names::Names;

impl Matcher<'_, '_, '_, '_, '_, '_> {
    pub(super) fn fields(&mut self) {
        for (old_type, new_type) in self.type_pairs() {
            let all_old: Vec<Rid<Field>> = self.old.names.metadata.children(old_type).collect();
            let all_new: Vec<Rid<Field>> = self.new.names.metadata.children(new_type).collect();
            let name = |half: &Half<'_, '_, '_>, rid: Rid<Field>| half.text(half.names.metadata.row(rid).map(|row| row.name));
            let is_written = |name: &str| self.by_name || generated_names::stem(name).is_none_or(|stem| stem == name);
            let named = |half: &Half<'_, '_, '_>, rids: &[Rid<Field>]| -> Vec<(String, Rid<Field>)> {
                rids.iter().map(|rid| (name(half, *rid), *rid)).filter(|(name, _)| is_written(name)).collect()
            };
            let pairs = exact(keyed(named(&self.old, &all_old).into_iter()), keyed(named(&self.new, &all_new).into_iter()));
            for (old, new, number) in pairs {
                self.fields.add(old, new, How::Same, number);
            }
            if self.by_name {
                continue;
            }
            // Compiler-generated fields are paired by their types. Those from the source are paired if the match is
            // unique.
            let groups = |half: &Half<'_, '_, '_>, rids: Vec<Rid<Field>>| {
                let mut groups: BTreeMap<String, Vec<Rid<Field>>> = BTreeMap::new();
                // Fields that cache delegates belong to their methods.
                for rid in rids.into_iter().filter(|rid| !generated_names::keeps_delegate(&name(half, *rid))) {
                    let stem = generated_names::stem(&name(half, rid)).filter(|stem| !stem.ends_with("k__BackingField"));
                    groups.entry(format!("{stem:?} {}", half.field_text(rid))).or_default().push(rid);
                }
                groups
            };
            let old = groups(&self.old, self.fields.old_left(all_old.into_iter()));
            let mut new = groups(&self.new, self.fields.new_left(all_new.into_iter()));
            for (text, old) in old {
                let new = new.remove(&text).unwrap_or_default();
                let is_generated = !text.starts_with("None");
                if is_generated || (old.len(), new.len()) == (1, 1) {
                    for (old, new) in old.into_iter().zip(new) {
                        let how = if is_generated { How::Same } else { How::Renamed };
                        self.fields.add(old, new, how, 1);
                        self.aliases.fields((self.old.names, old, old_type), (self.new.names, new, new_type));
                    }
                }
            }
        }
    }
}

/// Pairs properties or events: by name, then those that differ only in their names, if the match is unique.
pub(super) fn features<T>(
    old: impl Iterator<Item = (String, Rid<T>)>,
    new: impl Iterator<Item = (String, Rid<T>)>,
    old_text: impl Fn(Rid<T>) -> String,
    new_text: impl Fn(Rid<T>) -> String,
) -> Vec<Pair<T>> {
    let (old, new) = (keyed(old), keyed(new));
    let all = (old.iter().map(|(_, rid)| *rid).collect::<Vec<_>>(), new.iter().map(|(_, rid)| *rid).collect::<Vec<_>>());
    let mut matches = Matches::default();
    for (old, new, number) in exact(old, new) {
        matches.add(old, new, How::Same, number);
    }
    let mut groups: BTreeMap<String, Both<Rid<T>>> = BTreeMap::new();
    for rid in matches.old_left(all.0.iter().copied()) {
        groups.entry(old_text(rid)).or_default().0.push(rid);
    }
    for rid in matches.new_left(all.1.iter().copied()) {
        groups.entry(new_text(rid)).or_default().1.push(rid);
    }
    for group in groups.into_values() {
        if let ([old], [new]) = (&group.0[..], &group.1[..]) {
            matches.add(*old, *new, How::Renamed, 1);
        }
    }
    matches.list(all.0.into_iter(), all.1.into_iter())
}

/// A property's type and parameters.
pub(super) fn property_text(names: &Names<'_, '_>, rid: Rid<Property>) -> String {
    let metadata = names.metadata;
    let signature = metadata.row(rid).and_then(|row| Signature::parse(metadata.blobs.blob(row.signature)?));
    let Ok(Signature::Property(signature)) = signature else { return format!("{rid:?}") };
    let params: Vec<String> = signature.params.iter().map(|param| names.type_text(param)).collect();
    format!("{} {} ({})", signature.has_this, names.type_text(&signature.property_type), params.join(", "))
}

pub(super) fn event_text(names: &Names<'_, '_>, rid: Rid<Event>) -> String {
    let token = names.metadata.row(rid).ok().and_then(|row| row.event_type.token()).unwrap_or_default();
    names.type_ref(token).unwrap_or_default()
}
