//! Threads that search for an exception handler. During a search the file states that an exception ends the program,
//! since no event reports that end.
//!
//! A search is over when a handler is found, or when the thread continues otherwise. Hooks detect this at no cost:
//! the current call gets the stack pointer of the search. A method called above it ends the search, as it ends calls
//! that are gone.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

use super::{
    current,
    layout::{Node, Own, Searching, Tree},
};
use crate::{
    file::{self, flag},
    worlds::InCallback,
};

thread_local! {
    /// The stack pointer of the current innermost search; 0 if there is none.
    static AT: Cell<usize> = const { Cell::new(0) };
}

/// Less than half the stack space that the runtime uses between a throwing method and its notification. Calls that the runtime
/// makes meanwhile, such as handlers of unhandled exceptions, begin below this distance.
const RUNTIMES_OWN: usize = 8 << 10;

/// The number of searching threads; `None` once the program has ended.
static COUNT: Mutex<Option<u32>> = Mutex::new(Some(0));

/// The frame of a node's call, with or without a search at the node.
pub(super) fn frame_of(searching: &[Searching], node: Own<Node>) -> usize {
    let began_here = searching.iter().find(|searching| searching.node == node);
    began_here.map_or_else(|| node.frame.get(), |searching| searching.frame)
}

/// Notes a search on this thread, made by the runtime at this stack pointer: a new one, or the same one continued.
pub(crate) fn begin_search(at: usize) {
    begin_above(at + RUNTIMES_OWN);
}

fn begin_above(at: usize) {
    if AT.replace(at) == 0 {
        count(|count| count + 1);
    }
    let Some(tree) = current::tree() else { return };
    let node = tree.current.get();
    let mut searching = tree.memory.searching.borrow_mut();
    if searching.last().is_none_or(|last| last.node != node) {
        let frame = node.frame.get();
        searching.push(Searching { node, frame });
        // Always differs from the call's own stack pointer. The end of the call therefore ends the search.
        node.frame.set(frame.wrapping_add(1).max(at.wrapping_neg()));
    }
}

/// Ends the innermost search of this thread.
pub(crate) fn end_search() {
    let is_last = current::tree().is_none_or(end_innermost);
    if is_last && AT.replace(0) != 0 {
        count(|count| count - 1);
    }
}

/// Whether a search continues on this thread.
#[cfg(test)]
pub(super) fn is_on() -> bool {
    AT.get() != 0
}

/// Ends calls that an exception leaves. A search that was active continues at the node that is current then.
pub(crate) fn keep_search<T>(end: impl FnOnce() -> T) -> T {
    let at = AT.get();
    let result = end();
    if at != 0 && AT.get() == 0 {
        begin_above(at);
    }
    result
}

/// Ends all searches of this thread.
pub(crate) fn end_thread() {
    while AT.get() != 0 {
        end_search();
    }
}

/// Ends the search that began at this node, and those within. Returns whether there was one.
pub(super) fn end_search_at(tree: Own<Tree>, node: Own<Node>) -> bool {
    let began_here = || tree.memory.searching.borrow().iter().any(|searching| searching.node == node);
    let is_over = began_here();
    while began_here() {
        end_search();
    }
    is_over
}

/// Ends the innermost search. Returns whether no other one continues.
fn end_innermost(tree: Own<Tree>) -> bool {
    let mut searching = tree.memory.searching.borrow_mut();
    if let Some(Searching { node, frame }) = searching.pop() {
        node.frame.set(frame);
    }
    searching.is_empty()
}

/// The program has ended by itself, so no search counts any more.
pub(crate) fn end_all_searches(_: InCallback) {
    *COUNT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    file::change_flags(0, flag::UNHANDLED_EXCEPTION);
}

fn count(change: impl FnOnce(u32) -> u32) {
    let mut all = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(count) = &mut *all else { return };
    *count = change(*count);
    let (set, clear) = if *count > 0 { (flag::UNHANDLED_EXCEPTION, 0) } else { (0, flag::UNHANDLED_EXCEPTION) };
    file::change_flags(set, clear);
}
