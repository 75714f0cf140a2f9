//! The trees of threads: each thread takes one, and gives it back at its end. Trees of an attachment belong to a session.

use std::{
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU16, AtomicU64, Ordering::Relaxed, Ordering::Release},
    },
};

use super::{
    cpu::{look_at_cpu, own_cpu_clock},
    current,
    layout::{Memory, Own, Tree},
    nodes, searches,
};
use crate::{
    process::forked,
    worlds::{MayWait, OnOwnThread},
};

static TREES: AtomicU64 = AtomicU64::new(0);
/// All trees, and those of ended threads, which new threads reuse.
static ALL: Mutex<Trees> = Mutex::new(Trees { all: Vec::new(), unowned: Vec::new() });

struct Trees {
    all: Vec<AnyTree>,
    unowned: Vec<AnyTree>,
}

/// A tree of any thread.
#[derive(Clone, Copy)]
struct AnyTree(*mut Tree);

// SAFETY: only the thread that owns a tree changes it. Fields that other threads access are atomic.
unsafe impl Send for AnyTree {}

/// The number of the current session; 0 if instrumented bodies record nothing.
static SESSION: AtomicU16 = AtomicU16::new(0);
static SESSIONS: AtomicU16 = AtomicU16::new(0);

thread_local! {
    /// The session of this thread's tree.
    static OF_THREAD: Cell<u16> = const { Cell::new(0) };
    static OWNER: Owner = const { Owner };
}

/// Releases a thread's tree when the thread ends.
struct Owner;

impl Drop for Owner {
    fn drop(&mut self) {
        searches::end_thread();
        let tree = current::set_tree(None);
        // No session's trees are freed while this lock is held.
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = tree.filter(|_| is_of_session()) {
            look_at_cpu(&tree);
            tree.cpu_clock.store(0, Relaxed);
            all.unowned.push(AnyTree(tree.pointer()));
        }
    }
}

/// This thread's tree. `None` if it gets none.
#[inline]
pub(super) fn own_tree() -> Option<Own<Tree>> {
    current::tree().or_else(own_new_tree)
}

/// The tree of a thread without one.
#[cold]
fn own_new_tree() -> Option<Own<Tree>> {
    // The thread may be at its end. Nothing more of it is recorded then.
    if forked::is_child() || OWNER.try_with(|_| ()).is_err() {
        return None;
    }
    let tree = adopted_tree().or_else(new_tree)?;
    own_cpu_clock(&tree);
    current::set_tree(Some(tree));
    Some(tree)
}

fn adopted_tree() -> Option<Own<Tree>> {
    let AnyTree(tree) = ALL.lock().unwrap_or_else(PoisonError::into_inner).unowned.pop()?;
    // SAFETY: no other thread owns it, and trees stay mapped.
    let tree = unsafe { Own::new(tree) }?;
    tree.current.set(tree.root);
    let Memory { overflowed, skipped, searching, compiling, pauses_seen, .. } = &*tree.memory;
    overflowed.borrow_mut().clear();
    skipped.borrow_mut().clear();
    searching.borrow_mut().clear();
    compiling.depth.set(0);
    pauses_seen.set(None);
    tree.skipped.set(0);
    super::layout::add(&tree.threads, 1);
    Some(tree)
}

fn new_tree() -> Option<Own<Tree>> {
    let tree = nodes::new_tree(TREES.fetch_add(1, Relaxed) + 1)?;
    ALL.lock().unwrap_or_else(PoisonError::into_inner).all.push(AnyTree(tree.pointer()));
    Some(tree)
}

/// Stops recording for this thread. Used in a process that has no other thread.
#[cfg(unix)]
pub(crate) extern "C" fn forget_thread() {
    current::set_tree(None);
}

/// Identifies a tree: its address, as chunks of the file name it, and its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeId {
    pub(crate) address: u64,
    pub(crate) number: u64,
}

/// This thread's tree; `None` if it gets none.
#[inline]
pub(crate) fn tree_of_thread() -> Option<TreeId> {
    own_tree().map(|tree| TreeId { address: tree.address() as u64, number: tree.memory.tree_number })
}

/// Gives this thread a tree that is in no file, to measure the overhead of hooks.
pub(super) fn own_tree_of_no_file() {
    thread_local! {
        static OWN: Cell<Option<Own<Tree>>> = const { Cell::new(None) };
    }
    join(session());
    if OWN.get().is_none() {
        OWN.set(nodes::tree_of_no_file());
    }
    if let Some(tree) = OWN.get() {
        tree.current.set(tree.root);
        current::set_tree(Some(tree));
    }
}

/// Reads the CPU time of all live threads.
pub(crate) fn look_at_threads(_: impl MayWait) {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: no tree is unmapped while this lock is held, and all fields used are atomic.
    all.all.iter().for_each(|AnyTree(tree)| look_at_cpu(unsafe { &**tree }));
}

/// Starts the recording by instrumented bodies. The file must exist.
pub(crate) fn start_session(_: OnOwnThread) {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    *trees = Trees { all: Vec::new(), unowned: Vec::new() };
    TREES.store(0, Relaxed);
    let last = SESSIONS.load(Relaxed);
    let number = last.checked_add(1).unwrap_or(1);
    SESSIONS.store(number, Relaxed);
    SESSION.store(number, Release);
}

/// Stops the recording by instrumented bodies.
pub(crate) fn end_session(_: impl MayWait) {
    SESSION.store(0, Release);
}

/// Frees the memory of the last session's trees that is not in the file.
///
/// # Safety
/// No thread may use these trees any more.
pub(crate) unsafe fn forget_session(_: OnOwnThread) {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for AnyTree(tree) in std::mem::take(&mut trees.all) {
        // SAFETY: the caller guarantees this. A box allocated the memory.
        unsafe { drop(Box::from_raw((*tree).memory.pointer())) };
    }
    trees.unowned.clear();
}

/// The number of the session that records now; 0 if none does.
pub(super) fn session() -> u16 {
    SESSION.load(Relaxed)
}

/// Whether this thread's tree belongs to the current session, or to hooks.
pub(super) fn is_of_session() -> bool {
    OF_THREAD.get() == SESSION.load(Relaxed)
}

/// Whether this thread's tree belongs to the session that records now.
pub(crate) fn has_tree_of_session() -> bool {
    session() != 0 && is_of_session()
}

/// The session of this thread's tree.
pub(super) fn session_of_thread() -> u16 {
    OF_THREAD.get()
}

/// Assigns this thread to a session. It has no tree of it yet.
pub(super) fn join(session: u16) {
    current::set_tree(None);
    OF_THREAD.set(session);
}
