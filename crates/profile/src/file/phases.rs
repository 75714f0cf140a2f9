//! Chunks of phases: snapshots of all nodes at a mark, and their details.

use little_endian::{ByteOrder, LE};
pub(crate) use profile_format::PhaseKind;
use profile_format::{
    chunk,
    phase::{CLOCK_AT, DETAILS, ENTRY, ENTRY_WITH_BYTES},
};

use super::{
    chunks::Chunk,
    cursor::{i64_at, u64_at},
    nodes::AsyncRecord,
};
use crate::error::Error;

/// The snapshot of the numbers at the beginning of a phase.
pub(crate) struct PhaseChunk<'a> {
    /// Its address in the program's memory.
    pub(crate) address: u64,
    pub(crate) clock: i64,
    pub(crate) kind: PhaseKind,
    pub(crate) name: String,
    /// The size of an entry.
    entry: usize,
    entries: &'a [u8],
}

/// The snapshot of a node, or of a method in mode count.
pub(crate) struct PhaseEntry {
    /// The node's address, or the method's id.
    pub(crate) node: u64,
    pub(crate) calls: i64,
    /// The total, including open calls.
    pub(crate) total: i64,
    pub(crate) detached: i64,
    /// The same of allocated bytes.
    pub(crate) bytes: i64,
    pub(crate) detached_bytes: i64,
}

impl<'a> PhaseChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>, has_allocations: bool) -> Result<Self, Error> {
        let mut reader = chunk.reader_at(CLOCK_AT);
        let clock = reader.i64()?;
        let kind = reader.kind("a phase of kind", PhaseKind::from_number)?;
        let count = reader.u32()? as usize;
        reader.position = chunk::HEADER;
        let name = reader.string()?;
        let entries = chunk.bytes.get(reader.position.next_multiple_of(8)..).unwrap_or_default();
        let entry = if has_allocations { ENTRY_WITH_BYTES } else { ENTRY };
        let size = count.saturating_mul(entry);
        let missing = Error::Damaged { what: "the file ends here", offset: chunk.offset + chunk.bytes.len() };
        let address = u64_at(chunk.bytes, chunk::ADDRESS_AT);
        Ok(Self { address, clock, kind, name, entry, entries: entries.get(..size).ok_or(missing)? })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = PhaseEntry> {
        self.entries.chunks_exact(self.entry).map(|entry| {
            let field = |index: usize| i64_at(entry, 8 * index);
            let (bytes, detached_bytes) = if self.entry == ENTRY { (0, 0) } else { (field(4), field(5)) };
            PhaseEntry { node: field(0) as u64, calls: field(1), total: field(2), detached: field(3), bytes, detached_bytes }
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
    pub(crate) node: u64,
    pub(crate) exceptions: i64,
    pub(crate) cpu_ns: i64,
    pub(crate) samples: i64,
    pub(crate) of_async: AsyncRecord,
    buckets: &'a [[u8; 8]],
}

impl<'a> DetailsChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        let (numbers, _) = chunk.content()?.as_chunks();
        Ok(Self { phase: u64_at(chunk.bytes, chunk::TREE_AT), numbers })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = PhaseDetails<'a>> {
        let mut rest = self.numbers;
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_first_chunk::<{ DETAILS / 8 }>()?;
            let [node, exceptions, cpu_ns, samples, latency, completed, faulted, steps, count] =
                head.map(|number| LE::read_i64(&number));
            let (buckets, behind) = behind.split_at_checked(usize::try_from(count).ok()?)?;
            rest = behind;
            let of_async = AsyncRecord { latency, completed, faulted, steps, first: 0 };
            Some(PhaseDetails { node: node as u64, exceptions, cpu_ns, samples, of_async, buckets })
        })
    }
}

impl PhaseDetails<'_> {
    /// Returns the buckets that had calls, and the number of calls in each.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, i64)> {
        self.buckets.iter().map(|bucket| {
            let both = LE::read_u64(bucket);
            (both as u32 as usize, (both >> 32) as i64)
        })
    }
}
