//! Writes an image: the input's own bytes at their RVAs, patched where they must be, and one section behind them.

use std::{borrow::Cow, io};

use crate::{
    error::{Error, ErrorKind, Result, malformed},
    image::{CliHeader, Directory, DirectoryKind, Image, Section},
    token::Rva,
};

/// Bytes in order, some borrowed from the input, some made: a file is written from them without being put together in
/// memory first.
#[derive(Debug, Default)]
pub struct Segments<'a> {
    parts: Vec<Cow<'a, [u8]>>,
    length: usize,
}

impl<'a> Segments<'a> {
    /// Adds bytes behind the others.
    pub fn push(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        let bytes = bytes.into();
        self.length += bytes.len();
        if !bytes.is_empty() {
            self.parts.push(bytes);
        }
    }

    /// Adds all of another's.
    pub fn append(&mut self, other: Segments<'a>) {
        self.length += other.length;
        self.parts.extend(other.parts);
    }

    /// Adds zeros up to a multiple of `alignment`.
    pub fn pad_to(&mut self, alignment: usize) {
        self.push(vec![0; self.length.next_multiple_of(alignment) - self.length]);
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The parts in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| &**part)
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.iter().try_for_each(|part| out.write_all(part))
    }

    /// All of it in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length);
        self.iter().for_each(|part| out.extend_from_slice(part));
        out
    }
}

/// Writes an image with one more section. What is in it, and where the headers say it is, the caller decides.
#[derive(Debug)]
pub struct ImageWriter<'a, 'i> {
    image: &'i Image<'a>,
    cli: CliHeader,
    machine: u16,
    cleared: Vec<DirectoryKind>,
}

const SECTION_HEADER_SIZE: usize = 40;
const SECTION_NAME: [u8; 8] = *b".ilinst\0";
/// Code, readable, executable: what compilers give the section of IL and metadata.
const SECTION_CHARACTERISTICS: u32 = 0x6000_0020;

impl<'a, 'i> ImageWriter<'a, 'i> {
    /// Starts with the input's headers.
    pub fn new(image: &'i Image<'a>) -> Self {
        Self { image, cli: *image.cli_header(), machine: image.machine(), cleared: Vec::new() }
    }

    /// Where the new section will start.
    ///
    /// # Errors
    /// If the headers leave no address for it.
    pub fn section_rva(&self) -> Result<Rva> {
        let end =
            |section: &Section| u64::from(section.virtual_address.0) + u64::from(section.virtual_size.max(section.raw_size));
        let end = self.image.sections().iter().map(end).max().unwrap_or(u64::from(self.image.size_of_headers()));
        let alignment = u64::from(self.image.section_alignment().max(1));
        let rva = end.next_multiple_of(alignment);
        u32::try_from(rva).map(Rva).map_err(|_| Error::new(ErrorKind::Limit("an image of 4 GiB")))
    }

    /// Has the CLI header say where the metadata is now.
    pub fn set_metadata(&mut self, metadata: Directory) {
        self.cli.metadata = metadata;
    }

    /// The CLI header that will be written, to be changed.
    pub fn cli_header_mut(&mut self) -> &mut CliHeader {
        &mut self.cli
    }

    /// Has the COFF header name another processor.
    pub fn set_machine(&mut self, machine: u16) {
        self.machine = machine;
    }

    /// Has the optional header leave a directory empty.
    pub fn clear_directory(&mut self, kind: DirectoryKind) {
        self.cleared.push(kind);
    }

