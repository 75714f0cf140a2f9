//! The new layout of an IL-only image (II.25). It has a section of writable data, one of code and metadata, one of
//! Win32 resources, and one of relocations. Unreferenced parts are dropped.

use little_endian::{ByteOrder, LE, PutNumbers};

use super::{
    block::Block,
    coverage::{Coverage, Item},
    headers::{Headers, OutputSection, Parts},
};
use crate::{
    builder::MetadataBuilder,
    error::{Error, ErrorKind, Result},
    image::{CliHeader, Directory, DirectoryKind, Image},
    schema::FieldRva,
    segments::Segments,
    token::{Rid, Rva},
};

/// The alignment of sections, as compilers choose it for IL-only images.
pub(super) const SECTION_ALIGNMENT: u32 = 0x2000;
pub(super) const FILE_ALIGNMENT: u32 = 0x200;
/// Field data keeps its offset within a block of this size, because programs read it as vectors.
const DATA_ALIGNMENT: u32 = 16;
/// The size of the import address table: one address, and its end.
const ADDRESS_TABLE_SIZE: u32 = 8;

const SDATA: ([u8; 8], u32) = (*b".sdata\0\0", 0xC000_0040);
const TEXT: ([u8; 8], u32) = (*b".text\0\0\0", 0x6000_0020);
const RSRC: ([u8; 8], u32) = (*b".rsrc\0\0\0", 0x4000_0040);
const RELOC: ([u8; 8], u32) = (*b".reloc\0\0", 0x4200_0040);

impl<'a> Coverage<'a> {
    /// The RVA of the first section.
    fn first_rva(&self, image: &Image<'_>) -> u32 {
        self.size_of_headers(image).next_multiple_of(SECTION_ALIGNMENT)
    }

    /// The RVA of .text. It follows .sdata, because the metadata in .text holds addresses in .sdata.
    fn text_rva(&self, image: &Image<'_>) -> u32 {
        let first = self.first_rva(image);
        if self.sdata_size() == 0 { first } else { (first + self.sdata_size()).next_multiple_of(SECTION_ALIGNMENT) }
    }

    /// The file offset of .text.
    fn text_offset(&self, image: &Image<'_>) -> usize {
        (self.size_of_headers(image) + self.sdata_size().next_multiple_of(FILE_ALIGNMENT)) as usize
    }

    /// The size of .sdata: from its first field to the end of its last. The fields keep their distances.
    fn sdata_size(&self) -> u32 {
        let end = self.writable_fields().iter().map(Item::end).max();
        end.map_or(0, |end| end - self.sdata_start())
    }

    /// The input's RVA for the start of .sdata.
    fn sdata_start(&self) -> u32 {
        self.writable_fields().first().map_or(0, |field| field.rva.0 / DATA_ALIGNMENT * DATA_ALIGNMENT)
    }

    fn writable_fields(&self) -> &[Item<FieldRva>] {
        &self.fields[1]
    }

    fn size_of_headers(&self, image: &Image<'_>) -> u32 {
        let sections = [self.sdata_size() > 0, true, self.win32.is_some(), self.start.is_some()];
        let sections = sections.iter().filter(|is_there| **is_there).count();
        ((image.header_offsets().sections + sections * Headers::SECTION_SIZE) as u32).next_multiple_of(FILE_ALIGNMENT)
    }

    /// The RVA and file offset of the first body, after the address table and the CLI header.
    pub(super) fn code_place(&self, image: &Image<'_>) -> (Rva, usize) {
        let table = if self.start.is_some() { ADDRESS_TABLE_SIZE } else { 0 };
        let behind = table + CliHeader::SIZE as u32;
        (Rva(self.text_rva(image) + behind), self.text_offset(image) + behind as usize)
    }

    /// Moves the bodies that were not instrumented after the new ones.
    pub(super) fn move_bodies(
        &self,
        image: &Image<'a>,
        block: &mut Block<'a>,
        builder: &mut MetadataBuilder<'a, '_>,
    ) -> Result<()> {
        let bodies = self.bodies.iter().filter(|body| !builder.has_new_body(body.row)).copied().collect::<Vec<_>>();
        move_items(image, &bodies, 4, block, |row, rva| builder.set_method_rva(row, rva))
    }

