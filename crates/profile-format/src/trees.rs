//! Call trees: nodes and their statistics.

use crate::chunks::chunk;

layout! {
    /// A thread's call tree, in the first chunk of its nodes, behind the chunk's header. Offsets are from the tree's beginning.
    tree: "TreeLayout" {
        /// u64: the address of the node of the method that runs.
        CURRENT_AT: usize = 0;
        /// u64: the address of the next free slot.
        FREE_AT: usize = 8;
        /// u64: the end of the chunk with free slots.
        END_AT: usize = 16;
        /// u64: the address of the root.
        ROOT_AT: usize = 24;
        /// u64: the number of threads that used the tree, one after another.
        THREADS_AT: usize = 32;
        /// u64: the number of calls without a node.
        LOST_CALLS_AT: usize = 40;
        /// u64: the number of probe tokens that belonged to no open call.
        BAD_TOKENS_AT: usize = 48;
        /// u64: the address of the top frame; 0 if there is none.
        FRAME_AT: usize = 56;
        /// u64: the address of the caller of all calls without a path.
        OVERFLOW_ROOT_AT: usize = 64;
        /// i64, in ns: CPU time of its threads; -1 if it is not known.
        CPU_AT: usize = 72;
        /// i64: the clock when the first thread began.
        STARTED_AT: usize = 80;
        /// u64: the managed id of the present thread.
        MANAGED_THREAD_AT: usize = 88;
        /// i64: the bytes that its present thread had allocated at its last probe, without the tracker's. With
        /// HeaderFlags.ALLOCATIONS only; otherwise the writer's own.
        BYTES_AT: usize = 96;
        /// i64, in ns: the time that its threads were ready, but waited for a processor; -1 if it is not known.
        RUN_DELAY_AT: usize = 104;
        /// Numbers that only the writer uses.
        OWN_AT: usize = 112;
        /// The size of a tree.
        SIZE: usize = 192;
    }
}

layout! {
    /// A slot in a chunk of nodes: a method called along one path.
    node: "NodeLayout" {
        /// u64: the method's id; 0 in a root.
        METHOD_ID_AT: usize = 0;
        /// u64: the writer's own.
        CALLEES_AT: usize = 8;
        /// u64: the address of the caller.
        CALLER_AT: usize = 16;
        /// i64: the clock when the open or last call began; in mode sampled, the number of samples.
        START_AT: usize = 24;
        /// u64: the number of calls.
        CALLS_AT: usize = 32;
        /// i64, in ticks: the time of ended calls, with callees; in mode sampled, without.
        TOTAL_AT: usize = 40;
        /// u64: the number of ended calls.
        LEAVES_AT: usize = 48;
        /// u64: the address of its statistics; the fast path needs it.
        STATISTICS_AT: usize = 56;
        /// u64: the writer's own.
        NEXT_AT: usize = 64;
        /// u64: the writer's own.
        INDEX_AT: usize = 72;
        /// u32: NodeFlags. Frames and async records have them at the same place.
        FLAGS_AT: usize = 80;
        /// u32: the number of exceptions that left it.
        EXCEPTIONS_AT: usize = 84;
        /// u32: the number of the type of one of these.
        EXCEPTION_TYPE_AT: usize = 88;
        /// u32: in mode trace its number in its tree, for events; in other modes the writer's own.
        NUMBER_AT: usize = 92;
        /// i64, in ticks: the part of its total that is not part of its caller's total.
        DETACHED_AT: usize = 96;
        /// u64: the address of its async record; 0 if it has none.
        ASYNC_RECORD_AT: usize = 104;
        /// u64: the address of its statistics or of the times of its few calls, where the fast path may not be taken.
        COLD_STATISTICS_AT: usize = 112;
        /// i64, in ns: CPU time in mode sampled; below 0, the writer's own.
        CPU_AT: usize = 120;
        /// The size of a slot.
        SIZE: usize = 128;
        /// The offset of the first slot in a chunk.
        FIRST_AT: usize = chunk::HEADER + tree::SIZE;
        /// The id of a node that has the time of the JIT compiler below its caller, and no calls. Row 1 of module 0.
        JIT_ID: usize = 1;
    }
}

layout! {
    /// The slot behind a node or frame, with its allocated bytes. See HeaderFlags.ALLOCATIONS.
    allocations: "AllocationLayout" {
        /// i64: the bytes of the thread when the open or last call began.
        START_AT: usize = 0;
        /// i64 of a node: the bytes of ended calls, with callees.
        TOTAL_AT: usize = 8;
        /// i64 of a node: the part of its total that is not part of its caller's total.
        DETACHED_AT: usize = 16;
        /// Numbers that only the writer uses.
        OWN_AT: usize = 24;
    }
}

