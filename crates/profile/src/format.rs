//! The file: a header, then chunks as they were in the program's memory (docs/profile-format.md). This module turns bytes into
//! records; [`read`](crate::read) interprets them together.

mod calls;
mod control;
mod cursor;
mod events;
mod header;
pub mod layout;
mod merged;
mod names;
mod nodes;
mod phases;
mod statistics;

pub(crate) use calls::read_calls;
pub use control::{Command, Control};
pub use events::{Event, events, traced_nodes};
pub(crate) use header::{Header, MergedHeader, Timebase, VERSION, set_running};
pub(crate) use merged::{MethodStatistics, PathChunk, PathHead, write_paths, write_statistics};
pub(crate) use names::{NameRecord, Names, write_names};
pub(crate) use nodes::{AsyncRecord, NodeChunk, RawNode, Slot, TreeHeader, node_flag};
pub(crate) use phases::{DetailsChunk, PhaseChunk, PhaseDetails, PhaseKind};
pub(crate) use statistics::StatisticsChunk;

use std::collections::{HashMap, HashSet};

use self::{
    cursor::Cursor,
    layout::{BLOCK, CHUNK_HEADER},
};
use crate::{error::Error, model::Mode};

mod chunk_kind {
    /// An unused chunk, in version 2.
    pub(super) const FREE: u32 = 0;
    pub(super) const NODES: u32 = 1;
    pub(super) const NAMES: u32 = 2;
    pub(super) const STATISTICS: u32 = 3;
    pub(super) const EVENTS: u32 = 4;
    pub(super) const COUNTERS: u32 = 5;
    pub(super) const PHASE: u32 = 6;
    /// Paths, in merged files.
    pub(super) const PATHS: u32 = 7;
    pub(super) const METHOD_STATISTICS: u32 = 8;
    /// Captured calls, which are read separately.
    pub(super) const DESCRIPTIONS: u32 = 9;
    pub(super) const CALLS: u32 = 10;
    pub(super) const PHASE_DETAILS: u32 = 11;
}

/// All records of a file.
pub(crate) struct Records<'a> {
    pub(crate) header: Header,
    /// Chunks of nodes in the order of the file.
    pub(crate) nodes: Vec<NodeChunk<'a>>,
    /// The same chunks by address.
    node_places: Places,
    pub(crate) statistics: Vec<StatisticsChunk<'a>>,
    statistics_places: Places,
    pub(crate) names: Names,
    /// Method ids, and the number of calls of each.
    pub(crate) counters: Vec<(u64, u64)>,
    pub(crate) phases: Vec<PhaseChunk<'a>>,
    pub(crate) phase_details: Vec<DetailsChunk<'a>>,
    /// Paths of a merged file.
    pub(crate) paths: Vec<PathChunk<'a>>,
    pub(crate) method_statistics: Vec<MethodStatistics>,
    /// The number of events.
    pub(crate) events: u64,
    /// The first defect.
    pub(crate) damage: Option<Error>,
}

/// Chunks sorted by address, for the lookup of each node's caller.
#[derive(Default)]
struct Places(Vec<(u64, usize)>);

impl Places {
    /// Sorts chunks by address. The first one wins where several have the same address.
    fn of(addresses: impl Iterator<Item = u64>) -> Self {
        let mut places: Vec<(u64, usize)> = addresses.enumerate().map(|(chunk, address)| (address, chunk)).collect();
        places.sort_unstable();
        places.dedup_by_key(|(address, _)| *address);
        Self(places)
    }

    /// Returns the last chunk at this address or below.
    fn before(&self, address: u64) -> Option<usize> {
        let behind = self.0.partition_point(|(start, _)| *start <= address);
        self.0.get(behind.checked_sub(1)?).map(|(_, chunk)| *chunk)
    }
}

