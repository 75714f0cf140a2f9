//! The PE file around the metadata: sections, data directories, the CLI header (II.25).

use goblin::pe::{
    header::{CoffHeader, DosHeader},
    optional_header::OptionalHeader,
    section_table::SectionTable,
};
use scroll::Pread;

use crate::{
    cursor::Cursor,
    error::{Error, ErrorKind, Result, malformed},
    token::{FileOffset, Rva, Token},
};

/// A PE file with a CLI header, as a view on its bytes.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    bytes: &'a [u8],
    mapping: Mapping,
    pe_offset: usize,
    coff: CoffHeader,
    optional: OptionalHeader,
    sections: Vec<Section>,
    cli: CliHeader,
    cli_offset: FileOffset,
}

/// Where an image's sections are in its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// Where their headers say that they are in the file.
    File,
    /// At their RVAs, as a loader puts them.
    Loaded,
}

/// A section header (II.25.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Its name, filled with zeros.
    pub name: [u8; 8],
    /// Its size in memory.
    pub virtual_size: u32,
    /// Where it is in memory.
    pub virtual_address: Rva,
    /// Its size in the file.
    pub raw_size: u32,
    /// Where it is in the file.
    pub raw_offset: u32,
    /// Its flags.
    pub characteristics: u32,
}

/// A data directory: a place in the image and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directory {
    /// Where it is; the certificate table alone has a file offset here.
    pub rva: Rva,
    /// Its size in bytes.
    pub size: u32,
}

/// The data directories of the optional header that matter here (II.25.2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum DirectoryKind {
    /// The export table.
    Export = 0,
    /// The import table.
    Import = 1,
    /// Win32 resources.
    Resource = 2,
    /// The unwind table of native code.
    Exception = 3,
    /// Authenticode signatures.
    Certificate = 4,
    /// Base relocations.
    BaseRelocation = 5,
    /// Debug entries.
    Debug = 6,
    /// What an architecture has of its own; empty.
    Architecture = 7,
    /// The value of the global pointer.
    GlobalPtr = 8,
    /// Thread local storage of native code.
    Tls = 9,
    /// The load configuration of native code.
    LoadConfig = 10,
    /// Imports bound to addresses.
    BoundImport = 11,
    /// The import address table.
    ImportAddress = 12,
    /// Imports that wait until they are used.
    DelayImport = 13,
    /// The CLI header.
    CliHeader = 14,
}

impl DirectoryKind {
    /// Those that an image of IL alone may have.
    pub(crate) const OF_IL: [Self; 7] = [
        Self::Import,
        Self::Resource,
        Self::Certificate,
        Self::BaseRelocation,
        Self::Debug,
        Self::ImportAddress,
        Self::CliHeader,
    ];
}

/// The CLI header (II.25.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CliHeader {
    /// Size of the header in bytes: 72.
    pub size: u32,
    /// The runtime's version it asks for.
    pub runtime_version: (u16, u16),
    /// The metadata root.
    pub metadata: Directory,
    /// See [`cli_flags`](crate::flags::cli_flags).
    pub flags: u32,
    /// A MethodDef or File token, or the RVA of native code.
    pub entry_point: u32,
    /// The manifest resources.
    pub resources: Directory,
    /// The strong name signature.
    pub strong_name: Directory,
    /// Always empty.
    pub code_manager: Directory,
    /// Slots of native callers into managed code.
    pub vtable_fixups: Directory,
    /// Always empty.
    pub export_jumps: Directory,
    /// Precompiled native code: the ReadyToRun or NGen header.
    pub managed_native_header: Directory,
}

impl CliHeader {
    /// Its size in the file.
    pub const SIZE: usize = 72;

    fn read(mut cursor: Cursor<'_>) -> Result<Self> {
        let cursor = &mut cursor;
        fn directory(cursor: &mut Cursor<'_>) -> Result<Directory> {
            Ok(Directory { rva: Rva(cursor.u32()?), size: cursor.u32()? })
        }
        Ok(Self {
            size: cursor.u32()?,
            runtime_version: (cursor.u16()?, cursor.u16()?),
            metadata: directory(cursor)?,
            flags: cursor.u32()?,
            entry_point: cursor.u32()?,
            resources: directory(cursor)?,
            strong_name: directory(cursor)?,
            code_manager: directory(cursor)?,
            vtable_fixups: directory(cursor)?,
            export_jumps: directory(cursor)?,
            managed_native_header: directory(cursor)?,
        })
    }

