//! All records of a file.

use std::collections::{HashMap, HashSet};

use profile_format::{ChunkKind, chunk, counter};

use super::{
    chunks::{Chunk, chunks},
    cursor::{Cursor, u64_at},
    events::Events,
    header::Header,
    lines::lines,
    merged::{MethodStatistics, PathChunk, method_statistics},
    names::Names,
    nodes::{NodeChunk, RawNode, Slot},
    phases::{DetailsChunk, PhaseChunk, PhaseDetails},
    statistics::StatisticsChunk,
};
use crate::{error::Error, lines::SourceFile, model::Mode, statistics::Statistics};

/// All records of a file.
pub(crate) struct Records<'a> {
    pub(crate) header: Header,
    /// Chunks of nodes in the order of the file.
    pub(crate) nodes: Vec<NodeChunk<'a>>,
    /// The same chunks by address.
    nodes_by_address: ByAddress,
    statistics: Vec<StatisticsChunk<'a>>,
    statistics_by_address: ByAddress,
    pub(crate) names: Names,
    /// Method ids, and the number of calls of each.
    pub(crate) counters: Vec<(u64, u64)>,
    pub(crate) phases: Vec<PhaseChunk<'a>>,
    pub(crate) phase_details: Vec<DetailsChunk<'a>>,
    /// Paths of a merged file.
    pub(crate) paths: Vec<PathChunk<'a>>,
    pub(crate) method_statistics: Vec<MethodStatistics>,
    /// The source files of each chunk with counters of lines.
    pub(crate) lines: Vec<SourceFile>,
    /// The number of events.
    pub(crate) events: u64,
    /// The first defect.
    pub(crate) damage: Option<Error>,
}

/// Chunks sorted by address, for the lookup of each node's caller.
#[derive(Default)]
struct ByAddress(Vec<(u64, usize)>);

impl ByAddress {
    /// Sorts chunks by address. The first one wins where several have the same address.
    fn new(addresses: impl Iterator<Item = u64>) -> Self {
        let mut chunks: Vec<(u64, usize)> = addresses.enumerate().map(|(chunk, address)| (address, chunk)).collect();
        chunks.sort_unstable();
        chunks.dedup_by_key(|(address, _)| *address);
        Self(chunks)
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
            nodes_by_address: ByAddress::default(),
            statistics: Vec::new(),
            statistics_by_address: ByAddress::default(),
            names: Names::default(),
            counters: Vec::new(),
            phases: Vec::new(),
            phase_details: Vec::new(),
            paths: Vec::new(),
            method_statistics: Vec::new(),
            lines: Vec::new(),
            events: 0,
            damage: None,
        };
        let mut met = HashSet::new();
        for chunk in chunks(bytes, &records.header) {
            let result = chunk.and_then(|chunk| records.add(&chunk, &mut met));
            records.damage = records.damage.take().or(result.err());
        }
        records.nodes_by_address = ByAddress::new(records.nodes.iter().map(|chunk| chunk.slots.address));
        records.statistics_by_address = ByAddress::new(records.statistics.iter().map(|chunk| chunk.0.address));
        Ok(records)
    }

    /// Adds a chunk; `met` has the addresses of earlier chunks of nodes.
    fn add(&mut self, chunk: &Chunk<'a>, met: &mut HashSet<u64>) -> Result<(), Error> {
        let offset = chunk.offset;
        let Some(kind) = chunk.kind else {
            let mut reader = chunk.reader_at(0);
            let kind = reader.u32()?;
            return Err(Error::Unknown { what: "a chunk of kind", value: kind, offset });
        };
        match kind {
            ChunkKind::Nodes => {
                let chunk = NodeChunk::read(chunk)?;
                if !met.insert(chunk.slots.address) {
                    return Err(Error::Damaged { what: "a chunk of nodes where there was one before", offset });
                }
                self.nodes.push(chunk);
            }
            // Bytes behind the used ones may be records that are being written.
            ChunkKind::Names => self.names.read(Cursor::new(chunk.content()?, offset + chunk::HEADER))?,
            ChunkKind::Statistics => self.statistics.push(StatisticsChunk::read(chunk)?),
            ChunkKind::Counters => {
                let (counters, _) = chunk.content()?.as_chunks::<{ counter::SIZE }>();
                let counters = counters.iter().map(|counter| (u64_at(counter, 0), u64_at(counter, 8)));
                self.counters.extend(counters.filter(|(id, _)| *id != 0));
            }
            ChunkKind::Events => self.events += Events::read(chunk)?.count() as u64,
            ChunkKind::Phase => self.phases.push(PhaseChunk::read(chunk)?),
            ChunkKind::PhaseDetails => self.phase_details.push(DetailsChunk::read(chunk)?),
            ChunkKind::Paths => self.paths.push(PathChunk::read(chunk)?),
            ChunkKind::MethodStatistics => self.method_statistics.extend(method_statistics(chunk)?),
            ChunkKind::Lines => self.lines.extend(lines(chunk)?),
            ChunkKind::Calls => self.header.has_captured_calls = true,
            // Captured calls and what they refer to are read separately.
            ChunkKind::Descriptions | ChunkKind::Free => {}
        }
        Ok(())
    }

    /// Returns the chunk of nodes and the slot with this address.
    pub(crate) fn slot_of(&self, address: u64) -> Option<(usize, usize)> {
        let chunk = self.nodes_by_address.before(address)?;
        Some((chunk, self.nodes.get(chunk)?.slots.index_of(address)?))
    }

    /// Returns the duration of a node's first call, if known.
    pub(crate) fn first_of(&self, raw: &RawNode) -> Option<i64> {
        let is_timed = matches!(self.header.mode, Mode::Exact | Mode::Trace);
        match self.statistics_of(raw.statistics) {
            Some(statistics) => Some(statistics.first),
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

    /// Returns the statistics at an address, which is 0 in a node without.
    pub(crate) fn statistics_of(&self, address: u64) -> Option<Statistics> {
        if let Some((chunk, slot)) = self.statistics_slot(address) {
            return chunk.slot(slot);
        }
        match self.node_slot(address)? {
            Slot::FewCalls(few) => Some(few.statistics(self.header.histogram_shift)),
            _ => None,
        }
    }

    /// Returns whether there are statistics at an address.
    pub(crate) fn has_statistics(&self, address: u64) -> bool {
        self.statistics_slot(address).is_some() || matches!(self.node_slot(address), Some(Slot::FewCalls(_)))
    }

    fn statistics_slot(&self, address: u64) -> Option<(&StatisticsChunk<'a>, usize)> {
        let chunk = self.statistics.get(self.statistics_by_address.before(address)?)?;
        Some((chunk, chunk.0.index_of(address)?))
    }
}
