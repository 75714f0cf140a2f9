//! The call tree of a thread, in the profile's file, and its changes on each method entry and exit
//! (docs/profile-format.md).

mod cpu;
mod layout;
mod overflow;
pub(crate) mod pauses;
pub(crate) mod phases;
pub(crate) mod searches;
mod woven;

use std::{
    cell::Cell,
    ptr::{null_mut, without_provenance_mut},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed, Ordering::Release},
    },
};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use profile_format::{
    NodeFlags,
    chunk::HEADER as CHUNK_HEADER,
    header::BLOCK,
    node::{FIRST_AT as FIRST_NODE, SIZE as NODE},
    statistics::SIZE as STATISTICS,
};

#[cfg(unix)]
pub(crate) use self::cpu::cpu_time_of;
pub(crate) use self::layout::histogram_shift;
pub(crate) use self::woven::{end_session, enter_woven, forget_session, handle_woven, leave_woven, start_session};
use self::{
    cpu::{look_at_cpu, own_cpu_clock},
    layout::{Node, Statistics, Tree, is_gone},
    overflow::{OVERFLOW, Overflowed},
};
use crate::{
    capture::{self, ThreadCalls},
    clock, forked,
    profile_file::{self, Chunk, ChunkKind},
};

/// The parts of a tree that are not in the file.
struct Memory {
    node_chunk: *mut Chunk,
    statistics_chunk: *mut Chunk,
    tree_number: u64,
    numbered: u32,
    /// Open calls without a node for their path; these are the innermost ones.
    overflowed: Vec<Overflowed>,
    /// Open calls that began while recording was paused.
    skipped: Vec<pauses::Skipped>,
    /// Current searches for exception handlers, the innermost last (`searches.rs`).
    searching: Vec<searches::Searching>,
    /// Callees of nodes with many callees.
    index: HashMap<(usize, u64), *mut Node, RandomState>,
    /// The thread's captured calls, if values are captured.
    calls: Option<Box<ThreadCalls>>,
}

const ROOT: u32 = NodeFlags::ROOT.bits();
/// Nodes with more callees than this use the index.
const MAX_WALK: u64 = 8;

/// The number of nodes that may still be created, over all trees.
static NODES_LEFT: AtomicI64 = AtomicI64::new(0);
static TREES: AtomicU64 = AtomicU64::new(0);
/// All trees, and those of ended threads, which new threads reuse.
static ALL: Mutex<Trees> = Mutex::new(Trees { all: Vec::new(), unowned: Vec::new() });

struct Trees {
    all: Vec<TreePointer>,
    unowned: Vec<TreePointer>,
}

#[derive(Clone, Copy)]
struct TreePointer(*mut Tree);

// SAFETY: only the owning thread writes a tree. Fields that other threads access are atomic.
unsafe impl Send for TreePointer {}

thread_local! {
    /// This thread's tree; null before its first method.
    static TREE: Cell<*mut Tree> = const { Cell::new(null_mut()) };
    static OWNER: Owner = const { Owner };
}

/// Releases a thread's tree when the thread ends.
struct Owner;

impl Drop for Owner {
    fn drop(&mut self) {
        searches::end_thread();
        let tree = TREE.replace(null_mut());
        capture::end_thread();
        // No session's trees are freed while this lock is held.
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if !tree.is_null() && woven::is_of_session() {
            look_at_cpu(tree);
            // SAFETY: the tree still belongs to this thread.
            unsafe { (*tree).cpu_clock.store(0, Relaxed) };
            all.unowned.push(TreePointer(tree));
        }
    }
}

/// Sets the maximum number of nodes. Called before the first method.
pub(crate) fn start(max_nodes: u32) {
    NODES_LEFT.store(max_nodes.into(), Relaxed);
    layout::start();
}

