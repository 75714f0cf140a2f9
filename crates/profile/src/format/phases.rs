//! Chunks of phases: snapshots of all nodes at a mark, and their details.

use super::{CHUNK_HEADER, Chunk, cursor::Cursor, nodes::AsyncRecord};
use crate::error::Error;

const ENTRY_SIZE: usize = 32;
/// The size of the header, in numbers of eight bytes.
const DETAILS_HEAD: usize = 9;
const ADDRESS_AT: usize = 8;
const PHASE_AT: usize = 16;
const CLOCK_AT: usize = 40;

/// The event that takes the snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PhaseKind {
    /// A mark, which begins a phase with a name.
    Mark,
    /// A reset, which begins the whole profile anew.
    Reset,
}

/// The snapshot of the numbers at the beginning of a phase.
pub(crate) struct PhaseChunk<'a> {
    /// Its address in the program's memory.
    pub(crate) address: u64,
    pub(crate) clock: i64,
    pub(crate) kind: PhaseKind,
    pub(crate) name: String,
    entries: &'a [[u8; ENTRY_SIZE]],
}

/// The snapshot of a node, or of a method in mode count.
pub(crate) struct PhaseEntry {
    /// The node's address, or the method's id.
    pub(crate) place: u64,
    pub(crate) calls: i64,
    /// The total, including open calls.
    pub(crate) total: i64,
    pub(crate) detached: i64,
}

impl<'a> PhaseChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        let mut reader = Cursor::new(chunk.bytes, chunk.offset);
        reader.position = ADDRESS_AT;
        let address = reader.u64()?;
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
        Ok(Self { address, clock, kind, name, entries: entries.get(..count).ok_or(missing)? })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = PhaseEntry> {
        self.entries.iter().map(|entry| {
            let (fields, _) = entry.as_chunks();
            let field = |index: usize| i64::from_le_bytes(fields.get(index).copied().unwrap_or_default());
            PhaseEntry { place: field(0) as u64, calls: field(1), total: field(2), detached: field(3) }
        })
    }
}

/// The details of nodes at the beginning of a phase.
pub(crate) struct DetailsChunk<'a> {
    /// The address of the phase's chunk.
    pub(crate) phase: u64,
    numbers: &'a [[u8; 8]],
}

/// The details of a node.
pub(crate) struct PhaseDetails<'a> {
    /// The node's address.
    pub(crate) place: u64,
    pub(crate) exceptions: i64,
    pub(crate) cpu_ns: i64,
    pub(crate) samples: i64,
    pub(crate) of_async: AsyncRecord,
    buckets: &'a [[u8; 8]],
}

impl<'a> DetailsChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        let mut reader = Cursor::new(chunk.bytes, chunk.offset);
        reader.position = PHASE_AT;
        let phase = reader.u64()?;
        let (numbers, _) = chunk.bytes.get(CHUNK_HEADER..chunk.used()?).unwrap_or_default().as_chunks();
        Ok(Self { phase, numbers })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = PhaseDetails<'a>> {
        let mut rest = self.numbers;
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_first_chunk::<DETAILS_HEAD>()?;
            let [place, exceptions, cpu_ns, samples, latency, completed, faulted, steps, count] = head.map(i64::from_le_bytes);
            let (buckets, behind) = behind.split_at_checked(usize::try_from(count).ok()?)?;
            rest = behind;
            let of_async = AsyncRecord { latency, completed, faulted, steps, first: 0 };
            Some(PhaseDetails { place: place as u64, exceptions, cpu_ns, samples, of_async, buckets })
        })
    }
}

impl PhaseDetails<'_> {
    /// Returns the buckets that had calls, and the number of calls in each.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, i64)> {
        self.buckets.iter().map(|bucket| {
            let both = u64::from_le_bytes(*bucket);
            (both as u32 as usize, (both >> 32) as i64)
        })
    }
}