    /// Moves the data of fields: read-only data to the end of the block, writable data to .sdata.
    pub(super) fn move_field_data(
        &self,
        image: &Image<'a>,
        block: &mut Block<'a>,
        builder: &mut MetadataBuilder<'a, '_>,
    ) -> Result<()> {
        move_items(image, &self.fields[0], DATA_ALIGNMENT, block, |row, rva| builder.set_field_rva(row, rva))?;
        for field in self.writable_fields() {
            builder.set_field_rva(field.row, Rva(self.first_rva(image) + (field.rva.0 - self.sdata_start())));
        }
        Ok(())
    }

    /// Writes the import of mscoree.dll and the jump to it, if the image has them.
    pub(super) fn place_imports(&self, image: &Image<'a>, block: &mut Block<'a>) -> Result<Option<Imports>> {
        self.start.map(|start| Imports::put(start, self.text_rva(image), image.image_base() as u32, block)).transpose()
    }

    /// The file, with `block` in .text after the CLI header.
    pub(super) fn lay_out(
        &self,
        image: &Image<'a>,
        cli: &CliHeader,
        block: Block<'a>,
        debug: Directory,
        imports: Option<Imports>,
    ) -> Result<Parts<'a>> {
        let mut headers = Headers::read(image);
        headers.clear_directories();
        headers.set_directory(DirectoryKind::Debug, debug);
        let text_rva = self.text_rva(image);
        let mut text = Segments::default();
        let mut relocations = Vec::new();
        let mut entry = 0;
        if let Some(imports) = imports {
            text.push(imports.address_table.to_vec());
            headers.set_directory(DirectoryKind::Import, imports.directory);
            headers.set_directory(DirectoryKind::ImportAddress, Directory { rva: Rva(text_rva), size: ADDRESS_TABLE_SIZE });
            relocations = imports.relocations;
            entry = imports.entry;
        }
        let cli_rva = text_rva + text.len() as u32;
        headers.set_directory(DirectoryKind::CliHeader, Directory { rva: Rva(cli_rva), size: CliHeader::SIZE as u32 });
        text.push(cli.to_bytes());
        text.append(block.segments);

        let mut sections = Vec::new();
        if self.sdata_size() > 0 {
            let mut content = Segments::default();
            content.push(image.bytes_at(Directory { rva: Rva(self.sdata_start()), size: self.sdata_size() }));
            sections.push(OutputSection::new(SDATA, self.first_rva(image), content));
        }
        sections.push(OutputSection::new(TEXT, text_rva, text));
        let next_rva = |sections: &Vec<OutputSection<'a>>| {
            let end = sections.last().map_or(0, |last| last.rva as usize + last.content.len());
            u32::try_from(end.next_multiple_of(SECTION_ALIGNMENT as usize))
                .map_err(|_| Error::new(ErrorKind::Limit("an image of 4 GiB")))
        };
        if let Some(win32) = &self.win32 {
            let rva = next_rva(&sections)?;
            let mut bytes = win32.bytes.to_vec();
            for (at, inside) in &win32.leaves {
                if let Some(cell) = bytes.get_mut(*at..*at + 4) {
                    LE::write_u32(cell, rva + inside);
                }
            }
            let size = image.directory(DirectoryKind::Resource).size;
            headers.set_directory(DirectoryKind::Resource, Directory { rva: Rva(rva), size });
            let mut content = Segments::default();
            content.push(bytes);
            sections.push(OutputSection::new(RSRC, rva, content));
        }
        if !relocations.is_empty() {
            let rva = next_rva(&sections)?;
            headers.set_directory(DirectoryKind::BaseRelocation, Directory { rva: Rva(rva), size: relocations.len() as u32 });
            let mut content = Segments::default();
            content.push(relocations);
            sections.push(OutputSection::new(RELOC, rva, content));
        }
        let size = |section: &OutputSection<'_>| section.content.len().next_multiple_of(FILE_ALIGNMENT as usize) as u32;
        let optional = headers.offsets.optional;
        let is_text = |section: &&OutputSection<'_>| section.rva == text_rva;
        let code = sections.iter().find(is_text).map_or(0, size);
        let data = sections.iter().filter(|section| !is_text(section));
        let base_of_data = data.clone().next().map_or(0, |section| section.rva);
        // The sizes of code, initialized and uninitialized data, the entry point, the base of code, and in 32-bit
        // images the base of data.
        let numbers = [code, data.map(size).sum(), 0, entry, text_rva, base_of_data];
        for (index, number) in numbers.into_iter().take(if image.is_pe32_plus() { 5 } else { 6 }).enumerate() {
            headers.put_u32(optional + 4 + index * 4, number);
        }
        headers.put_u32(optional + 32, SECTION_ALIGNMENT);
        headers.put_u32(optional + 36, FILE_ALIGNMENT);
        headers.put_u32(optional + 60, 0);
        let header_size = self.size_of_headers(image) as usize;
        Ok(Parts { headers, header_size, kept: Segments::default(), sections })
    }
}

