//! The structures of a call tree: those in the file (docs/profile-format.md), and the parts of a tree that are not in it.

use std::{
    cell::{Cell, RefCell},
    ops::Deref,
    ptr::NonNull,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use profile_format::{NodeFlags, bucket, chunk, node, statistics, tree};

use crate::{file::Chunk, process::clock};

/// A part of a call tree that belongs to this thread: no other thread changes it, and its memory stays mapped for as
/// long as the thread uses the tree. All that a part of a tree leads to belongs to the same tree.
#[repr(transparent)]
pub(crate) struct Own<T>(NonNull<T>);

impl<T> Own<T> {
    /// Returns `None` for a null pointer.
    ///
    /// # Safety
    /// The type's promises must hold for what `at` points to.
    pub(super) unsafe fn new(at: *mut T) -> Option<Self> {
        NonNull::new(at).map(Self)
    }

    pub(super) fn pointer(self) -> *mut T {
        self.0.as_ptr()
    }

    pub(super) fn address(self) -> usize {
        self.0.as_ptr().addr()
    }
}

impl<T> Clone for Own<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Own<T> {}

impl<T> PartialEq for Own<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the type promises that it is mapped, and that this thread alone changes it.
        unsafe { self.0.as_ref() }
    }
}

/// A method, called along one call path.
#[repr(C)]
pub(crate) struct Node {
    pub(super) method_id: Cell<u64>,
    /// The callee that was called last, in a ring linked by `next`.
    pub(super) callees: Cell<Option<Own<Node>>>,
    /// Only roots have none.
    pub(super) caller: Cell<Option<Own<Node>>>,
    pub(super) start: Cell<i64>,
    pub(super) calls: Cell<u64>,
    pub(super) total: Cell<i64>,
    pub(super) leaves: Cell<u64>,
    pub(super) statistics: Cell<Option<Own<Statistics>>>,
    pub(super) next: Cell<Option<Own<Node>>>,
    /// The number of callees.
    pub(super) callee_count: Cell<u64>,
    pub(super) flags: Cell<u32>,
    pub(super) exceptions: Cell<u32>,
    exception_type: u32,
    pub(super) number: Cell<u32>,
    detached: i64,
    async_record: u64,
    cold_statistics: u64,
    /// The stack pointer of the open or last call, negated; 0 if unknown. Readers see a negative number.
    pub(super) frame: Cell<usize>,
}

/// The flag of roots.
pub(super) const ROOT: u32 = NodeFlags::ROOT.bits();
/// The flag of the overflow root and its callees.
pub(super) const OVERFLOW: u32 = NodeFlags::OVERFLOW.bits();

/// The flags of a method that the runtime suspends: its calls are counted, and not timed.
pub(super) const SUSPENDED: u32 = NodeFlags::COUNTED.bits() | NodeFlags::RUNTIME_ASYNC.bits();

/// The durations of a node's calls, except the first call.
#[repr(C)]
pub(super) struct Statistics {
    pub(super) first: Cell<i64>,
    pub(super) min: Cell<i64>,
    max: Cell<i64>,
    count: Cell<u64>,
    buckets: [Cell<u32>; statistics::BUCKETS],
}

