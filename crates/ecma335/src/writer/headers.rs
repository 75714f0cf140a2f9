//! Writes the headers (II.25.2), and assembles a file from them and its sections.

use std::ops::Range;

use little_endian::{ByteOrder, LE, NumbersAt, PutNumbers};

use crate::{
    error::{Error, ErrorKind, Result},
    image::{Directory, DirectoryKind, HeaderOffsets, Image, Section},
    output::OutputFile,
    segments::Segments,
    token::Rva,
};

/// The parts of a file: headers, kept sections, new sections.
pub(super) struct Parts<'a> {
    pub(super) headers: Headers,
    /// The size reserved for the headers in the file, in bytes. The unused rest is zeros.
    pub(super) header_size: usize,
    /// The kept sections of the input. The headers already list them.
    pub(super) kept: Segments<'a>,
    /// The new sections, which the headers do not list yet.
    pub(super) sections: Vec<OutputSection<'a>>,
}

impl<'a> Parts<'a> {
    /// Assembles the file, including the bytes after the input's sections.
    pub(super) fn assemble(self, image: &Image<'a>) -> Result<OutputFile<'a>> {
        let Self { mut headers, header_size, kept: mut body, sections } = self;
        let (section_alignment, file_alignment) = headers.alignment();
        let size_of_image = sections.last().map(|last| last.rva as usize + last.content.len());
        for section in sections {
            pad_to_from(&mut body, header_size, file_alignment);
            let virtual_size = limit(section.content.len())?;
            let raw_offset = limit(header_size + body.len())?;
            body.append(section.content);
            pad_to_from(&mut body, header_size, file_alignment);
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
        let hashed = headers.hashed();
        let checksum_at = (image.checksum() != 0).then(|| headers.checksum_at());
        headers.bytes.resize(header_size, 0);
        let mut segments = Segments::default();
        segments.push(headers.bytes);
        segments.append(body);
        segments.push(overlay(image));
        Ok(OutputFile { segments, signature: None, hashed, checksum_at })
    }
}

/// The bytes after the last section, without the Authenticode signature, which is no longer valid.
fn overlay<'a>(image: &Image<'a>) -> &'a [u8] {
    let bytes = image.bytes();
    let raw_end = image.sections().iter().map(|section| section.raw_offset as usize + section.raw_size as usize).max();
    let raw_end = raw_end.unwrap_or(bytes.len()).min(bytes.len());
    let certificate = image.directory(DirectoryKind::Certificate);
    let end = if certificate.size == 0 { bytes.len() } else { (certificate.rva.0 as usize).clamp(raw_end, bytes.len()) };
    let overlay = bytes.get(raw_end..end).unwrap_or_default();
    // Zeros that only align the signature are dropped with it.
    if overlay.iter().all(|byte| *byte == 0) { &[] } else { overlay }
}

pub(super) struct OutputSection<'a> {
    pub(super) name: [u8; 8],
    pub(super) characteristics: u32,
    pub(super) rva: u32,
    pub(super) content: Segments<'a>,
}

impl<'a> OutputSection<'a> {
    pub(super) fn new((name, characteristics): ([u8; 8], u32), rva: u32, content: Segments<'a>) -> Self {
        Self { name, characteristics, rva, content }
    }
}

/// The headers before the sections, as bytes to patch (II.25.2).
pub(super) struct Headers {
    bytes: Vec<u8>,
    pub(super) offsets: HeaderOffsets,
    sections: u16,
    /// The file ranges of the sections.
    raw: Vec<Range<usize>>,
}

impl Headers {
    /// The size of one section header, in bytes.
    pub(super) const SECTION_SIZE: usize = 40;

    /// Copies the input's headers, up to its section headers.
    pub(super) fn read(image: &Image<'_>) -> Self {
        let offsets = image.header_offsets();
        let bytes = image.bytes().get(..offsets.sections).unwrap_or_default().to_vec();
        Self { bytes, offsets, sections: 0, raw: Vec::new() }
    }

    fn put_u16(&mut self, at: usize, number: u16) {
        if let Some(cell) = self.bytes.get_mut(at..at + 2) {
            LE::write_u16(cell, number);
        }
    }

    pub(super) fn put_u32(&mut self, at: usize, number: u32) {
        if let Some(cell) = self.bytes.get_mut(at..at + 4) {
            LE::write_u32(cell, number);
        }
    }

    fn u32(&self, at: usize) -> u32 {
        self.bytes.u32_at(at).unwrap_or(0)
    }

    /// Sets the processor in the COFF header.
    pub(super) fn set_machine(&mut self, machine: u16) {
        self.put_u16(self.offsets.coff, machine);
    }

    pub(super) fn set_directory(&mut self, kind: DirectoryKind, directory: Directory) {
        let at = self.offsets.directories + kind as usize * 8;
        self.put_u32(at, directory.rva.0);
        self.put_u32(at + 4, directory.size);
    }

    pub(super) fn clear_directories(&mut self) {
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

    pub(super) fn put_section(&mut self, section: &Section) {
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
            self.bytes.put_u32(number);
        }
        self.raw.push(section.raw_offset as usize..section.raw_offset as usize + section.raw_size as usize);
        self.sections += 1;
        self.put_u16(self.offsets.coff + 2, self.sections);
    }

    /// The ranges that a strong name covers: these headers, and the sections in the file.
    fn hashed(&self) -> Vec<Range<usize>> {
        std::iter::once(0..self.bytes.len()).chain(self.raw.iter().cloned()).collect()
    }
}

/// A size or an offset in a file, as a 32-bit header field.
pub(super) fn limit(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::new(ErrorKind::Limit("a file of 4 GiB")))
}

/// Adds zeros up to a multiple of `alignment`, counted from `start` bytes before the first.
fn pad_to_from(segments: &mut Segments<'_>, start: usize, alignment: usize) {
    let length = start + segments.len();
    segments.push(vec![0; length.next_multiple_of(alignment) - length]);
}
