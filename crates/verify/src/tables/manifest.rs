//! Module, Assembly, AssemblyRef, File, ExportedType and ManifestResource (II.22.30, .2, .5, .19, .14, .24).

use ecma335::{
    Table, Token,
    flags::{assembly_flags, file_attributes, manifest_resource_attributes, type_attributes},
    schema::{Assembly, AssemblyRef, ExportedType, File, Guid, ManifestResource, Module},
};

use crate::{context::Context, rule::rule, tables::type_defs::on_cycles};

/// II.23.1.1, and the SHA-2 family.
const HASH_ALGORITHMS: [u32; 6] = [0, 0x8003, 0x8004, 0x800C, 0x800D, 0x800E];
const TOKEN_LENGTH: usize = 8;

pub(crate) fn check(context: &Context<'_>) {
    check_modules(context);
    check_assemblies(context);
    check_references(context);
    check_files(context);
    check_exports(context);
    check_resources(context);
}

fn check_modules(context: &Context<'_>) {
    let count = context.metadata.tables.count(Table::Module);
    if count != 1 {
        context.report(rule!("II.22.30-1"), Token::default(), format_args!("{count} rows"));
    }
    for (token, row) in context.rows::<Module>() {
        context.require(!context.name(row.name).is_empty(), rule!("II.22.30-2"), token);
        context.require(row.mvid != Guid(0), rule!("II.22.30-3"), token);
        let is_plain = row.generation == 0 && row.enc_id == Guid(0) && row.enc_base_id == Guid(0);
        context.require(is_plain, rule!("II.22.30-a"), token);
    }
}

fn check_assemblies(context: &Context<'_>) {
    for (token, row) in context.rows::<Assembly>() {
        context.require(token.rid() == 1, rule!("II.22.2-1"), token);
        if !HASH_ALGORITHMS.contains(&row.hash_algorithm) {
            context.report(rule!("II.22.2-2"), token, format_args!("{:#x}", row.hash_algorithm));
        }
        if row.flags & !assembly_flags::ALL != 0 {
            context.report(rule!("II.22.2-4"), token, format_args!("{:#x}", row.flags));
        } else if row.flags & !assembly_flags::STANDARD != 0 {
            context.report(rule!("II.22.2-4/clr"), token, format_args!("{:#x}", row.flags));
        }
        context.require(!context.name(row.name).is_empty(), rule!("II.22.2-6"), token);
    }
}

fn check_references(context: &Context<'_>) {
    for (token, row) in context.rows::<AssemblyRef>() {
        if row.flags & !assembly_flags::ALL != 0 {
            context.report(rule!("II.22.5-2"), token, format_args!("{:#x}", row.flags));
        } else if row.flags & !assembly_flags::PUBLIC_KEY != 0 {
            context.report(rule!("II.22.5-2/clr"), token, format_args!("{:#x}", row.flags));
        }
        let key = context.blob(row.public_key_or_token);
        let is_token = key.is_empty() || key.len() == TOKEN_LENGTH || row.has_public_key();
        context.require(is_token, rule!("II.22.5-3"), token);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.5-5"), token);
        context.require(row.hash_value.0 == 0 || !context.blob(row.hash_value).is_empty(), rule!("II.22.5-9"), token);
    }
    let keys = context.rows::<AssemblyRef>().map(|(token, row)| {
        let version = (row.major, row.minor, row.build, row.revision);
        (token, (version, context.blob(row.public_key_or_token), context.name(row.name), context.name(row.culture)))
    });
    context.require_unique(rule!("II.22.5-10"), keys);
}

fn check_files(context: &Context<'_>) {
    for (token, row) in context.rows::<File>() {
        context.require(row.flags & !file_attributes::ALL == 0, rule!("II.22.19-1"), token);
        let name = context.name(row.name);
        let has_path = name.iter().any(|byte| matches!(byte, b'/' | b'\\' | b':'));
        context.require(!name.is_empty() && !has_path, rule!("II.22.19-2"), token);
        context.require(!context.blob(row.hash_value).is_empty(), rule!("II.22.19-3"), token);
    }
    context.require_unique(rule!("II.22.19-4"), context.rows::<File>().map(|(token, row)| (token, context.name(row.name))));
}

