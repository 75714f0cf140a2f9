//! Chunks of nodes, and the contents of their slots.

use std::array;

use profile_format::{NodeFlags, allocations, async_record, chunk, few_calls, frame, node, tree};

use super::{
    chunks::{Chunk, Slots},
    cursor::{i64_at, u32_at, u64_at},
};
use crate::{error::Error, model::Notes, statistics::Statistics};

impl Notes {
    pub(crate) fn from_flags(flags: NodeFlags) -> Self {
        Self {
            is_async: flags.has(NodeFlags::ASYNC),
            is_overflow: flags.has(NodeFlags::OVERFLOW),
            is_counted: flags.has(NodeFlags::COUNTED),
            was_counted: flags.has(NodeFlags::WAS_COUNTED),
            is_runtime_async: flags.has(NodeFlags::RUNTIME_ASYNC),
            lost_flow: flags.has(NodeFlags::FLOW_LOST),
        }
    }

    pub(crate) fn to_flags(self) -> NodeFlags {
        NodeFlags::ASYNC.when(self.is_async)
            | NodeFlags::OVERFLOW.when(self.is_overflow)
            | NodeFlags::COUNTED.when(self.is_counted)
            | NodeFlags::WAS_COUNTED.when(self.was_counted)
            | NodeFlags::RUNTIME_ASYNC.when(self.is_runtime_async)
            | NodeFlags::FLOW_LOST.when(self.lost_flow)
    }
}

/// The least alignment of a chunk in the program's memory.
const ALIGNMENT: u64 = 64;

/// A chunk of nodes.
pub(crate) struct NodeChunk<'a> {
    /// The address of its tree, and its number there.
    pub(crate) tree: u64,
    pub(crate) tree_number: u64,
    /// The tree's header, in its first chunk.
    pub(crate) header: Option<TreeHeader>,
    pub(crate) slots: Slots<'a>,
    has_allocations: bool,
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
    /// The bytes that its present thread had allocated at its last probe.
    pub(crate) bytes: i64,
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
    FewCalls(FewCalls),
    Empty,
}

/// A node, unprocessed.
pub(crate) struct RawNode {
    pub(crate) method_id: u64,
    /// The address of the caller's node.
    pub(crate) caller: u64,
    pub(crate) time: Spent,
    pub(crate) bytes: Spent,
    pub(crate) calls: u64,
    pub(crate) leaves: u64,
    pub(crate) flags: NodeFlags,
    pub(crate) exceptions: u32,
    pub(crate) exception_type: u32,
    /// Its number in its tree, for events.
    pub(crate) number: u32,
    /// The address of its async record; 0 if it has none.
    pub(crate) async_record: u64,
    /// The address of its statistics.
    pub(crate) statistics: u64,
    pub(crate) cpu_ns: i64,
}

/// The time of a node's calls in ticks, or their allocated bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// The clock when the open or last call began, or the bytes of its thread.
    pub(crate) start: i64,
    /// The sum over ended calls, with callees.
    pub(crate) total: i64,
    /// The part of `total` that is not part of the caller's total.
    pub(crate) detached: i64,
}

/// An open step of an async method.
pub(crate) struct Frame {
    pub(crate) node: u64,
    /// The node that was running before it.
    pub(crate) previous: u64,
    pub(crate) start: i64,
    /// The bytes of its thread when it began.
    pub(crate) bytes_start: i64,
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

/// The times of a node's few calls, in ticks.
pub(crate) struct FewCalls {
    pub(crate) first: i64,
    times: [i64; few_calls::MOST],
    /// The number of `times`.
    count: usize,
}

impl FewCalls {
    /// Returns the times as statistics. `shift` is the histogram's.
    pub(crate) fn statistics(&self, shift: u32) -> Statistics {
        let mut statistics = Statistics::of_first(self.first);
        self.times.iter().take(self.count).for_each(|ticks| statistics.add_call(*ticks, shift));
        statistics
    }
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

impl<'a> NodeChunk<'a> {
    /// Reads a chunk. With `has_allocations`, each slot has one with allocated bytes behind it.
    pub(super) fn read(chunk: &Chunk<'a>, has_allocations: bool) -> Result<Self, Error> {
        let slots = Slots::read(chunk, node::FIRST_AT, if has_allocations { 2 * node::SIZE } else { node::SIZE })?;
        let field = |at| u64_at(chunk.bytes, at);
        let (address, tree) = (slots.address, field(chunk::TREE_AT));
        if !address.is_multiple_of(ALIGNMENT) || address.checked_add(field(chunk::USED_AT)).is_none() {
            return Err(Error::Damaged { what: "a chunk of nodes where none can be", offset: chunk.offset });
        }
        let is_first = tree == address.wrapping_add(chunk::HEADER as u64);
        let header = is_first.then(|| TreeHeader::read(chunk.bytes.get(chunk::HEADER..).unwrap_or_default()));
        Ok(Self { tree, tree_number: field(chunk::TREE_NUMBER_AT), header, slots, has_allocations })
    }