/// Records the start of a method on this thread, called at a stack pointer (0: unknown). Returns the time recorded in
/// the tree, or 0 if the tree does not record the call.
///
/// Open calls at the same or a lower stack pointer have ended, possibly without an event.
#[inline]
pub(crate) fn enter(method_id: u64, called_at: usize) -> i64 {
    let tree = TREE.get();
    let tree = if tree.is_null() { of_new_thread() } else { tree };
    if tree.is_null() {
        return 0;
    }
    // SAFETY: trees, nodes and their targets lie in chunks that stay mapped. Only this thread changes them.
    unsafe {
        if pauses::is_on() {
            pauses::skip(tree, method_id, called_at);
            return 0;
        }
        let mut caller = (*tree).current;
        if (*caller).is_gone(called_at) {
            end_gone(tree, called_at, clock::now());
            caller = (*tree).current;
        }
        let mut node = (*caller).callees;
        if node.is_null() || (*node).method_id != method_id {
            // The ring keeps callees in call order, so the next callee is often the next node.
            node = if node.is_null() { node } else { (*node).next };
            if node.is_null() || (*node).method_id != method_id {
                node = callee(tree, caller, method_id);
                if node.is_null() {
                    return overflow::begin(tree, method_id, called_at);
                }
            }
            (*caller).callees = node;
        }
        (*tree).current = node;
        (*node).calls += 1;
        let now = clock::now();
        (*node).start = now;
        (*node).frame = called_at.wrapping_neg();
        now
    }
}

/// Records the end of a method on this thread, called at a stack pointer (0: unknown). Returns the time.
#[inline]
pub(crate) fn leave(method_id: u64, called_at: usize) -> i64 {
    let now = clock::now();
    let tree = TREE.get();
    if tree.is_null() {
        return now;
    }
    // SAFETY: as in `enter`.
    unsafe {
        let node = (*tree).current;
        let is_plain = (*node).statistics_are_kept() && (*tree).skipped == 0 && !pauses::are_behind((*node).start);
        let is_it = (*node).method_id == method_id && (*node).frame == called_at.wrapping_neg();
        if !is_it || !is_plain {
            leave_slowly(tree, method_id, called_at, now, false);
            return now;
        }
        let ticks = now - (*node).start;
        (*node).leaves += 1;
        (*node).total += ticks;
        (*(*node).statistics).add(ticks);
        (*tree).current = (*node).caller;
    }
    now
}

/// An open call, or one that has ended; another call may begin at its stack pointer.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    method_id: u64,
    /// The stack pointer at which the method was called; 0 if unknown.
    pub(crate) called_at: usize,
    start: i64,
}

/// Records that an exception has left a call on this thread. Returns the time if the call was open.
pub(crate) fn unwind(call: Call) -> Option<i64> {
    let (now, tree) = (clock::now(), tree_where_open(call)?);
    // SAFETY: as in `enter`.
    unsafe { leave_slowly(tree, call.method_id, call.called_at, now, true) };
    Some(now)
}

/// Ends the calls within one call that exceptions have left. Returns the time if the outer call is open.
pub(crate) fn end_within(call: Call) -> Option<i64> {
    let (now, tree) = (clock::now(), tree_where_open(call)?);
    if call.called_at != 0 {
        // SAFETY: as in `enter`.
        unsafe { end_gone(tree, call.called_at - 1, now) };
    }
    Some(now)
}

/// This thread's tree, if the call is open there.
fn tree_where_open(call: Call) -> Option<*mut Tree> {
    let is_it = |open: &Call| (open.method_id, open.called_at, open.start) == (call.method_id, call.called_at, call.start);
    find_open(is_it).map(|_| TREE.get())
}

/// The innermost open call of a method on this thread.
pub(crate) fn innermost(method_id: u64) -> Option<Call> {
    find_open(|call| call.method_id == method_id)
}

/// The innermost open call on this thread.
pub(crate) fn current() -> Option<Call> {
    find_open(|_| true)
}

/// The innermost open call on this thread that matches a predicate.
fn find_open(is_it: impl Fn(&Call) -> bool) -> Option<Call> {
    let tree = TREE.get();
    if tree.is_null() {
        return None;
    }
    let call = |method_id, frame: usize, start| Call { method_id, called_at: frame.wrapping_neg(), start };
    // SAFETY: as in `enter`.
    unsafe {
        let memory = &*(*tree).memory;
        let skipped = memory.skipped.iter().rev().map(|open| call(open.method_id, open.frame, 0)).find(|call| is_it(call));
        let overflowed = memory.overflowed.iter().rev().map(|open| call(open.method_id, open.frame, open.start));
        let overflowed = overflowed.into_iter().find(|call| is_it(call));
        let mut node = memory.overflowed.first().map_or((*tree).current, |first| first.before);
        let mut with_path = None;
        while node != (*tree).root && with_path.is_none() {
            let frame = searches::frame_of(&memory.searching, node);
            with_path = Some(call((*node).method_id, frame, (*node).start)).filter(|call| is_it(call));
            node = (*node).caller;
        }
        // The one with the lowest stack pointer.
        [skipped, overflowed, with_path].into_iter().flatten().min_by_key(|call| call.called_at)
    }
}