    /// The whole file: the input's, and a section with `content` behind its sections.
    ///
    /// # Errors
    /// If the headers break the format, or there is no room for one more section header.
    pub fn finish(self, content: Segments<'a>) -> Result<Segments<'a>> {
        let image = self.image;
        let rva = self.section_rva()?;
        let file_alignment = image.file_alignment().max(1) as usize;
        let old_headers = image.size_of_headers() as usize;
        let offsets = image.header_offsets();
        let table_end = offsets.sections + (image.sections().len() + 1) * SECTION_HEADER_SIZE;
        // Something may stand between the section table and the first section: it moves with the sections.
        let first_raw =
            image.sections().iter().filter(|section| section.raw_size > 0).map(|section| section.raw_offset as usize).min();
        let raw_start = first_raw.unwrap_or(old_headers).min(image.bytes().len());
        if table_end - SECTION_HEADER_SIZE > raw_start {
            return malformed(image.cli_header_offset(), "sections overlap the headers");
        }
        let shift = table_end.saturating_sub(raw_start).next_multiple_of(file_alignment);
        let new_raw_start = raw_start + shift;
        let first_rva = image.sections().iter().map(|section| section.virtual_address.0 as usize).min().unwrap_or(usize::MAX);
        if new_raw_start > first_rva {
            return Err(Error::new(ErrorKind::Unsupported("no room in the headers for one more section")));
        }
        let raw_end = image.sections().iter().map(|section| section.raw_offset as usize + section.raw_size as usize).max();
        let raw_end = raw_end.unwrap_or(raw_start).clamp(raw_start, image.bytes().len());

        let mut file = Segments::default();
        let mut headers = image.bytes().get(..offsets.sections).unwrap_or_default().to_vec();
        for section in image.sections() {
            put_section(&mut headers, section, shift as u32);
        }
        let section_start = (raw_end + shift).next_multiple_of(file_alignment);
        let raw_size = content.len().next_multiple_of(file_alignment);
        let limit = |value: usize| u32::try_from(value).map_err(|_| Error::new(ErrorKind::Limit("a file of 4 GiB")));
        let new_section = Section {
            name: SECTION_NAME,
            virtual_size: limit(content.len())?,
            virtual_address: rva,
            raw_size: limit(raw_size)?,
            raw_offset: limit(section_start)?,
            characteristics: SECTION_CHARACTERISTICS,
        };
        put_section(&mut headers, &new_section, 0);
        self.patch_headers(&mut headers, &new_section, new_raw_start.max(old_headers))?;
        headers.resize(new_raw_start, 0);
        let checksum_at = offsets.optional + 64;

        // The input's sections as they are, but for the CLI header and the debug entries' file offsets.
        let mut patches = vec![(image.cli_header_offset().0 as usize, self.cli.to_bytes())];
        if shift > 0 && !self.cleared.contains(&DirectoryKind::Debug) {
            patches.extend(self.debug_entry_patches(shift as u32));
        }
        patches.sort_by_key(|(offset, _)| *offset);
        let mut body = Segments::default();
        let mut at = raw_start;
        for (offset, bytes) in patches {
            if offset < at || offset + bytes.len() > raw_end {
                return malformed(image.cli_header_offset(), "the CLI header or a debug entry lies outside of the sections");
            }
            body.push(image.bytes().get(at..offset).unwrap_or_default());
            at = offset + bytes.len();
            body.push(bytes);
        }
        body.push(image.bytes().get(at..raw_end).unwrap_or_default());
        body.push(vec![0; section_start - (raw_end + shift)]);
        body.append(content);
        body.pad_to_from(section_start - new_raw_start, file_alignment);
        body.push(self.overlay(raw_end));
        if image.checksum() != 0 {
            let length = headers.len() + body.len();
            let sum = checksum(std::iter::once(&headers[..]).chain(body.iter()));
            let sum = sum.wrapping_add(length as u32);
            if let Some(cell) = headers.get_mut(checksum_at..checksum_at + 4) {
                cell.copy_from_slice(&sum.to_le_bytes());
            }
        }
        file.push(headers);
        file.append(body);
        Ok(file)
    }

    fn patch_headers(&self, headers: &mut [u8], section: &Section, size_of_headers: usize) -> Result<()> {
        let offsets = self.image.header_offsets();
        let alignment = self.image.section_alignment().max(1);
        let end =
            (section.virtual_address.0.checked_add(section.virtual_size)).and_then(|end| end.checked_next_multiple_of(alignment));
        let size_of_image = end.ok_or_else(|| Error::new(ErrorKind::Limit("an image of 4 GiB")))?;
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(cell) = headers.get_mut(at..at + bytes.len()) {
                cell.copy_from_slice(bytes);
            }
        };
        put(offsets.coff, &self.machine.to_le_bytes());
        put(offsets.coff + 2, &(self.image.sections().len() as u16 + 1).to_le_bytes());
        put(offsets.optional + 56, &size_of_image.to_le_bytes());
        put(offsets.optional + 60, &(size_of_headers as u32).to_le_bytes());
        put(offsets.optional + 64, &[0; 4]);
        // An Authenticode signature is of the old bytes.
        for kind in self.cleared.iter().chain([&DirectoryKind::Certificate]) {
            put(offsets.directories + *kind as usize * 8, &[0; 8]);
        }
        Ok(())
    }

