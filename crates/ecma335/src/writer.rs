//! Writes an image: laid out anew where it is IL alone, or in the input's layout with one section more (II.25).

mod anew;
mod append;
mod inventory;

use std::{borrow::Cow, ops::Range};

use append::Appended;
use inventory::Inventory;
pub use inventory::Obstacle;

use crate::{
    builder::MetadataBuilder,
    debug::{self, DebugEntry},
    error::{Error, ErrorKind, Result},
    image::{CliHeader, Directory, DirectoryKind, HeaderOffsets, Image, Section},
    metadata::Metadata,
    segments::Segments,
    token::Rva,
};

/// How the sections of an image that was laid out anew are aligned, in memory and in the file.
pub const ALIGNMENT: (u32, u32) = (anew::SECTION_ALIGNMENT, anew::FILE_ALIGNMENT);

/// Writes an image with new metadata and new bodies. What is in it, and what the headers say of it, the caller decides.
#[derive(Debug)]
pub struct ImageWriter<'a, 'i> {
    image: &'i Image<'a>,
    layout: Result<Inventory<'a>, Obstacle>,
    cli: CliHeader,
    machine: u16,
    cleared: Vec<DirectoryKind>,
    debug: Vec<DebugEntry<'a>>,
    signature_size: usize,
}

impl<'a, 'i> ImageWriter<'a, 'i> {
    /// Starts with the input's headers. An image of IL alone is laid out anew, unless its layout is to be kept.
    pub fn new(image: &'i Image<'a>, metadata: &Metadata<'a>, keep_layout: bool) -> Self {
        let layout = if keep_layout { Err("") } else { Inventory::of(image, metadata) };
        let (cli, machine) = (*image.cli_header(), image.machine());
        let signature_size = image.bytes_at(cli.strong_name).len();
        Self { image, layout, cli, machine, cleared: Vec::new(), debug: Vec::new(), signature_size }
    }

    /// Why the image keeps its layout; none if it is laid out anew, or its layout was to be kept.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.layout.as_ref().err().copied().filter(|why| !why.is_empty())
    }

    /// Where the first new body will be.
    ///
    /// # Errors
    /// If there is no address left for it.
    pub fn code_rva(&self) -> Result<Rva> {
        match &self.layout {
            Ok(inventory) => Ok(inventory.code_place(self.image).0),
            Err(_) => Appended::section_rva(self.image),
        }
    }

    /// Where in the file the first new body will be.
    ///
    /// # Errors
    /// If the headers break the format.
    pub fn code_offset(&self) -> Result<usize> {
        match &self.layout {
            Ok(inventory) => Ok(inventory.code_place(self.image).1),
            Err(_) => Ok(Appended::new(self.image)?.section_offset),
        }
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

    /// The entries of the debug directory; without a call it has none.
    pub fn set_debug(&mut self, entries: Vec<DebugEntry<'a>>) {
        self.debug = entries;
    }

    /// The size of the strong name signature that room is to be left for; without a call, as the input has it.
    pub fn set_signature_size(&mut self, size: usize) {
        self.signature_size = size;
    }

    /// The whole file. `code` holds the new bodies, the first of them at [`code_rva`](Self::code_rva).
    ///
    /// # Errors
    /// If the headers break the format, or a limit of it is passed.
    pub fn finish(mut self, code: Segments<'a>, mut builder: MetadataBuilder<'a, '_>) -> Result<OutputFile<'a>> {
        let layout = std::mem::replace(&mut self.layout, Err(""));
        let (appended, (start, offset)) = match &layout {
            Ok(inventory) => (None, inventory.code_place(self.image)),
            Err(_) => {
                let appended = Appended::new(self.image)?;
                let place = (Appended::section_rva(self.image)?, appended.section_offset);
                (Some(appended), place)
            }
        };
        let mut block = Block { start, offset, segments: code };
        match &layout {
            Ok(inventory) => self.cli.resources = inventory.place(self.image, &mut block, &mut builder),
            Err(_) => Appended::keep_dangling(self.image, &mut builder),
        }
        let mut signature = None;
        if self.signature_size > 0 {
            block.segments.pad_to(8);
            signature = Some(block.file_end()..block.file_end() + self.signature_size);
            self.cli.strong_name = block.place(vec![0; self.signature_size], 8);
        }
        let root = builder.finish()?;
        block.segments.pad_to(4);
        self.cli.metadata = Directory { rva: block.end(), size: limit(root.len())? };
        block.segments.append(root);
        let debug = block.place_debug(&self.debug);
        let mut file = match (&layout, &appended) {
            (Ok(inventory), _) => self.finish_anew(inventory, block, debug)?,
            (_, Some(appended)) => self.finish_appended(appended, block, debug)?,
            (Err(_), None) => return Err(Error::new(ErrorKind::Unsupported("no layout"))),
        };
        file.signature = signature;
        Ok(file)
    }

    /// Puts headers, the input's sections if they are kept, new sections and what lies behind them together.
    fn assemble(
        &self,
        mut headers: Headers,
        header_size: usize,
        kept: Segments<'a>,
        sections: Vec<OutputSection<'a>>,
    ) -> Result<OutputFile<'a>> {
        let (section_alignment, file_alignment) = headers.alignment();
        let mut body = kept;
        let size_of_image = sections.last().map(|last| last.rva as usize + last.content.len());
        for section in sections {
            body.pad_to_from(header_size, file_alignment);
            let virtual_size = limit(section.content.len())?;
            let raw_offset = limit(header_size + body.len())?;
            body.append(section.content);
            body.pad_to_from(header_size, file_alignment);
            headers.put_section(&Section {
                name: section.name,
                virtual_size,
                virtual_address: Rva(section.rva),
                raw_size: limit(header_size + body.len())? - raw_offset,
                raw_offset,
                characteristics: section.characteristics,
            });
        }
        headers.put_u32(headers.offsets.optional + 56, limit(size_of_image.unwrap_or(0).next_multiple_of(section_alignment))?);
        headers.put_u32(headers.offsets.optional + 60, limit(header_size.max(headers.size_of_headers()))?);
        headers.put_u32(headers.checksum_at(), 0);
        headers.put(headers.offsets.coff, &self.machine.to_le_bytes());
        // An Authenticode signature is of the old bytes.
        for kind in self.cleared.iter().chain([&DirectoryKind::Certificate]) {
            headers.set_directory(*kind, Directory::default());
        }
        let hashed = headers.hashed();
        let checksum_at = (self.image.checksum() != 0).then(|| headers.checksum_at());
        headers.bytes.resize(header_size, 0);
        let mut segments = Segments::default();
        segments.push(headers.bytes);
        segments.append(body);
        segments.push(self.overlay());
        Ok(OutputFile { segments, signature: None, hashed, checksum_at })
    }

    /// What stands behind the last section, without the Authenticode signature that no longer holds.
    fn overlay(&self) -> &'a [u8] {
        let bytes = self.image.bytes();
        let raw_end = self.image.sections().iter().map(|section| section.raw_offset as usize + section.raw_size as usize).max();
        let raw_end = raw_end.unwrap_or(bytes.len()).min(bytes.len());
        let certificate = self.image.directory(DirectoryKind::Certificate);
        let end = if certificate.size == 0 { bytes.len() } else { (certificate.rva.0 as usize).clamp(raw_end, bytes.len()) };
        let overlay = bytes.get(raw_end..end).unwrap_or_default();
        // Zeros that only align the signature go with it.
        if overlay.iter().all(|byte| *byte == 0) { &[] } else { overlay }
    }
}

