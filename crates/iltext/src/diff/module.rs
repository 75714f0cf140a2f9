//! What belongs to no type: references, exports, attributes of assembly and module, resources, headers.

use std::collections::BTreeMap;

use ecma335::{
    Rid, Table, Token,
    debug::{DebugEntry, kind},
    flags::assembly_flags,
    heap::format_guid,
    image::{DirectoryKind, Precompiled},
    schema::{self, AssemblyRef, CustomAttribute, ExportedType, File, ManifestResource, ModuleRef},
};

use super::{
    lines::Text,
    model::{Change, How, Kind},
    probes::Probes,
    records,
    side::Side,
    win32,
};
use crate::dis::{
    lines::{Lines, one_line},
    manifest,
    names::Names,
    quote, values,
};

/// Compares them; what `probes` hides is not there.
pub(crate) fn compare(
    old: &Side<'_, '_, '_>,
    new: &Side<'_, '_, '_>,
    probes: Option<&Probes<'_, '_>>,
    changes: &mut Vec<Change>,
) {
    let is_hidden = |token: Token| probes.is_some_and(|probes| probes.is_added(token));
    for (kind, list) in [(Kind::Reference, references as List), (Kind::Export, exports), (Kind::Attribute, attributes)] {
        let old = list(old, &|_| false);
        let new = list(new, &is_hidden);
        sets(kind, old, new, changes);
    }
    resources(old.names, new.names, changes);
    let (old_headers, mut new_headers) = (headers(old.names), headers(new.names));
    if let Some(probes) = probes {
        hide((old.names, &old_headers), (new.names, &mut new_headers), probes);
        for rows in probes.other_rows() {
            changes.push(Change { kind: Kind::Header, name: rows, how: How::Added });
        }
    }
    changes.extend(Change::between(Kind::Header, "of file and assembly", &text(&old_headers), &text(&new_headers)));
    if let (Some(old_debug), Some(new_debug)) = (old.debug, new.debug) {
        records::compare((old_debug, old.names), (new_debug, new.names), changes);
    }
}

/// What there is of a kind, in words, but for what is hidden.
type List = fn(&Side<'_, '_, '_>, &dyn Fn(Token) -> bool) -> Vec<String>;

/// What is in one list alone, as often as it is there.
fn sets(kind: Kind, old: Vec<String>, new: Vec<String>, changes: &mut Vec<Change>) {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    old.into_iter().for_each(|each| *counts.entry(each).or_default() -= 1);
    new.into_iter().for_each(|each| *counts.entry(each).or_default() += 1);
    for (name, count) in counts {
        for _ in 0..count.unsigned_abs() {
            let how = if count > 0 { How::Added } else { How::Removed };
            changes.push(Change { kind, name: name.clone(), how });
        }
    }
}

fn references(side: &Side<'_, '_, '_>, is_hidden: &dyn Fn(Token) -> bool) -> Vec<String> {
    let names = side.names;
    let mut list = Vec::new();
    for (rid, row) in names.metadata.tables.rows::<AssemblyRef>() {
        if !is_hidden(Token::new(Table::AssemblyRef, rid.get())) {
            list.push(assembly_ref(names, &row));
        }
    }
    for (_, row) in names.metadata.tables.rows::<ModuleRef>() {
        list.push(format!("module {}", quote::dotted(&names.metadata.name(row.name).unwrap_or_default())));
    }
    for rid in 1..=names.metadata.tables.count(Table::TypeRef) {
        let token = Token::new(Table::TypeRef, rid);
        if !is_hidden(token) {
            list.push(format!("type {}", names.type_ref(token).unwrap_or_else(|error| one_line(error.kind()))));
        }
    }
    for rid in 1..=names.metadata.tables.count(Table::MemberRef) {
        let token = Token::new(Table::MemberRef, rid);
        let (word, name) = match names.is_field(token) {
            true => ("field", names.field(token)),
            false => ("method", names.open_method(token)),
        };
        if !is_hidden(token) {
            list.push(format!("{word} {}", name.unwrap_or_else(|error| one_line(error.kind()))));
        }
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
            out.push_str(&format!(", {word}={}", quote::hex(bytes).replace(' ', "")));
        }
    }
    if row.flags & !assembly_flags::PUBLIC_KEY != 0 {
        out.push_str(&format!(", Flags={:#x}", row.flags & !assembly_flags::PUBLIC_KEY));
    }
    out
}

