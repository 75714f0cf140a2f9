//! The manifest: assemblies, modules, files, resources, exported types, and header fields (II.6).

use std::{
    collections::{BTreeMap, HashSet},
    path::{Component, Path},
};

use ecma335::{
    Cursor, Error, ErrorKind, MAX_NESTING, Result, Rid, Rva, Table, Token,
    flags::{assembly_flags, vtable_fixup_flags},
    image::DirectoryKind,
    schema::{self, AssemblyRef, ExportedType, File, ManifestResource, ModuleRef, Str},
};
use names::is_hidden;

use super::{
    flags,
    lines::Lines,
    names::{Names, full_name},
    preamble,
    printer::{Options, Printer},
    security, values,
};
use crate::{ilasm::Ilasm, quote};

/// Prints all parts that belong to no type.
pub fn print(printer: &Printer<'_, '_, '_>, lines: &mut Lines) {
    let (names, options) = (printer.names, printer.options);
    let metadata = names.metadata;
    // .NET's ilasm takes no other module that defines System.Object.
    if names.ilasm == Ilasm::DotNet && metadata.tables.count(Table::AssemblyRef) == 0 {
        lines.line(".mscorlib");
    }
    let mut seen = HashSet::new();
    for (rid, row) in metadata.tables.rows::<AssemblyRef>() {
        let is_second = !seen.insert(text(names, row.name));
        assembly_ref(names, rid, &row, is_second, options, lines);
    }
    security::assemblies(names, lines);
    preamble::print(printer, lines);
    if let Some(row) = metadata.assembly() {
        assembly(names, &row, lines);
    }
    if let Ok(row) = metadata.row(Rid::<schema::Module>::new(1)) {
        lines.line(format_args!(".module {}", quote::dotted(&text(names, row.name))));
        if !options.stable {
            lines.comment(format_args!("MVID {}", ecma335::heap::format_guid(&metadata.mvid().unwrap_or_default())));
        }
        values::attributes(names, Token::new(Table::Module, 1), lines);
    }
    for (_, row) in metadata.tables.rows::<ModuleRef>() {
        lines.line(format_args!(".module extern {}", quote::dotted(&text(names, row.name))));
    }
    headers(names, lines);
    for (rid, row) in metadata.tables.rows::<File>() {
        file(names, rid, &row, lines);
    }
    let embedded = resources(names, printer.reserved);
    for (rid, row) in metadata.tables.rows::<ManifestResource>() {
        resource(names, rid, &row, embedded.get(&rid), lines);
    }
    for (rid, row) in metadata.tables.rows::<ExportedType>() {
        exported(names, rid, &row, lines);
    }
    lines.blank();
}

fn text(names: &Names<'_, '_>, index: Str) -> String {
    names.metadata.name(index).unwrap_or_default()
}

/// Prints a line with bytes, unless there are none.
fn bytes(names: &Names<'_, '_>, word: &str, blob: schema::Blob, lines: &mut Lines) {
    match names.metadata.blob(blob) {
        Ok([]) => {}
        Ok(bytes) => lines.line(format_args!("{word} = ({})", quote::hex(bytes))),
        Err(error) => lines.comment(format_args!("{word}: {error}")),
    }
}

/// II.6.3
fn assembly_ref(
    names: &Names<'_, '_>,
    rid: Rid<AssemblyRef>,
    row: &AssemblyRef,
    is_second: bool,
    options: Options,
    lines: &mut Lines,
) {
    let name = text(names, row.name);
    let token = Token::new(Table::AssemblyRef, rid.get());
    let version = format!("{}:{}:{}:{}", row.major, row.minor, row.build, row.revision);
    if is_second {
        // References are by name, so a name can stand for only one of them.
        return lines.comment(format_args!(".assembly extern {} is there once more, with .ver {version}", quote::dotted(&name)));
    }
    let tokens = if options.tokens { format!("  // {token}") } else { String::new() };
    let words = names.ilasm.flags(flags::words(row.flags, assembly_flags::LIST));
    lines.line(format_args!(".assembly extern {words}{}{tokens}", quote::dotted(&name)));
    lines.open();
    lines.line(format_args!(".ver {version}"));
    let key = if row.has_public_key() { ".publickey" } else { ".publickeytoken" };
    bytes(names, key, row.public_key_or_token, lines);
    bytes(names, ".hash", row.hash_value, lines);
    locale(names, row.culture, lines);
    values::attributes(names, token, lines);
    lines.close();
}

fn locale(names: &Names<'_, '_>, culture: Str, lines: &mut Lines) {
    let culture = text(names, culture);
    if !culture.is_empty() {
        lines.line(format_args!(".locale {}", quote::text(&culture)));
    }
}

