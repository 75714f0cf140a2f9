//! Calls of one thread, by their events and by the stack pointer.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Mutex,
};

use super::{
    calls::{self, innermost_call, unwind},
    current,
    layout::{Node, Own, Tree, histogram_shift},
    nodes, owners, pauses, searches, set_limits,
};
use crate::{process::clock, worlds::InHook};

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

fn enter(method_id: u64, called_at: usize) -> i64 {
    // SAFETY: no collection moves objects in a test.
    calls::enter(unsafe { InHook::new() }, method_id, called_at)
}

fn leave(method_id: u64, called_at: usize) -> i64 {
    // SAFETY: as in `enter`.
    calls::leave(unsafe { InHook::new() }, method_id, called_at)
}

/// Counts what each thread allocates.
struct Counting;

// SAFETY: every call is passed to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + 1);
        // SAFETY: as the caller has it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller has it.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Recording and the number of free nodes are global to all threads, so these tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn hooks_allocate_nothing_and_lose_no_call() {
    let _alone = ALONE.lock().expect("no other test failed");
    small_tree();
    enter(1, 0);
    let before = ALLOCATED.get();
    for _ in 0..1000 {
        // The first call makes the node, the second its statistics; later calls allocate nothing.
        enter(2, 0);
        enter(3, 0);
        unwind(innermost_call(3).expect("it is open"));
        leave(2, 0);
    }
    assert_eq!(ALLOCATED.get(), before);
    // Checks the counter itself: an allocation is counted.
    drop(std::hint::black_box(vec![0_u8; 100]));
    assert!(ALLOCATED.get() > before);

    // Paths without room are recorded under their methods.
    let tree = current::tree().expect("it has one");
    nodes::set_limit(0);
    for _ in 0..3 {
        enter(2, 0);
        // A new path, one below it, and a recursive call.
        enter(9, 0);
        enter(2, 0);
        enter(9, 0);
        unwind(innermost_call(9).expect("it is open"));
        leave(2, 0);
        leave(9, 0);
        leave(2, 0);
    }
    leave(1, 0);
    assert!(tree.current.get() == tree.root);
    assert_eq!((tree.lost_calls.get(), tree.bad_leaves.get()), (0, 0));
    let overflowed = tree.overflow_root.get().expect("there is one");
    assert_eq!((counts_below(tree, overflowed, &[9]), counts_below(tree, overflowed, &[2])), ((6, 6, 3), (3, 3, 0)));
    assert_eq!(counts(tree, &[1, 2]), (1003, 1003, 0));
}

#[test]
fn calls_of_suspended_methods_are_counted_on_their_paths() {
    let _alone = ALONE.lock().expect("no other test failed");
    let tree = small_tree();
    for _ in 0..20 {
        calls::count_suspended(tree, 1);
        calls::count_suspended(tree, 2);
        enter(3, 0);
        calls::count_suspended(tree, 1);
        leave(3, 0);
    }
    assert_eq!((counts(tree, &[1]), counts(tree, &[2]), counts(tree, &[3, 1])), ((20, 0, 0), (20, 0, 0), (20, 0, 0)));
    assert_eq!((tree.root.callee_count.get(), tree.current.get() == tree.root), (3, true));
    nodes::set_limit(0);
    (0..2).for_each(|_| calls::count_suspended(tree, 4));
    let overflowed = tree.overflow_root.get().expect("there is one");
    assert_eq!((counts_below(tree, overflowed, &[4]), tree.lost_calls.get()), ((2, 0, 0), 0));
}

/// This thread's tree, which is in no file and has room for a few nodes.
fn small_tree() -> Own<Tree> {
    set_limits(100, histogram_shift());
    owners::own_tree_of_no_file();
    current::tree().expect("it has one")
}

/// The calls of a path's method, the number that ended, and the number that ended by an exception.
fn counts(tree: Own<Tree>, path: &[u64]) -> (u64, u64, u32) {
    counts_below(tree, tree.root, path)
}

fn counts_below(tree: Own<Tree>, root: Own<Node>, path: &[u64]) -> (u64, u64, u32) {
    let node = path.iter().fold(root, |caller, method| nodes::callee(tree, caller, *method).expect("there is room"));
    (node.calls.get(), node.leaves.get(), node.exceptions.get())
}