fn exports(side: &Side<'_, '_, '_>, _: &dyn Fn(Token) -> bool) -> Vec<String> {
    let names = side.names;
    let files = names.metadata.tables.rows::<File>().map(|(rid, row)| printed(|lines| manifest::file(names, rid, &row, lines)));
    let types = names.metadata.tables.rows::<ExportedType>();
    files.chain(types.map(|(rid, row)| printed(|lines| manifest::exported(names, rid, &row, lines)))).collect()
}

/// What is printed, in one line.
fn printed(print: impl FnOnce(&mut Lines)) -> String {
    let mut lines = Lines::default();
    print(&mut lines);
    lines.take().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn attributes(side: &Side<'_, '_, '_>, is_hidden: &dyn Fn(Token) -> bool) -> Vec<String> {
    let names = side.names;
    let mut list = Vec::new();
    for (table, word) in [(Table::Assembly, "assembly"), (Table::Module, "module")] {
        for rid in names.belongings.attributes.of::<CustomAttribute>(Token::new(table, 1).0) {
            if !is_hidden(Token::new(Table::CustomAttribute, rid.get())) {
                let text = names.metadata.row(rid).and_then(|row| values::attribute(names, &row));
                list.push(format!("{word} {}", text.unwrap_or_else(|error| one_line(error.kind()))));
            }
        }
    }
    list
}

fn resources(old: &Names<'_, '_>, new: &Names<'_, '_>, changes: &mut Vec<Change>) {
    fn all<'a>(names: &Names<'a, '_>) -> BTreeMap<String, (String, &'a [u8])> {
        names.metadata.tables.rows::<ManifestResource>().map(|(_, row)| resource(names, &row)).collect()
    }
    let (old, new) = (all(old), all(new));
    for (name, (words, content)) in &old {
        let how = match new.get(name) {
            None => How::Removed,
            Some(same) if *same == (words.clone(), *content) => continue,
            Some((new_words, new_content)) => {
                let mut texts = [Text::default(), Text::default()];
                for (text, words, content) in [(0, words, content), (1, new_words, new_content)] {
                    let Some(text) = texts.get_mut(text) else { continue };
                    text.push(0, format!("{words}{} bytes", content.len()));
                    text.push(0, format!("SHA-256 {}", sha256(content)));
                }
                let [old, new] = &texts;
                changes.extend(Change::between(Kind::Resource, name, old, new));
                continue;
            }
        };
        changes.push(Change { kind: Kind::Resource, name: name.clone(), how });
    }
    for name in new.keys().filter(|name| !old.contains_key(*name)) {
        changes.push(Change { kind: Kind::Resource, name: name.clone(), how: How::Added });
    }
}

/// A resource: its name, what is said of it, what it holds.
fn resource<'a>(names: &Names<'a, '_>, row: &ManifestResource) -> (String, (String, &'a [u8])) {
    let name = quote::dotted(&names.metadata.name(row.name).unwrap_or_default()).into_owned();
    let visibility = if row.is_public() { "public, " } else { "private, " };
    match row.implementation.token().filter(|token| token.rid() != 0) {
        Some(token) => (name, (format!("{visibility}{}, ", manifest::implementation(names, token, row.offset)), &[])),
        None => (name, (visibility.to_owned(), manifest::resource_bytes(names, row.offset).unwrap_or_default())),
    }
}