/// II.6.2
fn assembly(names: &Names<'_, '_>, row: &schema::Assembly, lines: &mut Lines) {
    let token = Token::new(Table::Assembly, 1);
    let words = names.ilasm.flags(flags::words(row.flags, assembly_flags::LIST));
    lines.line(format_args!(".assembly {words}{}", quote::dotted(&text(names, row.name))));
    lines.open();
    values::attributes(names, token, lines);
    security::permissions(names, token, lines);
    bytes(names, ".publickey", row.public_key, lines);
    lines.line(format_args!(".hash algorithm {:#010x}", row.hash_algorithm));
    lines.line(format_args!(".ver {}:{}:{}:{}", row.major, row.minor, row.build, row.revision));
    locale(names, row.culture, lines);
    lines.close();
}

/// Prints the PE and CLI header fields (II.6.2.3, II.25.2.3, II.25.3.3).
fn headers(names: &Names<'_, '_>, lines: &mut Lines) {
    let image = names.image;
    lines.line(format_args!(".imagebase {:#x}", image.image_base()));
    lines.line(format_args!(".file alignment {:#x}", image.file_alignment()));
    lines.line(format_args!(".subsystem {:#x}", image.subsystem()));
    lines.line(format_args!(".corflags {:#x}", image.cli_header().flags));
    let fixups = image.cli_header().vtable_fixups;
    if fixups.size > 0
        && let Err(error) = vtable_fixups(names, fixups.rva, fixups.size, lines)
    {
        lines.comment(format_args!("vtable fixups: {error}"));
    }
    if image.directory(DirectoryKind::Export).size > 0 {
        lines.comment("there are native exports, which are not shown");
    }
}

/// II.15.5.1, II.25.3.3.3
fn vtable_fixups(names: &Names<'_, '_>, rva: Rva, size: u32, lines: &mut Lines) -> Result<()> {
    let mut cursor = names.image.cursor_at(rva)?.window(size as usize)?;
    while !cursor.is_empty() {
        let (slots, count, kind) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
        let size = if kind & vtable_fixup_flags::SLOTS_64BIT != 0 { 8 } else { 4 };
        lines.line(format_args!(".data VT_{slots:08x} = int8[{}]", u32::from(count) * size));
        lines.line(format_args!(".vtfixup [{count}] {}at VT_{slots:08x}", flags::words(kind.into(), vtable_fixup_flags::LIST)));
        let mut methods = names.image.cursor_at(Rva(slots))?;
        let first = Token(methods.u32()?);
        lines.comment(format_args!("its first slot: {}", names.method(first).unwrap_or_else(|error| error.to_string())));
    }
    Ok(())
}

/// A file of the assembly (II.6.2.3.2).
pub fn file(names: &Names<'_, '_>, rid: Rid<File>, row: &File, lines: &mut Lines) {
    let nometadata = if row.contains_no_metadata() { "nometadata " } else { "" };
    lines.line(format_args!(".file {nometadata}{}", quote::dotted(&text(names, row.name))));
    bytes(names, "  .hash", row.hash_value, lines);
    let token = Token::new(Table::File, rid.get());
    if names.image.cli_header().entry_point_token() == Some(token) {
        lines.line("  .entrypoint");
    }
    values::attributes_as_comments(names, token, ".file", lines);
}

/// Prints a resource. The assembler reads an embedded one from a file of its name. It does not accept one in another
/// file (II.6.2.2).
fn resource(
    names: &Names<'_, '_>,
    rid: Rid<ManifestResource>,
    row: &ManifestResource,
    embedded: Option<&Resource<'_>>,
    lines: &mut Lines,
) {
    let name = text(names, row.name);
    let visibility = if row.is_public() { "public" } else { "private" };
    let head = format!(".mresource {visibility} {}", quote::dotted(&name));
    match (embedded, row.implementation.token()) {
        (Some(Resource { content: Ok(_), .. }), _) => {
            lines.line(format_args!("{head} {{ }}"));
            values::attributes_as_comments(names, Token::new(Table::ManifestResource, rid.get()), &head, lines);
        }
        (Some(Resource { content: Err(why), .. }), _) => lines.comment(format_args!("{head} {{ }}: {why}")),
        (None, token) => {
            let place = implementation(names, token.unwrap_or_default(), row.offset);
            lines.comment(format_args!("{head} {{ {place} }}"));
        }
    }
}

/// The location of an item outside of this file.
pub fn implementation(names: &Names<'_, '_>, token: Token, offset: u32) -> String {
    let name = |name| quote::dotted(&text(names, name)).into_owned();
    if let Some(row) = token.rid_in::<AssemblyRef>().and_then(|rid| names.metadata.row(rid).ok()) {
        return format!(".assembly extern {}", name(row.name));
    }
    match token.rid_in::<File>().and_then(|rid| names.metadata.row(rid).ok()) {
        Some(row) => format!(".file {} at {offset:#x}", name(row.name)),
        None => format!("/* {token} */"),
    }
}

