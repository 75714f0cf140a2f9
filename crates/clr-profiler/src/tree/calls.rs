//! The start and the end of calls.

use super::{
    allocations, current,
    layout::{Node, Own, SUSPENDED, Tree, add, is_gone},
    nodes, overflow, owners, pauses, searches,
};
use crate::{process::clock, worlds::InHook};

/// Records the start of a method on this thread, called at a stack pointer (0: unknown). Returns the time recorded in
/// the tree, or 0 if the tree does not record the call.
///
/// Open calls at the same or a lower stack pointer have ended, possibly without an event.
#[inline]
pub(crate) fn enter(_: InHook<'_>, method_id: u64, called_at: usize) -> i64 {
    let Some(tree) = owners::own_tree() else { return 0 };
    if pauses::is_on() {
        end_gone_calls(tree, called_at, clock::now());
        pauses::skip_call(tree, method_id, called_at);
        return 0;
    }
    let mut caller = tree.current.get();
    if caller.is_gone(called_at) {
        end_gone_calls(tree, called_at, clock::now());
        caller = tree.current.get();
    }
    let is_it = |node: &Own<Node>| node.method_id.get() == method_id;
    let last = caller.callees.get();
    let node = match last.filter(is_it) {
        Some(last) => last,
        None => {
            // The ring keeps callees in call order, so the next callee is often the next node.
            let next = last.and_then(|last| last.next.get()).filter(is_it);
            let Some(node) = next.or_else(|| nodes::callee_with_path(tree, caller, method_id)) else {
                return overflow::open_overflowed(tree, method_id, called_at);
            };
            caller.callees.set(Some(node));
            node
        }
    };
    tree.current.set(node);
    add(&node.calls, 1);
    let now = clock::now();
    node.start.set(now);
    node.frame.set(called_at.wrapping_neg());
    now
}

/// Records a call of a method that the runtime suspends: it is counted as a callee of the current call, and not timed.
pub(super) fn count_suspended(tree: Own<Tree>, method_id: u64) {
    let caller = tree.current.get();
    let node = nodes::callee_with_path(tree, caller, method_id);
    node.iter().for_each(|node| caller.callees.set(Some(*node)));
    match node.or_else(|| overflow::node_of(tree, method_id)) {
        None => add(&tree.lost_calls, 1),
        Some(node) => {
            node.flags.set(node.flags.get() | SUSPENDED);
            add(&node.calls, 1);
        }
    }
}

/// Records the end of a method on this thread, called at a stack pointer (0: unknown). Returns the time.
#[inline]
pub(crate) fn leave(_: InHook<'_>, method_id: u64, called_at: usize) -> i64 {
    let now = clock::now();
    let Some(tree) = current::tree() else { return now };
    let node = tree.current.get();
    let (start, is_it) = (node.start.get(), node.method_id.get() == method_id && node.frame.get() == called_at.wrapping_neg());
    let is_plain = is_it && tree.skipped.get() == 0 && !pauses::are_behind(start);
    let (Some(statistics), Some(caller), true) = (node.statistics.get(), node.caller.get(), is_plain) else {
        leave_slowly(tree, method_id, called_at, now, false);
        return now;
    };
    let ticks = now - start;
    add(&node.leaves, 1);
    node.total.set(node.total.get() + ticks);
    statistics.add(ticks);
    tree.current.set(caller);
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
    leave_slowly(tree, call.method_id, call.called_at, now, true);
    Some(now)
}

/// Ends the calls within one call that exceptions have left. Returns the time if the outer call is open.
pub(crate) fn end_callees(call: Call) -> Option<i64> {
    let (now, tree) = (clock::now(), tree_where_open(call)?);
    if call.called_at != 0 {
        end_gone_calls(tree, call.called_at - 1, now);
    }
    Some(now)
}

/// This thread's tree, if the call is open there.
fn tree_where_open(call: Call) -> Option<Own<Tree>> {
    let is_it = |open: &Call| (open.method_id, open.called_at, open.start) == (call.method_id, call.called_at, call.start);
    find_open_call(is_it).and_then(|_| current::tree())
}

/// The innermost open call of a method on this thread.
pub(crate) fn innermost_call(method_id: u64) -> Option<Call> {
    find_open_call(|call| call.method_id == method_id)
}

/// The innermost open call on this thread.
pub(crate) fn current_call() -> Option<Call> {
    find_open_call(|_| true)
}