impl<'a> Records<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// If the header is missing, or states an unknown version or mode.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut records = Self {
            header: Header::read(bytes)?,
            nodes: Vec::new(),
            node_places: Places::default(),
            statistics: Vec::new(),
            statistics_places: Places::default(),
            names: Names::default(),
            counters: Vec::new(),
            phases: Vec::new(),
            phase_details: Vec::new(),
            paths: Vec::new(),
            method_statistics: Vec::new(),
            events: 0,
            damage: None,
        };
        let version = records.header.version;
        let mut met = HashSet::new();
        for chunk in chunks(bytes, &records.header) {
            let result = chunk.and_then(|chunk| records.add(&chunk, version, &mut met));
            records.damage = records.damage.take().or(result.err());
        }
        records.node_places = Places::of(records.nodes.iter().map(|chunk| chunk.address));
        records.statistics_places = Places::of(records.statistics.iter().map(|chunk| chunk.address));
        Ok(records)
    }

    /// Adds a chunk; `met` has the addresses of earlier chunks of nodes.
    fn add(&mut self, chunk: &Chunk<'a>, version: u32, met: &mut HashSet<u64>) -> Result<(), Error> {
        let Chunk { kind, offset, bytes } = *chunk;
        let mut reader = Cursor::new(bytes, offset);
        reader.take(8)?;
        if version == 1 && !matches!(kind, chunk_kind::NODES | chunk_kind::NAMES) {
            return Err(Error::Unknown { what: "a chunk of kind", value: kind, offset });
        }
        match kind {
            chunk_kind::NODES => {
                let chunk = NodeChunk::read(reader, version)?;
                if !met.insert(chunk.address) {
                    return Err(Error::Damaged { what: "a chunk of nodes where there was one before", offset });
                }
                self.nodes.push(chunk);
            }
            chunk_kind::NAMES => {
                // In version 2, bytes behind the used ones may be records that are being written.
                let used = if version == 1 { bytes.len() } else { chunk.used()? };
                let records = bytes.get(CHUNK_HEADER..used).unwrap_or_default();
                self.names.read(Cursor::new(records, offset + CHUNK_HEADER))?;
            }
            chunk_kind::STATISTICS => {
                self.statistics.push(StatisticsChunk::read(reader)?);
            }
            chunk_kind::COUNTERS => {
                let mut slots = Cursor::new(bytes.get(CHUNK_HEADER..chunk.used()?).unwrap_or_default(), offset);
                while let (Ok(id), Ok(calls)) = (slots.u64(), slots.u64()) {
                    self.counters.extend((id != 0).then_some((id, calls)));
                }
            }
            chunk_kind::EVENTS => self.events += events::Events::read(chunk)?.count() as u64,
            chunk_kind::PHASE => self.phases.push(PhaseChunk::read(chunk)?),
            chunk_kind::PHASE_DETAILS => self.phase_details.push(DetailsChunk::read(chunk)?),
            chunk_kind::PATHS => self.paths.push(PathChunk::read(bytes, offset)?),
            chunk_kind::METHOD_STATISTICS => {
                self.method_statistics.extend(merged::method_statistics(bytes, chunk.used()?));
            }
            chunk_kind::CALLS => self.header.has_captured_calls = true,
            chunk_kind::DESCRIPTIONS => {}
            value => return Err(Error::Unknown { what: "a chunk of kind", value, offset }),
        }
        Ok(())
    }

    /// Returns the chunk of nodes and the slot with this address.
    pub(crate) fn slot_of(&self, address: u64) -> Option<(usize, usize)> {
        let chunk = self.node_places.before(address)?;
        Some((chunk, self.nodes.get(chunk)?.index_of(address)?))
    }

    /// Returns the duration of a node's first call, if known.
    pub(crate) fn first_of(&self, raw: &RawNode) -> Option<i64> {
        let is_timed = self.header.version > 1 && matches!(self.header.mode, Mode::Exact | Mode::Trace);
        match Some(raw.statistics).filter(|address| *address != 0).and_then(|address| self.statistics_of(address)) {
            Some((chunk, slot)) => Some(self.statistics.get(chunk)?.slot(slot)?.first),
            None if raw.async_record != 0 => match self.node_slot(raw.async_record) {
                Some(Slot::Async(record)) if record.first > 0 => Some(record.first),
                _ => None,
            },
            // There are none before the second call: then all is the first's.
            _ => (is_timed && raw.calls == 1 && raw.leaves == 1 && raw.async_record == 0).then_some(raw.total),
        }
    }

    /// Returns the slot at an address among the nodes.
    pub(crate) fn node_slot(&self, address: u64) -> Option<Slot> {
        let (chunk, slot) = (address != 0).then(|| self.slot_of(address)).flatten()?;
        Some(self.nodes.get(chunk)?.slot(slot))
    }

    /// Returns the details of nodes in phases with these weights, which are not 0.
    pub(crate) fn details_of(&self, weights: &[i64]) -> impl Iterator<Item = (PhaseDetails<'a>, i64)> {
        let weights: HashMap<u64, i64> = self.phases.iter().map(|phase| phase.address).zip(weights.iter().copied()).collect();
        self.phase_details.iter().flat_map(move |chunk| {
            let weight = weights.get(&chunk.phase).copied().filter(|weight| *weight != 0);
            weight.into_iter().flat_map(|weight| chunk.all().map(move |details| (details, weight)))
        })
    }

    /// Returns the chunk of statistics and the slot with this address.
    pub(crate) fn statistics_of(&self, address: u64) -> Option<(usize, usize)> {
        let chunk = self.statistics_places.before(address)?;
        Some((chunk, self.statistics.get(chunk)?.index_of(address)?))
    }
}

/// A chunk, complete or up to the end of the file.
pub(crate) struct Chunk<'a> {
    kind: u32,
    /// Its file offset.
    offset: usize,
    bytes: &'a [u8],
}

impl Chunk<'_> {
    /// Returns the number of bytes in use.
    fn used(&self) -> Result<usize, Error> {
        let mut reader = Cursor::new(self.bytes, self.offset);
        reader.take(32)?;
        Ok(usize::try_from(reader.u64()?).unwrap_or(usize::MAX).min(self.bytes.len()))
    }
}

/// Returns the chunks of a file, and errors for defects between them.
fn chunks<'a>(bytes: &'a [u8], header: &Header) -> impl Iterator<Item = Result<Chunk<'a>, Error>> + use<'a> {
    let (is_first, mut position, mut is_cut) = (header.version == 1, header.size, header.size > bytes.len());
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
            let size = size as usize;
            if kind == chunk_kind::FREE && !is_first {
                position = offset.saturating_add(BLOCK);
                continue;
            }
            if size < CHUNK_HEADER || !is_first && !size.is_multiple_of(BLOCK) {
                // In version 2, chunks begin at multiples of the block size: the next one may be undamaged.
                position = if is_first { bytes.len() } else { offset.saturating_add(BLOCK) };
                return Some(Err(Error::Damaged { what: "a chunk of no size", offset }));
            }
            position = offset.saturating_add(size);
            is_cut = position > bytes.len();
            return Some(Ok(Chunk { kind, offset, bytes: rest.get(..size).unwrap_or(rest) }));
        }
    })
}