/// A tree; it follows the header of its first chunk.
#[repr(C)]
pub(crate) struct Tree {
    /// The node of the running method; the root if none runs.
    pub(super) current: Cell<Own<Node>>,
    pub(super) free: Cell<*mut Node>,
    pub(super) end: Cell<*mut Node>,
    pub(super) root: Own<Node>,
    /// The number of threads that have used the tree, one after another.
    pub(super) threads: Cell<u64>,
    /// The number of calls without a node.
    pub(super) lost_calls: Cell<u64>,
    /// The number of method exits without an open call of that method.
    pub(super) bad_leaves: Cell<u64>,
    pub(super) frame: u64,
    pub(super) overflow_root: Cell<Option<Own<Node>>>,
    pub(super) cpu_time: AtomicI64,
    pub(super) started: i64,
    pub(super) managed_thread_id: u64,
    /// The bytes that its threads have allocated, at the last probe. See [`allocations`](super::allocations).
    pub(super) bytes: Cell<i64>,
    pub(super) run_delay: i64,
    pub(super) cpu_clock: AtomicI64,
    pub(super) cpu_before: AtomicI64,
    pub(super) free_statistics: Cell<*mut Statistics>,
    pub(super) end_of_statistics: Cell<*mut Statistics>,
    /// The number of open calls that began while recording was paused.
    pub(super) skipped: Cell<u64>,
    pub(super) reserved: u64,
    pub(super) memory: Own<Memory>,
    pub(super) throwing_type: u64,
    pub(super) events: [u64; 2],
}

/// The parts of a tree that are not in the file.
pub(super) struct Memory {
    pub(super) node_chunk: Cell<Own<Chunk>>,
    /// `None` before the first statistics.
    pub(super) statistics_chunk: Cell<Option<Own<Chunk>>>,
    pub(super) tree_number: u64,
    pub(super) numbered: Cell<u32>,
    /// Open calls without a node for their path; these are the innermost ones.
    pub(super) overflowed: RefCell<Vec<Overflowed>>,
    /// Open calls that began while recording was paused.
    pub(super) skipped: RefCell<Vec<Skipped>>,
    /// Current searches for exception handlers, the innermost last.
    pub(super) searching: RefCell<Vec<Searching>>,
    /// Callees of nodes with many callees.
    pub(super) index: RefCell<HashMap<(usize, u64), Own<Node>, RandomState>>,
    pub(super) compiling: Compiling,
    /// The number of pauses at the last probe; `None` if the thread's count of bytes has to continue from there.
    pub(super) pauses_seen: Cell<Option<usize>>,
    /// The difference between the runtime's count for the present thread and the tree's.
    pub(super) bytes_before: Cell<i64>,
}

/// A call on a path without a node.
#[derive(Clone, Copy)]
pub(super) struct Overflowed {
    /// The shared node of all such calls of its method; `None` if there was no room for it either.
    pub(super) node: Option<Own<Node>>,
    pub(super) method_id: u64,
    /// The current node before the call.
    pub(super) before: Own<Node>,
    pub(super) start: i64,
    /// The tree's bytes at the start.
    pub(super) bytes: i64,
    /// Same meaning as [`Node::frame`].
    pub(super) frame: usize,
}

/// A call that began in a pause; it has no node.
pub(super) struct Skipped {
    pub(super) method_id: u64,
    /// Same meaning as [`Node::frame`].
    pub(super) frame: usize,
    /// The node that was current, and the number of open calls without a node.
    pub(super) below: (Own<Node>, usize),
}

/// A search for an exception handler: the node that was current at its start, and that call's own stack pointer. During
/// the search the node has the search's.
pub(super) struct Searching {
    pub(super) node: Own<Node>,
    pub(super) frame: usize,
}

/// The compilations under way on a thread. One may start another.
#[derive(Default)]
pub(super) struct Compiling {
    pub(super) depth: Cell<u32>,
    /// The time when the outermost one began.
    pub(super) since: Cell<i64>,
}

/// Checks that fields lie at the offsets of the format.
macro_rules! check_offsets {
    ($($structure:ident: $layout:ident { $($field:ident: $offset:ident),* })*) => {
        $(const _: () = assert!(size_of::<$structure>() == $layout::SIZE);
        $(const _: () = assert!(std::mem::offset_of!($structure, $field) == $layout::$offset);)*)*
    };
}
pub(crate) use check_offsets;
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
        managed_thread_id: MANAGED_THREAD_AT, bytes: BYTES_AT, run_delay: RUN_DELAY_AT
    }
}
const _: () = assert!(chunk::HEADER + size_of::<Tree>() == node::FIRST_AT);
const _: () = assert!(size_of::<Option<Own<Node>>>() == size_of::<usize>());

