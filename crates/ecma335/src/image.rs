//! The PE file around the metadata: sections, data directories, the CLI header (II.25).

use goblin::pe::{
    header::{CoffHeader, DosHeader},
    optional_header::OptionalHeader,
    section_table::SectionTable,
};
use little_endian::NumbersAt;
use scroll::{LE, Pread, Pwrite};

use crate::{
    cursor::Cursor,
    error::{Error, ErrorKind, Result, malformed},
    token::{FileOffset, Rva, Token},
};

/// A PE file with a CLI header, as a view of its bytes.
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

/// The layout of the sections in an image's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mapping {
    /// At the file offsets in the section headers.
    File,
    /// At their RVAs, as in a loaded image.
    Loaded,
}

/// A section header (II.25.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The name, padded with zeros.
    pub name: [u8; 8],
    /// The size in memory, in bytes.
    pub virtual_size: u32,
    /// The RVA.
    pub virtual_address: Rva,
    /// The size in the file, in bytes.
    pub raw_size: u32,
    /// The file offset.
    pub raw_offset: u32,
    /// The flags.
    pub characteristics: u32,
}

/// A data directory: a position in the image and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pread, Pwrite)]
pub struct Directory {
    /// The RVA. Only the certificate table has a file offset here.
    pub rva: Rva,
    /// The size in bytes.
    pub size: u32,
}

/// The data directories of the optional header (II.25.2.3.3).
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
    /// Architecture-specific data; empty.
    Architecture = 7,
    /// The value of the global pointer.
    GlobalPtr = 8,
    /// Thread local storage of native code.
    Tls = 9,
    /// The load configuration of native code.
    LoadConfig = 10,
    /// Bound imports.
    BoundImport = 11,
    /// The import address table.
    ImportAddress = 12,
    /// Delay-load imports.
    DelayImport = 13,
    /// The CLI header.
    CliHeader = 14,
}

impl DirectoryKind {
    /// The directories that an IL-only image may have.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pread, Pwrite)]
pub struct CliHeader {
    /// Size of the header in bytes: 72.
    pub size: u32,
    // The required version of the runtime.
    runtime_major: u16,
    runtime_minor: u16,
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
    /// Slots through which native code calls managed methods.
    pub vtable_fixups: Directory,
    /// Always empty.
    pub export_jumps: Directory,
    /// Precompiled native code: the ReadyToRun or NGen header.
    pub managed_native_header: Directory,
}

impl CliHeader {
    /// The size in the file, in bytes.
    pub const SIZE: usize = 72;

    /// The required version of the runtime.
    pub fn runtime_version(&self) -> (u16, u16) {
        (self.runtime_major, self.runtime_minor)
    }

    /// The bytes in the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; Self::SIZE];
        // The buffer has a place for each field.
        let _ = bytes.pwrite_with(self, 0, LE);
        bytes
    }

    /// The entry point of a program. None in a library, or if native code starts the program.
    pub fn entry_point_token(&self) -> Option<Token> {
        (!self.has_native_entry_point() && self.entry_point != 0).then_some(Token(self.entry_point))
    }
}

/// The kind of precompiled native code in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precompiled {
    /// ReadyToRun code. The IL is complete, so the native code can be removed.
    ReadyToRun,
    /// ReadyToRun code in another file, the composite image. That file lists the MVID of each of its components.
    Component,
    /// An NGen image, or another unknown header.
    Other,
}

/// The file size that a PE file's sections extend to, in bytes, for callers that have only its headers.
pub fn flat_size(headers: &[u8]) -> Option<usize> {
    let u32_at = |at: usize| headers.u32_at(at).map(|number| number as usize);
    let u16_at = |at: usize| headers.u16_at(at).map(usize::from);
    let pe = u32_at(0x3C).filter(|_| headers.starts_with(b"MZ"))?;
    let table = pe + 24 + u16_at(pe + 20)?;
    let sections = (0..u16_at(pe + 6)?).map(|index| table + 40 * index);
    sections.map(|section| Some(u32_at(section + 16)? + u32_at(section + 20)?)).max().flatten()
}

impl<'a> Image<'a> {
    /// The maximum number of sections of an image. Loaders accept no more, and the time to look up an RVA grows with
    /// their number.
    pub(crate) const MAX_SECTIONS: usize = 96;

