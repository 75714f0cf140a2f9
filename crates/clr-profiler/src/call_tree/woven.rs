//! Probes called by instrumented bodies after an attach. Each attachment is a session with its own file and trees.
//! Bodies that continue from an earlier session, or after the last one, change nothing.

use std::{ptr::with_exposed_provenance_mut, sync::atomic::AtomicU16};

use super::*;

/// The number of the current session; 0 if instrumented bodies record nothing.
static SESSION: AtomicU16 = AtomicU16::new(0);
static SESSIONS: AtomicU16 = AtomicU16::new(0);

thread_local! {
    /// The session of this thread's tree.
    static OF_THREAD: Cell<u16> = const { Cell::new(0) };
}

/// Starts the recording by instrumented bodies. The file must exist.
pub(crate) fn start_session() {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    *trees = Trees { all: Vec::new(), unowned: Vec::new() };
    TREES.store(0, Relaxed);
    let last = SESSIONS.load(Relaxed);
    let number = last.checked_add(1).unwrap_or(1);
    SESSIONS.store(number, Relaxed);
    SESSION.store(number, Release);
}

/// Stops the recording by instrumented bodies.
pub(crate) fn end_session() {
    SESSION.store(0, Release);
}

/// Whether this thread's tree belongs to the current session, or to hooks.
pub(super) fn is_of_session() -> bool {
    OF_THREAD.get() == SESSION.load(Relaxed)
}

/// Assigns this thread's tree to the current session.
pub(super) fn join_session() {
    OF_THREAD.set(SESSION.load(Relaxed));
}

/// Frees the memory of the last session's trees that is not in the file.
pub(crate) fn forget_session() {
    let mut trees = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for TreePointer(tree) in std::mem::take(&mut trees.all) {
        // SAFETY: the caller knows that no thread accesses it any more. A box allocated it.
        unsafe { drop(Box::from_raw((*tree).memory)) };
    }
    trees.unowned.clear();
}

/// Identifies the call that a body has begun: its node's address, and the session number in the high bits. The next
/// session's file may be mapped at the same address. A null address means a call without a node of its path.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Begun(u64);

impl Begun {
    /// User addresses have at most this many bits.
    const ADDRESS_BITS: u32 = 48;
    /// The value for calls that are not recorded; it belongs to no session.
    const NOTHING: Self = Self(0);

    fn new(node: *mut Node) -> Self {
        Self(u64::from(OF_THREAD.get()) << Self::ADDRESS_BITS | node.expose_provenance() as u64)
    }

    /// This thread's tree, and the call's node; `None` for a call of another session.
    fn place(self) -> Option<(*mut Tree, *mut Node)> {
        let tree = TREE.get();
        let is_known = !tree.is_null() && is_of_session() && self.0 >> Self::ADDRESS_BITS == u64::from(OF_THREAD.get());
        let address = self.0 & ((1 << Self::ADDRESS_BITS) - 1);
        is_known.then(|| (tree, with_exposed_provenance_mut(address as usize)))
    }
}

/// Records the start of an instrumented method. The result identifies the call.
pub(crate) extern "C" fn enter_woven(method_id: u64) -> Begun {
    if SESSION.load(Relaxed) == 0 || pauses::is_on() {
        return Begun::NOTHING;
    }
    if !is_of_session() {
        TREE.set(null_mut());
        join_session();
    }
    // Instrumented bodies have exception handlers, so every end is reported. No stack pointer is needed.
    enter(method_id, 0);
    let tree = TREE.get();
    if tree.is_null() {
        return Begun::NOTHING;
    }
    // SAFETY: as in `enter`.
    unsafe { Begun::new(if (*(*tree).memory).overflowed.is_empty() { (*tree).current } else { null_mut() }) }
}

/// Records the end of the call.
pub(crate) extern "C" fn leave_woven(call: Begun) {
    let now = clock::now();
    let Some((tree, call)) = call.place() else { return };
    // SAFETY: as in `enter`. The current node is the entered one, since its callees have ended.
    unsafe {
        if close_above(tree, call, now) && !call.is_null() {
            end(tree, call, now, false);
        }
    }
}

/// Records that the call handles an exception: its callees have ended.
pub(crate) extern "C" fn handle_woven(call: Begun) {
    let now = clock::now();
    // A call without a node cannot be told from others like it.
    let Some((tree, call)) = call.place().filter(|(_, call)| !call.is_null()) else { return };
    // SAFETY: as in `enter`.
    unsafe { close_above(tree, call, now) };
}

/// Ends the calls above one call; for a call without a node, ends the call itself. Returns whether the call is open:
/// it may belong to an earlier session.
///
/// # Safety
/// `tree` must be this thread's tree.
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
