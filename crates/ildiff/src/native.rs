//! The parts of an image that only its loader uses, by the PE format: sections, imports, and directories for native
//! code.

use std::collections::BTreeMap;

use ecma335::{
    Cursor, Image, Result, Rva,
    image::{Directory, DirectoryKind},
};

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

/// Adds these headers as text, by name.
pub(crate) fn headers(image: &Image<'_>, headers: &mut BTreeMap<&'static str, String>) {
    let sections = image.sections().iter().map(|section| {
        let name = String::from_utf8_lossy(&section.name);
        format!("{} {:#010x}", one_line(name.trim_end_matches('\0')), section.characteristics)
    });
    headers.insert(SECTIONS, sections.collect::<Vec<_>>().join(", "));
    headers.insert("native entry point", entry_point(image));
    let import = Layout { size: 20, lookup: 0, name: 12, thunk: 16 };
    let delay = Layout { size: 32, lookup: 16, name: 4, thunk: 12 };
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

/// In an IL-only image, the entry point is a jump to the loader. Its address does not matter.
fn entry_point(image: &Image<'_>) -> String {
    const JUMP: [u8; 2] = [0xFF, 0x25];
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
}

/// `mscoree.dll: _CorDllMain`
fn imports(image: &Image<'_>, directory: Directory, layout: &Layout, names: &mut Vec<String>) -> Result<()> {
    let mut rows = image.cursor_at(directory.rva)?;
    loop {
        let row = rows.bytes(layout.size)?;
        let field = |at: usize| row.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        if field(layout.name) == 0 {
            return Ok(());
        }
        let library = text(image, field(layout.name))?;
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
