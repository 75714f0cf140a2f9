//! Threads on which a handler is looked for. Meanwhile the file says that an exception ends the program: if it does, nobody says it.
//!
//! The search is over when a handler was found, and when the thread goes on otherwise. So that hooks see this at no cost, the call
//! that is current has the stack pointer of the search: a method that is called above it ends the search, as it ends calls that are gone.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

use super::{
    TREE,
    layout::{Node, Tree},
};
use crate::profile_file::{self, flag};

thread_local! {
    /// Where the last one began that goes on; 0 if none does.
    static AT: Cell<usize> = const { Cell::new(0) };
}

/// What the runtime puts on the stack between a method that throws and the place where it says so is larger than twice this, and what it
/// calls meanwhile, as handlers of unhandled exceptions, begins below this.
const RUNTIMES_OWN: usize = 8 << 10;

/// On how many threads; none when the program has ended.
static COUNT: Mutex<Option<u32>> = Mutex::new(Some(0));

/// A search: the node that was current when it began, and the stack pointer that its call has: meanwhile it has that of the search.
pub(super) struct Searching {
    node: *mut Node,
    frame: usize,
}

/// The frame of a node's call, whether a search began there or not.
///
/// # Safety
/// It has to be a node, and the searches those of its tree.
pub(super) unsafe fn frame_of(searching: &[Searching], node: *mut Node) -> usize {
    let began_here = searching.iter().find(|searching| searching.node == node);
    // SAFETY: the caller's word.
    began_here.map_or_else(|| unsafe { (*node).frame }, |searching| searching.frame)
}

/// A handler is looked for on this thread, by the runtime at this stack pointer: another one, or for the same exception still.
pub(crate) fn begin(at: usize) {
    begin_above(at + RUNTIMES_OWN);
}

fn begin_above(at: usize) {
    if AT.replace(at) == 0 {
        count(|count| count + 1);
    }
    let tree = TREE.get();
    if tree.is_null() {
        return;
    }
    // SAFETY: as in `enter`.
    unsafe {
        let node = (*tree).current;
        let searching = &mut (*(*tree).memory).searching;
        if searching.last().is_none_or(|last| last.node != node) {
            searching.push(Searching { node, frame: (*node).frame });
            // In any case another one than the call's, which ends the search when it ends.
            (*node).frame = (*node).frame.wrapping_add(1).max(at.wrapping_neg());
        }
    }
}

/// The innermost search of this thread is over.
pub(crate) fn end() {
    let tree = TREE.get();
    // SAFETY: as in `enter`.
    let is_last = tree.is_null() || unsafe { end_innermost(tree) };
    if is_last && AT.replace(0) != 0 {
        count(|count| count - 1);
    }
}

/// Whether one goes on on this thread.
#[cfg(test)]
pub(super) fn is_on() -> bool {
    AT.get() != 0
}

/// Ends calls that an exception leaves: if a search went on, it goes on, as of what is current then.
pub(crate) fn keep<T>(end: impl FnOnce() -> T) -> T {
    let at = AT.get();
    let result = end();
    if at != 0 && AT.get() == 0 {
        begin_above(at);
    }
    result
}

/// All of them are.
pub(crate) fn end_thread() {
    while AT.get() != 0 {
        end();
    }
}

/// If a search began at this node, it is over, and those within: whether one did.
///
/// # Safety
/// It has to be this thread's tree.
pub(super) unsafe fn end_at(tree: *mut Tree, node: *mut Node) -> bool {
    // SAFETY: as in `enter`.
    let began_here = || unsafe { (*(*tree).memory).searching.iter().any(|searching| searching.node == node) };
    let is_over = began_here();
    while began_here() {
        end();
    }
    is_over
}

/// Whether no other search goes on.
///
/// # Safety
/// It has to be this thread's tree.
unsafe fn end_innermost(tree: *mut Tree) -> bool {
    // SAFETY: as in `enter`.
    unsafe {
        let searching = &mut (*(*tree).memory).searching;
        if let Some(Searching { node, frame }) = searching.pop() {
            (*node).frame = frame;
        }
        searching.is_empty()
    }
}

/// The program has ended by itself.
pub(crate) fn end_all() {
    *COUNT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    profile_file::change_flags(0, flag::UNHANDLED_EXCEPTION);
}

fn count(change: impl FnOnce(u32) -> u32) {
    let mut all = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(count) = &mut *all else { return };
    *count = change(*count);
    let (set, clear) = if *count > 0 { (flag::UNHANDLED_EXCEPTION, 0) } else { (0, flag::UNHANDLED_EXCEPTION) };
    profile_file::change_flags(set, clear);
}
