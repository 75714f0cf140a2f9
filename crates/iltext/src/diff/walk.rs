//! Two modules side by side: types and members matched by name and signature, and what each pair differs in.

use std::{collections::HashMap, io};

use ecma335::{
    Rid, Table, Token,
    schema::{Event, Field, MethodDef, Property, TypeDef},
    signature::TypeNames,
};
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

/// Things of one kind, each with its full name.
type Named<T> = Vec<(String, T)>;

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
        for (name, old_type, new_type) in pair(types(old), types(new)) {
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
            let members = (fields(old, old_type, name), fields(new, new_type, name));
            self.members(Kind::Field, members, |rid| field_text(old, rid), |rid| field_text(new, rid));
            let members = (properties(old, old_type, name), properties(new, new_type, name));
            self.members(Kind::Property, members, |rid| property_text(old, rid), |rid| property_text(new, rid));
            let members = (events(old, old_type, name), events(new, new_type, name));
            self.members(Kind::Event, members, |rid| event_text(old, rid), |rid| event_text(new, rid));
        }
        for (name, old_method, new_method) in pair(self.methods(old, old_type, name), self.methods(new, new_type, name)) {
            match (old_method, new_method) {
                (Some(old_method), Some(new_method)) => {
                    self.totals.compared += 1;
                    let change = self.method(&name, (old, old_type, old_method), (new, new_type, new_method));
                    if let Some(change) = change {
                        self.totals.add(&change);
                        (self.add)(change)?;
                    }
                }
                (Some(_), None) => self.other(Kind::Method, name, Status::Removed),
                _ => self.other(Kind::Method, name, Status::Added),
            }
        }
        Ok(())
    }

    /// Members of one kind.
    fn members<T: Copy>(
        &mut self,
        kind: Kind,
        (old, new): (Named<T>, Named<T>),
        mut old_text: impl FnMut(T) -> Text,
        mut new_text: impl FnMut(T) -> Text,
    ) {
        for (name, old, new) in pair(old, new) {
            match (old, new) {
                (Some(old), Some(new)) => self.others.extend(Change::between(kind, &name, &old_text(old), &new_text(new))),
                (Some(_), None) => self.other(kind, name, Status::Removed),
                _ => self.other(kind, name, Status::Added),
            }
        }
    }

    /// The methods of a type that are to be compared.
    fn methods(&self, module: &Module<'_, '_, '_>, owner: Rid<TypeDef>, type_name: &str) -> Named<Rid<MethodDef>> {
        let names = module.names;
        let is_wanted = |rid: &Rid<MethodDef>| {
            let name = || names.metadata.row(*rid).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
            self.is_whole() || self.options.methods.iter().any(|pattern| pattern.matches(module.type_name(owner), &name()))
        };
        let methods = names.metadata.children::<_, MethodDef>(owner).filter(is_wanted);
        methods.map(|rid| (method_name(names, rid, type_name), rid)).collect()
    }

    /// A method that is in both.
    fn method(
        &mut self,
        name: &str,
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
        Change::between(Kind::Method, name, &old_text, &new_text)
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
fn pair<T: Copy>(old: Named<T>, new: Named<T>) -> Vec<(String, Option<T>, Option<T>)> {
    let (old, new) = (numbered(old), numbered(new));
    let by_name: HashMap<&str, T> = new.iter().map(|(name, each)| (name.as_str(), *each)).collect();
    let known: std::collections::HashSet<&str> = old.iter().map(|(name, _)| name.as_str()).collect();
    let both = old.iter().map(|(name, each)| (name.clone(), Some(*each), by_name.get(name.as_str()).copied()));
    let added = new.iter().filter(|(name, _)| !known.contains(name.as_str()));
    both.chain(added.map(|(name, each)| (name.clone(), None, Some(*each)))).collect()
}

/// Gives names that come again a number.
fn numbered<T>(named: Named<T>) -> Named<T> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let number = |(name, each): (String, T)| {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        (if *count > 1 { format!("{name} #{count}") } else { name }, each)
    };
    named.into_iter().map(number).collect()
}

fn types(module: &Module<'_, '_, '_>) -> Named<Rid<TypeDef>> {
    let rids = 1..=module.names.metadata.tables.count(Table::TypeDef);
    let name = |rid: u32| module.names.type_ref(Token::new(Table::TypeDef, rid)).unwrap_or_default();
    rids.map(|rid| (name(rid), Rid::new(rid))).collect()
}

/// `int32 Shop.Order::Total(string)`
fn method_name(names: &Names<'_, '_>, rid: Rid<MethodDef>, type_name: &str) -> String {
    let Ok((name, signature)) = names.method_signature(Token::new(Table::MethodDef, rid.get())) else {
        let name = names.metadata.row(rid).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
        return format!("{type_name}::{}", quote::method(&name));
    };
    let (shown, params) = (signature.display(&Unscoped(names)).to_string(), signature.display_params(&Unscoped(names)));
    let head = shown.strip_suffix(params.as_str()).unwrap_or(&shown);
    let generics = if signature.generic_params > 0 { format!("<[{}]>", signature.generic_params) } else { String::new() };
    format!("{head}{type_name}::{}{generics}{params}", quote::method(&name))
}

fn named<T: Copy>(
    module: &Module<'_, '_, '_>,
    type_name: &str,
    rids: Vec<T>,
    name: impl Fn(T) -> ecma335::Result<ecma335::schema::Str>,
) -> Named<T> {
    let text = |rid| name(rid).and_then(|name| module.names.metadata.name(name)).unwrap_or_default();
    rids.into_iter().map(|rid| (format!("{type_name}::{}", quote::name(&text(rid))), rid)).collect()
}

fn fields(module: &Module<'_, '_, '_>, owner: Rid<TypeDef>, type_name: &str) -> Named<Rid<Field>> {
    let metadata = module.names.metadata;
    named(module, type_name, metadata.children::<_, Field>(owner).collect(), |rid| Ok(metadata.row(rid)?.name))
}

fn properties(module: &Module<'_, '_, '_>, owner: Rid<TypeDef>, type_name: &str) -> Named<Rid<Property>> {
    let metadata = module.names.metadata;
    named(module, type_name, members::properties_of(module.names, owner), |rid| Ok(metadata.row(rid)?.name))
}

fn events(module: &Module<'_, '_, '_>, owner: Rid<TypeDef>, type_name: &str) -> Named<Rid<Event>> {
    let metadata = module.names.metadata;
    named(module, type_name, members::events_of(module.names, owner), |rid| Ok(metadata.row(rid)?.name))
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

fn property_text(module: &Module<'_, '_, '_>, rid: Rid<Property>) -> Text {
    module.print(|printer, lines| members::property(printer, rid, lines))
}

fn event_text(module: &Module<'_, '_, '_>, rid: Rid<Event>) -> Text {
    module.print(|printer, lines| members::event(printer, rid, lines))
}

fn head_text(printer: &Printer<'_, '_, '_>, owner: Rid<TypeDef>, rid: Rid<MethodDef>) -> (Text, Option<MethodDef>) {
    let mut lines = Lines::default();
    let row = members::method_head(printer, owner, rid, &mut lines);
    let mut text = Text::default();
    text.push_printed(&lines.take());
    (text, row)
}