    /// Its bytes in the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&self.runtime_version.0.to_le_bytes());
        out.extend_from_slice(&self.runtime_version.1.to_le_bytes());
        let directory = |out: &mut Vec<u8>, directory: &Directory| {
            out.extend_from_slice(&directory.rva.0.to_le_bytes());
            out.extend_from_slice(&directory.size.to_le_bytes());
        };
        directory(&mut out, &self.metadata);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&self.entry_point.to_le_bytes());
        for each in [
            &self.resources,
            &self.strong_name,
            &self.code_manager,
            &self.vtable_fixups,
            &self.export_jumps,
            &self.managed_native_header,
        ] {
            directory(&mut out, each);
        }
        out
    }

    /// The method that a program starts with; none in a library or where native code starts it.
    pub fn entry_point_token(&self) -> Option<Token> {
        (!self.has_native_entry_point() && self.entry_point != 0).then_some(Token(self.entry_point))
    }
}

/// What precompiled native code an image carries beside its IL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precompiled {
    /// ReadyToRun code: the IL is whole, so the native code can go.
    ReadyToRun,
    /// ReadyToRun code that lies in another file, the composite image. That file lists the MVID of each of its components.
    Component,
    /// An NGen image or another header that we don't know.
    Other,
}

/// How many bytes the sections of a PE file reach to, by its headers: for who has no more than where it begins.
pub fn flat_size(headers: &[u8]) -> Option<usize> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(*headers.get(at..)?.first_chunk()?) as usize);
    let u16_at = |at: usize| Some(usize::from(u16::from_le_bytes(*headers.get(at..)?.first_chunk()?)));
    let pe = u32_at(0x3C).filter(|_| headers.starts_with(b"MZ"))?;
    let table = pe + 24 + u16_at(pe + 20)?;
    let sections = (0..u16_at(pe + 6)?).map(|index| table + 40 * index);
    sections.map(|section| Some(u32_at(section + 16)? + u32_at(section + 20)?)).max().flatten()
}

impl<'a> Image<'a> {
    /// The most sections that an image can have: loaders take no more, and looking for an RVA takes as long as they are many.
    pub(crate) const MAX_SECTIONS: usize = 96;

    /// The section table is in the first so many bytes: what lies before it is copied, and real headers are of some hundreds.
    const MAX_HEADERS: usize = 1 << 20;

