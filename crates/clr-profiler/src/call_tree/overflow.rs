//! Calls on paths without a node of their own: they are recorded under their methods.

use std::ptr::null_mut;

use super::{
    ROOT, callee_of,
    layout::{Node, Tree},
    new_node, pauses, searches,
};
use crate::clock;

/// A call on a path without a node.
pub(super) struct Overflowed {
    /// The shared node of all such calls of its method; null if there was no room for it either.
    pub(super) node: *mut Node,
    pub(super) method_id: u64,
    /// The current node before the call.
    pub(super) before: *mut Node,
    pub(super) start: i64,
    /// Same meaning as [`Node::frame`].
    pub(super) frame: usize,
}

/// The flag of the overflow root and its children.
pub(super) const OVERFLOW: u32 = profile_format::NodeFlags::OVERFLOW.bits();

/// Records the start of a call on a path without a node. Returns the time.
///
/// # Safety
/// `tree` must be this thread's tree.
#[cold]
pub(super) unsafe fn begin(tree: *mut Tree, method_id: u64, called_at: usize) -> i64 {
    // SAFETY: as in `enter`.
    unsafe {
        if (*tree).overflow_root.is_null() {
            (*tree).overflow_root = new_node(tree, 0, null_mut());
            if !(*tree).overflow_root.is_null() {
                (*(*tree).overflow_root).flags = ROOT | OVERFLOW;
            }
        }
        let (root, before) = ((*tree).overflow_root, (*tree).current);
        let node = if root.is_null() { root } else { callee_of(tree, root, method_id) };
        if node.is_null() {
            (*tree).lost_calls += 1;
        } else {
            (*root).callees = node;
            (*node).calls += 1;
            (*node).frame = called_at.wrapping_neg();
            // The node has neither callees nor statistics, so later calls also end up here.
            (*tree).current = node;
        }
        let memory = &mut *(*tree).memory;
        let start = clock::now();
        memory.overflowed.push(Overflowed { node, method_id, before, start, frame: called_at.wrapping_neg() });
        start
    }
}

/// Ends calls without a node of their path, down to the wanted one. Those above it ended without an event.
///
/// # Safety
/// `tree` must be this thread's tree.
pub(super) unsafe fn end(tree: *mut Tree, wanted: usize, now: i64, by_exception: bool) {
    // SAFETY: as in `enter`.
    unsafe {
        loop {
            let overflowed = &(*(*tree).memory).overflowed;
            if overflowed.len() <= wanted {
                return;
            }
            searches::end_at(tree, (*tree).current);
            pauses::end_within(tree);
            let overflowed = &mut (*(*tree).memory).overflowed;
            let Some(Overflowed { node, before, start, .. }) = overflowed.pop() else { return };
            (*tree).current = before;
            // All such calls of the method share the node.
            if let Some(last) = overflowed.last().filter(|last| !last.node.is_null()) {
                (*before).frame = last.frame;
            }
            if !node.is_null() {
                (*node).total += pauses::elapsed(start, now);
                (*node).leaves += 1;
                (*node).exceptions += u32::from(by_exception || overflowed.len() > wanted);
            }
        }
    }
}
