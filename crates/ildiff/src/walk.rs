//! Compares two modules: pairs of types and members, and the differences in each pair.

use std::io;

use ecma335::{
    Rid, Token,
    schema::{Event, Field, MethodDef, Property, Str, TypeDef},
};
use weave::Pattern;

use super::{
    ignore::{self, Ignore},
    lines::{Text, diff},
    manifest,
    methods::{self, Bodies, body_text},
    model::{Change, Kind, Status, Sum, Totals, Visitor},
    module::Module,
    original::Original,
    pairs::{Entry, How, Pair, Pairs, method_name},
};
use disasm::{lines::Lines, members, names::Names, quote};

/// The parts to compare.
#[derive(Default)]
pub struct Options<'o> {
    /// Compare only these methods. Everything, if empty.
    pub methods: &'o [Pattern],
    /// Compare only these types.
    pub types: &'o [Pattern],
    /// Exclude these types and methods.
    pub exclude: &'o [Pattern],
    /// Ignore these kinds of differences.
    pub ignore: &'o [Ignore],
    /// A description of the first module before instrumenting, for a [`WovenOriginal`](super::WovenOriginal). It
    /// hides differences due to a signing key or a PDB, and shows those that are only in bytes.
    pub original: Option<Original<'o>>,
}

/// Facts about two modules' rows and heaps as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relation {
    /// All tokens of the first have the same meaning in the second.
    pub(crate) is_extended: bool,
    /// The second has no additional rows or bytes.
    pub(crate) is_same: bool,
}

/// Compares the contents of two modules, and reports every difference.
pub(crate) struct Walk<'w> {
    options: &'w Options<'w>,
    relation: Relation,
    pairs: &'w Pairs,
}

/// Receives each change.
type Add<'w> = dyn FnMut(Change) -> io::Result<()> + 'w;

/// Names a member.
type NameOf<'f, T> = &'f dyn Fn(&Names<'_, '_>, Rid<T>) -> String;

impl<'w> Walk<'w> {
    /// Prepares a comparison with these options.
    pub(crate) fn new(options: &'w Options<'w>, relation: Relation, pairs: &'w Pairs) -> Self {
        Self { options, relation, pairs }
    }

    /// Counts all differences. Also returns the types that differ, as indexes of the pairs.
    pub(crate) fn count(&self, old: &mut Module<'_, '_, '_>, new: &mut Module<'_, '_, '_>) -> (Totals, Vec<usize>) {
        let (mut totals, mut places) = (Totals::default(), Vec::new());
        for (place, entry) in self.pairs.entries.iter().enumerate() {
            let mut sum = Sum::default();
            let mut count = |change: Change| {
                sum.add(&change);
                totals.all.add(&change);
                Ok(())
            };
            if let Ok(Some(compared)) = self.entry(entry, old, new, &mut count) {
                totals.compared += compared;
                totals.has_named = true;
            }
            if !sum.is_zero() {
                totals.types.push((self.entry_name(entry, old, new), sum));
                places.push(place);
            }
        }
        let _ = self.rest(old, new, &mut |change| {
            totals.all.add(&change);
            Ok(())
        });
        (totals, places)
    }

    /// The name of a differing type.
    fn entry_name(&self, entry: &Entry, old: &Module<'_, '_, '_>, new: &Module<'_, '_, '_>) -> String {
        let name = match (entry.types.old, entry.types.new) {
            (Some(rid), _) => type_name(old.names, rid),
            (None, Some(rid)) => type_name(new.names, rid),
            (None, None) => String::new(),
        };
        self.pairs.aliases.show(&numbered(name, entry.types.number), entry.types.old.is_none()).into_owned()
    }

