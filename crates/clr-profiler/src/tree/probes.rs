//! Probes called by instrumented bodies after an attach. Each attachment is a session with its own file and trees.
//! Bodies that continue from an earlier session, or after the last one, change nothing.

use super::{
    calls::{close_call, close_callees, enter},
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

    /// This thread's tree, and the address of the call's node; `None` for a call of another session.
    fn place(self) -> Option<(Own<Tree>, usize)> {
        let is_known = owners::is_of_session() && self.0 >> Self::ADDRESS_BITS == u64::from(owners::session_of_thread());
        let address = self.0 & ((1 << Self::ADDRESS_BITS) - 1);
        current::tree().filter(|_| is_known).map(|tree| (tree, address as usize))
    }
}

/// Records the start of an instrumented method. The result identifies the call.
pub(crate) extern "C" fn enter_woven(method_id: u64) -> Begun {
    if !owners::has_session() || pauses::is_on() {
        return Begun::NOTHING;
    }
    if !owners::is_of_session() {
        owners::join_session();
    }
    // Instrumented bodies have exception handlers, so every end is reported. No stack pointer is needed.
    // SAFETY: managed code calls the probe without a transition, as it calls a hook.
    enter(unsafe { InHook::new() }, method_id, 0);
    let Some(tree) = current::tree() else { return Begun::NOTHING };
    let has_path = tree.memory.overflowed.borrow().is_empty();
    Begun::new(if has_path { tree.current.get().address() } else { 0 })
}

/// Records the end of the call.
pub(crate) extern "C" fn leave_woven(call: Begun) {
    let now = clock::now();
    let Some((tree, address)) = call.place() else { return };
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

/// Records that the call handles an exception: its callees have ended.
pub(crate) extern "C" fn handle_woven(call: Begun) {
    let now = clock::now();
    let Some((tree, address)) = call.place() else { return };
    if let Some(call) = tree.open_nodes().find(|node| address != 0 && node.address() == address) {
        close_callees(tree, call, now);
    }
}
