//! Calls of one thread, by their events and by the stack pointer.

use std::alloc::{GlobalAlloc, Layout, System};

use super::*;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
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
pub(super) static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn hooks_allocate_nothing_and_lose_no_call() {
    let _alone = ALONE.lock().expect("no other test failed");
    start(100);
    use_tree_of_no_file();
    enter(1, 0);
    let before = ALLOCATED.get();
    for _ in 0..1000 {
        // The first call makes the node, the second its statistics; later calls allocate nothing.
        enter(2, 0);
        enter(3, 0);
        unwind(innermost(3).expect("it is open"));
        leave(2, 0);
    }
    assert_eq!(ALLOCATED.get(), before);
    // Checks the counter itself: an allocation is counted.
    drop(std::hint::black_box(vec![0_u8; 100]));
    assert!(ALLOCATED.get() > before);

    // Paths without room are recorded under their methods.
    let tree = TREE.get();
    NODES_LEFT.store(0, Relaxed);
    for _ in 0..3 {
        enter(2, 0);
        // A new path, one below it, and a recursive call.
        enter(9, 0);
        enter(2, 0);
        enter(9, 0);
        unwind(innermost(9).expect("it is open"));
        leave(2, 0);
        leave(9, 0);
        leave(2, 0);
    }
    leave(1, 0);
    // SAFETY: it is this thread's tree.
    unsafe {
        assert_eq!((*tree).current, (*tree).root);
        assert_eq!(((*tree).lost_calls, (*tree).bad_leaves), (0, 0));
        let of = |method| &*callee_of(tree, (*tree).overflow_root, method);
        assert_eq!((of(9).calls, of(9).leaves, of(9).exceptions, of(2).calls, of(2).leaves), (6, 6, 3, 3, 3));
        let entered = &*callee_of(tree, (*(*tree).root).callees, 2);
        assert_eq!((entered.method_id, entered.calls, entered.leaves), (2, 1003, 1003));
    }
}

/// The calls of a path's method, the number that ended, and the number that ended by an exception.
fn counts(tree: *mut Tree, path: &[u64]) -> (u64, u64, u32) {
    // SAFETY: it is this thread's tree.
    unsafe {
        let node = &*path.iter().fold((*tree).root, |caller, method| callee_of(tree, caller, *method));
        (node.calls, node.leaves, node.exceptions)
    }
}

#[test]
fn calls_that_are_gone_end_by_the_stack_pointer() {
    let _alone = ALONE.lock().expect("no other test failed");
    start(100);
    use_tree_of_no_file();
    let tree = TREE.get();
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
    let left = innermost(2).expect("it is open");
    unwind(left);
    assert!(unwind(left).is_none());
    leave(1, 1000);
    assert_eq!((counts(tree, &[1]), counts(tree, &[1, 2]), counts(tree, &[1, 2, 3])), ((1, 1, 0), (4, 4, 4), (3, 3, 3)));
    assert_eq!((counts(tree, &[1, 4]), counts(tree, &[1, 3]), counts(tree, &[1, 5])), ((3, 3, 0), (3, 3, 3), (3, 3, 0)));
    assert_eq!((counts(tree, &[1, 1]), counts(tree, &[1, 1, 3]), counts(tree, &[1, 1, 3, 1])), ((1, 1, 0), (1, 1, 1), (1, 1, 1)));
    // SAFETY: it is this thread's tree.
    unsafe { assert_eq!(((*tree).current, (*tree).bad_leaves), ((*tree).root, 0)) };
}

#[test]
fn a_search_for_a_handler_is_over_when_its_thread_goes_on() {
    let _alone = ALONE.lock().expect("no other test failed");
    start(100);
    use_tree_of_no_file();
    let far = 1 << 20;
    enter(1, 2 * far);
    enter(2, far);
    let is_on = searches::is_on;
    searches::begin(far / 2);
    // Methods that run for the runtime during the search change nothing.
    enter(3, far / 2);
    leave(3, far / 2);
    assert!(is_on());
    // Nor do methods that handle another exception there.
    enter(3, far / 4);
    searches::begin(far / 8);
    searches::end();
    leave(3, far / 4);
    assert!(is_on());
    // The throwing call is left, and no handler runs yet.
    searches::keep(|| unwind(innermost(2).expect("it is open")));
    assert!(is_on());
    enter(4, far);
    assert!(!is_on());
    searches::begin(far / 2);
    leave(4, far);
    assert!(!is_on());
    searches::begin(far / 2);
    searches::end();
    assert!(!is_on());
    leave(1, 2 * far);
}
