//! Pauses of the recording, with the tracker's semantics: calls that begin in a pause are skipped. The time of open
//! calls excludes pauses.

use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::{
    clock, end_gone as end_calls_gone,
    layout::{Node, Tree, is_gone},
};

/// A call that began in a pause; it has no node.
pub(super) struct Skipped {
    pub(super) method_id: u64,
    /// Same meaning as [`Node::frame`].
    pub(super) frame: usize,
    /// The node that was current, and the number of open calls without a node.
    below: (*mut Node, usize),
}

/// The number of most recent pauses that are kept.
const KEPT: usize = 64;
static BEGINS: [AtomicI64; KEPT] = [const { AtomicI64::new(0) }; KEPT];
static ENDS: [AtomicI64; KEPT] = [const { AtomicI64::new(0) }; KEPT];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The end of the last pause; later than any call's start during a pause; 0 before the first.
static LAST: AtomicI64 = AtomicI64::new(0);
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Whether recording is paused.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Whether a call that began at this time may overlap a pause.
#[inline]
pub(super) fn are_behind(start: i64) -> bool {
    start < LAST.load(Relaxed)
}

/// Called by one thread at a time.
pub(crate) fn begin(now: i64) {
    let count = COUNT.load(Relaxed);
    BEGINS[count % KEPT].store(now, Relaxed);
    ENDS[count % KEPT].store(i64::MAX, Relaxed);
    COUNT.store(count + 1, Release);
    LAST.store(i64::MAX, Release);
    IS_ON.store(true, Release);
}

/// Called by one thread at a time, like [`begin`].
pub(crate) fn end(now: i64) {
    ENDS[(COUNT.load(Relaxed) + KEPT - 1) % KEPT].store(now, Relaxed);
    LAST.store(now, Release);
    IS_ON.store(false, Release);
}

/// The ticks between two times, without pauses; never negative.
pub(super) fn elapsed(from: i64, to: i64) -> i64 {
    let mut ticks = to - from;
    if are_behind(from) {
        let all = BEGINS.iter().zip(&ENDS).take(COUNT.load(Acquire));
        ticks -= all.map(|(begin, end)| (end.load(Relaxed).min(to) - begin.load(Relaxed).max(from)).max(0)).sum::<i64>();
    }
    ticks.max(0)
}

/// Notes the start of a call that is not recorded.
///
/// # Safety
/// `tree` must be this thread's tree.
#[cold]
pub(super) unsafe fn skip(tree: *mut Tree, method_id: u64, called_at: usize) {
    // SAFETY: as in `enter`.
    unsafe {
        end_calls_gone(tree, called_at, clock::now());
        let memory = &mut *(*tree).memory;
        let frame = called_at.wrapping_neg();
        memory.skipped.push(Skipped { method_id, frame, below: ((*tree).current, memory.overflowed.len()) });
        (*tree).skipped = memory.skipped.len() as u64;
    }
}

/// Ends a skipped call, if the innermost calls were skipped and one is of this method. Returns whether it did.
///
/// # Safety
/// `tree` must be this thread's tree.
pub(super) unsafe fn end_skipped(tree: *mut Tree, method_id: u64) -> bool {
    // SAFETY: as in `enter`.
    unsafe {
        let memory = &mut *(*tree).memory;
        let here = ((*tree).current, memory.overflowed.len());
        let innermost = memory.skipped.iter().rev().take_while(|call| call.below == here);
        let wanted = innermost.enumerate().find(|(_, call)| call.method_id == method_id);
        let ended = wanted.map(|(index, _)| memory.skipped.len() - 1 - index);
        if let Some(ended) = ended {
            memory.skipped.truncate(ended);
            (*tree).skipped = ended as u64;
        }
        ended.is_some()
    }
}

/// Removes skipped innermost calls that cannot be open while a method runs that was called at this stack pointer.
///
/// # Safety
/// `tree` must be this thread's tree.
pub(super) unsafe fn end_gone(tree: *mut Tree, called_at: usize) {
    // SAFETY: as in `enter`.
    unsafe {
        if (*tree).skipped == 0 {
            return;
        }
        let memory = &mut *(*tree).memory;
        let here = ((*tree).current, memory.overflowed.len());
        while memory.skipped.pop_if(|call| call.below == here && is_gone(call.frame, called_at)).is_some() {}
        (*tree).skipped = memory.skipped.len() as u64;
    }
}

/// Removes the skipped calls within the current call, which is ending. They ended without an event.
///
/// # Safety
/// `tree` must be this thread's tree.
pub(super) unsafe fn end_within(tree: *mut Tree) {
    // SAFETY: as in `enter`.
    unsafe {
        if (*tree).skipped == 0 {
            return;
        }
        let memory = &mut *(*tree).memory;
        let here = ((*tree).current, memory.overflowed.len());
        while memory.skipped.pop_if(|call| call.below == here).is_some() {}
        (*tree).skipped = memory.skipped.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{TREE, callee_of, clock, enter, innermost, leave, start, tests::ALONE, unwind, use_tree_of_no_file},
        *,
    };

    #[test]
    fn what_begins_while_paused_is_skipped_and_its_time_with_it() {
        let _alone = ALONE.lock().expect("no other test failed");
        start(100);
        use_tree_of_no_file();
        let tree = TREE.get();
        enter(1, 0);
        enter(2, 0);
        begin(clock::now());
        // A call of a method that is already open, and a call whose end is not reported.
        enter(2, 0);
        enter(3, 0);
        leave(2, 0);
        leave(2, 0);
        enter(4, 0);
        enter(2, 0);
        end(clock::now());
        // A call made by a skipped one is recorded as made by the current node.
        enter(5, 0);
        leave(5, 0);
        leave(2, 0);
        leave(4, 0);
        enter(2, 0);
        unwind(innermost(2).expect("it is open"));
        leave(1, 0);
        // SAFETY: it is this thread's tree.
        unsafe {
            let root = (*tree).root;
            assert_eq!(((*tree).current, (*tree).skipped, (*tree).bad_leaves), (root, 0, 0));
            let first = &*callee_of(tree, root, 1);
            let of = |method| &*callee_of(tree, (*root).callees, method);
            assert_eq!((first.calls, first.leaves), (1, 1));
            assert_eq!((of(2).calls, of(2).leaves, of(2).exceptions), (2, 2, 1));
            assert_eq!((of(5).calls, of(5).leaves), (1, 1));
            assert_eq!((of(3).calls, of(4).calls), (0, 0));
        }
        let from = clock::now();
        begin(from + 10);
        end(from + 30);
        begin(from + 40);
        assert_eq!((elapsed(from, from + 100), elapsed(from + 20, from + 35), elapsed(from + 41, from + 50)), (20, 5, 0));
        end(from + 60);
        assert_eq!((elapsed(from, from + 100), elapsed(from + 61, from + 70)), (60, 9));
    }
}