    /// Shows all differences of the types at these indexes.
    pub(crate) fn show(
        &self,
        places: &[usize],
        old: &mut Module<'_, '_, '_>,
        new: &mut Module<'_, '_, '_>,
        visitor: &mut dyn Visitor,
    ) -> io::Result<()> {
        for (number, place) in places.iter().enumerate() {
            let Some(entry) = self.pairs.entries.get(*place) else { continue };
            visitor.type_begins(Some(number))?;
            self.entry(entry, old, new, &mut |change| visitor.change(&change))?;
        }
        let mut has_begun = false;
        self.rest(old, new, &mut |change| {
            if !std::mem::replace(&mut has_begun, true) {
                visitor.type_begins(None)?;
            }
            visitor.change(&change)
        })
    }

    /// Whether everything is compared, perhaps except some items.
    fn is_whole(&self) -> bool {
        self.options.methods.is_empty() && self.options.types.is_empty()
    }

    /// Whether a type is compared with all its members, given its names.
    fn wants_type(&self, names: &[String]) -> bool {
        let has = |patterns: &[Pattern]| patterns.iter().any(|pattern| names.iter().any(|name| pattern.matches(name, "")));
        self.is_whole() || has(self.options.types)
    }

    fn excludes(&self, names: &[String]) -> bool {
        let has = |pattern: &Pattern| names.iter().any(|name| pattern.matches(name, ""));
        let hidden = ignore::attributes(self.options.ignore);
        self.options.exclude.iter().any(has) || names.iter().any(|name| hidden.contains(&name.as_str()))
    }

    /// Compares the items outside of types.
    fn rest(&self, old: &Module<'_, '_, '_>, new: &Module<'_, '_, '_>, add: &mut Add<'_>) -> io::Result<()> {
        if !self.is_whole() {
            return Ok(());
        }
        let mut changes = Vec::new();
        let original = self.options.original.map(|original| (original, self.relation.is_same));
        manifest::compare(old, new, original, self.options.ignore, &mut changes);
        changes.sort_by_key(|change| change.kind);
        changes.into_iter().try_for_each(|change| self.tell(change, add))
    }

    fn tell(&self, mut change: Change, add: &mut Add<'_>) -> io::Result<()> {
        self.pairs.aliases.show_change(&mut change);
        add(change)
    }