/// Bytes that are put together at an address.
struct Block<'a> {
    start: Rva,
    /// Where in the file it will start.
    offset: usize,
    segments: Segments<'a>,
}

impl<'a> Block<'a> {
    /// The address behind it.
    fn end(&self) -> Rva {
        Rva(self.start.0 + self.segments.len() as u32)
    }

    /// The file offset behind it.
    fn file_end(&self) -> usize {
        self.offset + self.segments.len()
    }

    /// Puts bytes at the next multiple of `alignment`. No bytes have no place.
    fn place(&mut self, bytes: impl Into<Cow<'a, [u8]>>, alignment: u32) -> Directory {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Directory::default();
        }
        self.pad_like(0, alignment);
        let directory = Directory { rva: self.end(), size: bytes.len() as u32 };
        self.segments.push(bytes);
        directory
    }

    /// Adds zeros until its end lies as `rva` does within a block of `alignment` bytes.
    fn pad_like(&mut self, rva: u32, alignment: u32) {
        let missing = rva.wrapping_sub(self.end().0) % alignment;
        self.segments.push(vec![0; missing as usize]);
    }

    fn place_debug(&mut self, entries: &[DebugEntry<'a>]) -> Directory {
        if entries.is_empty() {
            return Directory::default();
        }
        self.pad_like(0, 4);
        let directory = Directory { rva: self.end(), size: (entries.len() * debug::ENTRY_SIZE) as u32 };
        let (mut rva, mut offset) = (directory.rva.0 + directory.size, self.file_end() + directory.size as usize);
        let mut table = Vec::new();
        for entry in entries {
            entry.put(Rva(rva), offset as u32, &mut table);
            let size = entry.data.len().next_multiple_of(4);
            (rva, offset) = (rva + size as u32, offset + size);
        }
        self.segments.push(table);
        for entry in entries {
            self.segments.push(entry.data.clone());
            self.pad_like(0, 4);
        }
        directory
    }
}

/// A section to be written.
struct OutputSection<'a> {
    name: [u8; 8],
    characteristics: u32,
    rva: u32,
    content: Segments<'a>,
}

impl<'a> OutputSection<'a> {
    fn new((name, characteristics): ([u8; 8], u32), rva: u32, content: Segments<'a>) -> Self {
        Self { name, characteristics, rva, content }
    }
}