/// Bytes in short: how many they are, and a hash.
pub(super) fn bytes(bytes: &[u8]) -> String {
    match bytes {
        [] => "none".into(),
        bytes => format!("{} bytes, SHA-256 {}", bytes.len(), sha256(bytes).get(..16).unwrap_or_default()),
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the headers say, by name.
type Headers = BTreeMap<&'static str, String>;

const FLAGS: &str = "CLI flags";
const MVID: &str = "MVID";
const MACHINE: &str = "machine";
const NATIVE: &str = "precompiled code";
const STRONG_NAME: &str = "strong name";
const PDB: &str = "PDB";
const DEBUG: &str = "debug entries";
const CERTIFICATE: &str = "Authenticode";
const EXCEPTION: &str = "native unwind table";
const RELOCATION: &str = "base relocations";
const EXPORTS: &str = "native exports";
const ALIGNMENT: &str = "section alignment";

fn headers(names: &Names<'_, '_>) -> Headers {
    let (image, metadata) = (names.image, names.metadata);
    let cli = image.cli_header();
    let size = |kind| image.directory(kind).size;
    let mut headers = Headers::new();
    if let Some(row) = metadata.assembly() {
        let schema::Assembly { major, minor, build, revision, .. } = row;
        let text = |index| metadata.name(index).unwrap_or_default();
        headers.insert("assembly", format!("{}, Version={major}.{minor}.{build}.{revision}", quote::dotted(&text(row.name))));
        headers.insert("assembly culture", quote::dotted(&text(row.culture)).into_owned());
        headers.insert("assembly flags", format!("{:#x}, hash algorithm {:#x}", row.flags, row.hash_algorithm));
        headers.insert("public key", bytes(metadata.blob(row.public_key).unwrap_or_default()));
        headers.insert("permissions", one_line(permissions(names)));
    }
    let module = metadata.row(Rid::<schema::Module>::new(1)).and_then(|row| metadata.name(row.name));
    headers.insert("module", quote::dotted(&module.unwrap_or_default()).into_owned());
    headers.insert(MVID, format_guid(&metadata.mvid().unwrap_or_default()));
    headers.insert("metadata version", quote::text(String::from_utf8_lossy(metadata.version).trim_end_matches('\0')));
    headers.insert("runtime", format!("{}.{}", cli.runtime_version.0, cli.runtime_version.1));
    headers.insert(FLAGS, format!("{:#x}", cli.flags));
    headers.insert(MACHINE, format!("{:#06x}", image.machine()));
    headers.insert("subsystem", format!("{:#x}", image.subsystem()));
    headers.insert("image base", format!("{:#x}", image.image_base()));
    headers.insert(ALIGNMENT, format!("{:#x}, {:#x} in the file", image.section_alignment(), image.file_alignment()));
    let entry_point = match cli.entry_point_token() {
        Some(token) => names.open_method(token).unwrap_or_else(|_| token.to_string()),
        None if cli.entry_point == 0 => "none".into(),
        None => "native".into(),
    };
    headers.insert("entry point", entry_point);
    let native = image.precompiled().map(|kind| if kind == Precompiled::ReadyToRun { "ReadyToRun" } else { "of another kind" });
    headers.insert(NATIVE, native.unwrap_or("none").into());
    let is_signed = image.bytes_at(cli.strong_name).iter().any(|byte| *byte != 0);
    headers.insert(STRONG_NAME, if is_signed { "signed" } else { "not signed" }.into());
    headers.insert("vtable fixups", format!("{} bytes", cli.vtable_fixups.size));
    let win32 = win32::leaves(image).into_iter().map(|(way, content)| format!("{way}: {}", bytes(content)));
    headers.insert("Win32 resources", win32.collect::<Vec<_>>().join("; "));
    headers.insert("characteristics", format!("{:#x}, {:#x}", image.characteristics(), image.dll_characteristics()));
    headers.insert("stack", format!("{:#x} bytes", image.stack_reserve()));
    headers.insert(EXPORTS, format!("{} bytes", size(DirectoryKind::Export)));
    headers.insert(EXCEPTION, format!("{} bytes", size(DirectoryKind::Exception)));
    headers.insert(RELOCATION, if size(DirectoryKind::BaseRelocation) == 0 { "none" } else { "some" }.into());
    headers.insert(CERTIFICATE, if size(DirectoryKind::Certificate) == 0 { "not signed" } else { "signed" }.into());
    let entries = DebugEntry::read_all(image).unwrap_or_default();
    let (pdb, others): (Vec<&DebugEntry<'_>>, Vec<_>) = entries.iter().partition(|entry| is_of_pdb(entry.kind));
    let words = |entries: Vec<&DebugEntry<'_>>| entries.into_iter().map(debug_entry).collect::<Vec<_>>().join("; ");
    headers.insert(PDB, words(pdb));
    headers.insert(DEBUG, words(others));
    headers
}

fn permissions(names: &Names<'_, '_>) -> String {
    let rows = names.belongings.permissions.of::<schema::DeclSecurity>(Token::new(Table::Assembly, 1).0);
    let rows = rows.filter_map(|rid| names.metadata.row(rid).ok());
    let text = |row: schema::DeclSecurity| {
        format!("action {}, {}", row.action, bytes(names.metadata.blob(row.permission_set).unwrap_or_default()))
    };
    rows.map(text).collect::<Vec<_>>().join("; ")
}

fn is_of_pdb(entry: u32) -> bool {
    matches!(entry, kind::CODE_VIEW | kind::EMBEDDED_PORTABLE_PDB | kind::PDB_CHECKSUM | kind::R2R_PERF_MAP)
}

fn debug_entry(entry: &DebugEntry<'_>) -> String {
    let (major, minor) = entry.version;
    let word = match entry.kind {
        kind::CODE_VIEW => "CodeView".into(),
        kind::EMBEDDED_PORTABLE_PDB => "embedded PDB".into(),
        kind::PDB_CHECKSUM => "PDB checksum".into(),
        kind::R2R_PERF_MAP => "ReadyToRun map".into(),
        kind::REPRODUCIBLE => "reproducible".into(),
        other => format!("kind {other}"),
    };
    format!("{word} {major}.{minor}, stamp {:08x}, {}", entry.time_date_stamp, bytes(&entry.data))
}

/// Whether the debug entries that a PDB has are of the same kinds and name the same file, or are gone.
fn is_pdb_renewed(old: &Names<'_, '_>, new: &Names<'_, '_>) -> bool {
    /// Where in a CodeView entry the path is: behind `RSDS`, a GUID, a counter.
    const PATH: usize = 24;
    let entries = |names: &Names<'_, '_>| -> Vec<(u32, Vec<u8>)> {
        let entries = DebugEntry::read_all(names.image).unwrap_or_default();
        let is_kept = |entry: &&DebugEntry<'_>| is_of_pdb(entry.kind) && entry.kind != kind::R2R_PERF_MAP;
        let path = |entry: &DebugEntry<'_>| match entry.kind {
            kind::CODE_VIEW => entry.data.get(PATH..).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        };
        entries.iter().filter(is_kept).map(|entry| (entry.kind, path(entry))).collect()
    };
    let new = entries(new);
    new.is_empty() || new == entries(old)
}

/// Has the new headers say what the old ones do, where weaving makes of the old what is in the new.
fn hide((old_names, old): (&Names<'_, '_>, &Headers), (names, new): (&Names<'_, '_>, &mut Headers), probes: &Probes<'_, '_>) {
    let value = |headers: &Headers, name: &str| headers.get(name).cloned().unwrap_or_default();
    let is_precompiled = value(old, NATIVE) == "ReadyToRun" && value(new, NATIVE) == "none";
    let cli = names.image.cli_header();
    let mut hidden = vec![(PDB, is_pdb_renewed(old_names, names)), (CERTIFICATE, value(new, CERTIFICATE) == "not signed")];
    hidden.push((MVID, probes.has_mvid(names.metadata.mvid().unwrap_or_default())));
    hidden.push((FLAGS, probes.has_flags(cli.flags)));
    hidden.push((STRONG_NAME, !cli.is_strong_name_signed() || value(new, STRONG_NAME) == "signed"));
    let alignment = (names.image.section_alignment(), names.image.file_alignment());
    hidden.push((ALIGNMENT, alignment == ecma335::writer::ALIGNMENT));
    hidden.push((NATIVE, is_precompiled));
    for name in [MACHINE, EXPORTS, EXCEPTION, RELOCATION] {
        hidden.push((name, is_precompiled));
    }
    for (name, _) in hidden.iter().filter(|(_, is_hidden)| *is_hidden) {
        new.insert(name, value(old, name));
    }
}

fn text(headers: &Headers) -> Text {
    let mut text = Text::default();
    headers.iter().for_each(|(name, value)| text.push(0, format!("{name}: {value}")));
    text
}
