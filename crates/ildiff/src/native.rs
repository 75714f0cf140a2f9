//! The parts of an image that only its loader uses, by the PE format: sections, imports, and directories for native
//! code.

use std::collections::BTreeMap;

use ecma335::{
    Cursor, FileOffset, Image, Result, Rva,
    image::{Directory, DirectoryKind, Section},
};
use little_endian::{ByteOrder, LE, NumbersAt};

use super::digest::digest;
use disasm::{lines::one_line, quote};

/// The names and flags of sections.
pub(crate) const SECTIONS: &str = "sections";
/// The maximum number of listed imports: more than any real image has.
const MOST_IMPORTS: usize = 65_536;
/// The maximum length of a name, in bytes.
const MOST_NAME: usize = 1024;
/// The flag of an import by ordinal.
const BY_NUMBER: u64 = 1 << 63;

/// The jump to the loader at the entry point of an IL-only image, up to its address.
const JUMP: [u8; 2] = [0xFF, 0x25];

/// Adds these headers as text, by name.
pub(crate) fn headers(image: &Image<'_>, headers: &mut BTreeMap<&'static str, String>) {
    headers.insert(SECTIONS, sections(image, None));
    headers.insert("DOS stub", dos_stub(image));
    headers.insert("base relocations", relocations(image));
    headers.insert("native entry point", entry_point(image));
    let import = Layout { size: 20, lookup: 0, name: 12, thunk: 16, attributes: None };
    let delay = Layout { size: 32, lookup: 16, name: 4, thunk: 12, attributes: Some(0) };
    for (word, kind, layout) in
        [("imports", DirectoryKind::Import, import), ("delayed imports", DirectoryKind::DelayImport, delay)]
    {
        let mut names = Vec::new();
        let end = match image.directory(kind) {
            Directory { rva: Rva(0), size: 0 } => Ok(()),
            directory => imports(image, directory, &layout, &mut names),
        };
        names.extend(end.err().map(|error| one_line(error.kind())));
        headers.insert(word, if names.is_empty() { "none".into() } else { names.join(", ") });
    }
    for (word, kind) in [
        ("thread local storage", DirectoryKind::Tls),
        ("load configuration", DirectoryKind::LoadConfig),
        ("bound imports", DirectoryKind::BoundImport),
        ("global pointer", DirectoryKind::GlobalPtr),
        ("architecture", DirectoryKind::Architecture),
    ] {
        let directory = image.directory(kind);
        let bytes = image.bytes_at(directory);
        headers.insert(
            word,
            match directory {
                Directory { rva: Rva(0), size: 0 } => "none".into(),
                _ if bytes.is_empty() => format!("{} bytes at {}", directory.size, directory.rva),
                _ => digest(bytes),
            },
        );
    }
}

/// The names and flags of sections, of those alone whose names another image has too if there is one.
pub(crate) fn sections(image: &Image<'_>, other: Option<&Image<'_>>) -> String {
    let is_shared = |section: &&Section| other.is_none_or(|other| other.sections().iter().any(|it| it.name == section.name));
    let text = |section: &Section| {
        let name = String::from_utf8_lossy(&section.name);
        format!("{} {:#010x}", one_line(name.trim_end_matches('\0')), section.characteristics)
    };
    image.sections().iter().filter(is_shared).map(text).collect::<Vec<_>>().join(", ")
}

/// The bytes before the PE header, without their number.
fn dos_stub(image: &Image<'_>) -> String {
    const PE_OFFSET: usize = 0x3C;
    let bytes = image.bytes();
    let word = bytes.u32_at(PE_OFFSET).unwrap_or(0);
    let stub = bytes.get(PE_OFFSET + size_of::<u32>()..word as usize).unwrap_or_default();
    digest(&[bytes.get(..PE_OFFSET).unwrap_or_default(), stub].concat())
}