    /// The section table ends within this many bytes. The headers are copied, and real ones have a few hundred bytes.
    const MAX_HEADERS: usize = 1 << 20;

    /// Reads the headers.
    ///
    /// # Errors
    /// If the bytes are no PE file, have no CLI header, are truncated, or have more than 96 sections, the loaders'
    /// limit.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_mapped(bytes, Mapping::File)
    }

    /// Reads the headers of an image that a loader has mapped: its headers first, then each section at its RVA.
    ///
    /// # Errors
    /// As for [`Image::parse`].
    pub fn parse_loaded(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_mapped(bytes, Mapping::Loaded)
    }

    fn parse_mapped(bytes: &'a [u8], mapping: Mapping) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Error::new(ErrorKind::NotPe("the file is empty".into())));
        }
        if !bytes.starts_with(b"MZ") {
            return Err(Error::new(ErrorKind::NotPe(what_it_looks_like(bytes).into())));
        }
        // II.25.3: the file offset of a section has four bytes.
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::NotPe("it is larger than 4 GiB".into())));
        }
        let not_pe = |error: goblin::error::Error| {
            Error::new(ErrorKind::NotPe(match error {
                goblin::error::Error::Scroll(_) => "the file ends within its headers".into(),
                other => other.to_string(),
            }))
        };
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
        let mut image =
            Self { bytes, mapping, pe_offset, coff, optional, sections, cli: CliHeader::default(), cli_offset: FileOffset(0) };
        let directory = image.directory(DirectoryKind::CliHeader);
        if directory.rva.0 == 0 || directory.size == 0 {
            return Err(Error::new(ErrorKind::NoCliHeader));
        }
        let mut cursor = image.cursor_at(directory.rva).map_err(|error| error.in_cell("CLI header"))?;
        image.cli_offset = cursor.offset();
        image.cli = cursor.structure().map_err(|error| error.in_cell("CLI header"))?;
        Ok(image)
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the bytes are those of a file, so that it can be written anew.
    pub(crate) fn is_file(&self) -> bool {
        self.mapping == Mapping::File
    }

    /// The CLI header.
    pub fn cli_header(&self) -> &CliHeader {
        &self.cli
    }

    /// The file offset of the CLI header.
    pub fn cli_header_offset(&self) -> FileOffset {
        self.cli_offset
    }

    /// The section headers, in file order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// A directory of the optional header. Empty if the file has none.
    pub fn directory(&self, kind: DirectoryKind) -> Directory {
        self.directory_by_number(kind as usize)
    }

    pub(crate) fn directory_by_number(&self, number: usize) -> Directory {
        let entry = self.optional.data_directories.data_directories.get(number).copied().flatten();
        entry.map_or_else(Directory::default, |(_, entry)| Directory { rva: Rva(entry.virtual_address), size: entry.size })
    }

    /// The target processor in the COFF header.
    pub fn machine(&self) -> u16 {
        self.coff.machine
    }

    /// Whether the file is PE32+, with 64-bit headers.
    pub fn is_pe32_plus(&self) -> bool {
        self.optional.standard_fields.magic == goblin::pe::optional_header::MAGIC_64
    }

    /// Whether the image is IL only, according to its flags.
    pub fn is_il_only(&self) -> bool {
        self.cli.is_il_only()
    }

    /// The value of READYTORUN_FLAG_COMPONENT.
    const COMPONENT: u32 = 0x20;

    /// The kind of precompiled code, if any.
    pub fn precompiled(&self) -> Option<Precompiled> {
        let header = self.cli.managed_native_header;
        if header.rva.0 == 0 && header.size == 0 {
            return None;
        }
        // The READYTORUN_HEADER: the signature, two version numbers, the flags.
        let header = self.cursor_at(header.rva).and_then(|mut cursor| Ok((cursor.bytes(4)?, cursor.u32()?, cursor.u32()?)));
        Some(match header {
            Ok((b"RTR\0", _, flags)) if flags & Self::COMPONENT != 0 => Precompiled::Component,
            Ok((b"RTR\0", ..)) => Precompiled::ReadyToRun,
            _ => Precompiled::Other,
        })
    }

    /// The bytes of the metadata root, with their offset.
    pub fn metadata(&self) -> Result<Cursor<'a>> {
        let mut cursor = self.cursor_at(self.cli.metadata.rva).map_err(|error| error.in_cell("metadata root"))?;
        cursor.window(self.cli.metadata.size as usize).map_err(|error| error.in_cell("metadata root"))
    }

    /// The section that contains an RVA.
    pub fn section_of(&self, rva: Rva) -> Option<&Section> {
        self.sections.iter().find(|section| {
            let size = section.virtual_size.max(section.raw_size);
            rva >= section.virtual_address && rva.0 - section.virtual_address.0 < size
        })
    }

    /// The bytes of a directory. Empty if they lie outside of the file.
    pub fn bytes_at(&self, directory: Directory) -> &'a [u8] {
        let start = self.offset_of(directory.rva).map_or(usize::MAX, |offset| offset.0 as usize);
        let range = start.checked_add(directory.size as usize).map(|end| start..end);
        range.and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }

    /// The file offset of an RVA.
    pub fn offset_of(&self, rva: Rva) -> Result<FileOffset> {
        if self.mapping == Mapping::Loaded {
            let offset = Some(FileOffset(rva.0.into())).filter(|offset| offset.0 < self.bytes.len() as u64);
            return offset.ok_or_else(|| Error::new(ErrorKind::BadRva(rva.0)));
        }
        let offset = match self.section_of(rva) {
            Some(section) => {
                let inside = rva.0 - section.virtual_address.0;
                // A section's memory after its raw data is zeros, which the file does not contain.
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

    /// The size of all headers, in the file and in memory.
    pub fn size_of_headers(&self) -> u32 {
        self.optional.windows_fields.size_of_headers
    }

    /// The file offsets of sections are multiples of this.
    pub fn file_alignment(&self) -> u32 {
        self.optional.windows_fields.file_alignment
    }

    /// The RVAs of sections are multiples of this.
    pub fn section_alignment(&self) -> u32 {
        self.optional.windows_fields.section_alignment
    }

    /// The preferred load address.
    pub fn image_base(&self) -> u64 {
        self.optional.windows_fields.image_base
    }

    /// The entry point of native code; 0 if there is none.
    pub fn entry_point(&self) -> Rva {
        Rva(self.optional.standard_fields.address_of_entry_point)
    }

    /// The subsystem: 2 for Windows GUI, 3 for console (II.25.2.3.2).
    pub fn subsystem(&self) -> u16 {
        self.optional.windows_fields.subsystem
    }

    /// The flags of the COFF header (II.25.2.2.1).
    pub fn characteristics(&self) -> u16 {
        self.coff.characteristics
    }

    /// The DLL characteristics: flags for the loader (II.25.2.3.2).
    pub fn dll_characteristics(&self) -> u16 {
        self.optional.windows_fields.dll_characteristics
    }

    /// The stack size to reserve for the main thread, in bytes.
    pub fn stack_reserve(&self) -> u64 {
        self.optional.windows_fields.size_of_stack_reserve
    }

    /// The PE checksum in the headers; 0 if it was not set.
    pub fn checksum(&self) -> u32 {
        self.optional.windows_fields.check_sum
    }

    /// The file offset of a field of the optional header, given its offset there (II.25.2.3).
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

/// The offset of the data directories in a file, given that of the optional header (II.25.2.3).
fn directories_offset(optional: usize, is_pe32_plus: bool) -> usize {
    optional + if is_pe32_plus { 112 } else { 96 }
}

/// The file offsets of the headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderOffsets {
    pub(crate) coff: usize,
    pub(crate) optional: usize,
    pub(crate) directories: usize,
    pub(crate) sections: usize,
}

/// Guesses the kind of a file that is no PE file, for the error message.
fn what_it_looks_like(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x7F, b'E', b'L', b'F', ..] => "an ELF executable or library (native code)",
        [0x00, b'a', b's', b'm', ..] => {
            "a WebAssembly module; if it is Webcil (a container of an assembly), instrument the .dll it was made from"
        }
        [b'P', b'K', ..] => "a zip archive; unpack it first",
        [b'B', b'S', b'J', b'B', ..] => "bare metadata, perhaps a portable PDB",
        [b'M', b'i', b'c', b'r', b'o', b's', b'o', b'f', b't', ..] => "a Windows PDB",
        [0xFE, 0xED, 0xFA, ..] | [_, 0xFA, 0xED, 0xFE, ..] => "a Mach-O executable or library (native code)",
        _ => "it does not start with MZ",
    }
}
