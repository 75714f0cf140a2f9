//! Two modules side by side: types and members matched by name and signature, and what each pair differs in.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use ecma335::{
    Rid, Table, Token,
    schema::{Event, Field, MethodDef, Property, Str, TypeDef},
    signature::text::TypeNames,
};
use sha2::{Digest as _, Sha256};
use weave::Pattern;

use super::{
    lines::Text,
    manifest,
    methods::{Bodies, body_text},
    model::{Change, Kind, Status, Totals},
    module::Module,
    original::Original,
};
use crate::{
    dis::{lines::Lines, members, names::Names, printer::Printer},
    quote,
};

/// Things of one kind, each with what stands for its full name: any number of long names may be made of a small file.
type Named<T> = Vec<(Key, T)>;

/// A name's hash, and which of those that are named so it is.
type Key = ([u8; 32], usize);

/// What is in both modules, or in one: which of its name it is, the first's and the second's.
type Pair<T> = (usize, Option<T>, Option<T>);

/// What to compare.
#[derive(Default)]
pub struct Options<'o> {
    /// These methods and nothing else; all there is if empty.
    pub methods: &'o [Pattern],
    /// What the first, a [`WovenOriginal`](super::WovenOriginal), was before it was woven: hides what the second may have
    /// from who has a key and a PDB, and shows what differs in bytes alone.
    pub original: Option<Original<'o>>,
}

/// What is known of two modules' rows and heaps as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relation {
    /// All tokens of the first mean the same in the second.
    pub(crate) is_extended: bool,
    /// The second has nothing more.
    pub(crate) is_same: bool,
}

/// Compares what the two modules are; tells of every difference.
pub(crate) struct Walk<'w> {
    options: &'w Options<'w>,
    relation: Relation,
    /// Told of each difference.
    add: &'w mut dyn FnMut(Change) -> io::Result<()>,
    /// What differs beside methods' code, to be told at the end.
    others: Vec<Change>,
    totals: Totals,
}

impl<'w> Walk<'w> {
    /// Compares what the options say.
    pub(crate) fn new(options: &'w Options<'w>, relation: Relation, add: &'w mut dyn FnMut(Change) -> io::Result<()>) -> Self {
        Self { options, relation, add, others: Vec::new(), totals: Totals::default() }
    }

    /// Compares all.
    pub(crate) fn run(mut self, old: &mut Module<'_, '_, '_>, new: &mut Module<'_, '_, '_>) -> io::Result<Totals> {
        for (number, old_type, new_type) in pair(types(old), types(new)) {
            let name = old_type.map(|rid| type_name(old, rid)).or_else(|| new_type.map(|rid| type_name(new, rid)));
            let name = numbered(name.unwrap_or_default(), number);
            match (old_type, new_type) {
                (Some(old_type), Some(new_type)) => self.types(&name, (old, old_type), (new, new_type))?,
                (Some(_), None) if self.is_whole() => self.other(Kind::Type, name, Status::Removed),
                (None, Some(_)) if self.is_whole() => self.other(Kind::Type, name, Status::Added),
                _ => {}
            }
        }
        if self.is_whole() {
            let original = self.options.original.map(|original| (original, self.relation.is_same));
            manifest::compare(old, new, original, &mut self.others);
        }
        self.others.sort_by_key(|change| change.kind);
        for change in std::mem::take(&mut self.others) {
            self.totals.add(&change);
            (self.add)(change)?;
        }
        Ok(self.totals)
    }

    fn is_whole(&self) -> bool {
        self.options.methods.is_empty()
    }

    fn other(&mut self, kind: Kind, name: String, status: Status) {
        self.others.push(Change { kind, name, status });
    }