    /// What stands behind the last section, without the Authenticode signature that no longer holds.
    fn overlay(&self, raw_end: usize) -> &'a [u8] {
        let certificate = self.image.directory(DirectoryKind::Certificate);
        let bytes = self.image.bytes();
        let end = if certificate.size == 0 { bytes.len() } else { (certificate.rva.0 as usize).clamp(raw_end, bytes.len()) };
        let overlay = bytes.get(raw_end..end).unwrap_or_default();
        // Zeros that only align the signature go with it.
        if overlay.iter().all(|byte| *byte == 0) { &[] } else { overlay }
    }

    /// The `PointerToRawData` of each debug entry, moved by `shift`.
    fn debug_entry_patches(&self, shift: u32) -> Vec<(usize, Vec<u8>)> {
        const ENTRY_SIZE: usize = 28;
        const POINTER: usize = 24;
        let directory = self.image.directory(DirectoryKind::Debug);
        let Ok(start) = self.image.offset_of(directory.rva) else { return Vec::new() };
        let entries = (0..directory.size as usize / ENTRY_SIZE).map(|index| start.0 as usize + index * ENTRY_SIZE + POINTER);
        entries
            .filter_map(|at| {
                let pointer = u32::from_le_bytes(self.image.bytes().get(at..at + 4)?.try_into().ok()?);
                (pointer != 0).then(|| (at, pointer.wrapping_add(shift).to_le_bytes().to_vec()))
            })
            .collect()
    }
}

impl Segments<'_> {
    /// Adds zeros up to a multiple of `alignment`, counted from `start`.
    fn pad_to_from(&mut self, start: usize, alignment: usize) {
        let length = self.len() - start;
        self.push(vec![0; length.next_multiple_of(alignment) - length]);
    }
}

fn put_section(headers: &mut Vec<u8>, section: &Section, shift: u32) {
    headers.extend_from_slice(&section.name);
    let raw_offset = if section.raw_size == 0 { section.raw_offset } else { section.raw_offset.wrapping_add(shift) };
    for number in
        [section.virtual_size, section.virtual_address.0, section.raw_size, raw_offset, 0, 0, 0, section.characteristics]
    {
        headers.extend_from_slice(&number.to_le_bytes());
    }
}

/// The PE checksum without the file's length: the sum of all 16-bit words, each carry added in again.
fn checksum<'s>(parts: impl Iterator<Item = &'s [u8]>) -> u32 {
    let mut sum = 0_u64;
    let mut odd: Option<u8> = None;
    for mut part in parts {
        if let (Some(low), [high, rest @ ..]) = (odd, part) {
            sum += u64::from(u16::from_le_bytes([low, *high]));
            odd = None;
            part = rest;
        }
        // One's complement addition does not care how wide the words are: four bytes at a time give the same sum.
        let words = part.chunks_exact(4);
        let tail = words.remainder();
        sum += words.map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))).sum::<u64>();
        let pairs = tail.chunks_exact(2);
        if let [last] = pairs.remainder() {
            odd = Some(*last);
        }
        sum += pairs.map(|pair| u64::from(u16::from_le_bytes([pair[0], pair[1]]))).sum::<u64>();
    }
    sum += u64::from(odd.unwrap_or(0));
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    sum as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_does_not_depend_on_how_the_file_is_cut() {
        let bytes: Vec<u8> = (0..1001_u32).map(|number| ((number * 7919) >> 3) as u8).collect();
        let whole = checksum(std::iter::once(&bytes[..]));
        for cut in [1, 2, 3, 500, 999] {
            assert_eq!(checksum([&bytes[..cut], &bytes[cut..]].into_iter()), whole, "cut at {cut}");
        }
    }
}
