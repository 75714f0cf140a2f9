//! Pauses of the recording, with the tracker's semantics: calls that begin in a pause are skipped. The time of open
//! calls excludes pauses.

use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::layout::{Node, Own, Skipped, Tree, is_gone};

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

/// The number of pauses that have begun.
#[inline]
pub(super) fn count() -> usize {
    COUNT.load(Relaxed)
}

/// Pauses the recording. Called by one thread at a time.
pub(crate) fn pause(now: i64) {
    let count = COUNT.load(Relaxed);
    BEGINS[count % KEPT].store(now, Relaxed);
    ENDS[count % KEPT].store(i64::MAX, Relaxed);
    COUNT.store(count + 1, Release);
    LAST.store(i64::MAX, Release);
    IS_ON.store(true, Release);
}

/// Resumes the recording. Called by one thread at a time.
pub(crate) fn resume(now: i64) {
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
pub(super) fn skip_call(tree: Own<Tree>, method_id: u64, called_at: usize) {
    change_skipped(tree, |skipped, below| skipped.push(Skipped { method_id, frame: called_at.wrapping_neg(), below }));
}

/// Ends a skipped call, if the innermost calls were skipped and one is of this method. Returns whether it did.
pub(super) fn end_skipped_call(tree: Own<Tree>, method_id: u64) -> bool {
    change_skipped(tree, |skipped, here| {
        let innermost = skipped.iter().rev().take_while(|call| call.below == here);
        let wanted = innermost.enumerate().find(|(_, call)| call.method_id == method_id);
        let ended = wanted.map(|(index, _)| skipped.len() - 1 - index);
        ended.iter().for_each(|ended| skipped.truncate(*ended));
        ended.is_some()
    })
}

/// Removes skipped innermost calls that cannot be open while a method runs that was called at this stack pointer.
pub(super) fn end_gone_skipped(tree: Own<Tree>, called_at: usize) {
    remove_skipped(tree, |call| is_gone(call.frame, called_at));
}

/// Removes the skipped calls within the current call, which is ending. They ended without an event.
pub(super) fn end_skipped_callees(tree: Own<Tree>) {
    remove_skipped(tree, |_| true);
}

/// Removes skipped innermost calls.
fn remove_skipped(tree: Own<Tree>, is_over: impl Fn(&Skipped) -> bool) {
    if tree.skipped.get() > 0 {
        change_skipped(tree, |skipped, here| while skipped.pop_if(|call| call.below == here && is_over(call)).is_some() {});
    }
}

/// Changes the list of skipped calls. The function gets the current node, and the number of open calls without a node.
fn change_skipped<T>(tree: Own<Tree>, change: impl FnOnce(&mut Vec<Skipped>, (Own<Node>, usize)) -> T) -> T {
    let mut skipped = tree.memory.skipped.borrow_mut();
    let here = (tree.current.get(), tree.memory.overflowed.borrow().len());
    let result = change(&mut skipped, here);
    tree.skipped.set(skipped.len() as u64);
    result
}
