//! Writes an image: laid out anew where it is IL alone, or in the input's layout with one section more (II.25).

mod append;
mod coverage;
mod relayout;

use std::{borrow::Cow, ops::Range};

use append::Appended;
use coverage::Coverage;
pub use coverage::Obstacle;

use crate::{
    builder::MetadataBuilder,
    container::ContainerWriter,
    debug::{self, DebugEntry},
    error::{Error, ErrorKind, Result},
    image::{CliHeader, Directory, DirectoryKind, HeaderOffsets, Image, Section},
    metadata::Metadata,
    output::OutputFile,
    segments::Segments,
    token::Rva,
};

/// How the sections of an image that was laid out anew are aligned, in memory and in the file.
pub const ALIGNMENT: (u32, u32) = (relayout::SECTION_ALIGNMENT, relayout::FILE_ALIGNMENT);

/// How the output is laid out.
#[derive(Debug)]
enum Layout<'a> {
    /// Anew: what is known of the image covers it.
    Relayout(Coverage<'a>),
    /// As the input is, with a section behind its own.
    Append(Obstacle),
}

/// The same, with where everything comes to lie.
enum Place<'a> {
    Relayout(Coverage<'a>),
    Append(Appended),
}

/// What stands behind the new bodies, in this order: whatever holds the address of another comes after it.
#[derive(Clone, Copy)]
enum Segment {
    /// Those that were not woven.
    Bodies,
    FieldData,
    Resources,
    StrongName,
    Metadata,
    DebugDirectory,
    Imports,
}

impl Segment {
    const ORDER: [Self; 7] =
        [Self::Bodies, Self::FieldData, Self::Resources, Self::StrongName, Self::Metadata, Self::DebugDirectory, Self::Imports];
}

/// Writes an image with new metadata and new bodies. What is in it, and what the headers say of it, the caller decides.
#[derive(Debug)]
pub struct ImageWriter<'a, 'i> {
    image: &'i Image<'a>,
    layout: Layout<'a>,
    cli: CliHeader,
    machine: u16,
    cleared: Vec<DirectoryKind>,
    debug: Vec<DebugEntry<'a>>,
    signature_size: usize,
}

impl<'a, 'i> ImageWriter<'a, 'i> {
    /// Starts with the input's headers. An image of IL alone is laid out anew, unless its layout is to be kept.
    pub fn new(image: &'i Image<'a>, metadata: &Metadata<'a>, keep_layout: bool) -> Self {
        let coverage = if keep_layout { Err(Obstacle::Requested) } else { Coverage::of(image, metadata) };
        let layout = coverage.map_or_else(Layout::Append, Layout::Relayout);
        let (cli, machine) = (*image.cli_header(), image.machine());
        let signature_size = image.bytes_at(cli.strong_name).len();
        Self { image, layout, cli, machine, cleared: Vec::new(), debug: Vec::new(), signature_size }
    }

    /// Why the image keeps its layout; none if it is laid out anew.
    pub fn obstacle(&self) -> Option<Obstacle> {
        match self.layout {
            Layout::Relayout(_) => None,
            Layout::Append(obstacle) => Some(obstacle),
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

impl<'a> ContainerWriter<'a> for ImageWriter<'a, '_> {
    fn code_rva(&self) -> Result<Rva> {
        match &self.layout {
            Layout::Relayout(coverage) => Ok(coverage.code_place(self.image).0),
            Layout::Append(_) => Appended::section_rva(self.image),
        }
    }

    fn code_offset(&self) -> Result<usize> {
        match &self.layout {
            Layout::Relayout(coverage) => Ok(coverage.code_place(self.image).1),
            Layout::Append(_) => Ok(Appended::new(self.image)?.section_offset),
        }
    }

    fn finish(mut self, code: Segments<'a>, mut builder: MetadataBuilder<'a, '_>) -> Result<OutputFile<'a>> {
        let layout = std::mem::replace(&mut self.layout, Layout::Append(Obstacle::Requested));
        let (image, mut block) = (self.image, Block { start: Rva(0), offset: 0, segments: code });
        let place = match layout {
            Layout::Relayout(coverage) => {
                (block.start, block.offset) = coverage.code_place(image);
                Place::Relayout(coverage)
            }
            Layout::Append(_) => {
                let appended = Appended::new(image)?;
                (block.start, block.offset) = (Appended::section_rva(image)?, appended.section_offset);
                Place::Append(appended)
            }
        };
        let (mut signature, mut debug, mut imports) = (None, Directory::default(), None);
        for segment in Segment::ORDER {
            match (segment, &place) {
                (Segment::Bodies, Place::Relayout(coverage)) => coverage.move_bodies(image, &mut block, &mut builder),
                (Segment::Bodies, Place::Append(_)) => Appended::keep_dangling(image, &mut builder),
                (Segment::FieldData, Place::Relayout(coverage)) => coverage.move_field_data(image, &mut block, &mut builder),
                (Segment::Resources, Place::Relayout(_)) => {
                    self.cli.resources = block.place(image.bytes_at(image.cli_header().resources), 8);
                }
                (Segment::StrongName, _) if self.signature_size > 0 => {
                    block.segments.pad_to(8);
                    signature = Some(block.file_end()..block.file_end() + self.signature_size);
                    self.cli.strong_name = block.place(vec![0; self.signature_size], 8);
                }
                (Segment::Metadata, _) => {
                    let root = builder.finish()?;
                    block.segments.pad_to(4);
                    self.cli.metadata = Directory { rva: block.end(), size: limit(root.len())? };
                    block.segments.append(root);
                }
                (Segment::DebugDirectory, _) => debug = block.place_debug(&self.debug),
                (Segment::Imports, Place::Relayout(coverage)) => imports = coverage.place_imports(image, &mut block),
                // They stay where they are, or there are none.
                (Segment::FieldData | Segment::Resources | Segment::StrongName | Segment::Imports, _) => {}
            }
        }
        let mut file = match place {
            Place::Relayout(coverage) => self.finish_relayout(&coverage, block, debug, imports)?,
            Place::Append(appended) => self.finish_appended(&appended, block, debug)?,
        };
        file.signature = signature;
        Ok(file)
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
