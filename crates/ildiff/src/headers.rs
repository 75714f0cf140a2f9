//! Compares the headers of file and assembly (II.25).

use std::collections::BTreeMap;

use ecma335::{
    Image, Rid, Table, Token,
    debug::{CodeView, DebugEntry, kind},
    flags::cli_flags,
    heap::format_guid,
    image::{DirectoryKind, Precompiled},
    schema,
};

use super::{
    digest::digest,
    ignore::Ignore,
    lines::Text,
    model::{Change, Kind, Status},
    native,
    original::Original,
    win32,
};
use disasm::{lines::one_line, names::Names, quote};

/// Compares the headers. `original` describes the first module before instrumenting, if that is compared. Its flag
/// tells whether the rows and heaps of both are the same.
pub(crate) fn compare(
    old: &Names<'_, '_>,
    new: &Names<'_, '_>,
    original: Option<(Original<'_>, bool)>,
    ignored: &[Ignore],
    changes: &mut Vec<Change>,
) {
    let (mut old_headers, mut new_headers) = (headers(old), headers(new));
    if ignored.contains(&Ignore::Mvid) {
        for headers in [&mut old_headers, &mut new_headers] {
            headers.retain(|name, _| ![MVID, PDB, DEBUG].contains(name));
        }
    }
    if original.is_none() {
        // The division into sections is a choice of the writer, not content. The flags of a section that both have are content.
        old_headers.insert(native::SECTIONS, native::sections(old.image, Some(new.image)));
        new_headers.insert(native::SECTIONS, native::sections(new.image, Some(old.image)));
    }
    if let Some((original, is_same)) = original {
        hide(original.image, (old, &old_headers), (new, &mut new_headers));
        let mut add = |name: String| changes.push(Change::alone(Kind::Header, name, Status::Added));
        if !original.is_its_original {
            add("the mark of an assembly that was instrumented from another original".into());
        }
        if !is_same {
            add("rows or heaps that differ from those that instrumenting writes".into());
        }
        // Compares the rows of tables that no name shows.
        for table in Table::ALL {
            let more = i64::from(new.metadata.tables.count(*table)) - i64::from(old.metadata.tables.count(*table));
            if more != 0 {
                add(format!("{more} of {table} that no probe needs"));
            }
        }
    }
    changes.extend(Change::between(Kind::Header, "of file and assembly", &text(&old_headers), &text(&new_headers)));
}

/// The header fields, by name.
type Headers = BTreeMap<&'static str, String>;

const FLAGS: &str = "CLI flags";
const STRONG_NAME: &str = "strong name";
const MVID: &str = "MVID";
const PDB: &str = "PDB";
const DEBUG: &str = "debug entries";

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
        headers.insert("public key", digest(metadata.blob(row.public_key).unwrap_or_default()));
        headers.insert("permissions", one_line(permissions(names)));
    }
    let module = metadata.row(Rid::<schema::Module>::new(1)).and_then(|row| metadata.name(row.name));
    headers.insert("module", quote::dotted(&module.unwrap_or_default()).into_owned());
    headers.insert(MVID, format_guid(&metadata.mvid().unwrap_or_default()));
    headers.insert("metadata version", quote::text(String::from_utf8_lossy(metadata.version).trim_end_matches('\0')));
    let (major, minor) = cli.runtime_version();
    headers.insert("runtime", format!("{major}.{minor}"));
    headers.insert(FLAGS, format!("{:#x}", cli.flags));
    headers.insert("machine", format!("{:#06x}", image.machine()));
    headers.insert("subsystem", format!("{:#x}", image.subsystem()));
    headers.insert("image base", format!("{:#x}", image.image_base()));
    headers.insert("section alignment", format!("{:#x}, {:#x} in the file", image.section_alignment(), image.file_alignment()));
    let entry_point = match cli.entry_point_token() {
        Some(token) => names.open_method(token).unwrap_or_else(|_| token.to_string()),
        None if cli.entry_point == 0 => "none".into(),
        None => "native".into(),
    };
    headers.insert("entry point", entry_point);
    let native = image.precompiled().map(|kind| match kind {
        Precompiled::ReadyToRun => "ReadyToRun",
        Precompiled::Component => "ReadyToRun, in a composite image",
        Precompiled::Other => "of another kind",
    });
    headers.insert("precompiled code", native.unwrap_or("none").into());
    let is_signed = image.bytes_at(cli.strong_name).iter().any(|byte| *byte != 0);
    headers.insert(STRONG_NAME, if is_signed { "signed" } else { "not signed" }.into());
    headers.insert("vtable fixups", format!("{} bytes", cli.vtable_fixups.size));
    let win32 = win32::leaves(image).into_iter().map(|(way, content)| format!("{way}: {}", digest(content)));
    headers.insert("Win32 resources", win32.collect::<Vec<_>>().join("; "));
    headers.insert("characteristics", format!("{:#x}, {:#x}", image.characteristics(), image.dll_characteristics()));
    headers.insert("stack", format!("{:#x} bytes", image.stack_reserve()));
    headers.insert("native exports", format!("{} bytes", size(DirectoryKind::Export)));
    headers.insert("native unwind table", format!("{} bytes", size(DirectoryKind::Exception)));
    headers.insert("Authenticode", if size(DirectoryKind::Certificate) == 0 { "not signed" } else { "signed" }.into());
    let entries = DebugEntry::read_all(image).unwrap_or_default();
    let (pdb, others): (Vec<&DebugEntry<'_>>, Vec<_>) = entries.iter().partition(|entry| is_of_pdb(entry.kind));
    let words = |entries: Vec<&DebugEntry<'_>>| entries.into_iter().map(debug_entry).collect::<Vec<_>>().join("; ");
    headers.insert(PDB, words(pdb));
    headers.insert(DEBUG, words(others));
    native::headers(image, &mut headers);
    headers
}

