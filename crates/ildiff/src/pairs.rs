//! Pairs the items of two modules: those from the source by name and signature, compiler-generated ones by the
//! methods they come from. The rest is paired by likeness.

mod features;
mod generated;
mod half;
mod matcher;
mod matches;
mod pair;

use ecma335::{
    Rid, Table, Token,
    schema::{Event, Field, MethodDef, Property, TypeDef},
    signature::text::TypeNames,
};

pub(crate) use self::pair::{How, Pair};
use self::{
    features::{event_text, features, property_text},
    half::Half,
    matcher::{IN_TYPE, Matcher},
    matches::{Matches, Numbers, exact, keyed},
};
use super::{
    aliases::Aliases,
    assign::{Candidate, Least, assign},
    generated_names::stem,
    shape,
};
use disasm::{members, names::Names, quote};

/// A type with its members. Moved members are listed in their old type.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) types: Pair<TypeDef>,
    pub(crate) fields: Vec<Pair<Field>>,
    pub(crate) properties: Vec<Pair<Property>>,
    pub(crate) events: Vec<Pair<Event>>,
    pub(crate) methods: Vec<Pair<MethodDef>>,
}

/// All types: the old side's in its order, then the new ones.
pub(crate) struct Pairs {
    pub(crate) entries: Vec<Entry>,
    pub(crate) aliases: Aliases,
}

/// The minimum likeness of types.
const TYPES: Least = Least { owned: 0.4, other: 0.7 };
/// The minimum likeness of methods in different types.
const ACROSS: Least = Least { owned: 0.5, other: 0.8 };
/// The minimum size of a shape for recognising an item in another type.
const LEAST_SHAPE: usize = 12;

/// Pairs two modules' types and members, only by names if `by_name`.
pub(crate) fn pair(old: &Names<'_, '_>, new: &Names<'_, '_>, by_name: bool) -> Pairs {
    let mut matcher = Matcher {
        old: Half::new(old),
        new: Half::new(new),
        by_name,
        aliases: Aliases::default(),
        types: Matches::default(),
        methods: Matches::default(),
        fields: Matches::default(),
    };
    matcher.written_types();
    matcher.written_methods();
    if !by_name {
        matcher.generated_types();
        matcher.generated_methods();
        matcher.delegate_caches();
    }
    matcher.fields();
    matcher.finish()
}