#[test]
fn calls_that_are_gone_end_by_the_stack_pointer() {
    let _alone = ALONE.lock().expect("no other test failed");
    let tree = small_tree();
    enter(1, 1000);
    for _ in 0..3 {
        // No event ends these calls. The next call is at the same stack pointer, or above.
        enter(2, 900);
        enter(3, 800);
        enter(4, 900);
        leave(4, 900);
        enter(3, 800);
        enter(5, 850);
        leave(5, 850);
    }
    // The inner call of a recursive method ends, with its callees, but not the outer one.
    enter(1, 900);
    enter(3, 800);
    enter(1, 700);
    leave(1, 900);
    // Calls that have ended are not on the stack, so no other call ends in their place.
    enter(2, 900);
    let left = innermost_call(2).expect("it is open");
    unwind(left);
    assert!(unwind(left).is_none());
    leave(1, 1000);
    assert_eq!((counts(tree, &[1]), counts(tree, &[1, 2]), counts(tree, &[1, 2, 3])), ((1, 1, 0), (4, 4, 4), (3, 3, 3)));
    assert_eq!((counts(tree, &[1, 4]), counts(tree, &[1, 3]), counts(tree, &[1, 5])), ((3, 3, 0), (3, 3, 3), (3, 3, 0)));
    assert_eq!((counts(tree, &[1, 1]), counts(tree, &[1, 1, 3]), counts(tree, &[1, 1, 3, 1])), ((1, 1, 0), (1, 1, 1), (1, 1, 1)));
    assert!(tree.current.get() == tree.root && tree.bad_leaves.get() == 0);
}

#[test]
fn a_search_for_a_handler_is_over_when_its_thread_goes_on() {
    let _alone = ALONE.lock().expect("no other test failed");
    small_tree();
    let far = 1 << 20;
    enter(1, 2 * far);
    enter(2, far);
    let is_on = searches::is_on;
    searches::begin_search(far / 2);
    // Methods that run for the runtime during the search change nothing.
    enter(3, far / 2);
    leave(3, far / 2);
    assert!(is_on());
    // Nor do methods that handle another exception there.
    enter(3, far / 4);
    searches::begin_search(far / 8);
    searches::end_search();
    leave(3, far / 4);
    assert!(is_on());
    // The throwing call is left, and no handler runs yet.
    searches::keep_search(|| unwind(innermost_call(2).expect("it is open")));
    assert!(is_on());
    enter(4, far);
    assert!(!is_on());
    searches::begin_search(far / 2);
    leave(4, far);
    assert!(!is_on());
    searches::begin_search(far / 2);
    searches::end_search();
    assert!(!is_on());
    leave(1, 2 * far);
}

#[test]
fn what_begins_while_paused_is_skipped_and_its_time_with_it() {
    let _alone = ALONE.lock().expect("no other test failed");
    let tree = small_tree();
    enter(1, 0);
    enter(2, 0);
    pauses::pause(clock::now());
    // A call of a method that is already open, and a call whose end is not reported.
    enter(2, 0);
    enter(3, 0);
    leave(2, 0);
    leave(2, 0);
    enter(4, 0);
    enter(2, 0);
    pauses::resume(clock::now());
    // A call made by a skipped one is recorded as made by the current node.
    enter(5, 0);
    leave(5, 0);
    leave(2, 0);
    leave(4, 0);
    enter(2, 0);
    unwind(innermost_call(2).expect("it is open"));
    leave(1, 0);
    assert!(tree.current.get() == tree.root);
    assert_eq!((tree.skipped.get(), tree.bad_leaves.get()), (0, 0));
    assert_eq!((counts(tree, &[1]), counts(tree, &[1, 2]), counts(tree, &[1, 5])), ((1, 1, 0), (2, 2, 1), (1, 1, 0)));
    assert_eq!((counts(tree, &[1, 3]).0, counts(tree, &[1, 4]).0), (0, 0));
    let from = clock::now();
    pauses::pause(from + 10);
    pauses::resume(from + 30);
    pauses::pause(from + 40);
    assert_eq!(
        (pauses::elapsed(from, from + 100), pauses::elapsed(from + 20, from + 35), pauses::elapsed(from + 41, from + 50)),
        (20, 5, 0)
    );
    pauses::resume(from + 60);
    assert_eq!((pauses::elapsed(from, from + 100), pauses::elapsed(from + 61, from + 70)), (60, 9));
}
