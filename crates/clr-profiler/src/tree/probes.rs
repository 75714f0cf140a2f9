//! Probes called by instrumented bodies after an attach. Each attachment is a session with its own file and trees.
//! Bodies that continue from an earlier session, or after the last one, change nothing.

use super::{
    allocations,
    calls::{close_call, close_callees, count_suspended, enter},
    current,
    layout::{Own, Tree},
    overflow, owners, pauses,
};
use crate::{process::clock, worlds::InHook};

/// Identifies the call that a body has begun: its node's address, and the session number in the high bits. The next
/// session's file may be mapped at the same address. Address 0 means a call without a node of its path.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Begun(u64);

impl Begun {
    /// User addresses have at most this many bits.
    const ADDRESS_BITS: u32 = 48;
    /// The value for calls that are not recorded; it belongs to no session.
    const NOTHING: Self = Self(0);

    fn new(address: usize) -> Self {
        Self(u64::from(owners::session_of_thread()) << Self::ADDRESS_BITS | address as u64)
    }

    /// This thread's tree, and the address of the call's node; `None` for a call of another session, or of none.
    fn place(self) -> Option<(Own<Tree>, usize)> {
        let session = self.0 >> Self::ADDRESS_BITS;
        let is_known = session != 0 && owners::is_of_session() && session == u64::from(owners::session_of_thread());
        let address = self.0 & ((1 << Self::ADDRESS_BITS) - 1);
        current::tree().filter(|_| is_known).map(|tree| (tree, address as usize))
    }
}

/// Records the start of an instrumented method. The result identifies the call.
pub(crate) extern "C" fn enter_woven(method_id: u64) -> Begun {
    begin(method_id, None)
}

/// As [`enter_woven`], with the bytes that the thread has allocated so far.
pub(crate) extern "C" fn enter_with_bytes(method_id: u64, allocated: i64) -> Begun {
    begin(method_id, Some(allocated))
}

/// Records the end of the call.
pub(crate) extern "C" fn leave_woven(call: Begun) {
    end(call, None);
}

/// As [`leave_woven`], with the bytes that the thread has allocated so far.
pub(crate) extern "C" fn leave_with_bytes(call: Begun, allocated: i64) {
    end(call, Some(allocated));
}

/// Counts a call of a method that the runtime suspends, as a callee of the current call. No probe is called at a suspension, so
/// the method never becomes the current call.
pub(crate) extern "C" fn count_woven(method_id: u64) {
    if join_session()
        && let Some(tree) = owners::own_tree()
    {
        count_suspended(tree, method_id);
    }
}

/// Records that the call handles an exception: its callees have ended.
pub(crate) extern "C" fn handle_woven(call: Begun) {
    end_callees(call, None);
}

/// As [`handle_woven`], with the bytes that the thread has allocated so far.
pub(crate) extern "C" fn handle_with_bytes(call: Begun, allocated: i64) {
    end_callees(call, Some(allocated));
}

#[inline]
fn begin(method_id: u64, allocated: Option<i64>) -> Begun {
    if !join_session() {
        return Begun::NOTHING;
    }
    if let (Some(allocated), Some(tree)) = (allocated, owners::own_tree()) {
        allocations::advance(tree, allocated);
    }
    // Instrumented bodies have exception handlers, so every end is reported. No stack pointer is needed.
    // SAFETY: managed code calls the probe without a transition, as it calls a hook.
    enter(unsafe { InHook::new() }, method_id, 0);
    let Some(tree) = current::tree() else { return Begun::NOTHING };
    if !tree.memory.overflowed.borrow().is_empty() {
        return Begun::new(0);
    }
    let node = tree.current.get();
    allocations::begin(tree, node);
    Begun::new(node.address())
}

/// Joins the current session. Returns whether it records calls now.
#[inline]
fn join_session() -> bool {
    // Read once: the session may end meanwhile, and its trees stay mapped until this probe has ended.
    let session = owners::session();
    if session == 0 || pauses::is_on() {
        return false;
    }
    if owners::session_of_thread() != session {
        owners::join(session);
    }
    true
}

#[inline]
fn end(call: Begun, allocated: Option<i64>) {
    let now = clock::now();
    let Some((tree, address)) = call.place() else { return };
    allocated.iter().for_each(|allocated| allocations::advance(tree, *allocated));
    if address == 0 {
        // A call without a node cannot be told from others like it.
        let overflowed = tree.place().1;
        return overflow::close_overflowed(tree, overflowed.saturating_sub(1), now, false);
    }
    // The call may belong to an earlier session.
    if let Some(call) = tree.open_nodes().find(|node| node.address() == address) {
        close_callees(tree, call, now);
        close_call(tree, call, now, false);
    }
}

fn end_callees(call: Begun, allocated: Option<i64>) {
    let now = clock::now();
    let Some((tree, address)) = call.place() else { return };
    allocated.iter().for_each(|allocated| allocations::advance(tree, *allocated));
    if let Some(call) = tree.open_nodes().find(|node| address != 0 && node.address() == address) {
        close_callees(tree, call, now);
    }
}