layout! {
    /// A slot for an open step of an async method.
    frame: "FrameLayout" {
        /// u64: the address of its node.
        NODE_AT: usize = 8;
        /// u64: the address of the node that was current before.
        PREVIOUS_AT: usize = 16;
        /// i64: the clock when it began.
        START_AT: usize = 24;
        /// u64: the address of the frame below; 0 if there is none.
        BELOW_AT: usize = 32;
        /// Numbers that only the writer uses.
        OWN_AT: usize = 40;
    }
}

layout! {
    /// A slot for the logical calls of an async method.
    async_record: "AsyncLayout" {
        /// i64, in ticks: the time from start to completion of all completed calls.
        LATENCY_AT: usize = 0;
        /// u64: the number of completed calls.
        COMPLETED_AT: usize = 8;
        /// u64: the number of those that failed or were cancelled.
        FAULTED_AT: usize = 16;
        /// u64: the time of their steps.
        STEPS_AT: usize = 24;
        /// i64, in ticks: the time of the first call, if it completed here.
        FIRST_AT: usize = 32;
        /// Numbers that only the writer uses.
        OWN_AT: usize = 40;
    }
}

layout! {
    /// A slot with the times of a node that has few calls, in ticks. Once there are more, the node has statistics in its place.
    few_calls: "FewCallsLayout" {
        /// i64: the first call. It is not among the others.
        FIRST_AT: usize = 0;
        /// u64: the number of the other calls.
        COUNT_AT: usize = 8;
        /// i64 for each of the other calls: its time.
        TIMES_AT: usize = 16;
        /// The largest number of other calls.
        MOST: usize = 8;
    }
}
layout! {
    /// A slot in a chunk of statistics: the times of a node's calls, in ticks.
    statistics: "StatisticsLayout" {
        /// i64: the first call. It is in no other number.
        FIRST_AT: usize = 0;
        /// i64: the shortest call.
        MIN_AT: usize = 8;
        /// i64: the longest call.
        MAX_AT: usize = 16;
        /// u64: the number of calls.
        COUNT_AT: usize = 24;
        /// u32 for each bucket: the number of its calls.
        BUCKETS_AT: usize = 32;
        /// The number of buckets.
        BUCKETS: usize = 120;
        /// The size of a slot. It is also the offset of the first one in a chunk.
        SIZE: usize = 512;
    }
}

flags! {
    /// Flags of slots.
    NodeFlags: u32 {
        /// The root of a tree.
        ROOT = 1,
        /// A frame.
        FRAME = 2,
        /// The root of calls beyond the limit of nodes, or a node below it.
        OVERFLOW = 4,
        /// An async method.
        ASYNC = 8,
        /// Its calls are only counted now: they took less than `ILINST_COUNT_BELOW`. Their time is the caller's.
        COUNTED = 16,
        /// It has steps that could not be matched to a call.
        FLOW_LOST = 32,
        /// The root of a layer.
        LAYER_ROOT = 64,
        /// An async record.
        ASYNC_RECORD = 128,
        /// Its calls were only counted for a while.
        WAS_COUNTED = 16384,
        /// The times of a node's few calls.
        FEW_CALLS = 32768,
        /// Its calls are only counted: the runtime suspends the method (runtime-async), and no probe follows that.
        RUNTIME_ASYNC = 1048576,
    }
}

/// Returns the bucket of a time that has been shifted: four buckets for each power of two.
#[inline]
pub const fn bucket(shifted: u64) -> usize {
    if shifted < 4 {
        return shifted as usize;
    }
    let exponent = shifted.ilog2() as usize;
    let bucket = 4 * (exponent - 1) + (shifted >> (exponent - 2) & 3) as usize;
    if bucket < statistics::BUCKETS { bucket } else { statistics::BUCKETS - 1 }
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn an_octave_has_four_buckets() {
        for (shifted, expected) in [
            (0, 0),
            (1, 1),
            (3, 3),
            (4, 4),
            (5, 5),
            (7, 7),
            (8, 8),
            (9, 8),
            (10, 9),
            (15, 11),
            (16, 12),
            (1023, 35),
            (1024, 36),
            (1 << 30, 116),
            (u64::MAX, 119),
        ] {
            assert_eq!(bucket(shifted), expected, "{shifted}");
        }
    }
}
