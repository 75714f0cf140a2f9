//! Checks of the parts outside of the tables: sections, directories, the CLI header (II.25), the metadata root, heaps
//! (II.24.2).

use std::collections::BTreeSet;

use ecma335::{
    Rva, Table, Token,
    flags::cli_flags,
    image::{Directory, DirectoryKind},
    schema::{self, MethodDef},
    signature::{Signature, TypeSig},
    {cursor::Cursor, element::ElementType},
};

use crate::{context::Context, model::at, rule::rule};

/// The streams of II.24.2.2, and `#-`, the stream of unordered tables.
const STREAMS: [&[u8]; 6] = [b"#~", b"#-", b"#Strings", b"#US", b"#GUID", b"#Blob"];
/// The token of the file itself.
pub(crate) const NO_TOKEN: Token = Token(0);

pub(crate) fn check(context: &Context<'_>) {
    check_sections(context);
    check_cli_header(context);
    check_entry_point(context);
    check_root(context);
    check_heaps(context);
    check_table_stream(context);
}

fn check_sections(context: &Context<'_>) {
    let image = context.image;
    let file_size = image.bytes().len() as u64;
    let mut end = 0;
    for section in image.sections() {
        let name = || String::from_utf8_lossy(&section.name).trim_end_matches('\0').to_owned();
        if u64::from(section.raw_offset) + u64::from(section.raw_size) > file_size && section.raw_size > 0 {
            context.report(rule!("II.25.3-a"), NO_TOKEN, name());
        }
        if u64::from(section.virtual_address.0) < end {
            context.report(rule!("II.25.3-b"), NO_TOKEN, name());
        }
        let size = if section.virtual_size == 0 { section.raw_size } else { section.virtual_size };
        end = end.max(u64::from(section.virtual_address.0) + u64::from(size));
    }
    for kind in [
        DirectoryKind::Export,
        DirectoryKind::Import,
        DirectoryKind::Resource,
        DirectoryKind::Exception,
        DirectoryKind::BaseRelocation,
        DirectoryKind::Debug,
        DirectoryKind::ImportAddress,
        DirectoryKind::CliHeader,
    ] {
        if !is_in_file(context, image.directory(kind)) {
            context.report(rule!("II.25.2-a"), NO_TOKEN, format_args!("{kind:?}"));
        }
    }
    let certificate = image.directory(DirectoryKind::Certificate);
    if u64::from(certificate.rva.0) + u64::from(certificate.size) > file_size {
        context.report(rule!("II.25.2-a"), NO_TOKEN, "Certificate");
    }
}

/// Whether a directory is empty, or entirely within sections (or headers) of the file.
fn is_in_file(context: &Context<'_>, directory: Directory) -> bool {
    if directory.rva.0 == 0 || directory.size == 0 {
        return true;
    }
    let Some(end) = directory.rva.0.checked_add(directory.size) else { return false };
    let in_section = context.image.sections().iter().any(|section| {
        let start = section.virtual_address.0;
        let size = section.virtual_size.max(section.raw_size);
        directory.rva.0 >= start && u64::from(end) <= u64::from(start) + u64::from(size)
    });
    in_section || end <= context.image.size_of_headers()
}

fn check_cli_header(context: &Context<'_>) {
    let header = context.image.cli_header();
    if header.size < 72 {
        context.report(rule!("II.25.3.3-a"), NO_TOKEN, header.size);
    }
    if header.flags & !cli_flags::ALL != 0 {
        context.report(rule!("II.25.3.3-b"), NO_TOKEN, format_args!("{:#x}", header.flags));
    }
    for (name, directory) in [
        ("MetaData", header.metadata),
        ("Resources", header.resources),
        ("StrongNameSignature", header.strong_name),
        ("VTableFixups", header.vtable_fixups),
        ("ManagedNativeHeader", header.managed_native_header),
    ] {
        if !is_in_file(context, directory) {
            context.report(rule!("II.25.3.3-e"), NO_TOKEN, name);
        }
    }
}

/// II.15.4.1.2: the entry point.
fn check_entry_point(context: &Context<'_>) {
    let Some(token) = context.image.cli_header().entry_point_token() else { return };
    let rule = rule!("II.25.3.3-c");
    match token.table() {
        Some(Table::File) if context.is_row(token) => {}
        Some(Table::MethodDef) => match at(&context.model.methods, token.rid()) {
            Some(method) => check_entry_method(context, token, &method),
            None => context.report(rule, NO_TOKEN, token),
        },
        _ => context.report(rule, NO_TOKEN, token),
    }
}

