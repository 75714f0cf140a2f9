//! The functions that stubs call.

use crate::{function::Function, tree, worlds::InHook};

/// A method begins. A hook receives the mapper's answer, and the caller's stack pointer at the call.
pub(super) extern "C" fn on_enter(function: &'static Function, called_at: usize) {
    // SAFETY: this is a hook.
    tree::enter(unsafe { InHook::new() }, function.method_id, called_at);
}

/// A method ends, or makes a tail call.
pub(super) extern "C" fn on_leave(function: &'static Function, called_at: usize) {
    // SAFETY: this is a hook.
    tree::leave(unsafe { InHook::new() }, function.method_id, called_at);
}