/// The headers in front of the sections, as bytes to be patched (II.25.2).
struct Headers {
    bytes: Vec<u8>,
    offsets: HeaderOffsets,
    sections: u16,
    /// The sections' places in the file.
    raw: Vec<Range<usize>>,
}

impl Headers {
    /// The size of one section header.
    const SECTION_SIZE: usize = 40;

    /// The input's, up to its section headers.
    fn of(image: &Image<'_>) -> Self {
        let offsets = image.header_offsets();
        let bytes = image.bytes().get(..offsets.sections).unwrap_or_default().to_vec();
        Self { bytes, offsets, sections: 0, raw: Vec::new() }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(cell) = self.bytes.get_mut(at..at + bytes.len()) {
            cell.copy_from_slice(bytes);
        }
    }

    fn put_u32(&mut self, at: usize, number: u32) {
        self.put(at, &number.to_le_bytes());
    }

    fn u32(&self, at: usize) -> u32 {
        let bytes = self.bytes.get(at..at + 4).unwrap_or_default();
        bytes.try_into().map_or(0, u32::from_le_bytes)
    }

    fn set_directory(&mut self, kind: DirectoryKind, directory: Directory) {
        let at = self.offsets.directories + kind as usize * 8;
        self.put_u32(at, directory.rva.0);
        self.put_u32(at + 4, directory.size);
    }

    /// Leaves all directories empty.
    fn clear_directories(&mut self) {
        let (start, end) = (self.offsets.directories, self.offsets.sections);
        let end = end.min(start + 16 * 8);
        self.bytes.get_mut(start..end).unwrap_or_default().fill(0);
    }

    fn alignment(&self) -> (usize, usize) {
        let of = |at: usize| (self.u32(self.offsets.optional + at) as usize).max(1);
        (of(32), of(36))
    }

    fn size_of_headers(&self) -> usize {
        self.u32(self.offsets.optional + 60) as usize
    }

    fn checksum_at(&self) -> usize {
        self.offsets.optional + 64
    }

    fn put_section(&mut self, section: &Section) {
        self.bytes.extend_from_slice(&section.name);
        for number in [
            section.virtual_size,
            section.virtual_address.0,
            section.raw_size,
            section.raw_offset,
            0,
            0,
            0,
            section.characteristics,
        ] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.raw.push(section.raw_offset as usize..section.raw_offset as usize + section.raw_size as usize);
        self.sections += 1;
        self.put(self.offsets.coff + 2, &self.sections.to_le_bytes());
    }

    /// What a strong name is of: these headers, and the sections in the file.
    fn hashed(&self) -> Vec<Range<usize>> {
        std::iter::once(0..self.bytes.len()).chain(self.raw.iter().cloned()).collect()
    }
}

/// An image ready to be written.
#[derive(Debug, Default)]
pub struct OutputFile<'a> {
    segments: Segments<'a>,
    signature: Option<Range<usize>>,
    hashed: Vec<Range<usize>>,
    checksum_at: Option<usize>,
}

impl<'a> OutputFile<'a> {
    /// A file that is the input itself.
    pub fn unchanged(bytes: &'a [u8]) -> Self {
        let mut segments = Segments::default();
        segments.push(bytes);
        Self { segments, ..Self::default() }
    }

    /// What the strong name signature is to be of, in pieces: headers and sections, without the room for the signature
    /// itself. The checksum and the Authenticode entry count as zeros (II.6.2.1.3), and so they are still.
    pub fn signed_content(&self) -> impl Iterator<Item = &[u8]> {
        let signature = self.signature.clone().unwrap_or_default();
        self.hashed.iter().flat_map(move |range| {
            let before = range.start..range.end.min(signature.start.max(range.start));
            let behind = range.start.max(signature.end.min(range.end))..range.end;
            let (before, behind) = if signature.start >= range.end || signature.end <= range.start {
                (range.clone(), range.end..range.end)
            } else {
                (before, behind)
            };
            self.segments.range(before).chain(self.segments.range(behind))
        })
    }

    /// The size of the room for a strong name signature; 0 if there is none.
    pub fn signature_size(&self) -> usize {
        self.signature.as_ref().map_or(0, Range::len)
    }

    /// Puts the strong name signature in.
    pub fn sign(&mut self, signature: &[u8]) {
        if let Some(range) = &self.signature {
            self.segments.patch(range.start, signature.get(..range.len()).unwrap_or(signature));
        }
    }

    /// The file's bytes, with the PE checksum where the input had one.
    pub fn into_segments(mut self) -> Segments<'a> {
        if let Some(at) = self.checksum_at {
            let sum = checksum(self.segments.iter()).wrapping_add(self.segments.len() as u32);
            self.segments.patch(at, &sum.to_le_bytes());
        }
        self.segments
    }
}

fn limit(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::new(ErrorKind::Limit("a file of 4 GiB")))
}

impl Segments<'_> {
    /// Adds zeros up to a multiple of `alignment`, counted from `start` bytes before the first.
    fn pad_to_from(&mut self, start: usize, alignment: usize) {
        let length = start + self.len();
        self.push(vec![0; length.next_multiple_of(alignment) - length]);
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
