//! What woven bodies call of a program that was attached to. A session is one attachment: it has a file and trees of its own, and
//! bodies that run on from an earlier one, or behind the end of all, change nothing.

use std::{ptr::with_exposed_provenance_mut, sync::atomic::AtomicU16};

use super::*;

/// The number of the session; 0 if nothing is recorded by woven bodies.
static SESSION: AtomicU16 = AtomicU16::new(0);
static SESSIONS: AtomicU16 = AtomicU16::new(0);

thread_local! {
    /// The session that this thread's tree is of.
    static OF_THREAD: Cell<u16> = const { Cell::new(0) };
}

/// Woven bodies record from now on, when the file is there.
pub(crate) fn start_session() {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    *trees = Trees { all: Vec::new(), unowned: Vec::new() };
    TREES.store(0, Relaxed);
    let last = SESSIONS.load(Relaxed);
    let number = last.checked_add(1).unwrap_or(1);
    SESSIONS.store(number, Relaxed);
    SESSION.store(number, Release);
}

/// They do no more.
pub(crate) fn end_session() {
    SESSION.store(0, Release);
}

/// Whether this thread's tree is of this session, or of hooks.
pub(super) fn is_of_session() -> bool {
    OF_THREAD.get() == SESSION.load(Relaxed)
}

/// This thread's tree is of this session.
pub(super) fn join_session() {
    OF_THREAD.set(SESSION.load(Relaxed));
}

/// Frees what the trees of the last session have beside the file, which is over.
pub(crate) fn forget_session() {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for TreePointer(tree) in std::mem::take(&mut trees.all) {
        // SAFETY: who calls this knows that no thread goes there any more; it was made by a box.
        unsafe { drop(Box::from_raw((*tree).memory)) };
    }
    trees.unowned.clear();
}

/// Which call a body has begun: its node's address, and above that its session's number, as the next session's file may lie where
/// this one's did. Without a node it is one that has none of its path.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Begun(u64);

impl Begun {
    /// No address has more bits.
    const ADDRESS_BITS: u32 = 48;
    /// What a call is given that is not recorded: of no session.
    const NOTHING: Self = Self(0);

    fn new(node: *mut Node) -> Self {
        Self(u64::from(OF_THREAD.get()) << Self::ADDRESS_BITS | node.expose_provenance() as u64)
    }

    /// This thread's tree, and the node there; none if it is another session's.
    fn place(self) -> Option<(*mut Tree, *mut Node)> {
        let tree = TREE.get();
        let is_known = !tree.is_null() && is_of_session() && self.0 >> Self::ADDRESS_BITS == u64::from(OF_THREAD.get());
        let address = self.0 & ((1 << Self::ADDRESS_BITS) - 1);
        is_known.then(|| (tree, with_exposed_provenance_mut(address as usize)))
    }
}

/// A woven method begins. What is given says which call it is.
pub(crate) extern "C" fn enter_woven(method_id: u64) -> Begun {
    if SESSION.load(Relaxed) == 0 || pauses::is_on() {
        return Begun::NOTHING;
    }
    if !is_of_session() {
        TREE.set(null_mut());
        join_session();
    }
    // Woven bodies have handlers: their ends are seen.
    enter(method_id, 0);
    let tree = TREE.get();
    if tree.is_null() {
        return Begun::NOTHING;
    }
    // SAFETY: as in `enter`.
    unsafe { Begun::new(if (*(*tree).memory).overflowed.is_empty() { (*tree).current } else { null_mut() }) }
}

/// It ends.
pub(crate) extern "C" fn leave_woven(call: Begun) {
    let now = clock::now();
    let Some((tree, call)) = call.place() else { return };
    // SAFETY: as in `enter`; what is current is what was entered, as what it called has ended.
    unsafe {
        if close_above(tree, call, now) && !call.is_null() {
            end(tree, call, now, false);
        }
    }
}

/// It handles an exception: what it called has ended.
pub(crate) extern "C" fn handle_woven(call: Begun) {
    let now = clock::now();
    // Which of the calls without a path it is, nobody knows.
    let Some((tree, call)) = call.place().filter(|(_, call)| !call.is_null()) else { return };
    // SAFETY: as in `enter`.
    unsafe { close_above(tree, call, now) };
}

/// Ends the calls above one; of one without a path, itself. Whether it is open: it may be an earlier session's.
///
/// # Safety
/// It has to be this thread's tree.
unsafe fn close_above(tree: *mut Tree, call: *mut Node, now: i64) -> bool {
    // SAFETY: as in `enter`.
    unsafe {
        let overflowed = &(*(*tree).memory).overflowed;
        if call.is_null() {
            if let Some(last) = overflowed.len().checked_sub(1) {
                overflow::end(tree, last, now, false);
            }
            return true;
        }
        let first = overflowed.first().map(|first| first.before);
        let mut open = first.unwrap_or((*tree).current);
        while open != call {
            if open == (*tree).root {
                return false;
            }
            open = (*open).caller;
        }
        if first.is_some() {
            overflow::end(tree, 0, now, true);
        }
        loop {
            let open = (*tree).current;
            if open == call {
                return true;
            }
            end(tree, open, now, true);
        }
    }
}