/// The addresses that the loader adjusts. An IL-only image has one in the jump at its entry point, wherever that is.
fn relocations(image: &Image<'_>) -> String {
    let directory = image.directory(DirectoryKind::BaseRelocation);
    if directory.size == 0 {
        return "none".into();
    }
    if !image.is_il_only() {
        return digest(image.bytes_at(directory));
    }
    let mut places = Vec::new();
    let end = read_relocations(image.bytes_at(directory), image.entry_point(), &mut places);
    places.extend(end.err().map(|error| one_line(error.kind())));
    places.join(", ")
}

fn read_relocations(table: &[u8], entry_point: Rva, places: &mut Vec<String>) -> Result<()> {
    const BLOCK_HEADER: usize = 8;
    /// An entry that fills up its block.
    const PADDING: u16 = 0;
    let mut cursor = Cursor::new(table, FileOffset(0));
    while !cursor.is_empty() {
        let (page, size) = (cursor.u32()?, cursor.u32()? as usize);
        for entry in cursor.bytes(size.saturating_sub(BLOCK_HEADER))?.chunks_exact(2) {
            let entry = LE::read_u16(entry);
            let (kind, rva) = (entry >> 12, page.wrapping_add(u32::from(entry & 0xFFF)));
            match rva {
                _ if kind == PADDING => {}
                rva if rva == entry_point.0.wrapping_add(JUMP.len() as u32) => places.push(format!("type {kind} in the jump")),
                rva => places.push(format!("type {kind} at {}", Rva(rva))),
            }
        }
    }
    Ok(())
}

/// In an IL-only image, the entry point is a jump to the loader. Its address does not matter.
fn entry_point(image: &Image<'_>) -> String {
    let rva = image.entry_point();
    if rva.0 == 0 {
        return "none".into();
    }
    let first = image.cursor_at(rva).map(|cursor| cursor.rest().get(..2).unwrap_or_default().to_vec());
    match first {
        Ok(bytes) if image.is_il_only() && bytes == JUMP => "a jump".into(),
        Ok(bytes) if image.is_il_only() => quote::hex(&bytes),
        _ => rva.to_string(),
    }
}

/// The offsets of the fields in a row of an import table.
struct Layout {
    size: usize,
    /// The RVA of the functions.
    lookup: usize,
    /// The RVA of the library's name.
    name: usize,
    /// The RVA of the functions, if `lookup` is zero.
    thunk: usize,
    /// Flags.
    attributes: Option<usize>,
}

/// `mscoree.dll: _CorDllMain`
fn imports(image: &Image<'_>, directory: Directory, layout: &Layout, names: &mut Vec<String>) -> Result<()> {
    let mut rows = image.cursor_at(directory.rva)?;
    loop {
        let row = rows.bytes(layout.size)?;
        let field = |at: usize| row.u32_at(at).unwrap_or(0);
        if field(layout.name) == 0 {
            return Ok(());
        }
        let mut library = text(image, field(layout.name))?;
        if let Some(attributes) = layout.attributes {
            library += &format!(" ({:#x})", field(attributes));
        }
        let lookup = [layout.lookup, layout.thunk].into_iter().map(field).find(|rva| *rva != 0).unwrap_or_default();
        let mut functions = image.cursor_at(Rva(lookup))?;
        loop {
            let function = match image.is_pe32_plus() {
                true => functions.u64()?,
                // The flag is the top bit.
                false => functions.u32().map(|value| u64::from(value & !(1 << 31)) | u64::from(value >> 31) << 63)?,
            };
            if function == 0 || names.len() >= MOST_IMPORTS {
                break;
            }
            names.push(match function & BY_NUMBER {
                0 => format!("{library}: {}", text(image, (function as u32).saturating_add(2))?),
                _ => format!("{library}: #{}", function as u16),
            });
        }
        if names.len() >= MOST_IMPORTS {
            return Ok(());
        }
    }
}

/// A zero-terminated name.
fn text(image: &Image<'_>, rva: u32) -> Result<String> {
    let cursor: Cursor<'_> = image.cursor_at(Rva(rva))?;
    let bytes = cursor.rest().split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(one_line(String::from_utf8_lossy(bytes.get(..MOST_NAME).unwrap_or(bytes))))
}
