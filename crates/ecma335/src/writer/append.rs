//! Keeps the input's layout: its bytes stay at their RVAs, patched where necessary, and one section is added at the
//! end.

use super::{
    block::Block,
    headers::{Headers, OutputSection, Parts},
};
use crate::{
    builder::MetadataBuilder,
    error::{Error, ErrorKind, Result, malformed},
    image::{CliHeader, Directory, DirectoryKind, Image, Section},
    schema::{FieldRva, MethodDef},
    segments::Segments,
    token::{FileOffset, Rva},
};

/// The section's name and flags: code, readable, executable.
const ILINST: ([u8; 8], u32) = (*b".ilinst\0", 0x6000_0020);

/// An address outside of every section.
const NOWHERE: Rva = Rva(0xFFFF_FFF0);

/// The positions of the input's parts.
pub(super) struct Appended {
    /// The file offset of the input's first section.
    raw_start: usize,
    /// The file offset of the end of its last section.
    raw_end: usize,
    /// The distance in the file by which all sections move, for the additional section header.
    shift: usize,
    /// The file offset of the new section.
    pub(super) section_offset: usize,
}

impl Appended {
    pub(super) fn section_rva(image: &Image<'_>) -> Result<Rva> {
        let end =
            |section: &Section| u64::from(section.virtual_address.0) + u64::from(section.virtual_size.max(section.raw_size));
        let end = image.sections().iter().map(end).max().unwrap_or(u64::from(image.size_of_headers()));
        let rva = end.next_multiple_of(u64::from(image.section_alignment().max(1)));
        u32::try_from(rva).map(Rva).map_err(|_| Error::new(ErrorKind::Limit("an image of 4 GiB")))
    }

    /// Keeps dangling RVAs of the input from pointing into the new section.
    pub(super) fn keep_dangling(image: &Image<'_>, builder: &mut MetadataBuilder<'_, '_>) {
        let metadata = builder.metadata();
        // 0 means no body or no data, even if the headers contain that address.
        let dangles = |rva: u32| rva != 0 && rva >= image.size_of_headers() && image.section_of(Rva(rva)).is_none();
        for (rid, _) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| dangles(row.rva)) {
            builder.set_method_rva(rid, NOWHERE);
        }
        for (rid, _) in metadata.tables.rows::<FieldRva>().filter(|(_, row)| dangles(row.rva)) {
            builder.set_field_rva(rid, NOWHERE);
        }
    }

    pub(super) fn new(image: &Image<'_>) -> Result<Self> {
        let file_alignment = checked_alignment(image)?;
        if image.sections().len() == Image::MAX_SECTIONS {
            return Err(Error::new(ErrorKind::Limit("96 sections")));
        }
        let table_end = image.header_offsets().sections + (image.sections().len() + 1) * Headers::SECTION_SIZE;
        // Bytes between the section table and the first section move with the sections.
        let raw_starts =
            image.sections().iter().filter(|section| section.raw_size > 0).map(|section| section.raw_offset as usize);
        let raw_start = raw_starts.min().unwrap_or(image.size_of_headers() as usize).min(image.bytes().len());
        if table_end - Headers::SECTION_SIZE > raw_start {
            return malformed(image.cli_header_offset(), "sections overlap the headers");
        }
        let shift = table_end.saturating_sub(raw_start).next_multiple_of(file_alignment);
        let first_rva = image.sections().iter().map(|section| section.virtual_address.0 as usize).min().unwrap_or(usize::MAX);
        if raw_start + shift > first_rva {
            return Err(Error::new(ErrorKind::Unsupported("no room in the headers for one more section")));
        }
        let raw_end = image.sections().iter().map(|section| section.raw_offset as usize + section.raw_size as usize).max();
        let raw_end = raw_end.unwrap_or(raw_start).max(raw_start);
        if raw_end > image.bytes().len() {
            return malformed(FileOffset(image.bytes().len() as u64), "the file ends before its last section does");
        }
        Ok(Self { raw_start, raw_end, shift, section_offset: (raw_end + shift).next_multiple_of(file_alignment) })
    }

    /// The file, with `block` as its last section.
    pub(super) fn lay_out<'a>(
        &self,
        image: &Image<'a>,
        cli: &CliHeader,
        block: Block<'a>,
        debug: Directory,
    ) -> Result<Parts<'a>> {
        let mut headers = Headers::read(image);
        headers.set_directory(DirectoryKind::Debug, debug);
        for section in image.sections() {
            let moved = if section.raw_size == 0 { 0 } else { self.shift as u32 };
            headers.put_section(&Section { raw_offset: section.raw_offset.wrapping_add(moved), ..*section });
        }
        // The input's sections are unchanged, except for the CLI header.
        let cli_at = image.cli_header_offset().0 as usize;
        let cli = cli.to_bytes();
        let parts = [self.raw_start..cli_at, cli_at + cli.len()..self.raw_end];
        let [Some(before), Some(behind)] = parts.map(|part| image.bytes().get(part)) else {
            return malformed(image.cli_header_offset(), "the CLI header lies outside of the sections");
        };
        let mut kept = Segments::default();
        kept.push(before);
        kept.push(cli);
        kept.push(behind);
        let sections = vec![OutputSection::new(ILINST, block.start.0, block.segments)];
        Ok(Parts { headers, header_size: self.raw_start + self.shift, kept, sections })
    }
}

/// The alignment of sections in the file, which bounds the gaps between them.
///
/// # Errors
/// If the alignment in the file or in memory breaks II.25.2.3.2 or the PE format. No .NET loader accepts such an
/// image.
fn checked_alignment(image: &Image<'_>) -> Result<usize> {
    const MAX_FILE_ALIGNMENT: u32 = 0x1_0000;
    let (file, section) = (image.file_alignment(), image.section_alignment());
    if !file.is_power_of_two() || file > MAX_FILE_ALIGNMENT {
        return malformed(image.header_offset(36), "the file alignment is no power of two up to 64 KiB");
    }
    if !section.is_power_of_two() || section < file {
        return malformed(image.header_offset(32), "the section alignment is no power of two from the file alignment on");
    }
    Ok(file as usize)
}
