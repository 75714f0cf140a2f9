//! PE headers, sections, directories, the CLI header (II.25), and the data that they point to.

use ecma335::{
    Image, Metadata,
    image::{CliHeader, Directory, DirectoryKind},
};

use super::{Fields, Kind, bytes_of, code, metadata, row, u32_at};

/// The offset of the PE header's address in the DOS header.
const PE_OFFSET_AT: usize = 0x3C;
/// The sizes of the optional header's fields in front of its directories (II.25.2.3).
const OPTIONAL: [usize; 30] = [2, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 2, 2, 4, 4, 4, 4, 4, 4];
const OPTIONAL_PLUS: [usize; 29] = [2, 1, 1, 4, 4, 4, 4, 4, 8, 4, 4, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 2, 2, 8, 8, 8, 8, 4, 4];
const DEBUG_ENTRY: [usize; 8] = [4, 4, 2, 2, 4, 4, 4, 4];

pub(super) fn add(image: &Image<'_>, fields: &mut Fields) {
    let bytes = image.bytes();
    let (mut headers, mut directories, mut sections, mut cli, mut debug) = Default::default();
    let pe = u32_at(bytes, PE_OFFSET_AT) as usize;
    row(PE_OFFSET_AT, &[4], Kind::Number, &mut headers);
    let optional = row(pe, &[4, 2, 2, 4, 4, 4, 2, 2], Kind::Number, &mut headers);
    let widths = if image.is_pe32_plus() { &OPTIONAL_PLUS[..] } else { &OPTIONAL };
    let end = row(optional, widths, Kind::Number, &mut headers);
    row(end, &[4; 32], Kind::Number, &mut directories);
    let mut at = optional + (u32_at(bytes, pe + 20) & 0xFFFF) as usize;
    for _ in image.sections() {
        at = row(at, &[8, 4, 4, 4, 4, 4, 4, 2, 2, 4], Kind::Number, &mut sections);
    }
    let start = image.cli_header_offset().0 as usize;
    row(start, &[4; CliHeader::SIZE / 4], Kind::Number, &mut cli);
    let Directory { rva, size } = image.directory(DirectoryKind::Debug);
    if let Ok(offset) = image.offset_of(rva) {
        let mut at = offset.0 as usize;
        for _ in 0..size.min(0x1000) as usize / DEBUG_ENTRY.iter().sum::<usize>() {
            let (data, length) = (u32_at(bytes, at + 24) as usize, u32_at(bytes, at + 16) as usize);
            at = row(at, &DEBUG_ENTRY, Kind::Number, &mut debug);
            debug.extend(bytes_of(data..data.saturating_add(length.min(64)), Kind::Number));
        }
    }
    fields.add(vec![headers, directories, sections, cli, debug]);
    let Ok(Ok(metadata)) = image.metadata().map(Metadata::parse) else { return };
    metadata::add(bytes, &metadata, fields);
    code::add(image, &metadata, fields);
}
