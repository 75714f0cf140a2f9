//! The structures of a call tree, as they lie in the file (docs/profile-format.md).

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use profile_format::{bucket, chunk, node, statistics, tree};

use super::Memory;
use crate::clock;

/// A method, called along one call path.
#[repr(C)]
pub(crate) struct Node {
    pub(super) method_id: u64,
    /// The callee that was called last, in a ring linked by `next`.
    pub(super) callees: *mut Node,
    pub(super) caller: *mut Node,
    pub(super) start: i64,
    pub(super) calls: u64,
    pub(super) total: i64,
    pub(super) leaves: u64,
    pub(super) statistics: *mut Statistics,
    pub(super) next: *mut Node,
    /// The number of callees.
    pub(super) callee_count: u64,
    pub(super) flags: u32,
    pub(super) exceptions: u32,
    pub(super) exception_type: u32,
    pub(super) number: u32,
    pub(super) detached: i64,
    pub(super) async_record: u64,
    pub(super) cold_statistics: u64,
    /// The stack pointer of the open or last call, negated; 0 if unknown. Readers see a negative number.
    pub(super) frame: usize,
}

/// The durations of a node's calls, except the first call.
#[repr(C)]
pub(super) struct Statistics {
    pub(super) first: i64,
    pub(super) min: i64,
    pub(super) max: i64,
    pub(super) count: u64,
    pub(super) buckets: [u32; statistics::BUCKETS],
}

/// A tree; it follows the header of its first chunk.
#[repr(C)]
pub(crate) struct Tree {
    /// The node of the running method; the root if none runs.
    pub(super) current: *mut Node,
    pub(super) free: *mut Node,
    pub(super) end: *mut Node,
    pub(super) root: *mut Node,
    /// The number of threads that have used the tree, one after another.
    pub(super) threads: u64,
    /// The number of calls without a node.
    pub(super) lost_calls: u64,
    /// The number of method exits without an open call of that method.
    pub(super) bad_leaves: u64,
    pub(super) frame: u64,
    pub(super) overflow_root: *mut Node,
    pub(crate) cpu_time: AtomicI64,
    pub(super) started: i64,
    pub(super) managed_thread_id: u64,
    pub(super) throwing: u64,
    pub(super) run_delay: i64,
    pub(crate) cpu_clock: AtomicI64,
    pub(crate) cpu_before: AtomicI64,
    pub(super) free_statistics: *mut Statistics,
    pub(super) end_of_statistics: *mut Statistics,
    /// The number of open calls that began while recording was paused.
    pub(super) skipped: u64,
    pub(super) reserved: u64,
    pub(super) memory: *mut Memory,
    pub(super) throwing_type: u64,
    pub(super) events: [u64; 2],
}

/// Checks that fields lie at the offsets of the format.
macro_rules! check_offsets {
    ($($structure:ident: $layout:ident { $($field:ident: $offset:ident),* })*) => {
        $(const _: () = assert!(size_of::<$structure>() == $layout::SIZE);
        $(const _: () = assert!(std::mem::offset_of!($structure, $field) == $layout::$offset);)*)*
    };
}
check_offsets! {
    Node: node {
        method_id: METHOD_ID_AT, caller: CALLER_AT, start: START_AT, calls: CALLS_AT, total: TOTAL_AT, leaves: LEAVES_AT,
        statistics: STATISTICS_AT, flags: FLAGS_AT, exceptions: EXCEPTIONS_AT, exception_type: EXCEPTION_TYPE_AT,
        number: NUMBER_AT, detached: DETACHED_AT, async_record: ASYNC_RECORD_AT, cold_statistics: COLD_STATISTICS_AT,
        frame: CPU_AT
    }
    Statistics: statistics { first: FIRST_AT, min: MIN_AT, max: MAX_AT, count: COUNT_AT, buckets: BUCKETS_AT }
    Tree: tree {
        current: CURRENT_AT, root: ROOT_AT, threads: THREADS_AT, lost_calls: LOST_CALLS_AT, bad_leaves: BAD_TOKENS_AT,
        frame: FRAME_AT, overflow_root: OVERFLOW_ROOT_AT, cpu_time: CPU_AT, started: STARTED_AT,
        managed_thread_id: MANAGED_THREAD_AT, run_delay: RUN_DELAY_AT
    }
}
const _: () = assert!(chunk::HEADER + size_of::<Tree>() == node::FIRST_AT);

/// The finest resolution of histograms is 1/30,000,000 s.
const FINEST_PER_SECOND: u64 = 30_000_000;

/// The number of bits by which ticks are shifted right to select a bucket.
pub(crate) fn histogram_shift() -> u32 {
    let mut shift = 0;
    while clock::frequency() >> shift > FINEST_PER_SECOND * 3 / 2 {
        shift += 1;
    }
    shift
}

static SHIFT: AtomicU64 = AtomicU64::new(0);

/// Called before the first method.
pub(super) fn start() {
    SHIFT.store(histogram_shift().into(), Relaxed);
}

impl Node {
    /// Whether the call cannot be open while a method runs that was called at this stack pointer. True if its own
    /// stack pointer is the same or lower; false if unknown.
    #[inline]
    pub(super) fn is_gone(&self, called_at: usize) -> bool {
        is_gone(self.frame, called_at)
    }

    #[inline]
    pub(super) fn statistics_are_kept(&self) -> bool {
        !self.statistics.is_null()
    }
}

/// Like [`Node::is_gone`], for a negated stack pointer.
#[inline]
pub(super) fn is_gone(frame: usize, called_at: usize) -> bool {
    // `!frame` is the stack pointer less one; the greatest number, if it is unknown.
    !frame < called_at
}

impl Statistics {
    #[inline]
    pub(super) fn add(&mut self, ticks: i64) {
        self.min = self.min.min(ticks);
        self.max = self.max.max(ticks);
        self.count += 1;
        self.buckets[bucket(ticks.max(0) as u64 >> SHIFT.load(Relaxed))] += 1;
    }
}
