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
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

/// On how many threads; none when the program has ended.
static COUNT: Mutex<Option<u32>> = Mutex::new(Some(0));

/// A handler is looked for on this thread, by the runtime at this stack pointer.
pub(crate) fn begin(at: usize) {
    if !IS_ON.replace(true) {
        count(|count| count + 1);
    }
    let tree = TREE.get();
    if tree.is_null() {
        return;
    }
    // SAFETY: as in `enter`.
    unsafe {
        let node = (*tree).current;
        let memory = &mut *(*tree).memory;
        if memory.searching.is_some_and(|(searching, _)| searching == node) {
            return;
        }
        restore(tree);
        memory.searching = Some((node, (*node).frame));
        (*node).frame = at.wrapping_neg();
    }
}

/// It is over on this thread.
pub(crate) fn end() {
    if !IS_ON.replace(false) {
        return;
    }
    count(|count| count - 1);
    let tree = TREE.get();
    if !tree.is_null() {
        // SAFETY: as in `enter`.
        unsafe { restore(tree) };
    }
}

/// It is over if it is this node's: whether it was.
///
/// # Safety
/// It has to be this thread's tree.
pub(super) unsafe fn end_at(tree: *mut Tree, node: *mut Node) -> bool {
    // SAFETY: as in `enter`.
    let is_it = unsafe { (*(*tree).memory).searching.is_some_and(|(searching, _)| searching == node) };
    if is_it {
        end();
    }
    is_it
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

/// # Safety
/// It has to be this thread's tree.
unsafe fn restore(tree: *mut Tree) {
    // SAFETY: as in `enter`.
    unsafe {
        if let Some((node, frame)) = (*(*tree).memory).searching.take() {
            (*node).frame = frame;
        }
    }
}