fn permissions(names: &Names<'_, '_>) -> String {
    let rows = names.by_parent.permissions.children::<schema::DeclSecurity>(Token::new(Table::Assembly, 1).0);
    let rows = rows.filter_map(|rid| names.metadata.row(rid).ok());
    let text = |row: schema::DeclSecurity| {
        format!("action {}, {}", row.action, digest(names.metadata.blob(row.permission_set).unwrap_or_default()))
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
    format!("{word} {major}.{minor}, stamp {:08x}, {}", entry.time_date_stamp, digest(&entry.data))
}

/// Whether the debug entries for a PDB are of the same kinds and name the same file, or are gone.
fn is_pdb_renewed(old: &Image<'_>, new: &Image<'_>) -> bool {
    let entries = |image: &Image<'_>| -> Vec<(u32, Vec<u8>)> {
        let entries = DebugEntry::read_all(image).unwrap_or_default();
        let is_kept = |entry: &&DebugEntry<'_>| is_of_pdb(entry.kind) && entry.kind != kind::R2R_PERF_MAP;
        let path = |entry: &DebugEntry<'_>| match entry.kind {
            kind::CODE_VIEW => entry.data.get(CodeView::PATH..).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        };
        entries.iter().filter(is_kept).map(|entry| (entry.kind, path(entry))).collect()
    };
    let new = entries(new);
    new.is_empty() || new == entries(old)
}

/// Copies old header values into the new headers where they depend on more than the original: on a key to sign with,
/// or on a PDB.
fn hide(original: &Image<'_>, (old_names, old): (&Names<'_, '_>, &Headers), (names, new): (&Names<'_, '_>, &mut Headers)) {
    let value = |headers: &Headers, name: &str| headers.get(name).cloned().unwrap_or_default();
    let (old_cli, cli) = (old_names.image.cli_header(), names.image.cli_header());
    let is_signed_otherwise = old_cli.flags ^ cli.flags == cli_flags::STRONG_NAME_SIGNED;
    for (name, is_hidden) in [
        (PDB, is_pdb_renewed(original, names.image)),
        (FLAGS, is_signed_otherwise),
        (STRONG_NAME, !cli.is_strong_name_signed() || value(new, STRONG_NAME) == "signed"),
    ] {
        if is_hidden {
            new.insert(name, value(old, name));
        }
    }
}

fn text(headers: &Headers) -> Text {
    let mut text = Text::default();
    headers.iter().for_each(|(name, value)| text.push(0, format!("{name}: {value}")));
    text
}