/// Ends calls that cannot be open while a method runs that was called at this stack pointer.
///
/// # Safety
/// `tree` must be this thread's tree.
#[cold]
unsafe fn end_gone(tree: *mut Tree, called_at: usize, now: i64) {
    // SAFETY: as in `enter`.
    unsafe {
        loop {
            let node = (*tree).current;
            if (*node).is_gone(called_at) && searches::end_at(tree, node) {
                continue;
            }
            match (*(*tree).memory).overflowed.as_slice() {
                [before @ .., last] if is_gone(last.frame, called_at) => overflow::end(tree, before.len(), now, true),
                [] if (*node).is_gone(called_at) => end(tree, node, now, true),
                _ => break,
            }
        }
        pauses::end_gone(tree, called_at);
    }
}

/// # Safety
/// `tree` must be this thread's tree.
#[cold]
unsafe fn leave_slowly(tree: *mut Tree, method_id: u64, called_at: usize, now: i64, by_exception: bool) {
    // SAFETY: as in `enter`.
    unsafe {
        if called_at != 0 {
            end_gone(tree, called_at - 1, now);
        }
        if (*tree).skipped > 0 && pauses::end_skipped(tree, method_id) {
            return;
        }
        let memory = &*(*tree).memory;
        let overflowed = &memory.overflowed;
        let innermost = overflowed.last().map_or((*(*tree).current).method_id, |call| call.method_id);
        // The call is still open, so only calls within it have ended. The runtime's own methods that search for
        // handlers, since .NET 9, continue after the calls that they unwound, and end with them.
        if called_at != 0 && innermost != method_id {
            return;
        }
        if let Some(wanted) = overflowed.iter().rposition(|call| call.method_id == method_id) {
            return overflow::end(tree, wanted, now, by_exception);
        }
        let has_overflowed = !overflowed.is_empty();
        let mut wanted = overflowed.first().map_or((*tree).current, |first| first.before);
        while wanted != (*tree).root && (*wanted).method_id != method_id {
            wanted = (*wanted).caller;
        }
        if wanted == (*tree).root {
            (*tree).bad_leaves += 1;
            return;
        }
        if has_overflowed {
            overflow::end(tree, 0, now, true);
        }
        loop {
            let node = (*tree).current;
            // Calls within the wanted one ended without an event.
            end(tree, node, now, by_exception || node != wanted);
            if node == wanted {
                return;
            }
        }
    }
}

/// # Safety
/// `tree` must be this thread's tree, and `node` its current node, which is not the root.
unsafe fn end(tree: *mut Tree, node: *mut Node, now: i64, by_exception: bool) {
    // SAFETY: as in `enter`.
    unsafe {
        searches::end_at(tree, node);
        pauses::end_within(tree);
        let ticks = pauses::elapsed((*node).start, now);
        // Many methods are called once. The statistics take as much memory as four nodes, so the second call
        // allocates them.
        if (*node).leaves > 0 && (*node).statistics.is_null() {
            (*node).statistics = new_statistics(tree, (*node).total);
        }
        if !(*node).statistics.is_null() {
            (*(*node).statistics).add(ticks);
        }
        (*node).total += ticks;
        (*node).leaves += 1;
        (*node).exceptions += u32::from(by_exception);
        (*tree).current = (*node).caller;
    }
}

/// The node of a caller's callee, created if necessary. Null if no node is left: then all such calls of the method
/// share one node.
///
/// # Safety
/// `tree` must be this thread's tree, and `caller` one of its nodes.
#[cold]
unsafe fn callee(tree: *mut Tree, caller: *mut Node, method_id: u64) -> *mut Node {
    // SAFETY: as in `enter`.
    unsafe {
        let memory = &*(*tree).memory;
        if memory.overflowed.is_empty() { callee_of(tree, caller, method_id) } else { null_mut() }
    }
}

