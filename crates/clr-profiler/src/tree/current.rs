//! The tree that belongs to the current thread.

use std::cell::Cell;

use super::layout::{Own, Tree};

thread_local! {
    /// `None` before the thread's first method.
    static TREE: Cell<Option<Own<Tree>>> = const { Cell::new(None) };
}

/// This thread's tree.
#[inline]
pub(super) fn tree() -> Option<Own<Tree>> {
    TREE.get()
}

/// Assigns a tree to this thread. Returns the one that it had.
pub(super) fn set_tree(tree: Option<Own<Tree>>) -> Option<Own<Tree>> {
    TREE.replace(tree)
}
