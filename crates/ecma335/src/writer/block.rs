//! What is put together behind the new bodies, piece by piece, each at its address.

use std::borrow::Cow;

use crate::{
    debug::{self, DebugEntry},
    image::Directory,
    segments::Segments,
    token::Rva,
};

/// Bytes that are put together at an address.
pub(super) struct Block<'a> {
    pub(super) start: Rva,
    /// Where in the file it will start.
    pub(super) offset: usize,
    pub(super) segments: Segments<'a>,
}

impl<'a> Block<'a> {
    /// The address behind it.
    pub(super) fn end(&self) -> Rva {
        Rva(self.start.0 + self.segments.len() as u32)
    }

    /// The file offset behind it.
    pub(super) fn file_end(&self) -> usize {
        self.offset + self.segments.len()
    }

    /// Puts bytes at the next multiple of `alignment`. No bytes have no place.
    pub(super) fn place(&mut self, bytes: impl Into<Cow<'a, [u8]>>, alignment: u32) -> Directory {
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
    pub(super) fn pad_like(&mut self, rva: u32, alignment: u32) {
        let missing = rva.wrapping_sub(self.end().0) % alignment;
        self.segments.push(vec![0; missing as usize]);
    }

    pub(super) fn place_debug(&mut self, entries: &[DebugEntry<'a>]) -> Directory {
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