fn check_entry_method(context: &Context<'_>, token: Token, method: &MethodDef) {
    context.require(method.rva != 0, rule!("II.25.3.3-c"), token);
    let Ok(Signature::Method(signature)) = context.metadata.blobs.blob(method.signature).and_then(Signature::parse) else {
        return;
    };
    let is_string_array =
        |param: &TypeSig| matches!(param, TypeSig::SzArray(element) if **element == TypeSig::Element(ElementType::String));
    let takes_well = match &signature.params[..] {
        [] => true,
        [param] => is_string_array(param),
        _ => false,
    };
    let is_well = method.is_static() && signature.generic_params == 0 && takes_well;
    context.require(is_well, rule!("II.25.3.3-d"), token);
}

fn check_root(context: &Context<'_>) {
    let metadata = context.metadata;
    let version = metadata.version;
    context.require(version.len() <= 255 && version.contains(&0), rule!("II.24.2.1-a"), NO_TOKEN);
    let mut root = metadata.root;
    // The signature is followed by two version numbers, four reserved bytes, the version string and two bytes of flags.
    let reserved = root.bytes(8).and_then(|_| root.u32());
    let flags = root.bytes(4 + version.len()).and_then(|_| root.u16());
    context.require(reserved == Ok(0) && flags == Ok(0), rule!("II.24.2.1-b"), NO_TOKEN);
    let start = metadata.root.offset().0;
    let mut names = BTreeSet::new();
    for stream in &metadata.streams {
        let name = || String::from_utf8_lossy(stream.name).into_owned();
        if !names.insert(stream.name) {
            context.report(rule!("II.24.2.2-a"), NO_TOKEN, name());
        }
        if !(stream.offset.0 - start).is_multiple_of(4) || !stream.bytes.len().is_multiple_of(4) {
            context.report(rule!("II.24.2.2-b"), NO_TOKEN, name());
        }
        if !STREAMS.contains(&stream.name) {
            context.report(rule!("II.24.2.2-c"), NO_TOKEN, name());
        }
    }
}

fn check_heaps(context: &Context<'_>) {
    let metadata = context.metadata;
    let strings = metadata.strings.bytes;
    context.require(matches!(strings.first(), None | Some(0)), rule!("II.24.2.3-a"), NO_TOKEN);
    context.require(matches!(strings.last(), None | Some(0)), rule!("II.24.2.3-b"), NO_TOKEN);
    for (name, heap) in [("#Blob", metadata.blobs), ("#US", metadata.user_strings)] {
        if !matches!(heap.bytes.first(), None | Some(0)) {
            context.report(rule!("II.24.2.4-a"), NO_TOKEN, name);
        }
    }
    context.require(metadata.guids.bytes.len().is_multiple_of(16), rule!("II.24.2.5-a"), NO_TOKEN);
    if context.wants(rule!("II.24.2.4-c")) {
        let mut cursor = Cursor::new(metadata.user_strings.bytes, metadata.user_strings.offset);
        while !cursor.is_empty() {
            let at = cursor.position();
            let Ok(item) = cursor.compressed_u32().and_then(|length| cursor.bytes(length as usize)) else { break };
            // An empty item is padding. Any other is UTF-16 plus one byte.
            if !item.is_empty() && (item.len() % 2 == 0 || item.last().is_some_and(|last| *last > 1)) {
                context.report(rule!("II.24.2.4-c"), Token(0x7000_0000 | at as u32 & 0x00FF_FFFF), "");
            }
        }
    }
}

fn check_table_stream(context: &Context<'_>) {
    let tables = &context.metadata.tables;
    if tables.version != (2, 0) {
        context.report(rule!("II.24.2.6-a"), NO_TOKEN, format_args!("{}.{}", tables.version.0, tables.version.1));
    }
    for table in Table::ALL.iter().copied().filter(|table| tables.count(*table) > 0) {
        if table >= Table::Document {
            context.report(rule!("II.24.2.6-b"), NO_TOKEN, table);
        } else if !table.sort_keys().is_empty() && !tables.is_sorted(table) && !context.is_uncompressed {
            context.report(rule!("II.24.2.6-c"), NO_TOKEN, table);
        }
    }
}

/// Whether an RVA is in bytes of the file, or in the zeros after a section's raw data.
pub(crate) fn is_in_section(context: &Context<'_>, rva: Rva) -> bool {
    context.image.sections().iter().any(|section| {
        let size = section.virtual_size.max(section.raw_size);
        rva >= section.virtual_address && rva.0 - section.virtual_address.0 < size
    })
}

/// Whether the module has an assembly manifest. A netmodule has none.
pub(crate) fn has_manifest(context: &Context<'_>) -> bool {
    context.metadata.tables.count(<schema::Assembly as schema::Row>::TABLE) > 0
}
