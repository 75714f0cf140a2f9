//! What woven bodies call of a program that was attached to. A session is one attachment: it has a file and trees of its own, and
//! bodies that run on from an earlier one, or behind the end of all, change nothing.

use super::*;

/// The number of the session; 0 if nothing is recorded by woven bodies.
static SESSION: AtomicU32 = AtomicU32::new(0);
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// What a call is given that began while recording was paused: no node's address.
const SKIPPED: *mut Node = without_provenance_mut(1);

thread_local! {
    /// The session that this thread's tree is of.
    static OF_THREAD: Cell<u32> = const { Cell::new(0) };
}

/// Woven bodies record from now on, when the file is there.
pub(crate) fn start_session() {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    *trees = Trees { all: Vec::new(), unowned: Vec::new() };
    TREES.store(0, Relaxed);
    SESSION.store(SESSIONS.fetch_add(1, Relaxed) + 1, Release);
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

/// A woven method begins. What is given says which call it is; null, if that has no node of its path.
pub(crate) extern "C" fn enter_woven(method_id: u64) -> *mut Node {
    if SESSION.load(Relaxed) == 0 {
        return null_mut();
    }
    if pauses::is_on() {
        return SKIPPED;
    }
    if !is_of_session() {
        TREE.set(null_mut());
        join_session();
    }
    // Woven bodies have handlers: their ends are seen.
    enter(method_id, 0);
    let tree = TREE.get();
    if tree.is_null() {
        return null_mut();
    }
    // SAFETY: as in `enter`.
    unsafe { if (*(*tree).memory).overflowed.is_empty() { (*tree).current } else { null_mut() } }
}

/// It ends.
pub(crate) extern "C" fn leave_woven(call: *mut Node) {
    let now = clock::now();
    let Some(tree) = tree_of_session().filter(|_| call != SKIPPED) else { return };
    // SAFETY: as in `enter`; what is current is what was entered, as what it called has ended.
    unsafe {
        if close_above(tree, call, now) && !call.is_null() {
            end(tree, call, now, false);
        }
    }
}

/// It handles an exception: what it called has ended.
pub(crate) extern "C" fn handle_woven(call: *mut Node) {
    let now = clock::now();
    let Some(tree) = tree_of_session() else { return };
    // Which of the calls without a path it is, nobody knows.
    if !call.is_null() && call != SKIPPED {
        // SAFETY: as in `enter`.
        unsafe { close_above(tree, call, now) };
    }
}

fn tree_of_session() -> Option<*mut Tree> {
    let tree = TREE.get();
    (!tree.is_null() && is_of_session()).then_some(tree)
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
