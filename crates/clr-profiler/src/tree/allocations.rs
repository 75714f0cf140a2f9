//! `attach --allocations`: the bytes that a thread allocates in a node's calls. They are counted as time is, by a clock of
//! each thread's own, which stands still in pauses. The profiler allocates no .NET object.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use profile_format::{allocations, header::BLOCK, node};

use super::{
    layout::{Node, Own, Tree, field},
    pauses,
};

static ARE_COUNTED: AtomicBool = AtomicBool::new(false);

/// The slot behind a node, if bytes are counted.
#[repr(C)]
pub(super) struct NodeBytes {
    /// The thread's bytes when the open or last call began.
    start: Cell<i64>,
    /// The bytes of ended calls, with their callees.
    total: Cell<i64>,
    detached: i64,
    rest: [i64; 13],
}

const _: () = assert!(size_of::<NodeBytes>() == node::SIZE);
const _: () = assert!(std::mem::offset_of!(NodeBytes, start) == allocations::START_AT);
const _: () = assert!(std::mem::offset_of!(NodeBytes, total) == allocations::TOTAL_AT);
const _: () = assert!(std::mem::offset_of!(NodeBytes, detached) == allocations::DETACHED_AT);
/// A chunk has room for a whole number of nodes with bytes.
const _: () = assert!((BLOCK - node::FIRST_AT).is_multiple_of(2 * node::SIZE));

/// Sets whether the trees that threads take from now on have bytes.
pub(crate) fn count(are_counted: bool) {
    ARE_COUNTED.store(are_counted, Relaxed);
}

/// Whether bytes are counted.
#[inline]
pub(super) fn are_counted() -> bool {
    ARE_COUNTED.load(Relaxed)
}

/// The number of slots for a node.
pub(super) fn slots_of_node() -> usize {
    if are_counted() { 2 } else { 1 }
}

/// The bytes of a node, if they are counted.
#[inline]
fn of(node: Own<Node>) -> Option<Own<NodeBytes>> {
    // SAFETY: if bytes are counted, each node has a second slot, which belongs to the same tree.
    are_counted().then(|| unsafe { Own::new(node.pointer().add(1).cast()) }).flatten()
}

/// The bytes of a node's ended calls, as another thread sees them.
///
/// # Safety
/// `node` must point to a node of a mapped chunk.
pub(super) unsafe fn total_of(node: *const Node) -> Option<i64> {
    // SAFETY: the caller guarantees this. A node's second slot is mapped with it.
    are_counted().then(|| unsafe { field(&raw const (*node.add(1).cast::<NodeBytes>()).total) })
}

/// The bytes of a node's open call up to the thread's last probe, as another thread sees them; 0 if they are not counted.
///
/// # Safety
/// Both must be mapped, and the node must belong to the tree.
pub(super) unsafe fn of_open(tree: *const Tree, node: *const Node) -> i64 {
    // SAFETY: as in `total_of`.
    let start = || unsafe { field::<_, i64>(&raw const (*node.add(1).cast::<NodeBytes>()).start) };
    // SAFETY: the caller guarantees this.
    let now = || unsafe { field::<_, i64>(&raw const (*tree).bytes) };
    if are_counted() { now() - start() } else { 0 }
}

/// Advances the thread's clock to the bytes that the runtime has counted for the thread. After a pause, and on a thread that is
/// new to the tree, the clock continues where it stopped.
pub(super) fn advance(tree: Own<Tree>, allocated: i64) {
    let memory = tree.memory;
    let pauses = pauses::count();
    if pauses::is_on() || memory.pauses_seen.get() != Some(pauses) {
        memory.pauses_seen.set(Some(pauses).filter(|_| !pauses::is_on()));
        memory.bytes_before.set(allocated - tree.bytes.get());
    } else {
        tree.bytes.set(allocated - memory.bytes_before.get());
    }
}

/// Records that the call of a node begins.
pub(super) fn begin(tree: Own<Tree>, node: Own<Node>) {
    of(node).iter().for_each(|bytes| bytes.start.set(tree.bytes.get()));
}

/// Records that a call has ended, which began at a time of the clock of bytes; by default, the start of the node's open call.
pub(super) fn end(tree: Own<Tree>, node: Own<Node>, began: Option<i64>) {
    if let Some(bytes) = of(node) {
        bytes.total.set(bytes.total.get() + tree.bytes.get() - began.unwrap_or(bytes.start.get()));
    }
}