/// The node of a caller's callee, created if necessary; null if no node is left.
///
/// # Safety
/// See [`callee`].
unsafe fn callee_of(tree: *mut Tree, caller: *mut Node, method_id: u64) -> *mut Node {
    // SAFETY: as in `enter`.
    unsafe {
        let memory = (*tree).memory;
        let first = (*caller).callees;
        let mut node = first;
        for _ in 0..MAX_WALK.min((*caller).callee_count) {
            node = (*node).next;
            if (*node).method_id == method_id {
                return node;
            }
        }
        if (*caller).callee_count > MAX_WALK
            && let Some(found) = (*memory).index.get(&(caller.addr(), method_id))
        {
            return *found;
        }
        let added = new_node(tree, method_id, caller);
        if added.is_null() {
            return added;
        }
        if first.is_null() {
            (*added).next = added;
        } else {
            (*added).next = (*first).next;
            (*first).next = added;
        }
        (*caller).callee_count += 1;
        if (*caller).callee_count == MAX_WALK + 1 {
            let mut node = added;
            for _ in 0..=MAX_WALK {
                (*memory).index.insert((caller.addr(), (*node).method_id), node);
                node = (*node).next;
            }
        } else if (*caller).callee_count > MAX_WALK {
            (*memory).index.insert((caller.addr(), method_id), added);
        }
        added
    }
}

/// # Safety
/// See [`callee`]; only roots have no caller.
unsafe fn new_node(tree: *mut Tree, method_id: u64, caller: *mut Node) -> *mut Node {
    // SAFETY: as in `enter`.
    unsafe {
        let overflow = if caller.is_null() { 0 } else { (*caller).flags & OVERFLOW };
        // The overflow root has at most one node per method.
        if !caller.is_null() && overflow == 0 && NODES_LEFT.fetch_sub(1, Relaxed) <= 0 {
            NODES_LEFT.fetch_add(1, Relaxed);
            return null_mut();
        }
        let memory = (*tree).memory;
        if (*tree).free == (*tree).end {
            let chunk = profile_file::take(ChunkKind::Nodes, tree.addr() as u64, (*memory).tree_number, FIRST_NODE);
            let Some(chunk) = chunk else { return null_mut() };
            (*memory).node_chunk = chunk;
            use_nodes(tree, chunk);
        }
        let node = (*tree).free;
        (*tree).free = node.add(1);
        (*node).method_id = method_id;
        (*node).caller = caller;
        (*node).flags = overflow;
        (*node).number = (*memory).numbered;
        (*memory).numbered += 1;
        // Readers of the file see complete nodes only.
        (*(*memory).node_chunk).used.fetch_add(NODE as u64, Release);
        node
    }
}

/// # Safety
/// The chunk must be one of the tree's node chunks.
unsafe fn use_nodes(tree: *mut Tree, chunk: *mut Chunk) {
    // SAFETY: a chunk is a whole block, and its nodes begin here.
    unsafe {
        (*tree).free = chunk.byte_add(FIRST_NODE).cast();
        (*tree).end = chunk.byte_add(BLOCK).cast();
    }
}

/// # Safety
/// `tree` must be this thread's tree.
unsafe fn new_statistics(tree: *mut Tree, first: i64) -> *mut Statistics {
    // SAFETY: as in `enter`.
    unsafe {
        let memory = (*tree).memory;
        if (*tree).free_statistics == (*tree).end_of_statistics {
            let chunk = profile_file::take(ChunkKind::Statistics, tree.addr() as u64, (*memory).tree_number, STATISTICS);
            let Some(chunk) = chunk else { return null_mut() };
            (*memory).statistics_chunk = chunk;
            (*tree).free_statistics = chunk.byte_add(STATISTICS).cast();
            (*tree).end_of_statistics = chunk.byte_add(BLOCK).cast();
        }
        let added = (*tree).free_statistics;
        (*tree).free_statistics = added.add(1);
        (*added).first = first;
        (*added).min = i64::MAX;
        (*(*memory).statistics_chunk).used.fetch_add(STATISTICS as u64, Release);
        added
    }
}

/// The tree of a thread without one.
#[cold]
fn of_new_thread() -> *mut Tree {
    // The thread may be at its end. Nothing more of it is recorded then.
    if forked::is_child() || OWNER.try_with(|_| ()).is_err() {
        return null_mut();
    }
    let adopted = ALL.lock().unwrap_or_else(PoisonError::into_inner).unowned.pop();
    let tree = match adopted {
        // SAFETY: no other thread owns it, and trees stay valid.
        Some(TreePointer(tree)) => unsafe {
            (*tree).current = (*tree).root;
            let memory = &mut *(*tree).memory;
            memory.overflowed.clear();
            memory.skipped.clear();
            memory.searching.clear();
            (*tree).skipped = 0;
            (*tree).threads += 1;
            tree
        },
        None => new_tree(),
    };
    if !tree.is_null() {
        own_cpu_clock(tree);
        TREE.set(tree);
    }
    tree
}

