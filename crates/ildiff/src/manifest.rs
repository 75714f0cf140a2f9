//! Compares the items outside of types: references, exports, attributes of assembly and module, resources, headers.

use std::collections::BTreeMap;

use ecma335::{
    Table, Token,
    flags::assembly_flags,
    schema::{AssemblyRef, ExportedType, File, ManifestResource, ModuleRef},
};

use super::{
    digest::sha256,
    documents, headers,
    ignore::Ignore,
    lines::Text,
    model::{Change, Kind, Status},
    module::Module,
    original::Original,
};
use disasm::{
    lines::{Lines, one_line},
    manifest,
    names::Names,
    quote, values,
};

/// Compares the items. `original` describes the first module before instrumenting, if that is compared. Its flag
/// tells whether the rows and heaps of both are the same.
pub(crate) fn compare(
    old: &Module<'_, '_, '_>,
    new: &Module<'_, '_, '_>,
    original: Option<(Original<'_>, bool)>,
    ignored: &[Ignore],
    changes: &mut Vec<Change>,
) {
    for (kind, list) in [(Kind::Reference, references as List), (Kind::Export, exports), (Kind::Attribute, attributes)] {
        if kind == Kind::Reference && ignored.contains(&Ignore::References) {
            continue;
        }
        let list = |module: &Module<'_, '_, '_>| {
            let mut list = list(module);
            // The number of rows for one reference only matters when checking an instrumented module.
            if kind == Kind::Reference && original.is_none() {
                list.sort_unstable();
                list.dedup();
            }
            list
        };
        sets(kind, list(old), list(new), changes);
    }
    resources(old.names, new.names, changes);
    headers::compare(old.names, new.names, original, ignored, changes);
    if let (Some(old_pdb), Some(new_pdb)) = (old.pdb, new.pdb) {
        documents::compare((old_pdb, old.names), (new_pdb, new.names), changes);
    }
}

/// Lists all items of a kind, as text.
type List = fn(&Module<'_, '_, '_>) -> Vec<String>;

/// Adds the items of only one list, counting repetitions.
fn sets(kind: Kind, old: Vec<String>, new: Vec<String>, changes: &mut Vec<Change>) {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    old.into_iter().for_each(|each| *counts.entry(each).or_default() -= 1);
    new.into_iter().for_each(|each| *counts.entry(each).or_default() += 1);
    for (name, count) in counts {
        for _ in 0..count.unsigned_abs() {
            let status = if count > 0 { Status::Added } else { Status::Removed };
            changes.push(Change::alone(kind, name.clone(), status));
        }
    }
}

fn references(module: &Module<'_, '_, '_>) -> Vec<String> {
    let names = module.names;
    let mut list = Vec::new();
    for (_, row) in names.metadata.tables.rows::<AssemblyRef>() {
        list.push(assembly_ref(names, &row));
    }
    for (_, row) in names.metadata.tables.rows::<ModuleRef>() {
        list.push(format!("module {}", quote::dotted(&names.metadata.name(row.name).unwrap_or_default())));
    }
    for rid in 1..=names.metadata.tables.count(Table::TypeRef) {
        let token = Token::new(Table::TypeRef, rid);
        list.push(format!("type {}", names.type_ref(token).unwrap_or_else(|error| one_line(error.kind()))));
    }
    for rid in 1..=names.metadata.tables.count(Table::MemberRef) {
        let token = Token::new(Table::MemberRef, rid);
        let (word, name) = match names.is_field(token) {
            true => ("field", names.field(token)),
            false => ("method", names.open_method(token)),
        };
        list.push(format!("{word} {}", name.unwrap_or_else(|error| one_line(error.kind()))));
    }
    list
}

/// `assembly mscorlib, Version=4.0.0.0, PublicKeyToken=B77A5C561934E089`
fn assembly_ref(names: &Names<'_, '_>, row: &AssemblyRef) -> String {
    let text = |index| names.metadata.name(index).unwrap_or_default();
    let AssemblyRef { major, minor, build, revision, .. } = row;
    let mut out = format!("assembly {}, Version={major}.{minor}.{build}.{revision}", quote::dotted(&text(row.name)));
    let culture = text(row.culture);
    if !culture.is_empty() {
        out.push_str(&format!(", Culture={}", quote::dotted(&culture)));
    }
    let key = if row.has_public_key() { "PublicKey" } else { "PublicKeyToken" };
    for (word, blob) in [(key, row.public_key_or_token), ("Hash", row.hash_value)] {
        let bytes = names.metadata.blob(blob).unwrap_or_default();
        if !bytes.is_empty() {
            out.push_str(&format!(", {word}={}", hex::encode_upper(bytes)));
        }
    }
    if row.flags & !assembly_flags::PUBLIC_KEY != 0 {
        out.push_str(&format!(", Flags={:#x}", row.flags & !assembly_flags::PUBLIC_KEY));
    }
    out
}

fn exports(module: &Module<'_, '_, '_>) -> Vec<String> {
    let names = module.names;
    let files = names.metadata.tables.rows::<File>().map(|(rid, row)| printed(|lines| manifest::file(names, rid, &row, lines)));
    let types = names.metadata.tables.rows::<ExportedType>();
    files.chain(types.map(|(rid, row)| printed(|lines| manifest::exported(names, rid, &row, lines)))).collect()
}

/// The printed lines, joined to one.
fn printed(print: impl FnOnce(&mut Lines)) -> String {
    let mut lines = Lines::default();
    print(&mut lines);
    lines.take().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn attributes(module: &Module<'_, '_, '_>) -> Vec<String> {
    let names = module.names;
    let mut list = Vec::new();
    for (table, word) in [(Table::Assembly, "assembly"), (Table::Module, "module")] {
        let attributes = values::texts(names, Token::new(table, 1));
        list.extend(attributes.map(|text| format!("{word} {}", text.unwrap_or_else(|error| one_line(error.kind())))));
    }
    list
}

fn resources(old: &Names<'_, '_>, new: &Names<'_, '_>, changes: &mut Vec<Change>) {
    fn all<'a>(names: &Names<'a, '_>) -> BTreeMap<String, (String, &'a [u8])> {
        names.metadata.tables.rows::<ManifestResource>().map(|(_, row)| resource(names, &row)).collect()
    }
    let text = |(words, content): &(String, &[u8])| {
        let mut text = Text::default();
        text.push(0, format!("{words}{} bytes", content.len()));
        text.push(0, format!("SHA-256 {}", sha256(content)));
        text
    };
    let (old, mut new) = (all(old), all(new));
    for (name, old) in &old {
        match new.remove(name) {
            None => changes.push(Change::whole(Kind::Resource, name, Status::Removed, &text(old))),
            Some(new) if new == *old => {}
            Some(new) => changes.extend(Change::between(Kind::Resource, name, &text(old), &text(&new))),
        }
    }
    changes.extend(new.iter().map(|(name, new)| Change::whole(Kind::Resource, name, Status::Added, &text(new))));
}

/// A resource: its name, its properties, its content.
fn resource<'a>(names: &Names<'a, '_>, row: &ManifestResource) -> (String, (String, &'a [u8])) {
    let name = quote::dotted(&names.metadata.name(row.name).unwrap_or_default()).into_owned();
    let visibility = if row.is_public() { "public, " } else { "private, " };
    match row.implementation.token().filter(|token| token.rid() != 0) {
        Some(token) => (name, (format!("{visibility}{}, ", manifest::implementation(names, token, row.offset)), &[])),
        None => (name, (visibility.to_owned(), manifest::resource_bytes(names, row.offset).unwrap_or_default())),
    }
}