    /// Reads the headers.
    ///
    /// # Errors
    /// If the bytes are no PE file, have no CLI header, are cut short, or have more sections than loaders take (96).
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_mapped(bytes, Mapping::File)
    }

    pub(crate) fn parse_mapped(bytes: &'a [u8], mapping: Mapping) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Error::new(ErrorKind::NotPe("the file is empty".into())));
        }
        if !bytes.starts_with(b"MZ") {
            return Err(Error::new(ErrorKind::NotPe(what_it_looks_like(bytes).into())));
        }
        // II.25.3: a section's place in the file is four bytes.
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::NotPe("it is larger than 4 GiB".into())));
        }
        let not_pe = |error: goblin::error::Error| Error::new(ErrorKind::NotPe(error.to_string()));
        let dos = DosHeader::parse(bytes).map_err(not_pe)?;
        let pe_offset = dos.pe_pointer as usize;
        if bytes.get(pe_offset..).and_then(|rest| rest.get(..4)) != Some(b"PE\0\0") {
            return Err(Error::at(FileOffset(pe_offset as u64), ErrorKind::NotPe("no PE signature".into())));
        }
        let mut offset = pe_offset + 4;
        let coff = CoffHeader::parse(bytes, &mut offset).map_err(not_pe)?;
        let optional: OptionalHeader = bytes.pread(offset).map_err(not_pe)?;
        let mut section_offset = offset + usize::from(coff.size_of_optional_header);
        let number_of_directories = optional.windows_fields.number_of_rva_and_sizes as usize;
        let is_wide = optional.standard_fields.magic == goblin::pe::optional_header::MAGIC_64;
        if directories_offset(offset, is_wide) + number_of_directories * 8 > section_offset {
            return malformed(FileOffset(offset as u64), "the optional header ends before its data directories do");
        }
        if usize::from(coff.number_of_sections) > Self::MAX_SECTIONS {
            return malformed(FileOffset(pe_offset as u64), "more than 96 sections");
        }
        if section_offset > Self::MAX_HEADERS {
            return malformed(FileOffset(pe_offset as u64), "the section table does not stand in the file's first MiB");
        }
        let mut sections = Vec::new();
        for _ in 0..coff.number_of_sections {
            let header = SectionTable::parse(bytes, &mut section_offset, 0).map_err(not_pe)?;
            sections.push(Section {
                name: header.name,
                virtual_size: header.virtual_size,
                virtual_address: Rva(header.virtual_address),
                raw_size: header.size_of_raw_data,
                raw_offset: header.pointer_to_raw_data,
                characteristics: header.characteristics,
            });
        }
        let mut image = Self {
            bytes,
            mapping,
            pe_offset,
            coff,
            optional,
            sections,
            cli: CliHeader::read(Cursor::new(&[0; CliHeader::SIZE], FileOffset(0)))?,
            cli_offset: FileOffset(0),
        };
        let directory = image.directory(DirectoryKind::CliHeader);
        if directory.rva.0 == 0 || directory.size == 0 {
            return Err(Error::new(ErrorKind::NoCliHeader));
        }
        let cursor = image.cursor_at(directory.rva).map_err(|error| error.in_cell("CLI header"))?;
        image.cli_offset = cursor.offset();
        image.cli = CliHeader::read(cursor).map_err(|error| error.in_cell("CLI header"))?;
        Ok(image)
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The CLI header.
    pub fn cli_header(&self) -> &CliHeader {
        &self.cli
    }

    /// Where in the file the CLI header is.
    pub fn cli_header_offset(&self) -> FileOffset {
        self.cli_offset
    }

    /// The section headers, in file order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// A directory of the optional header; empty if the file has none.
    pub fn directory(&self, kind: DirectoryKind) -> Directory {
        self.directory_by_number(kind as usize)
    }

    pub(crate) fn directory_by_number(&self, number: usize) -> Directory {
        let entry = self.optional.data_directories.data_directories.get(number).copied().flatten();
        entry.map_or_else(Directory::default, |(_, entry)| Directory { rva: Rva(entry.virtual_address), size: entry.size })
    }

    /// The processor it was made for, as the COFF header says it.
    pub fn machine(&self) -> u16 {
        self.coff.machine
    }

    /// Whether it is a PE32+ file: 64-bit headers.
    pub fn is_pe32_plus(&self) -> bool {
        self.optional.standard_fields.magic == goblin::pe::optional_header::MAGIC_64
    }

    /// Whether there is nothing but IL in it, by its own account.
    pub fn is_il_only(&self) -> bool {
        self.cli.is_il_only()
    }

    /// READYTORUN_FLAG_COMPONENT.
    const COMPONENT: u32 = 0x20;

    /// What precompiled code it carries, if any.
    pub fn precompiled(&self) -> Option<Precompiled> {
        let header = self.cli.managed_native_header;
        if header.rva.0 == 0 && header.size == 0 {
            return None;
        }
        // READYTORUN_HEADER: the signature, two numbers of the version, flags.
        let header = self.cursor_at(header.rva).and_then(|mut cursor| Ok((cursor.bytes(4)?, cursor.u32()?, cursor.u32()?)));
        Some(match header {
            Ok((b"RTR\0", _, flags)) if flags & Self::COMPONENT != 0 => Precompiled::Component,
            Ok((b"RTR\0", ..)) => Precompiled::ReadyToRun,
            _ => Precompiled::Other,
        })
    }

    /// The metadata root's bytes and where they are.
    pub fn metadata(&self) -> Result<Cursor<'a>> {
        let mut cursor = self.cursor_at(self.cli.metadata.rva).map_err(|error| error.in_cell("metadata root"))?;
        cursor.window(self.cli.metadata.size as usize).map_err(|error| error.in_cell("metadata root"))
    }

    /// The section that an RVA lies in.
    pub fn section_of(&self, rva: Rva) -> Option<&Section> {
        self.sections.iter().find(|section| {
            let size = section.virtual_size.max(section.raw_size);
            rva >= section.virtual_address && rva.0 - section.virtual_address.0 < size
        })
    }

    /// What a directory refers to; nothing if that lies outside of the file.
    pub fn bytes_at(&self, directory: Directory) -> &'a [u8] {
        let start = self.offset_of(directory.rva).map_or(usize::MAX, |offset| offset.0 as usize);
        let range = start.checked_add(directory.size as usize).map(|end| start..end);
        range.and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }

    /// Where in the file an RVA is.
    pub fn offset_of(&self, rva: Rva) -> Result<FileOffset> {
        if self.mapping == Mapping::Loaded {
            let offset = Some(FileOffset(rva.0.into())).filter(|offset| offset.0 < self.bytes.len() as u64);
            return offset.ok_or_else(|| Error::new(ErrorKind::BadRva(rva.0)));
        }
        let offset = match self.section_of(rva) {
            Some(section) => {
                let inside = rva.0 - section.virtual_address.0;
                // Beyond its raw data a section is zeros that the file doesn't hold.
                (inside < section.raw_size).then(|| u64::from(section.raw_offset) + u64::from(inside))
            }
            None => (rva.0 < self.size_of_headers()).then_some(u64::from(rva.0)),
        };
        offset.map(FileOffset).ok_or_else(|| Error::new(ErrorKind::BadRva(rva.0)))
    }

    /// A cursor at an RVA, up to the end of its section's raw data.
    pub fn cursor_at(&self, rva: Rva) -> Result<Cursor<'a>> {
        let offset = self.offset_of(rva)?;
        let size = self.bytes.len() as u64;
        let end = self.section_of(rva).map_or(size, |section| match self.mapping {
            Mapping::File => u64::from(section.raw_offset) + u64::from(section.raw_size),
            Mapping::Loaded => u64::from(section.virtual_address.0) + u64::from(section.virtual_size.max(section.raw_size)),
        });
        let end = end.min(size);
        match self.bytes.get(offset.0 as usize..end as usize) {
            Some(bytes) => Ok(Cursor::new(bytes, offset)),
            None => malformed(offset, "the section's raw data lies beyond the end of the file"),
        }
    }

    /// The size of all headers in the file and in memory.
    pub fn size_of_headers(&self) -> u32 {
        self.optional.windows_fields.size_of_headers
    }

    /// Sections start at multiples of this in the file.
    pub fn file_alignment(&self) -> u32 {
        self.optional.windows_fields.file_alignment
    }

    /// Sections start at multiples of this in memory.
    pub fn section_alignment(&self) -> u32 {
        self.optional.windows_fields.section_alignment
    }

    /// Where it wants to be loaded.
    pub fn image_base(&self) -> u64 {
        self.optional.windows_fields.image_base
    }

    /// Where native code starts in it; 0 if nowhere.
    pub fn entry_point(&self) -> Rva {
        Rva(self.optional.standard_fields.address_of_entry_point)
    }

    /// What starts it: 2 for windows, 3 for a console (II.25.2.3.2).
    pub fn subsystem(&self) -> u16 {
        self.optional.windows_fields.subsystem
    }

    /// What the COFF header says of the file (II.25.2.2.1).
    pub fn characteristics(&self) -> u16 {
        self.coff.characteristics
    }

    /// What a loader should know of the image (II.25.2.3.2).
    pub fn dll_characteristics(&self) -> u16 {
        self.optional.windows_fields.dll_characteristics
    }

    /// How large the stack of its first thread may become.
    pub fn stack_reserve(&self) -> u64 {
        self.optional.windows_fields.size_of_stack_reserve
    }

    /// The PE checksum in the headers; 0 where nobody set one.
    pub fn checksum(&self) -> u32 {
        self.optional.windows_fields.check_sum
    }

    /// Where in the file a field of the optional header is, by its place there (II.25.2.3).
    pub(crate) fn header_offset(&self, field: usize) -> FileOffset {
        FileOffset((self.header_offsets().optional + field) as u64)
    }

    /// The file offsets of the headers that a writer patches.
    pub(crate) fn header_offsets(&self) -> HeaderOffsets {
        let optional = self.pe_offset + 4 + 20;
        HeaderOffsets {
            coff: self.pe_offset + 4,
            optional,
            directories: directories_offset(optional, self.is_pe32_plus()),
            sections: optional + usize::from(self.coff.size_of_optional_header),
        }
    }
}

/// Where the data directories of an optional header start (II.25.2.3).
fn directories_offset(optional: usize, is_pe32_plus: bool) -> usize {
    optional + if is_pe32_plus { 112 } else { 96 }
}

/// Where in the file the headers start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderOffsets {
    pub(crate) coff: usize,
    pub(crate) optional: usize,
    pub(crate) directories: usize,
    pub(crate) sections: usize,
}

/// A guess at what a file is that is no PE file, to help whoever passed it.
fn what_it_looks_like(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x7F, b'E', b'L', b'F', ..] => "an ELF executable or library (native code)",
        [0x00, b'a', b's', b'm', ..] => {
            "a WebAssembly module; if it is Webcil, an assembly in a container, weave the .dll it was made of"
        }
        [b'P', b'K', ..] => "a zip archive; unpack it first",
        [b'B', b'S', b'J', b'B', ..] => "bare metadata, perhaps a portable PDB",
        [b'M', b'i', b'c', b'r', b'o', b's', b'o', b'f', b't', ..] => "a Windows PDB",
        [0xFE, 0xED, 0xFA, ..] | [_, 0xFA, 0xED, 0xFE, ..] => "a Mach-O executable or library (native code)",
        _ => "it does not start with MZ",
    }
}