    /// A type that is in both.
    fn types(
        &mut self,
        name: &str,
        (old, old_type): (&mut Module<'_, '_, '_>, Rid<TypeDef>),
        (new, new_type): (&mut Module<'_, '_, '_>, Rid<TypeDef>),
    ) -> io::Result<()> {
        if self.is_whole() {
            self.others.extend(Change::between(Kind::Type, name, &type_text(old, old_type), &type_text(new, new_type)));
            let of = |module: &Module<'_, '_, '_>, owner| module.names.metadata.children::<_, Field>(owner).collect();
            let rids = (of(old, old_type), of(new, new_type));
            self.members(Kind::Field, name, (old, new), rids, field_name, field_text);
            let rids = (members::properties_of(old.names, old_type), members::properties_of(new.names, new_type));
            self.members(Kind::Property, name, (old, new), rids, property_name, property_text);
            let rids = (members::events_of(old.names, old_type), members::events_of(new.names, new_type));
            self.members(Kind::Event, name, (old, new), rids, event_name, event_text);
        }
        for (number, old_method, new_method) in pair(self.methods(old, old_type, name), self.methods(new, new_type, name)) {
            let old_name = old_method.map(|rid| method_name(old.names, rid, name));
            let full_name =
                || numbered(old_name.or_else(|| Some(method_name(new.names, new_method?, name))).unwrap_or_default(), number);
            match (old_method, new_method) {
                (Some(old_method), Some(new_method)) => {
                    self.totals.compared += 1;
                    let change = self.method((old, old_type, old_method), (new, new_type, new_method));
                    if let Some(mut change) = change {
                        change.name = full_name();
                        self.totals.add(&change);
                        (self.add)(change)?;
                    }
                }
                (Some(_), None) => self.other(Kind::Method, full_name(), Status::Removed),
                _ => self.other(Kind::Method, full_name(), Status::Added),
            }
        }
        Ok(())
    }

    /// Members of one kind.
    fn members<T: Copy>(
        &mut self,
        kind: Kind,
        type_name: &str,
        (old, new): (&mut Module<'_, '_, '_>, &mut Module<'_, '_, '_>),
        (old_rids, new_rids): (Vec<T>, Vec<T>),
        name: fn(&Names<'_, '_>, T) -> ecma335::Result<Str>,
        text: fn(&mut Module<'_, '_, '_>, T) -> Text,
    ) {
        let full_name = |names: &Names<'_, '_>, rid: T| {
            let name = name(names, rid).and_then(|name| names.metadata.name(name)).unwrap_or_default();
            format!("{type_name}::{}", quote::name(&name))
        };
        let old_named = keyed(old_rids.into_iter().map(|rid| (full_name(old.names, rid), rid)));
        let new_named = keyed(new_rids.into_iter().map(|rid| (full_name(new.names, rid), rid)));
        for (number, old_rid, new_rid) in pair(old_named, new_named) {
            let name = old_rid.map(|rid| full_name(old.names, rid)).or_else(|| Some(full_name(new.names, new_rid?)));
            let name = numbered(name.unwrap_or_default(), number);
            match (old_rid, new_rid) {
                (Some(old_rid), Some(new_rid)) => {
                    self.others.extend(Change::between(kind, &name, &text(old, old_rid), &text(new, new_rid)));
                }
                (Some(_), None) => self.other(kind, name, Status::Removed),
                _ => self.other(kind, name, Status::Added),
            }
        }
    }

    /// The methods of a type that are to be compared.
    fn methods(&self, module: &Module<'_, '_, '_>, owner: Rid<TypeDef>, type_name: &str) -> Named<Rid<MethodDef>> {
        let names = module.names;
        let plain_name = if self.is_whole() { String::new() } else { names.plain_type_name(owner) };
        let is_wanted = |rid: &Rid<MethodDef>| {
            let name = || names.metadata.row(*rid).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
            self.is_whole() || self.options.methods.iter().any(|pattern| pattern.matches(&plain_name, &name()))
        };
        let methods = names.metadata.children::<_, MethodDef>(owner).filter(is_wanted);
        keyed(methods.map(|rid| (method_name(names, rid, type_name), rid)))
    }

    /// A method that is in both; what is found has no name yet.
    fn method(
        &mut self,
        (old, old_type, old_rid): (&mut Module<'_, '_, '_>, Rid<TypeDef>, Rid<MethodDef>),
        (new, new_type, new_rid): (&mut Module<'_, '_, '_>, Rid<TypeDef>, Rid<MethodDef>),
    ) -> Option<Change> {
        let (mut old_text, old_row) = head_text(&old.printer, old_type, old_rid);
        let (mut new_text, new_row) = head_text(&new.printer, new_type, new_rid);
        if let (Some(old_row), Some(new_row)) = (old_row, new_row) {
            let (old, new) = ((&*old, old_rid, &old_row), (&*new, new_rid, &new_row));
            let bodies = Bodies { old, new, is_extended: self.relation.is_extended, is_exact: self.options.original.is_some() };
            body_text(&bodies, &mut old_text, &mut new_text);
        }
        Change::between(Kind::Method, "", &old_text, &new_text)
    }
}

/// Names a module's types and says nothing of where they come from: a method is the same whatever assembly has its types.
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

/// Matches what is named alike; of several that are, each with the one in the same place. What the first has comes first,
/// in its order.
fn pair<T: Copy>(old: Named<T>, new: Named<T>) -> Vec<Pair<T>> {
    let by_name: HashMap<Key, T> = new.iter().copied().collect();
    let known: HashSet<Key> = old.iter().map(|(key, _)| *key).collect();
    let both = old.into_iter().map(|(key, each)| (key.1, Some(each), by_name.get(&key).copied()));
    let added = new.into_iter().filter(|(key, _)| !known.contains(key));
    both.chain(added.map(|(key, each)| (key.1, None, Some(each)))).collect()
}

/// What stands for names, with a number for those that come again.
fn keyed<T>(named: impl Iterator<Item = (String, T)>) -> Named<T> {
    let mut seen: HashMap<[u8; 32], usize> = HashMap::new();
    let key = |(name, each): (String, T)| {
        let hash = Sha256::digest(name).into();
        let count = seen.entry(hash).or_default();
        *count += 1;
        ((hash, *count), each)
    };
    named.map(key).collect()
}

/// A name, with a number if it comes again.
fn numbered(name: String, number: usize) -> String {
    if number > 1 { format!("{name} #{number}") } else { name }
}

fn types(module: &Module<'_, '_, '_>) -> Named<Rid<TypeDef>> {
    let rids = (1..=module.names.metadata.tables.count(Table::TypeDef)).map(Rid::new);
    keyed(rids.map(|rid| (type_name(module, rid), rid)))
}

fn type_name(module: &Module<'_, '_, '_>, rid: Rid<TypeDef>) -> String {
    module.names.type_ref(Token::new(Table::TypeDef, rid.get())).unwrap_or_default()
}

/// `int32 Shop.Order::Total(string)`
fn method_name(names: &Names<'_, '_>, rid: Rid<MethodDef>, type_name: &str) -> String {
    let Ok((name, signature)) = names.method_signature(Token::new(Table::MethodDef, rid.get())) else {
        let name = names.metadata.row(rid).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
        return format!("{type_name}::{}", quote::method(&name));
    };
    let (head, params) = (signature.display_head(&Unscoped(names)), signature.display_params(&Unscoped(names)));
    let generics = if signature.generic_params > 0 { format!("<[{}]>", signature.generic_params) } else { String::new() };
    format!("{head}{type_name}::{}{generics}{params}", quote::method(&name))
}

fn field_name(names: &Names<'_, '_>, rid: Rid<Field>) -> ecma335::Result<Str> {
    Ok(names.metadata.row(rid)?.name)
}

fn property_name(names: &Names<'_, '_>, rid: Rid<Property>) -> ecma335::Result<Str> {
    Ok(names.metadata.row(rid)?.name)
}

fn event_name(names: &Names<'_, '_>, rid: Rid<Event>) -> ecma335::Result<Str> {
    Ok(names.metadata.row(rid)?.name)
}

fn type_text(module: &Module<'_, '_, '_>, rid: Rid<TypeDef>) -> Text {
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

fn head_text(printer: &Printer<'_, '_, '_>, owner: Rid<TypeDef>, rid: Rid<MethodDef>) -> (Text, Option<MethodDef>) {
    let mut lines = Lines::default();
    let row = members::method_head(printer, owner, rid, &mut lines);
    let mut text = Text::default();
    text.push_printed(&lines.take());
    (text, row)
}