/// The innermost open call on this thread that matches a predicate.
fn find_open_call(is_it: impl Fn(&Call) -> bool) -> Option<Call> {
    let tree = current::tree()?;
    let call = |method_id, frame: usize, start| Call { method_id, called_at: frame.wrapping_neg(), start };
    let (skipped, overflowed) = (tree.memory.skipped.borrow(), tree.memory.overflowed.borrow());
    let skipped = skipped.iter().rev().map(|open| call(open.method_id, open.frame, 0)).find(&is_it);
    let overflowed = overflowed.iter().rev().map(|open| call(open.method_id, open.frame, open.start)).find(&is_it);
    let searching = tree.memory.searching.borrow();
    let with_path = |node: Own<Node>| call(node.method_id.get(), searches::frame_of(&searching, node), node.start.get());
    let with_path = tree.open_nodes().map(with_path).find(&is_it);
    // The one with the lowest stack pointer.
    [skipped, overflowed, with_path].into_iter().flatten().min_by_key(|call| call.called_at)
}

/// The ticks of all callees of this thread's current method.
pub(super) fn ticks_of_callees() -> i64 {
    let first = current::tree().and_then(|tree| tree.current.get().callees.get());
    let ring = std::iter::successors(first, |node| node.next.get().filter(|next| Some(*next) != first));
    ring.map(|node| node.total.get()).sum()
}

/// Ends calls that cannot be open while a method runs that was called at this stack pointer.
#[cold]
fn end_gone_calls(tree: Own<Tree>, called_at: usize, now: i64) {
    loop {
        let node = tree.current.get();
        if node.is_gone(called_at) && searches::end_search_at(tree, node) {
            continue;
        }
        let overflowed = tree.memory.overflowed.borrow().last().map(|last| last.frame);
        match overflowed {
            Some(frame) if is_gone(frame, called_at) => overflow::close_overflowed(tree, tree.place().1 - 1, now, true),
            None if node.is_gone(called_at) => close_call(tree, node, now, true),
            _ => break,
        }
    }
    pauses::end_gone_skipped(tree, called_at);
}

#[cold]
fn leave_slowly(tree: Own<Tree>, method_id: u64, called_at: usize, now: i64, by_exception: bool) {
    if called_at != 0 {
        end_gone_calls(tree, called_at - 1, now);
    }
    if tree.skipped.get() > 0 && pauses::end_skipped_call(tree, method_id) {
        return;
    }
    let (innermost, wanted) = {
        let overflowed = tree.memory.overflowed.borrow();
        let innermost = overflowed.last().map_or_else(|| tree.current.get().method_id.get(), |call| call.method_id);
        (innermost, overflowed.iter().rposition(|call| call.method_id == method_id))
    };
    // The call is still open, so only calls within it have ended. The runtime's own methods that search for
    // handlers, since .NET 9, continue after the calls that they unwound, and end with them.
    if called_at != 0 && innermost != method_id {
        return;
    }
    if let Some(wanted) = wanted {
        return overflow::close_overflowed(tree, wanted, now, by_exception);
    }
    match tree.open_nodes().find(|node| node.method_id.get() == method_id) {
        None => add(&tree.bad_leaves, 1),
        Some(wanted) => {
            close_callees(tree, wanted, now);
            close_call(tree, wanted, now, by_exception);
        }
    }
}

/// Ends the calls within an open call, which ended without an event.
pub(super) fn close_callees(tree: Own<Tree>, call: Own<Node>, now: i64) {
    overflow::close_overflowed(tree, 0, now, true);
    while tree.current.get() != call {
        close_call(tree, tree.current.get(), now, true);
    }
}

/// Ends the current call.
pub(super) fn close_call(tree: Own<Tree>, node: Own<Node>, now: i64, by_exception: bool) {
    let Some(caller) = node.caller.get() else { return };
    searches::end_search_at(tree, node);
    pauses::end_skipped_callees(tree);
    let ticks = pauses::elapsed(node.start.get(), now);
    // Many methods are called once. The statistics take as much memory as four nodes, so the second call
    // allocates them.
    if node.leaves.get() > 0 && node.statistics.get().is_none() {
        node.statistics.set(nodes::new_statistics(tree, node.total.get()));
    }
    node.statistics.get().iter().for_each(|statistics| statistics.add(ticks));
    node.total.set(node.total.get() + ticks);
    allocations::end(tree, node, None);
    add(&node.leaves, 1);
    node.exceptions.set(node.exceptions.get() + u32::from(by_exception));
    tree.current.set(caller);
}
