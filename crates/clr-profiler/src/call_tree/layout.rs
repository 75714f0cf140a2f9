//! The structures of a call tree, as they lie in the file (docs/profile-format.md).

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use profile::layout::{CHUNK_HEADER, FIRST_NODE, NODE, STATISTICS};

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
    pub(super) buckets: [u32; BUCKETS],
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

const _: () = assert!(size_of::<Node>() == NODE && size_of::<Statistics>() == STATISTICS);
const _: () = assert!(CHUNK_HEADER + size_of::<Tree>() == FIRST_NODE);

const BUCKETS: usize = 120;
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

/// The bucket of a value: four buckets per power of two.
#[inline]
fn bucket(value: u64) -> usize {
    if value < 4 {
        return value as usize;
    }
    let exponent = value.ilog2() as usize;
    (4 * (exponent - 1) + (value >> (exponent - 2) & 3) as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_as_the_format_says() {
        let expected = [
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
        ];
        expected.iter().for_each(|(value, number)| assert_eq!(bucket(*value), *number, "{value}"));
    }
}