    /// Compares a type and its members. Returns the number of its methods on both sides. None if nothing of it is to
    /// be compared.
    fn entry(
        &self,
        entry: &Entry,
        old: &mut Module<'_, '_, '_>,
        new: &mut Module<'_, '_, '_>,
        add: &mut Add<'_>,
    ) -> io::Result<Option<usize>> {
        let plain_names: Vec<String> = if self.is_whole() && self.options.exclude.is_empty() && self.options.ignore.is_empty() {
            Vec::new()
        } else {
            // Patterns for a type also apply to its nested types.
            let with_outer = |names: &Names<'_, '_>, rid| {
                let around = names.around(rid).into_iter().chain([rid]);
                around.map(|rid| names.plain_type_name(rid)).collect::<Vec<_>>()
            };
            let old_names = entry.types.old.map(|rid| with_outer(old.names, rid)).unwrap_or_default();
            [old_names, entry.types.new.map(|rid| with_outer(new.names, rid)).unwrap_or_default()].concat()
        };
        if self.excludes(&plain_names) {
            return Ok(None);
        }
        let is_whole = self.wants_type(&plain_names);
        if is_whole {
            let name = |names: &Names<'_, '_>, rid| type_name(names, rid);
            self.members(Kind::Type, std::slice::from_ref(&entry.types), (old, new), [&name, &name], type_text, add)?;
            let of_field = |names: &Names<'_, '_>, rid: Rid<Field>| {
                let name = names.alias(Token::from(rid)).or_else(|| plain(names, names.metadata.row(rid).map(|row| row.name)));
                format!("{}::{}", type_name(names, names.field_owner(rid)), name.unwrap_or_default())
            };
            self.members(Kind::Field, &entry.fields, (old, new), [&of_field, &of_field], field_text, add)?;
            let (old_owner, new_owner) = (entry.types.old.unwrap_or_default(), entry.types.new.unwrap_or_default());
            let feature = |names: &Names<'_, '_>, owner, name: ecma335::Result<Str>| {
                format!("{}::{}", type_name(names, owner), plain(names, name).unwrap_or_default())
            };
            let of_property = |names: &Names<'_, '_>, owner, rid: Rid<Property>| {
                feature(names, owner, names.metadata.row(rid).map(|row| row.name))
            };
            let properties = (&|names: &Names<'_, '_>, rid| of_property(names, old_owner, rid), &|names: &Names<'_, '_>, rid| {
                of_property(names, new_owner, rid)
            });
            self.members(Kind::Property, &entry.properties, (old, new), [properties.0, properties.1], property_text, add)?;
            let of_event = |names: &Names<'_, '_>, owner, rid: Rid<Event>| {
                feature(names, owner, names.metadata.row(rid).map(|row| row.name))
            };
            let events = (&|names: &Names<'_, '_>, rid| of_event(names, old_owner, rid), &|names: &Names<'_, '_>, rid| {
                of_event(names, new_owner, rid)
            });
            self.members(Kind::Event, &entry.events, (old, new), [events.0, events.1], event_text, add)?;
        }
        let (mut compared, mut is_any_named) = (0, is_whole);
        for pair in &entry.methods {
            let is_any = |patterns: &[Pattern]| {
                !patterns.is_empty()
                    && (pair.old.is_some_and(|rid| matches(patterns, old.names, rid))
                        || pair.new.is_some_and(|rid| matches(patterns, new.names, rid)))
            };
            if !is_whole && !is_any(self.options.methods) || is_any(self.options.exclude) {
                continue;
            }
            is_any_named = true;
            compared += usize::from(pair.old.is_some() && pair.new.is_some());
            let (mut old_text, old_row) = pair.old.map(|rid| head_text(old, rid)).unwrap_or_default();
            let (mut new_text, new_row) = pair.new.map(|rid| head_text(new, rid)).unwrap_or_default();
            let old_body = pair.old.zip(old_row.as_ref()).map(|(rid, row)| (&*old, rid, row));
            let new_body = pair.new.zip(new_row.as_ref()).map(|(rid, row)| (&*new, rid, row));
            match (old_body, new_body) {
                (Some(old), Some(new)) => {
                    let is_exact = self.options.original.is_some();
                    let bodies = Bodies { old, new, is_extended: self.relation.is_extended, is_exact };
                    body_text(&bodies, &mut old_text, &mut new_text);
                }
                (Some((module, rid, row)), None) if pair.new.is_none() => methods::alone(module, rid, row, &mut old_text),
                (None, Some((module, rid, row))) if pair.old.is_none() => methods::alone(module, rid, row, &mut new_text),
                _ => {}
            }
            let name = |names: &Names<'_, '_>, rid| method_name(names, rid, &type_name(names, names.method_owner(rid)));
            let names = (pair.old.map(|rid| name(old.names, rid)), pair.new.map(|rid| name(new.names, rid)));
            self.pair(Kind::Method, pair, names, (&old_text, &new_text), add)?;
        }
        Ok(is_any_named.then_some(compared))
    }