    /// Returns the content of a slot.
    pub(crate) fn slot(&self, index: usize) -> Slot {
        let bytes = if self.has_allocations { self.slots.slot::<{ 2 * node::SIZE }>(index) } else { None };
        let bytes = bytes.and_then(|both| both.last_chunk::<{ node::SIZE }>()).map(Spent::read).unwrap_or_default();
        self.slots.slot(index).map_or(Slot::Empty, |slot| Slot::read(slot, bytes))
    }
}

impl TreeHeader {
    fn read(bytes: &[u8]) -> Self {
        let known = |at| Some(i64_at(bytes, at)).filter(|time| *time >= 0);
        Self {
            current: u64_at(bytes, tree::CURRENT_AT),
            frame: u64_at(bytes, tree::FRAME_AT),
            threads: u64_at(bytes, tree::THREADS_AT),
            lost_calls: u64_at(bytes, tree::LOST_CALLS_AT),
            bad_tokens: u64_at(bytes, tree::BAD_TOKENS_AT),
            cpu_ns: known(tree::CPU_AT),
            run_delay_ns: known(tree::RUN_DELAY_AT),
            bytes: i64_at(bytes, tree::BYTES_AT),
        }
    }
}

impl Spent {
    /// Reads the slot of allocated bytes.
    fn read(slot: &[u8; node::SIZE]) -> Self {
        Self {
            start: i64_at(slot, allocations::START_AT),
            total: i64_at(slot, allocations::TOTAL_AT),
            detached: i64_at(slot, allocations::DETACHED_AT),
        }
    }
}

impl Slot {
    fn read(slot: &[u8; node::SIZE], bytes: Spent) -> Self {
        let flags = NodeFlags::from_bits(u32_at(slot, node::FLAGS_AT));
        if flags.has(NodeFlags::FRAME) {
            return Self::Frame(Frame {
                node: u64_at(slot, frame::NODE_AT),
                previous: u64_at(slot, frame::PREVIOUS_AT),
                start: i64_at(slot, frame::START_AT),
                bytes_start: bytes.start,
                below: u64_at(slot, frame::BELOW_AT),
            });
        }
        if flags.has(NodeFlags::ASYNC_RECORD) {
            return Self::Async(AsyncRecord {
                latency: i64_at(slot, async_record::LATENCY_AT),
                completed: i64_at(slot, async_record::COMPLETED_AT),
                faulted: i64_at(slot, async_record::FAULTED_AT),
                steps: i64_at(slot, async_record::STEPS_AT),
                first: i64_at(slot, async_record::FIRST_AT),
            });
        }
        if flags.has(NodeFlags::FEW_CALLS) {
            let time = |at| i64_at(slot, at).max(0);
            return Self::FewCalls(FewCalls {
                first: time(few_calls::FIRST_AT),
                times: array::from_fn(|call| time(few_calls::TIMES_AT + 8 * call)),
                count: u64_at(slot, few_calls::COUNT_AT).min(few_calls::MOST as u64) as usize,
            });
        }
        match u64_at(slot, node::METHOD_ID_AT) {
            0 if flags.has(NodeFlags::ROOT | NodeFlags::LAYER_ROOT | NodeFlags::OVERFLOW) => Self::Root,
            0 => Self::Empty,
            method_id => Self::Node(RawNode {
                method_id,
                caller: u64_at(slot, node::CALLER_AT),
                time: Spent {
                    start: i64_at(slot, node::START_AT),
                    total: i64_at(slot, node::TOTAL_AT),
                    detached: i64_at(slot, node::DETACHED_AT),
                },
                bytes,
                calls: u64_at(slot, node::CALLS_AT),
                leaves: u64_at(slot, node::LEAVES_AT),
                flags,
                exceptions: u32_at(slot, node::EXCEPTIONS_AT),
                exception_type: u32_at(slot, node::EXCEPTION_TYPE_AT),
                number: u32_at(slot, node::NUMBER_AT),
                async_record: u64_at(slot, node::ASYNC_RECORD_AT),
                // The address is in the other field if the fast path must not be taken for the node.
                statistics: match u64_at(slot, node::COLD_STATISTICS_AT) {
                    0 => u64_at(slot, node::STATISTICS_AT),
                    cold => cold,
                },
                cpu_ns: i64_at(slot, node::CPU_AT),
            }),
        }
    }
}