fn check_exports(context: &Context<'_>) {
    let mut outer = Vec::new();
    for (token, row) in context.rows::<ExportedType>() {
        if row.flags & !type_attributes::ALL != 0 {
            context.report(rule!("II.22.14-3"), token, format_args!("{:#x}", row.flags));
        }
        context.require(!context.name(row.name).is_empty(), rule!("II.22.14-7"), token);
        let has_namespace = !context.name(row.namespace).is_empty();
        context.require(row.namespace.0 == 0 || has_namespace, rule!("II.22.14-9"), token);
        let place = row.implementation.token().filter(|place| place.rid() != 0);
        let table = place.and_then(Token::table);
        context.require(place.is_some(), rule!("II.22.14-12"), token);
        let is_nested = table == Some(Table::ExportedType);
        outer.push(if is_nested { place.map_or(0, Token::rid) } else { 0 });
        match table {
            Some(Table::File) => context.require(row.is_public(), rule!("II.22.14-4"), token),
            Some(Table::ExportedType) => {
                context.require(row.is_nested_public(), rule!("II.22.14-5"), token);
                context.require(!has_namespace, rule!("II.22.14-11"), token);
            }
            _ => {}
        }
        let to_assembly = table == Some(Table::AssemblyRef);
        context.require(is_nested || place.is_none() || row.is_forwarder() == to_assembly, rule!("II.22.14-a"), token);
    }
    for rid in on_cycles(&outer) {
        context.report(rule!("II.22.14-12a"), Token::new(Table::ExportedType, rid), "");
    }
    let keys = |nested: bool| {
        let is_nested = |row: &ExportedType| row.implementation.token().and_then(Token::table) == Some(Table::ExportedType);
        context.rows::<ExportedType>().filter(move |(_, row)| is_nested(row) == nested).map(move |(token, row)| {
            let outer = if nested { row.implementation.0 } else { 0 };
            (token, (outer, context.name(row.namespace), context.name(row.name)))
        })
    };
    context.require_unique(rule!("II.22.14-14"), keys(false));
    context.require_unique(rule!("II.22.14-15"), keys(true));
}

fn check_resources(context: &Context<'_>) {
    let directory = context.image.cli_header().resources;
    for (token, row) in context.rows::<ManifestResource>() {
        if row.flags & !manifest_resource_attributes::ALL != 0 {
            context.report(rule!("II.22.24-3"), token, format_args!("{:#x}", row.flags));
        }
        context.require(row.is_public() || row.is_private(), rule!("II.22.24-4"), token);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.24-5"), token);
        let place = row.implementation.token().filter(|place| place.rid() != 0);
        match place.and_then(Token::table) {
            None => {
                let is_well = is_resource(context, directory.size, row.offset);
                context.require(is_well, rule!("II.22.24-2"), token);
            }
            Some(Table::File) => context.require(row.offset == 0, rule!("II.22.24-10"), token),
            Some(Table::AssemblyRef) => {}
            Some(_) => context.report(rule!("II.22.24-8"), token, ""),
        }
    }
    let keys = context.rows::<ManifestResource>().map(|(token, row)| (token, context.name(row.name)));
    context.require_unique(rule!("II.22.24-9"), keys);
}

/// Whether a resource's length and bytes lie within the resources of the file (II.24.2.4).
fn is_resource(context: &Context<'_>, size: u32, offset: u32) -> bool {
    let rva = context.image.cli_header().resources.rva;
    let Ok(mut cursor) = context.image.cursor_at(rva).and_then(|mut cursor| cursor.window(size as usize)) else { return false };
    let length = cursor.bytes(offset as usize).and_then(|_| cursor.u32());
    length.and_then(|length| cursor.bytes(length as usize)).is_ok()
}