impl Matcher<'_, '_, '_, '_, '_, '_> {
    fn written_types(&mut self) {
        let old: Vec<_> = self.old.types().filter(|rid| self.by_name || !self.old.is_generated_type(*rid)).collect();
        let new: Vec<_> = self.new.types().filter(|rid| self.by_name || !self.new.is_generated_type(*rid)).collect();
        let name = |names: &Names<'_, '_>, rid: Rid<TypeDef>| names.plain_type_name(rid);
        let pairs = exact(
            keyed(old.iter().map(|rid| (name(self.old.names, *rid), *rid))),
            keyed(new.iter().map(|rid| (name(self.new.names, *rid), *rid))),
        );
        pairs.into_iter().for_each(|(old, new, number)| self.add_type(old, new, How::Same, number));
        if self.by_name {
            return;
        }
        let (old, new) = (self.types.old_left(old.into_iter()), self.types.new_left(new.into_iter()));
        let mut numbers = Numbers::default();
        let mut candidate = |half: &Half<'_, '_, '_>, rid: Rid<TypeDef>| {
            let name = half.type_name(rid);
            let shape = shape::of_type(half.names, rid, &half.room);
            // An item with too small a shape is recognised by its name.
            let shape = if shape.len() < LEAST_SHAPE { shape::of_text(&name) } else { shape };
            Candidate { owner: Some(numbers.number(name)), shape }
        };
        let olds: Vec<_> = old.iter().map(|rid| candidate(&self.old, *rid)).collect();
        let news: Vec<_> = new.iter().map(|rid| candidate(&self.new, *rid)).collect();
        for (one, two) in assign(&olds, &news, TYPES) {
            let (Some(old), Some(new)) = (old.get(one), new.get(two)) else { continue };
            let is_named_alike = self.old.type_name(*old) == self.new.type_name(*new);
            self.add_type(*old, *new, if is_named_alike { How::Moved } else { How::Renamed }, 1);
        }
    }

    fn written_methods(&mut self) {
        for (old_type, new_type) in self.type_pairs() {
            let old = self.methods_of(&self.old, old_type);
            let new = self.methods_of(&self.new, new_type);
            let key = |names, rid| method_name(names, rid, "");
            let pairs = exact(
                keyed(old.iter().map(|rid| (key(self.old.names, *rid), *rid))),
                keyed(new.iter().map(|rid| (key(self.new.names, *rid), *rid))),
            );
            for (old, new, number) in pairs {
                self.methods.add(old, new, How::Same, number);
            }
            if !self.by_name {
                let (old, new) = (self.methods.old_left(old.into_iter()), self.methods.new_left(new.into_iter()));
                self.like_methods(&old, &new, IN_TYPE, 0);
            }
        }
        if !self.by_name {
            let all = |half: &Half<'_, '_, '_>| -> Vec<Rid<MethodDef>> {
                let methods = (1..=half.names.metadata.tables.count(Table::MethodDef)).map(Rid::new);
                methods.filter(|rid| !half.is_generated_method(*rid) && !half.method_name(*rid).starts_with('.')).collect()
            };
            let (old, new) =
                (self.methods.old_left(all(&self.old).into_iter()), self.methods.new_left(all(&self.new).into_iter()));
            self.like_methods(&old, &new, ACROSS, LEAST_SHAPE);
        }
    }

    fn methods_of(&self, half: &Half<'_, '_, '_>, owner: Rid<TypeDef>) -> Vec<Rid<MethodDef>> {
        let methods = half.names.metadata.children::<TypeDef, MethodDef>(owner);
        methods.filter(|rid| self.by_name || stem(&half.method_name(*rid)).is_none()).collect()
    }

    /// Pairs methods from the source by likeness, if their shapes have at least `size`.
    fn like_methods(&mut self, old: &[Rid<MethodDef>], new: &[Rid<MethodDef>], least: Least, size: usize) {
        if old.is_empty() || new.is_empty() {
            return;
        }
        let mut numbers = Numbers::default();
        let mut candidate = |half: &Half<'_, '_, '_>, rid: Rid<MethodDef>| Candidate {
            owner: Some(numbers.number(half.method_name(rid))),
            shape: half.method_shape(rid),
        };
        let large = |candidates: Vec<(Rid<MethodDef>, Candidate)>| -> (Vec<Rid<MethodDef>>, Vec<Candidate>) {
            candidates.into_iter().filter(|(_, each)| each.shape.len() >= size).unzip()
        };
        let (old, olds) = large(old.iter().map(|rid| (*rid, candidate(&self.old, *rid))).collect());
        let (new, news) = large(new.iter().map(|rid| (*rid, candidate(&self.new, *rid))).collect());
        for (one, two) in assign(&olds, &news, least) {
            let (Some(old), Some(new)) = (old.get(one), new.get(two)) else { continue };
            let is_named_alike = self.old.method_name(*old) == self.new.method_name(*new);
            let owners = (self.old.names.method_owner(*old), self.new.names.method_owner(*new));
            let how = match self.types.new_of.get(&owners.0) {
                Some((new_owner, ..)) if *new_owner == owners.1 && is_named_alike => How::Resigned,
                Some((new_owner, ..)) if *new_owner == owners.1 => How::Renamed,
                _ => How::Moved,
            };
            self.add_method(*old, *new, how);
        }
    }

    fn finish(self) -> Pairs {
        let mut entries = Vec::new();
        for old in self.old.types() {
            let types = match self.types.new_of.get(&old) {
                Some((new, how, number)) => Pair { old: Some(old), new: Some(*new), how: *how, number: *number },
                None => Pair { old: Some(old), new: None, how: How::Same, number: 1 },
            };
            entries.push(self.entry(types));
        }
        for new in self.new.types().filter(|new| !self.types.old_of.contains_key(new)) {
            entries.push(self.entry(Pair { old: None, new: Some(new), how: How::Same, number: 1 }));
        }
        Pairs { entries, aliases: self.aliases }
    }

    fn entry(&self, types: Pair<TypeDef>) -> Entry {
        let (old, new) = (self.old.names, self.new.names);
        let of = |names: &Names<'_, '_>, owner: Option<Rid<TypeDef>>| {
            let properties = owner.map(|owner| members::properties_of(names, owner)).unwrap_or_default();
            (properties, owner.map(|owner| members::events_of(names, owner)).unwrap_or_default())
        };
        let ((old_properties, old_events), (new_properties, new_events)) = (of(old, types.old), of(new, types.new));
        let properties = features(
            old_properties.into_iter().map(|rid| (self.old.text(old.metadata.row(rid).map(|row| row.name)), rid)),
            new_properties.into_iter().map(|rid| (self.new.text(new.metadata.row(rid).map(|row| row.name)), rid)),
            |rid| property_text(old, rid),
            |rid| property_text(new, rid),
        );
        let events = features(
            old_events.into_iter().map(|rid| (self.old.text(old.metadata.row(rid).map(|row| row.name)), rid)),
            new_events.into_iter().map(|rid| (self.new.text(new.metadata.row(rid).map(|row| row.name)), rid)),
            |rid| event_text(old, rid),
            |rid| event_text(new, rid),
        );
        let fields = |names: &Names<'_, '_>, owner: Option<Rid<TypeDef>>| -> Vec<Rid<Field>> {
            owner.map(|owner| names.metadata.children(owner).collect()).unwrap_or_default()
        };
        let methods = |names: &Names<'_, '_>, owner: Option<Rid<TypeDef>>| -> Vec<Rid<MethodDef>> {
            owner.map(|owner| names.metadata.children(owner).collect()).unwrap_or_default()
        };
        Entry {
            fields: self.fields.list(fields(old, types.old).into_iter(), fields(new, types.new).into_iter()),
            methods: self.methods.list(methods(old, types.old).into_iter(), methods(new, types.new).into_iter()),
            properties,
            events,
            types,
        }
    }
}

/// Names a module's types without their scopes. A method is the same, whichever assemblies its types come from.
struct Unscoped<'n, 'a, 'm>(&'n Names<'a, 'm>);

impl TypeNames for Unscoped<'_, '_, '_> {
    fn type_name(&self, token: Token) -> String {
        let name = self.0.type_name(token);
        match name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((_, name)) => name.to_owned(),
            None => name,
        }
    }
}

/// `int32 Shop.Order::Total(string)`
pub(crate) fn method_name(names: &Names<'_, '_>, rid: Rid<MethodDef>, type_name: &str) -> String {
    let token = Token::from(rid);
    let quoted = |name: &str| names.alias(token).unwrap_or_else(|| quote::method(name).into_owned());
    let Ok((name, signature)) = names.method_signature(token) else {
        let name = names.metadata.row(rid).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
        return format!("{type_name}::{}", quoted(&name));
    };
    let (head, params) = (signature.display_head(&Unscoped(names)), signature.display_params(&Unscoped(names)));
    let generics = if signature.generic_params > 0 { format!("<[{}]>", signature.generic_params) } else { String::new() };
    format!("{head}{type_name}::{}{generics}{params}", quoted(&name))
}
