//! Chunks of merged files: call paths with flat values, and statistics by method. These values are sums already and need no
//! further computation.

use std::io::{self, Write};

use little_endian::{ByteOrder, LE, PutNumbers};
use profile_format::{ChunkKind, NodeFlags, chunk, merged as layout, statistics::BUCKETS};

use super::{
    chunks::{Chunk, write_chunk},
    cursor::{i64_at, put_u32, put_u64, u32_at, u64_at},
};
use crate::{
    error::Error,
    model::{Notes, SampleType},
    statistics::Statistics,
};

/// The size of a method's statistics.
const STATISTICS_SIZE: usize = layout::STATISTICS + 8 * BUCKETS;
/// The most paths, or methods, in a chunk.
const MOST: usize = 8192;

/// A part of a tree.
pub(crate) struct PathChunk<'a> {
    pub(crate) head: PathHead,
    values: usize,
    bytes: &'a [u8],
}

/// The header of a tree, repeated in each of its chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathHead {
    pub(crate) tree: u64,
    pub(crate) threads: u64,
    pub(crate) lost_calls: u64,
    pub(crate) bad_tokens: u64,
    pub(crate) cpu_ns: Option<i64>,
    /// The duration of the phase in ticks, summed over all processes.
    pub(crate) duration: i64,
    /// The number of its phase among the names; 0 for the whole run.
    pub(crate) phase: u32,
}

/// A call path.
pub(crate) struct MergedPath<'a> {
    pub(crate) method_id: u64,
    /// The index of its caller in the tree.
    pub(crate) caller: Option<usize>,
    pub(crate) notes: Notes,
    values: &'a [[u8; 8]],
}

impl MergedPath<'_> {
    /// Returns its flat values, by sample type.
    pub(crate) fn values(&self) -> impl Iterator<Item = i64> {
        self.values.iter().map(|value| LE::read_i64(value))
    }
}

impl<'a> PathChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        let bytes = chunk.bytes;
        let values = u32_at(bytes, layout::VALUES_AT) as usize;
        if values > SampleType::ALL.len() {
            return Err(Error::Damaged { what: "a chunk of paths with too many values", offset: chunk.offset });
        }
        let head = PathHead {
            tree: u64_at(bytes, chunk::TREE_NUMBER_AT),
            threads: u64_at(bytes, layout::THREADS_AT),
            lost_calls: u64_at(bytes, layout::LOST_CALLS_AT),
            bad_tokens: u64_at(bytes, layout::BAD_TOKENS_AT),
            cpu_ns: Some(i64_at(bytes, layout::CPU_AT)).filter(|cpu| *cpu >= 0),
            duration: i64_at(bytes, layout::DURATION_AT).max(0),
            phase: u32_at(bytes, layout::PHASE_AT),
        };
        Ok(Self { head, values, bytes: chunk.content_from(layout::FIRST_PATH_AT)? })
    }

    /// Returns the number of values of each path.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = MergedPath<'a>> {
        self.bytes.chunks_exact(layout::PATH + 8 * self.values).filter_map(|path| {
            let (head, values) = path.split_first_chunk::<{ layout::PATH }>()?;
            let flags = NodeFlags::from_bits(u32_at(head, layout::PATH_FLAGS_AT));
            Some(MergedPath {
                method_id: u64_at(head, layout::PATH_METHOD_ID_AT),
                caller: (u32_at(head, layout::PATH_CALLER_AT) as usize).checked_sub(1),
                notes: Notes::from_flags(flags),
                values: values.as_chunks().0,
            })
        })
    }
}

/// The statistics of all calls of a method.
pub(crate) struct MethodStatistics {
    /// As in [`PathHead`].
    pub(crate) phase: u32,
    pub(crate) method_id: u64,
    /// The number of the type of an exception that left the method; 0 for none.
    pub(crate) exception_type: u32,
    /// `None` if no call was timed.
    pub(crate) statistics: Option<Statistics>,
}

