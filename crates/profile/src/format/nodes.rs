//! Chunks of nodes, and the contents of their slots.

use super::{
    cursor::Cursor,
    layout::{self, CHUNK_HEADER},
};
use crate::error::Error;

/// A chunk of nodes.
pub(crate) struct NodeChunk<'a> {
    /// Its address in the program's memory.
    pub(crate) address: u64,
    /// The address of its tree, and its number there.
    pub(crate) tree: u64,
    pub(crate) tree_number: u64,
    /// The tree's header, in its first chunk.
    pub(crate) header: Option<TreeHeader>,
    bytes: &'a [u8],
    layout: &'static Layout,
}

/// The layout of nodes in a version of the file.
pub(crate) struct Layout {
    first_slot: usize,
    slot_size: usize,
    tree: fn(&[u64]) -> TreeHeader,
    slot: fn(&[u64]) -> Slot,
}

/// The header of a tree, which is in the tree's first chunk.
#[derive(Clone, Copy, Default)]
pub(crate) struct TreeHeader {
    /// The address of the node that was running.
    pub(crate) current: u64,
    /// The address of the frame of the current step.
    pub(crate) frame: u64,
    pub(crate) threads: u64,
    pub(crate) lost_calls: u64,
    pub(crate) bad_tokens: u64,
    /// CPU time of its threads, in ns.
    pub(crate) cpu_ns: Option<i64>,
    /// The time in ns that its threads were ready to run, but waited for a processor.
    pub(crate) run_delay_ns: Option<i64>,
}

impl TreeHeader {
    /// Returns the factor by which other threads and processes stretched the time of these threads.
    pub(crate) fn stretch(&self) -> f64 {
        let known = self.cpu_ns.filter(|cpu| *cpu > 0).zip(self.run_delay_ns);
        known.map_or(1.0, |(cpu, delay)| 1.0 + delay as f64 / cpu as f64)
    }
}

/// The content of a slot.
pub(crate) enum Slot {
    Node(RawNode),
    /// A root: of the tree, of one of its layers, or of the calls beyond the limit of nodes.
    Root,
    Frame(Frame),
    Async(AsyncRecord),
    Empty,
}

/// A node, unprocessed.
#[derive(Default)]
pub(crate) struct RawNode {
    pub(crate) method_id: u64,
    /// The address of the caller's node.
    pub(crate) caller: u64,
    pub(crate) start: i64,
    pub(crate) total: i64,
    pub(crate) calls: u64,
    pub(crate) leaves: u64,
    pub(crate) flags: u32,
    pub(crate) exceptions: u32,
    pub(crate) exception_type: u32,
    /// Its number in its tree, for events.
    pub(crate) number: u32,
    /// The part of its total that is not part of its caller's total.
    pub(crate) detached: i64,
    /// The address of its async record; 0 if it has none.
    pub(crate) async_record: u64,
    /// The address of its statistics.
    pub(crate) statistics: u64,
    pub(crate) cpu_ns: i64,
}

/// An open step of an async method.
pub(crate) struct Frame {
    pub(crate) node: u64,
    /// The node that was running before it.
    pub(crate) previous: u64,
    pub(crate) start: i64,
    /// The frame below it; 0 if there is none.
    pub(crate) below: u64,
}

/// The additional values of an async method's node.
#[derive(Clone, Copy, Default)]
pub(crate) struct AsyncRecord {
    /// Ticks from start to completion, summed over all completed logical calls.
    pub(crate) latency: i64,
    pub(crate) completed: i64,
    pub(crate) faulted: i64,
    pub(crate) steps: i64,
    /// Ticks of the path's first call, if it ended in this tree; no sum.
    pub(crate) first: i64,
}

impl AsyncRecord {
    /// Multiplies all values; the factor may be negative.
    pub(crate) fn times(self, times: i64) -> Self {
        let Self { latency, completed, faulted, steps, first } = self;
        let [latency, completed, faulted, steps] = [latency, completed, faulted, steps].map(|sum| sum.saturating_mul(times));
        Self { latency, completed, faulted, steps, first }
    }

    /// Adds the values of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            latency: self.latency.saturating_add(other.latency),
            completed: self.completed.saturating_add(other.completed),
            faulted: self.faulted.saturating_add(other.faulted),
            steps: self.steps.saturating_add(other.steps),
            first: self.first.max(other.first),
        }
    }
}

pub(crate) mod node_flag {
    pub(crate) const ROOT: u32 = 1;
    pub(crate) const FRAME: u32 = 2;
    pub(crate) const OVERFLOW: u32 = 4;
    pub(crate) const ASYNC: u32 = 8;
    /// The path's calls are only counted; their time is part of the caller's.
    pub(crate) const COUNTED: u32 = 16;
    pub(crate) const FLOW_LOST: u32 = 32;
    pub(crate) const LAYER_ROOT: u32 = 64;
    pub(crate) const ASYNC_RECORD: u32 = 128;
    /// The path's calls were only counted for a while.
    pub(crate) const WAS_COUNTED: u32 = 16384;
}

/// The alignment of chunks in version 1, and their largest size, in bytes.
const CHUNK_SIZE_1: u64 = 64 << 10;

