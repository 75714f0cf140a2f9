//! Assembles the parts after the new bodies, each at its address.

use std::borrow::Cow;

use super::headers::limit;
use crate::{
    debug::{self, DebugEntry},
    error::{Error, ErrorKind, Result},
    image::Directory,
    segments::Segments,
    token::Rva,
};

/// Bytes assembled for an address.
pub(super) struct Block<'a> {
    pub(super) start: Rva,
    /// The file offset of its start.
    pub(super) offset: usize,
    pub(super) segments: Segments<'a>,
}

impl<'a> Block<'a> {
    /// The address of its end.
    ///
    /// # Errors
    /// If that exceeds 32 bits.
    pub(super) fn end(&self) -> Result<Rva> {
        let end = u32::try_from(self.segments.len()).ok().and_then(|length| self.start.0.checked_add(length));
        end.map(Rva).ok_or_else(|| Error::new(ErrorKind::Limit("an image of 4 GiB")))
    }

    /// The file offset of its end.
    pub(super) fn file_end(&self) -> usize {
        self.offset + self.segments.len()
    }

    /// Appends bytes at the next multiple of `alignment`. An empty part gets an empty directory.
    pub(super) fn place(&mut self, bytes: impl Into<Cow<'a, [u8]>>, alignment: u32) -> Result<Directory> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Ok(Directory::default());
        }
        self.pad_like(0, alignment)?;
        let directory = Directory { rva: self.end()?, size: limit(bytes.len())? };
        self.segments.push(bytes);
        Ok(directory)
    }

    /// Adds zeros until its end has the same offset as `rva` within a block of `alignment` bytes.
    pub(super) fn pad_like(&mut self, rva: u32, alignment: u32) -> Result<()> {
        let missing = rva.wrapping_sub(self.end()?.0) % alignment;
        self.segments.push(vec![0; missing as usize]);
        Ok(())
    }

    pub(super) fn place_debug(&mut self, entries: Vec<DebugEntry<'a>>) -> Result<Directory> {
        if entries.is_empty() {
            return Ok(Directory::default());
        }
        self.pad_like(0, 4)?;
        let directory = Directory { rva: self.end()?, size: limit(entries.len() * debug::ENTRY_SIZE)? };
        let (rva, offset) = (directory.rva.0 as usize, self.file_end());
        let mut behind = directory.size as usize;
        let mut table = Vec::new();
        for entry in &entries {
            entry.put(Rva(limit(rva + behind)?), limit(offset + behind)?, &mut table);
            behind += entry.data.len().next_multiple_of(4);
        }
        self.segments.push(table);
        for entry in entries {
            self.segments.push(entry.data);
            self.pad_like(0, 4)?;
        }
        Ok(directory)
    }
}
