//! Calls on paths without a node of their own: they are recorded under their methods.

use super::{
    allocations,
    layout::{Node, Overflowed, Own, Tree, add},
    nodes, pauses, searches,
};
use crate::process::clock;

/// The node of all such calls of a method; `None` if there is no room for it.
pub(super) fn node_of(tree: Own<Tree>, method_id: u64) -> Option<Own<Node>> {
    let root = nodes::overflow_root(tree)?;
    let node = nodes::callee(tree, root, method_id)?;
    root.callees.set(Some(node));
    Some(node)
}

/// Records the start of a call on a path without a node. Returns the time.
#[cold]
pub(super) fn open_overflowed(tree: Own<Tree>, method_id: u64, called_at: usize) -> i64 {
    let (before, node) = (tree.current.get(), node_of(tree, method_id));
    match node {
        None => add(&tree.lost_calls, 1),
        Some(node) => {
            add(&node.calls, 1);
            node.frame.set(called_at.wrapping_neg());
            // The node has neither callees nor statistics, so later calls also end up here.
            tree.current.set(node);
        }
    }
    let start = clock::now();
    let bytes = tree.bytes.get();
    let call = Overflowed { node, method_id, before, start, bytes, frame: called_at.wrapping_neg() };
    tree.memory.overflowed.borrow_mut().push(call);
    start
}

/// Ends calls without a node of their path, down to the wanted one. Those above it ended without an event.
pub(super) fn close_overflowed(tree: Own<Tree>, wanted: usize, now: i64, by_exception: bool) {
    let overflowed = &tree.memory.overflowed;
    while overflowed.borrow().len() > wanted {
        searches::end_search_at(tree, tree.current.get());
        pauses::end_skipped_callees(tree);
        let Some(Overflowed { node, before, start, bytes, .. }) = overflowed.borrow_mut().pop() else { return };
        tree.current.set(before);
        let is_above = overflowed.borrow().len() > wanted;
        // All such calls of the method share the node.
        if let Some(last) = overflowed.borrow().last().filter(|last| last.node.is_some()) {
            before.frame.set(last.frame);
        }
        if let Some(node) = node {
            node.total.set(node.total.get() + pauses::elapsed(start, now));
            allocations::end(tree, node, Some(bytes));
            add(&node.leaves, 1);
            node.exceptions.set(node.exceptions.get() + u32::from(by_exception || is_above));
        }
    }
}