    /// Compares members of one kind.
    fn members<T>(
        &self,
        kind: Kind,
        pairs: &[Pair<T>],
        (old, new): (&mut Module<'_, '_, '_>, &mut Module<'_, '_, '_>),
        name: [NameOf<'_, T>; 2],
        text: fn(&mut Module<'_, '_, '_>, Rid<T>) -> Text,
        add: &mut Add<'_>,
    ) -> io::Result<()> {
        for pair in pairs {
            let old_text = pair.old.map(|rid| text(old, rid)).unwrap_or_default();
            let new_text = pair.new.map(|rid| text(new, rid)).unwrap_or_default();
            let names = (pair.old.map(|rid| name[0](old.names, rid)), pair.new.map(|rid| name[1](new.names, rid)));
            self.pair(kind, pair, names, (&old_text, &new_text), add)?;
        }
        Ok(())
    }

    /// Reports the difference of one item, if there is one.
    fn pair<T>(
        &self,
        kind: Kind,
        pair: &Pair<T>,
        (old_name, new_name): (Option<String>, Option<String>),
        (old_text, new_text): (&Text, &Text),
        add: &mut Add<'_>,
    ) -> io::Result<()> {
        let status = match (pair.old, pair.new, pair.how) {
            (None, ..) => Status::Added,
            (_, None, _) => Status::Removed,
            (.., How::Same) => Status::Changed,
            (.., How::Renamed) => Status::Renamed,
            (.., How::Moved) => Status::Moved,
            (.., How::Resigned) => Status::Resigned,
        };
        let hunks = diff(old_text, new_text);
        if status == Status::Changed && hunks.is_empty() {
            return Ok(());
        }
        let aliases = &self.pairs.aliases;
        let shown =
            |name: Option<String>, is_new| name.map(|name| aliases.show(&numbered(name, pair.number), is_new).into_owned());
        let (old_name, new_name) = (shown(old_name, false), shown(new_name, true));
        let (name, new_name) = match (old_name, new_name) {
            (Some(old), Some(new)) if old != new => (old, Some(new)),
            (Some(name), _) | (None, Some(name)) => (name, None),
            (None, None) => return Ok(()),
        };
        self.tell(Change { kind, name, new_name, status, hunks }, add)
    }
}

/// Whether patterns match a method.
fn matches(patterns: &[Pattern], names: &Names<'_, '_>, rid: Rid<MethodDef>) -> bool {
    let name = names.metadata.row(rid).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
    let owner = names.plain_type_name(names.method_owner(rid));
    patterns.iter().any(|pattern| pattern.matches(&owner, &name))
}

/// A name, with a number if it is repeated.
fn numbered(name: String, number: usize) -> String {
    if number > 1 { format!("{name} #{number}") } else { name }
}

fn type_name(names: &Names<'_, '_>, rid: Rid<TypeDef>) -> String {
    names.type_ref(Token::from(rid)).unwrap_or_default()
}

/// A member's name, quoted if necessary.
fn plain(names: &Names<'_, '_>, name: ecma335::Result<Str>) -> Option<String> {
    name.and_then(|name| names.metadata.name(name)).ok().map(|name| quote::name(&name).into_owned())
}

fn type_text(module: &mut Module<'_, '_, '_>, rid: Rid<TypeDef>) -> Text {
    module.print(|printer, lines| {
        printer.full_head(rid, lines);
        printer.head(rid, lines);
    })
}

fn field_text(module: &mut Module<'_, '_, '_>, rid: Rid<Field>) -> Text {
    let mut lines = Lines::default();
    members::field(&mut module.printer, rid, &mut lines);
    let mut text = Text::default();
    text.push_printed(&lines.take());
    for (rva, size) in std::mem::take(&mut module.printer.data) {
        match module.names.image.cursor_at(ecma335::Rva(rva)).and_then(|mut cursor| cursor.bytes(size as usize)) {
            Ok(bytes) => super::bodies::print_bytes(bytes, &mut text),
            Err(error) => text.push(1, format!("// {}", error.kind())),
        }
    }
    text
}

fn property_text(module: &mut Module<'_, '_, '_>, rid: Rid<Property>) -> Text {
    module.print(|printer, lines| members::property(printer, rid, lines))
}

fn event_text(module: &mut Module<'_, '_, '_>, rid: Rid<Event>) -> Text {
    module.print(|printer, lines| members::event(printer, rid, lines))
}

fn head_text(module: &mut Module<'_, '_, '_>, rid: Rid<MethodDef>) -> (Text, Option<MethodDef>) {
    let mut lines = Lines::default();
    let row = members::method_head(&module.printer, module.names.method_owner(rid), rid, &mut lines);
    let mut text = Text::default();
    text.push_printed(&lines.take());
    (text, row)
}
