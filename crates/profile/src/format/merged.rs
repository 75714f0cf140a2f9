//! Chunks of merged files: call paths with flat values, and statistics by method. These values are sums already and need no
//! further computation.

use std::io::{self, Write};

use super::{BLOCK, chunk_kind, cursor::Cursor, node_flag};
use crate::{
    error::Error,
    model::Notes,
    statistics::{BUCKETS, Statistics},
};

const FIRST_PATH: usize = 96;
/// The size of a path without its values.
const PATH_HEAD: usize = 16;
const STATISTICS_PHASE: usize = 40;
const FIRST_STATISTICS: usize = 64;
const STATISTICS_SIZE: usize = 48 + 8 * BUCKETS;
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
        self.values.iter().map(|value| i64::from_le_bytes(*value))
    }
}

impl<'a> PathChunk<'a> {
    pub(super) fn read(bytes: &'a [u8], offset: usize) -> Result<Self, Error> {
        let mut reader = Cursor::new(bytes, offset);
        reader.position = 24;
        let (tree, used) = (reader.u64()?, reader.u64()?);
        let (threads, lost_calls, bad_tokens) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (cpu_ns, duration) = (reader.i64()?, reader.i64()?.max(0));
        let (values, phase) = (reader.u32()? as usize, reader.u32()?);
        if values > super::super::model::SampleType::MOST {
            return Err(Error::Damaged { what: "a chunk of paths with too many values", offset });
        }
        let used = usize::try_from(used).unwrap_or(usize::MAX).min(bytes.len());
        let head =
            PathHead { tree, threads, lost_calls, bad_tokens, cpu_ns: Some(cpu_ns).filter(|cpu| *cpu >= 0), duration, phase };
        Ok(Self { head, values, bytes: bytes.get(FIRST_PATH..used).unwrap_or_default() })
    }

    /// Returns the number of values of each path.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = MergedPath<'a>> {
        self.bytes.chunks_exact(PATH_HEAD + 8 * self.values).filter_map(|path| {
            let (head, values) = path.split_first_chunk::<PATH_HEAD>()?;
            let (words, _) = head.as_chunks::<4>();
            let word = |index: usize| words.get(index).map_or(0, |word| u32::from_le_bytes(*word));
            let flags = word(3);
            Some(MergedPath {
                method_id: u64::from(word(1)) << 32 | u64::from(word(0)),
                caller: (word(2) as usize).checked_sub(1),
                notes: Notes {
                    is_async: flags & node_flag::ASYNC != 0,
                    is_overflow: flags & node_flag::OVERFLOW != 0,
                    is_counted: flags & node_flag::COUNTED != 0,
                    was_counted: flags & node_flag::WAS_COUNTED != 0,
                    lost_flow: flags & node_flag::FLOW_LOST != 0,
                },
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
pub(super) fn method_statistics(bytes: &[u8], used: usize) -> impl Iterator<Item = MethodStatistics> {
    let phase = bytes.get(STATISTICS_PHASE..).and_then(|rest| rest.first_chunk()).map_or(0, |phase| u32::from_le_bytes(*phase));
    bytes.get(FIRST_STATISTICS..used).unwrap_or_default().chunks_exact(STATISTICS_SIZE).map(move |record| {
        let (words, _) = record.as_chunks();
        let word = |index: usize| words.get(index).map_or(0, |word| u64::from_le_bytes(*word));
        let time = |index: usize| (word(index) as i64).max(0);
        let mut buckets = [0; BUCKETS];
        buckets.iter_mut().enumerate().for_each(|(index, bucket)| *bucket = word(6 + index));
        let statistics = Statistics { first: time(2), min: time(3), max: time(4), count: word(5), buckets };
        let (exception_type, is_timed) = (word(1) as u32, word(1) >> 32 != 0);
        MethodStatistics { phase, method_id: word(0), exception_type, statistics: is_timed.then_some(statistics) }
    })
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
        let mut chunk = vec![0; FIRST_PATH];
        for (method_id, caller, notes, values) in paths.by_ref().take(MOST) {
            let flags = [
                (notes.is_async, node_flag::ASYNC),
                (notes.is_overflow, node_flag::OVERFLOW),
                (notes.is_counted, node_flag::COUNTED),
                (notes.was_counted, node_flag::WAS_COUNTED),
                (notes.lost_flow, node_flag::FLOW_LOST),
            ];
            let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
            chunk.extend(method_id.to_le_bytes());
            chunk.extend(caller.map_or(0, |caller| caller + 1).to_le_bytes());
            chunk.extend(flags.to_le_bytes());
            values.iter().for_each(|value| chunk.extend(value.to_le_bytes()));
        }
        for (at, field) in [
            (24, head.tree),
            (32, chunk.len() as u64),
            (40, head.threads),
            (48, head.lost_calls),
            (56, head.bad_tokens),
            (64, head.cpu_ns.unwrap_or(-1) as u64),
            (72, head.duration as u64),
            (80, values as u64 | u64::from(head.phase) << 32),
        ] {
            put(&mut chunk, at, field);
        }
        write_chunk(out, chunk_kind::PATHS, chunk)?;
    }
    Ok(())
}

/// Writes the statistics of methods in a phase.
pub(crate) fn write_statistics(out: &mut impl Write, phase: u32, all: &[MethodStatistics]) -> io::Result<()> {
    for some in all.chunks(MOST) {
        let mut chunk = vec![0; FIRST_STATISTICS];
        for MethodStatistics { method_id, exception_type, statistics, .. } in some {
            chunk.extend(method_id.to_le_bytes());
            chunk.extend((u64::from(*exception_type) | u64::from(statistics.is_some()) << 32).to_le_bytes());
            let statistics = statistics.as_ref();
            let times = statistics.map_or([0; 3], |all| [all.first, all.min, all.max]);
            times.iter().for_each(|time| chunk.extend(time.to_le_bytes()));
            chunk.extend(statistics.map_or(0, |all| all.count).to_le_bytes());
            let buckets = statistics.map_or([0; BUCKETS], |all| all.buckets);
            buckets.iter().for_each(|calls| chunk.extend(calls.to_le_bytes()));
        }
        let used = chunk.len() as u64;
        put(&mut chunk, 32, used);
        put(&mut chunk, STATISTICS_PHASE, phase.into());
        write_chunk(out, chunk_kind::METHOD_STATISTICS, chunk)?;
    }
    Ok(())
}

/// Writes a chunk, and fills in its kind and size.
pub(super) fn write_chunk(out: &mut impl Write, kind: u32, mut chunk: Vec<u8>) -> io::Result<()> {
    let size = chunk.len().next_multiple_of(BLOCK);
    put(&mut chunk, 0, u64::from(kind) | (size as u64) << 32);
    chunk.resize(size, 0);
    out.write_all(&chunk)
}

/// Writes a field into a chunk, which must be long enough.
pub(super) fn put(bytes: &mut [u8], at: usize, field: u64) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = field.to_le_bytes();
    }
}
