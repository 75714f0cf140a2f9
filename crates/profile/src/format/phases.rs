//! Chunks of phases: what each node had when a mark was set.

use super::{CHUNK_HEADER, Chunk, cursor::Cursor};
use crate::error::Error;

const ENTRY_SIZE: usize = 32;
const CLOCK_AT: usize = 40;

/// What begins with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PhaseKind {
    /// A phase of this name.
    Mark,
    /// All of the profile.
    Reset,
}

/// The numbers at the beginning of a phase.
pub(crate) struct PhaseChunk<'a> {
    pub(crate) clock: i64,
    pub(crate) kind: PhaseKind,
    pub(crate) name: String,
    entries: &'a [[u8; ENTRY_SIZE]],
}

/// What a node had, or in mode count a method.
pub(crate) struct PhaseEntry {
    /// The node's address, or the method's id.
    pub(crate) place: u64,
    pub(crate) calls: i64,
    /// With what was open.
    pub(crate) total: i64,
    pub(crate) detached: i64,
}

impl<'a> PhaseChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        let mut reader = Cursor::new(chunk.bytes, chunk.offset);
        reader.position = CLOCK_AT;
        let clock = reader.i64()?;
        let kind = match reader.u32()? {
            1 => PhaseKind::Mark,
            2 => PhaseKind::Reset,
            value => return Err(reader.unknown("a phase of kind", value)),
        };
        let count = reader.u32()? as usize;
        reader.position = CHUNK_HEADER;
        let name = reader.string()?;
        let entries = chunk.bytes.get(reader.position.next_multiple_of(8)..).unwrap_or_default();
        let (entries, _) = entries.as_chunks();
        let missing = Error::Damaged { what: "the file ends here", offset: chunk.offset + chunk.bytes.len() };
        Ok(Self { clock, kind, name, entries: entries.get(..count).ok_or(missing)? })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = PhaseEntry> {
        self.entries.iter().map(|entry| {
            let (fields, _) = entry.as_chunks();
            let field = |index: usize| i64::from_le_bytes(fields.get(index).copied().unwrap_or_default());
            PhaseEntry { place: field(0) as u64, calls: field(1), total: field(2), detached: field(3) }
        })
    }
}