/// An embedded resource.
pub struct Resource<'a> {
    /// Its name, and the name of the file for the assembler.
    pub name: String,
    /// Its content, or the reason why it cannot have a file.
    pub content: std::result::Result<&'a [u8], String>,
}

/// The embedded resources, by their rows. `reserved` are names that their files cannot have.
pub fn resources<'a>(names: &Names<'a, '_>, reserved: &[String]) -> BTreeMap<Rid<ManifestResource>, Resource<'a>> {
    // Some file systems ignore case.
    let mut taken: HashSet<String> = reserved.iter().map(|name| name.to_lowercase()).collect();
    let rows = names.metadata.tables.rows::<ManifestResource>();
    let embedded = rows.filter(|(_, row)| row.implementation.token().is_none_or(|token| token.rid() == 0));
    let resource = |(rid, row): (Rid<ManifestResource>, ManifestResource)| {
        let name = text(names, row.name);
        let content = if !is_file_name(&name) {
            Err("no file can have this name".into())
        } else {
            match resource_bytes(names, row.offset) {
                Err(error) => Err(error.to_string()),
                Ok(_) if !taken.insert(name.to_lowercase()) => Err("another file has this name".into()),
                Ok(bytes) => Ok(bytes),
            }
        };
        (rid, Resource { name, content })
    };
    embedded.map(resource).collect()
}

/// Names that no file can have on Windows, with any extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "com", "lpt"];

/// The maximum length of a resource's file name, in bytes. File systems accept 255 bytes, and a temporary name is
/// longer.
const MAX_FILE_NAME: usize = 200;

/// Whether a resource's name is a valid file name in one folder, on any system.
fn is_file_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let is_one = matches!((components.next(), components.next()), (Some(Component::Normal(one)), None) if one == name);
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(|digit: char| digit.is_ascii_digit());
    is_one
        && name.len() <= MAX_FILE_NAME
        && !name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|'])
        && !name.ends_with(['.', ' '])
        && !name.chars().any(is_hidden)
        && !DEVICES.contains(&stem.to_ascii_lowercase().as_str())
}

/// II.22.24: a length of four bytes, then as many bytes.
pub fn resource_bytes<'a>(names: &Names<'a, '_>, offset: u32) -> Result<&'a [u8]> {
    let start = names.image.cli_header().resources.rva.0.checked_add(offset);
    let start = start.ok_or_else(|| Error::new(ErrorKind::Malformed("a resource beyond the image")))?;
    let mut cursor: Cursor<'a> = names.image.cursor_at(Rva(start))?;
    let length = cursor.u32()?;
    cursor.bytes(length as usize)
}

/// The name of an exported type. .NET's ilasm takes a nested type's only behind those of its enclosing types.
fn exported_name(names: &Names<'_, '_>, rid: Rid<ExportedType>, depth: usize) -> String {
    let Ok(row) = names.metadata.row(rid) else { return String::new() };
    let name = full_name(names.metadata, row.namespace, row.name);
    let outer = row.implementation.token().and_then(Token::rid_in::<ExportedType>);
    match outer.filter(|_| names.ilasm == Ilasm::DotNet && depth < MAX_NESTING) {
        Some(outer) => format!("{}/{name}", exported_name(names, outer, depth + 1)),
        None => name,
    }
}

/// Prints a type of another module or assembly (II.6.7).
pub fn exported(names: &Names<'_, '_>, rid: Rid<ExportedType>, row: &ExportedType, lines: &mut Lines) {
    let name = full_name(names.metadata, row.namespace, row.name);
    lines.line(format_args!(".class extern {}{name}", flags::exported_words(row.flags)));
    lines.open();
    let token = row.implementation.token().unwrap_or_default();
    match token.rid_in::<ExportedType>() {
        Some(outer) => match names.metadata.row(outer) {
            Ok(_) => lines.line(format_args!(".class extern {}", exported_name(names, outer, 0))),
            Err(error) => lines.comment(error),
        },
        None if token.table() == Some(Table::AssemblyRef) => lines.line(implementation(names, token, 0)),
        None => match token.rid_in::<File>().and_then(|rid| names.metadata.row(rid).ok()) {
            Some(file) => lines.line(format_args!(".file {}", quote::dotted(&text(names, file.name)))),
            None => lines.comment(format_args!("it is in {token}")),
        },
    }
    if row.type_def_id != 0 {
        lines.comment(format_args!(".class {:#010x}", row.type_def_id));
    }
    values::attributes_as_comments(names, Token::new(Table::ExportedType, rid.get()), ".class extern", lines);
    lines.close();
}
