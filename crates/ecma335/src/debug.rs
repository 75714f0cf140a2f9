//! The debug directory of the PE format: the name or the content of a PDB, and its checksum.

use std::{borrow::Cow, ops::Range};

use little_endian::NumbersAt;
use scroll::{LE, Pread, Pwrite};

use crate::{
    cursor::Cursor,
    error::{Result, malformed},
    image::{DirectoryKind, Image},
    token::{FileOffset, Rva},
};

/// An entry of the debug directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugEntry<'a> {
    /// Reserved.
    pub characteristics: u32,
    /// The time of the build, or a part of the PDB's id.
    pub time_date_stamp: u32,
    /// Major and minor version; their meaning depends on the kind.
    pub version: (u16, u16),
    /// See [`kind`].
    pub kind: u32,
    /// The content.
    pub data: Cow<'a, [u8]>,
}

/// Kinds of debug entries.
pub mod kind {
    /// The name and id of a PDB.
    pub const CODE_VIEW: u32 = 2;
    /// The build is reproducible.
    pub const REPRODUCIBLE: u32 = 16;
    /// A portable PDB, compressed.
    pub const EMBEDDED_PORTABLE_PDB: u32 = 17;
    /// The hash of the portable PDB.
    pub const PDB_CHECKSUM: u32 = 19;
    /// A map for profilers of ReadyToRun code.
    pub const R2R_PERF_MAP: u32 = 21;
}

/// The minor version of a CodeView entry that names a portable PDB: "PM".
pub const PORTABLE_CODE_VIEW: u16 = 0x504D;

/// The first bytes of a CodeView entry that names a PDB.
const CODE_VIEW_SIGNATURE: &[u8] = b"RSDS";
/// The first bytes of an embedded PDB.
const EMBEDDED_SIGNATURE: &[u8] = b"MPDB";

/// The data of a CodeView entry: the PDB's GUID, a counter, and the path it was written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeView<'a> {
    /// The PDB's GUID.
    pub guid: [u8; 16],
    /// The number of times the PDB was written; 1 for portable PDBs.
    pub age: u32,
    /// The path, in UTF-8.
    pub path: &'a [u8],
}

impl<'a> CodeView<'a> {
    /// Reads an entry's data. None if it has another signature or is truncated.
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (guid, rest) = data.strip_prefix(CODE_VIEW_SIGNATURE)?.split_first_chunk()?;
        let path = rest.get(size_of::<u32>()..)?.split(|byte| *byte == 0).next()?;
        Some(Self { guid: *guid, age: rest.u32_at(0)?, path })
    }

    /// The offset of the path in the data.
    pub const PATH: usize = 24;

    /// Puts the PDB's GUID into an entry's data, and its path if one is given.
    pub fn renew(data: &mut Vec<u8>, guid: &[u8], path: Option<&str>) {
        if let Some(place) = data.get_mut(CODE_VIEW_SIGNATURE.len()..).and_then(|rest| rest.get_mut(..guid.len())) {
            place.copy_from_slice(guid);
        }
        if let Some(path) = path {
            data.truncate(Self::PATH);
            data.extend_from_slice(path.as_bytes());
            data.push(0);
        }
    }
}

/// The size of an embedded PDB and its deflated bytes. None if the data has another signature.
pub fn embedded_pdb(data: &[u8]) -> Option<(u32, &[u8])> {
    let data = data.strip_prefix(EMBEDDED_SIGNATURE)?;
    Some((data.u32_at(0)?, data.get(size_of::<u32>()..)?))
}

/// The data of an entry with a deflated PDB. `size` is that of the PDB before compression, in bytes.
pub fn embed_pdb(size: u32, deflated: &[u8]) -> Vec<u8> {
    [EMBEDDED_SIGNATURE, &size.to_le_bytes(), deflated].concat()
}

/// The size of an entry in the directory, in bytes.
pub(crate) const ENTRY_SIZE: usize = 28;

/// An entry in the directory.
#[derive(Pread, Pwrite)]
struct Head {
    characteristics: u32,
    time_date_stamp: u32,
    major: u16,
    minor: u16,
    kind: u32,
    /// The size of the data, in bytes.
    size: u32,
    rva: u32,
    offset: u32,
}

impl<'a> DebugEntry<'a> {
    /// Reads all entries of an image.
    ///
    /// # Errors
    /// If the directory or an entry's data lies outside of the file, or if entries share data.
    pub fn read_all(image: &Image<'a>) -> Result<Vec<Self>> {
        let directory = image.directory(DirectoryKind::Debug);
        if directory.size == 0 {
            return Ok(Vec::new());
        }
        let read = || {
            let cursor = &mut image.cursor_at(directory.rva)?;
            let start = cursor.offset();
            let count = directory.size as usize / ENTRY_SIZE;
            let entries = (0..count).map(|_| Self::read(image, cursor)).collect::<Result<Vec<Self>>>()?;
            // Each entry has data of its own. Otherwise a small file could need much memory.
            if entries.iter().map(|entry| entry.data.len()).sum::<usize>() > image.bytes().len() {
                return malformed(start, "entries with more data than the file has");
            }
            Ok(entries)
        };
        read().map_err(|error| error.in_cell("debug directory"))
    }

    /// The file ranges of the data of all entries.
    pub(crate) fn places(image: &Image<'a>) -> Result<Vec<Range<usize>>> {
        let base = image.bytes().as_ptr().addr();
        let range = |data: &[u8]| data.as_ptr().addr() - base..data.as_ptr().addr() - base + data.len();
        let entries = Self::read_all(image)?;
        Ok(entries.iter().filter(|entry| !entry.data.is_empty()).map(|entry| range(&entry.data)).collect())
    }

    fn read(image: &Image<'a>, cursor: &mut Cursor<'a>) -> Result<Self> {
        let Head { characteristics, time_date_stamp, major, minor, kind, size, rva: _, offset } = cursor.structure()?;
        let bytes = image.bytes().get(offset as usize..).unwrap_or_default();
        let data = Cursor::new(bytes, FileOffset(offset.into())).bytes(size as usize)?;
        Ok(Self { characteristics, time_date_stamp, version: (major, minor), kind, data: Cow::Borrowed(data) })
    }

    /// Appends the entry, given the positions of its data.
    pub(crate) fn put(&self, rva: Rva, offset: u32, out: &mut Vec<u8>) {
        let (rva, offset) = if self.data.is_empty() { (0, 0) } else { (rva.0, offset) };
        let Self { characteristics, time_date_stamp, version: (major, minor), kind, .. } = *self;
        let head = Head { characteristics, time_date_stamp, major, minor, kind, size: self.data.len() as u32, rva, offset };
        let mut bytes = [0; ENTRY_SIZE];
        // The array has a place for each field.
        let _ = bytes.pwrite_with(head, 0, LE);
        out.extend_from_slice(&bytes);
    }
}