/// Moves items in the order of their RVAs. Adjacent items stay adjacent, so overlapping ones keep overlapping. Each
/// item keeps its offset within a block of `alignment` bytes.
fn move_items<'a, R>(
    image: &Image<'a>,
    items: &[Item<R>],
    alignment: u32,
    block: &mut Block<'a>,
    mut set: impl FnMut(Rid<R>, Rva),
) -> Result<()> {
    let mut rest = items;
    while let Some(first) = rest.first() {
        let start = first.rva.0;
        let mut end = start;
        let count = rest
            .iter()
            .take_while(|item| {
                let is_near = item.rva.0 <= end.checked_next_multiple_of(alignment).unwrap_or(end);
                if is_near {
                    end = end.max(item.end());
                }
                is_near
            })
            .count();
        let (run, others) = rest.split_at(count);
        block.pad_like(start, alignment)?;
        let new = block.end()?;
        block.segments.push(image.bytes_at(Directory { rva: Rva(start), size: end - start }));
        block.end()?;
        run.iter().for_each(|item| set(item.row, Rva(new.0 + (item.rva.0 - start))));
        rest = others;
    }
    Ok(())
}

/// The import of mscoree.dll (II.25.3.1), and the jump to it.
pub(super) struct Imports {
    address_table: [u8; ADDRESS_TABLE_SIZE as usize],
    directory: Directory,
    relocations: Vec<u8>,
    entry: u32,
}

impl Imports {
    fn put(start: &'static [u8], address_table: u32, image_base: u32, block: &mut Block<'_>) -> Result<Self> {
        const DESCRIPTORS: u32 = 40;
        const LOOKUP: u32 = 8;
        block.pad_like(0, 4)?;
        let at = block.end()?.0;
        // Checks once that all of the following has an address.
        let size = DESCRIPTORS + LOOKUP + 64;
        at.checked_add(size).ok_or_else(|| Error::new(ErrorKind::Limit("an image of 4 GiB")))?;
        let lookup = at + DESCRIPTORS;
        let hint = lookup + LOOKUP;
        let library = hint + 2 + start.len() as u32;
        let mut bytes = Vec::new();
        for number in [lookup, 0, 0, library, address_table, 0, 0, 0, 0, 0, hint, 0] {
            bytes.put_u32(number);
        }
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(start);
        bytes.extend_from_slice(b"mscoree.dll\0");
        let directory = Directory { rva: Rva(at), size: bytes.len() as u32 };
        // The jump's address is aligned, because the loader changes it.
        bytes.resize((bytes.len() + 2).next_multiple_of(4) - 2, 0);
        let entry = at + bytes.len() as u32;
        bytes.extend_from_slice(&[0xFF, 0x25]);
        bytes.put_u32(image_base.wrapping_add(address_table));
        block.segments.push(bytes);

        const HIGHLOW: u16 = 3 << 12;
        let address = entry + 2;
        let mut relocations = Vec::new();
        relocations.put_u32(address & !0xFFF);
        relocations.put_u32(12);
        relocations.put_u16(HIGHLOW | (address & 0xFFF) as u16);
        relocations.extend_from_slice(&[0, 0]);
        let mut table = [0; ADDRESS_TABLE_SIZE as usize];
        LE::write_u32(&mut table, hint);
        Ok(Self { address_table: table, directory, relocations, entry })
    }
}