/// Stops recording for this thread. Used in a process that has no other thread.
#[cfg(unix)]
pub(crate) fn forget_thread() {
    TREE.set(null_mut());
    capture::end_thread();
}

/// The address of this thread's tree, its number, and the place of its captured calls.
pub(crate) fn calls_of_thread() -> Option<(u64, u64, &'static mut Option<Box<ThreadCalls>>)> {
    let tree = TREE.get();
    let tree = if tree.is_null() { of_new_thread() } else { tree };
    if tree.is_null() {
        return None;
    }
    // SAFETY: as in `enter`.
    unsafe {
        let memory = &mut *(*tree).memory;
        Some((tree.addr() as u64, memory.tree_number, &mut memory.calls))
    }
}

fn new_tree() -> *mut Tree {
    let number = TREES.fetch_add(1, Relaxed) + 1;
    let Some(chunk) = profile_file::take_first(number) else { return null_mut() };
    // SAFETY: the chunk is new.
    let tree = unsafe { tree_in(chunk, number) };
    ALL.lock().unwrap_or_else(PoisonError::into_inner).all.push(TreePointer(tree));
    tree
}

/// Gives this thread a tree that is in no file, with room for a few nodes, to measure the overhead of hooks.
pub(crate) fn use_tree_of_no_file() {
    thread_local! {
        static OWN: Cell<*mut Tree> = const { Cell::new(null_mut()) };
    }
    woven::join_session();
    let own = OWN.get();
    if !own.is_null() {
        // SAFETY: the tree belongs to this thread and stays valid.
        unsafe { (*own).current = (*own).root };
        TREE.set(own);
        return;
    }
    let block = || Box::leak(vec![0_u64; BLOCK / size_of::<u64>()].into_boxed_slice()).as_mut_ptr();
    // SAFETY: the blocks are zeroed, as large as chunks, and never freed.
    unsafe {
        let tree = tree_in(block().cast(), 0);
        let statistics = block();
        (*(*tree).memory).statistics_chunk = statistics.cast();
        (*tree).free_statistics = statistics.byte_add(STATISTICS).cast();
        (*tree).end_of_statistics = statistics.byte_add(BLOCK).cast();
        OWN.set(tree);
        TREE.set(tree);
    }
}

/// The ticks of all callees of this thread's current method.
pub(crate) fn ticks_of_callees() -> i64 {
    let tree = TREE.get();
    if tree.is_null() {
        return 0;
    }
    // SAFETY: as in `enter`.
    unsafe {
        let first = (*(*tree).current).callees;
        let (mut node, mut sum) = (first, 0);
        while !node.is_null() {
            sum += (*node).total;
            node = (*node).next;
            if node == first {
                break;
            }
        }
        sum
    }
}

/// # Safety
/// The chunk must be a node chunk of one block, zeroed except for its header, and never freed.
unsafe fn tree_in(chunk: *mut Chunk, number: u64) -> *mut Tree {
    // SAFETY: a chunk has room for a tree and nodes.
    unsafe {
        let tree: *mut Tree = chunk.byte_add(CHUNK_HEADER).cast();
        (*tree).memory = Box::into_raw(Box::new(Memory {
            node_chunk: chunk,
            statistics_chunk: null_mut(),
            tree_number: number,
            numbered: 0,
            overflowed: Vec::new(),
            skipped: Vec::new(),
            searching: Vec::new(),
            index: HashMap::default(),
            calls: None,
        }));
        (*tree).threads = 1;
        (*tree).cpu_time.store(-1, Relaxed);
        (*tree).run_delay = -1;
        (*tree).started = clock::now();
        (*tree).managed_thread_id = number;
        use_nodes(tree, chunk);
        let root = new_node(tree, 0, without_provenance_mut(0));
        (*root).flags = ROOT;
        (*root).start = (*tree).started;
        (*tree).root = root;
        (*tree).current = root;
        tree
    }
}

/// Reads the CPU time of all live threads.
pub(crate) fn look_at_threads() {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.all.iter().for_each(|tree| look_at_cpu(tree.0));
}

#[cfg(test)]
mod tests;