impl Tree {
    /// The node that was current before calls without nodes began, and the number of these calls.
    pub(super) fn place(&self) -> (Own<Node>, usize) {
        let overflowed = self.memory.overflowed.borrow();
        (overflowed.first().map_or(self.current.get(), |first| first.before), overflowed.len())
    }

    /// The open calls that have a node of their path, the innermost first.
    pub(super) fn open_nodes(&self) -> impl Iterator<Item = Own<Node>> {
        open_from(self.place().0)
    }
}

/// A node and its callers, without the root.
fn open_from(node: Own<Node>) -> impl Iterator<Item = Own<Node>> {
    std::iter::successors(Some(node), |node| node.caller.get()).take_while(|node| node.caller.get().is_some())
}

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
pub(super) fn set_histogram_shift(shift: u32) {
    SHIFT.store(shift.into(), Relaxed);
}

impl Node {
    /// Whether the call cannot be open while a method runs that was called at this stack pointer. True if its own
    /// stack pointer is the same or lower; false if unknown.
    #[inline]
    pub(super) fn is_gone(&self, called_at: usize) -> bool {
        is_gone(self.frame.get(), called_at)
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
    pub(super) fn add(&self, ticks: i64) {
        self.min.set(self.min.get().min(ticks));
        self.max.set(self.max.get().max(ticks));
        add(&self.count, 1);
        let bucket = &self.buckets[bucket(ticks.max(0) as u64 >> SHIFT.load(Relaxed))];
        bucket.set(bucket.get() + 1);
    }
}

/// Adds to a counter of this thread.
#[inline]
pub(super) fn add(counter: &Cell<u64>, number: u64) {
    counter.set(counter.get() + number);
}

/// A node as another thread sees it at one moment: the node's own thread changes it number by number.
pub(super) struct Seen {
    pub(super) method_id: u64,
    pub(super) caller: *const Node,
    pub(super) start: i64,
    pub(super) calls: u64,
    pub(super) total: i64,
    pub(super) flags: u32,
    pub(super) exceptions: u32,
    pub(super) detached: i64,
    /// The calls in each bucket; `None` without statistics.
    pub(super) buckets: Option<[u32; statistics::BUCKETS]>,
}

impl Seen {
    /// # Safety
    /// `node` must point to a node of a mapped chunk.
    pub(super) unsafe fn at(node: *const Node) -> Self {
        // SAFETY: a node's statistics are complete before the node leads to them, and stay mapped with it.
        unsafe {
            let statistics: *const Statistics = field(&raw const (*node).statistics);
            let buckets = (&raw const (*statistics).buckets).cast::<[u32; statistics::BUCKETS]>();
            Self {
                method_id: field(&raw const (*node).method_id),
                caller: field(&raw const (*node).caller),
                start: field(&raw const (*node).start),
                calls: field(&raw const (*node).calls),
                total: field(&raw const (*node).total),
                flags: field(&raw const (*node).flags),
                exceptions: field(&raw const (*node).exceptions),
                detached: (&raw const (*node).detached).read_volatile(),
                buckets: (!statistics.is_null()).then(|| buckets.read_volatile()),
            }
        }
    }

    /// The node of the running method of a tree.
    ///
    /// # Safety
    /// `tree` must point to a mapped tree.
    pub(super) unsafe fn current(tree: *const Tree) -> *const Node {
        // SAFETY: the caller guarantees this.
        unsafe { field(&raw const (*tree).current) }
    }
}

/// A field as another thread sees it.
///
/// # Safety
/// `at` must be mapped. A `T` must be valid for each value of the field, which its thread changes at once.
pub(super) unsafe fn field<C, T>(at: *const Cell<C>) -> T {
    const { assert!(size_of::<C>() == size_of::<T>()) };
    // SAFETY: the caller guarantees this.
    unsafe { at.cast::<T>().read_volatile() }
}
