//! Chunks, whatever their content.

use std::io::{self, Write};

use profile_format::{ChunkKind, chunk, header::BLOCK};

use super::{
    cursor::{Cursor, put_u64, u64_at},
    header::Header,
};
use crate::error::Error;

/// A chunk, complete or up to the end of the file.
pub(crate) struct Chunk<'a> {
    /// `None` if the format has no such kind.
    pub(super) kind: Option<ChunkKind>,
    /// Its file offset.
    pub(super) offset: usize,
    pub(super) bytes: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Returns the number of bytes in use.
    pub(super) fn used(&self) -> Result<usize, Error> {
        let used = self.reader_at(chunk::USED_AT).u64()?;
        Ok(usize::try_from(used).unwrap_or(usize::MAX).min(self.bytes.len()))
    }

    /// Returns the bytes in use behind an offset.
    pub(super) fn content_from(&self, offset: usize) -> Result<&'a [u8], Error> {
        Ok(self.bytes.get(offset..self.used()?).unwrap_or_default())
    }

    /// Returns the bytes in use behind the header.
    pub(super) fn content(&self) -> Result<&'a [u8], Error> {
        self.content_from(chunk::HEADER)
    }

    /// Returns a reader at an offset.
    pub(super) fn reader_at(&self, position: usize) -> Cursor<'a> {
        Cursor { bytes: self.bytes, position, base: self.offset }
    }
}

/// Returns the chunks of a file, and errors for defects between them.
pub(super) fn chunks<'a>(bytes: &'a [u8], header: &Header) -> impl Iterator<Item = Result<Chunk<'a>, Error>> + use<'a> {
    let (mut position, mut is_cut) = (header.size, header.size > bytes.len());
    std::iter::from_fn(move || {
        let ends_here = Err(Error::Damaged { what: "the file ends here", offset: bytes.len() });
        loop {
            if is_cut {
                (is_cut, position) = (false, bytes.len());
                return Some(ends_here);
            }
            let offset = position;
            let rest = bytes.get(offset..).filter(|rest| !rest.is_empty())?;
            let mut reader = Cursor::new(rest, offset);
            let (Ok(kind), Ok(size)) = (reader.u32(), reader.u32()) else {
                position = bytes.len();
                return Some(ends_here);
            };
            let (kind, size) = (ChunkKind::from_number(kind), size as usize);
            if kind == Some(ChunkKind::Free) {
                position = offset.saturating_add(BLOCK);
                continue;
            }
            if size < chunk::HEADER || !size.is_multiple_of(BLOCK) {
                // Chunks begin at multiples of the block size: the next one may be undamaged.
                position = offset.saturating_add(BLOCK);
                return Some(Err(Error::Damaged { what: "a chunk of no size", offset }));
            }
            position = offset.saturating_add(size);
            is_cut = position > bytes.len();
            return Some(Ok(Chunk { kind, offset, bytes: rest.get(..size).unwrap_or(rest) }));
        }
    })
}

/// Writes a chunk, and fills in its kind, its size in the file and its used size.
pub(super) fn write_chunk(out: &mut impl Write, kind: ChunkKind, mut chunk: Vec<u8>) -> io::Result<()> {
    let (used, size) = (chunk.len(), chunk.len().next_multiple_of(BLOCK));
    put_u64(&mut chunk, chunk::KIND_AT, u64::from(kind.number()) | (size as u64) << 32);
    put_u64(&mut chunk, chunk::USED_AT, used as u64);
    chunk.resize(size, 0);
    out.write_all(&chunk)
}

/// Chunks in the memory of the program, each with slots of the same size.
pub(crate) struct Slots<'a> {
    /// The address of the chunk.
    pub(crate) address: u64,
    first: usize,
    size: usize,
    bytes: &'a [u8],
}

impl<'a> Slots<'a> {
    /// Reads the slots of a chunk.
    pub(super) fn read(chunk: &Chunk<'a>, first: usize, size: usize) -> Result<Self, Error> {
        let bytes = chunk.content_from(first)?;
        Ok(Self { address: u64_at(chunk.bytes, chunk::ADDRESS_AT), first, size, bytes })
    }

    /// Returns the number of slots in use.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len() / self.size
    }

    /// Returns the bytes of a slot.
    pub(super) fn slot<const SIZE: usize>(&self, index: usize) -> Option<&'a [u8; SIZE]> {
        self.bytes.get(index.checked_mul(self.size)?..)?.first_chunk()
    }

    /// Returns the index of the slot with this address.
    pub(super) fn index_of(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?.checked_sub(self.first)?;
        let index = offset / self.size;
        (offset % self.size == 0 && index < self.count()).then_some(index)
    }
}