/// Returns the statistics in a chunk.
pub(super) fn method_statistics(chunk: &Chunk<'_>) -> Result<impl Iterator<Item = MethodStatistics>, Error> {
    let phase = u32_at(chunk.bytes, layout::STATISTICS_PHASE_AT);
    let records = chunk.content_from(layout::FIRST_STATISTICS_AT)?.chunks_exact(STATISTICS_SIZE);
    Ok(records.map(move |record| {
        let word = |index: usize| u64_at(record, 8 * index);
        let time = |index: usize| (word(index) as i64).max(0);
        let mut buckets = [0; BUCKETS];
        buckets.iter_mut().enumerate().for_each(|(index, bucket)| *bucket = word(6 + index));
        let statistics = Statistics { first: time(2), min: time(3), max: time(4), count: word(5), buckets };
        let (exception_type, is_timed) = (word(1) as u32, word(1) >> 32 != 0);
        MethodStatistics { phase, method_id: word(0), exception_type, statistics: is_timed.then_some(statistics) }
    }))
}

/// Writes the paths of a tree: for each, its method's id, its caller's index, its notes and values.
pub(crate) fn write_paths<'v>(
    out: &mut impl Write,
    head: &PathHead,
    values: usize,
    paths: impl ExactSizeIterator<Item = (u64, Option<u32>, Notes, &'v [i64])>,
) -> io::Result<()> {
    let mut paths = paths.peekable();
    let mut is_first = true;
    // A tree without paths has one chunk, too.
    while is_first || paths.peek().is_some() {
        is_first = false;
        let mut chunk = vec![0; layout::FIRST_PATH_AT];
        for (method_id, caller, notes, values) in paths.by_ref().take(MOST) {
            chunk.put_u64(method_id);
            chunk.put_u32(caller.map_or(0, |caller| caller + 1));
            chunk.put_u32(notes.to_flags().bits());
            values.iter().for_each(|value| chunk.put_i64(*value));
        }
        for (at, field) in [
            (chunk::TREE_NUMBER_AT, head.tree),
            (layout::THREADS_AT, head.threads),
            (layout::LOST_CALLS_AT, head.lost_calls),
            (layout::BAD_TOKENS_AT, head.bad_tokens),
            (layout::CPU_AT, head.cpu_ns.unwrap_or(-1) as u64),
            (layout::DURATION_AT, head.duration as u64),
        ] {
            put_u64(&mut chunk, at, field);
        }
        put_u32(&mut chunk, layout::VALUES_AT, values as u32);
        put_u32(&mut chunk, layout::PHASE_AT, head.phase);
        write_chunk(out, ChunkKind::Paths, chunk)?;
    }
    Ok(())
}

/// Writes the statistics of methods in a phase.
pub(crate) fn write_statistics(out: &mut impl Write, phase: u32, all: &[MethodStatistics]) -> io::Result<()> {
    for some in all.chunks(MOST) {
        let mut chunk = vec![0; layout::FIRST_STATISTICS_AT];
        for MethodStatistics { method_id, exception_type, statistics, .. } in some {
            chunk.put_u64(*method_id);
            chunk.put_u64(u64::from(*exception_type) | u64::from(statistics.is_some()) << 32);
            let statistics = statistics.as_ref();
            let times = statistics.map_or([0; 3], |all| [all.first, all.min, all.max]);
            times.iter().for_each(|time| chunk.put_i64(*time));
            chunk.put_u64(statistics.map_or(0, |all| all.count));
            let buckets = statistics.map_or([0; BUCKETS], |all| all.buckets);
            buckets.iter().for_each(|calls| chunk.put_u64(*calls));
        }
        put_u32(&mut chunk, layout::STATISTICS_PHASE_AT, phase);
        write_chunk(out, ChunkKind::MethodStatistics, chunk)?;
    }
    Ok(())
}