const VERSION_1: Layout = Layout {
    first_slot: 128,
    slot_size: 64,
    tree: |field| TreeHeader {
        current: at(field, 0),
        threads: at(field, 4),
        lost_calls: at(field, 5),
        bad_tokens: at(field, 6),
        ..TreeHeader::default()
    },
    // Fields 1 and 2, lists of callees, are not read: the program may have been changing them.
    slot: |field| match at(field, 0) {
        0 => Slot::Root,
        method_id => Slot::Node(RawNode {
            method_id,
            caller: at(field, 3),
            start: at(field, 4) as i64,
            total: at(field, 5) as i64,
            calls: at(field, 6),
            leaves: at(field, 7),
            ..RawNode::default()
        }),
    },
};

const VERSION_2: Layout = Layout {
    first_slot: layout::FIRST_NODE,
    slot_size: layout::NODE,
    tree: |field| TreeHeader {
        current: at(field, 0),
        threads: at(field, 4),
        lost_calls: at(field, 5),
        bad_tokens: at(field, 6),
        frame: at(field, 7),
        cpu_ns: Some(at(field, 9) as i64).filter(|cpu| *cpu >= 0),
        run_delay_ns: Some(at(field, 13) as i64).filter(|delay| *delay >= 0),
    },
    slot: slot_2,
};

fn slot_2(field: &[u64]) -> Slot {
    let (flags, exceptions) = (at(field, 10) as u32, (at(field, 10) >> 32) as u32);
    if flags & node_flag::FRAME != 0 {
        let (node, previous, start, below) = (at(field, 1), at(field, 2), at(field, 3) as i64, at(field, 4));
        return Slot::Frame(Frame { node, previous, start, below });
    }
    if flags & node_flag::ASYNC_RECORD != 0 {
        let [latency, completed, faulted, steps, first] = [0, 1, 2, 3, 4].map(|index| at(field, index) as i64);
        return Slot::Async(AsyncRecord { latency, completed, faulted, steps, first });
    }
    match at(field, 0) {
        0 if flags & (node_flag::ROOT | node_flag::LAYER_ROOT | node_flag::OVERFLOW) != 0 => Slot::Root,
        0 => Slot::Empty,
        method_id => Slot::Node(RawNode {
            method_id,
            caller: at(field, 2),
            start: at(field, 3) as i64,
            calls: at(field, 4),
            total: at(field, 5) as i64,
            leaves: at(field, 6),
            flags,
            exceptions,
            exception_type: at(field, 11) as u32,
            number: (at(field, 11) >> 32) as u32,
            detached: at(field, 12) as i64,
            async_record: at(field, 13),
            // The address is in another field if the fast path must not be taken for the node.
            statistics: if at(field, 14) != 0 { at(field, 14) } else { at(field, 7) },
            cpu_ns: at(field, 15) as i64,
        }),
    }
}

fn at(fields: &[u64], index: usize) -> u64 {
    fields.get(index).copied().unwrap_or_default()
}

impl<'a> NodeChunk<'a> {
    /// Reads a chunk; `reader` is at its address.
    pub(crate) fn read(mut reader: Cursor<'a>, version: u32) -> Result<Self, Error> {
        let offset = reader.base;
        let (address, tree, tree_number, used) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        let is_misplaced = match version {
            1 => address % CHUNK_SIZE_1 != 0 || used > CHUNK_SIZE_1,
            _ => address % 64 != 0 || address.checked_add(used).is_none(),
        };
        if is_misplaced {
            return Err(Error::Damaged { what: "a chunk of nodes where none can be", offset });
        }
        let layout = if version == 1 { &VERSION_1 } else { &VERSION_2 };
        let fields = fields(reader.bytes.get(CHUNK_HEADER..layout.first_slot).unwrap_or_default());
        let is_first = tree == address.wrapping_add(CHUNK_HEADER as u64);
        let used = usize::try_from(used).unwrap_or(usize::MAX).min(reader.bytes.len());
        let bytes = reader.bytes.get(layout.first_slot..used).unwrap_or_default();
        Ok(Self { address, tree, tree_number, header: is_first.then(|| (layout.tree)(&fields)), bytes, layout })
    }

    /// Returns the number of slots in use.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len() / self.layout.slot_size
    }

    /// Returns the content of a slot.
    pub(crate) fn slot(&self, index: usize) -> Slot {
        let start = index * self.layout.slot_size;
        let bytes = self.bytes.get(start..start + self.layout.slot_size);
        bytes.map_or(Slot::Empty, |bytes| (self.layout.slot)(&fields(bytes)))
    }

    /// Returns the index of the slot with this address.
    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?.checked_sub(self.layout.first_slot)?;
        let index = offset / self.layout.slot_size;
        (offset % self.layout.slot_size == 0 && index < self.count()).then_some(index)
    }
}

/// Returns fields of eight bytes; at most 24.
fn fields(bytes: &[u8]) -> [u64; 24] {
    let mut fields = [0; 24];
    let (chunks, _) = bytes.as_chunks();
    for (field, bytes) in fields.iter_mut().zip(chunks) {
        *field = u64::from_le_bytes(*bytes);
    }
    fields
}
