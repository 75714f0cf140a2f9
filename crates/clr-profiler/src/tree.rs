//! The call tree of each thread, in the profile's file, and its changes on each method entry and exit
//! (docs/profile-format.md).
//!
//! ```text
//! layout ─► current ─► searches, pauses ─► allocations ─► nodes ─► jit_time, overflow, owners ─► calls ─► probes
//!                                                                    own_thread
//! ```

mod allocations;
mod calls;
mod cpu;
mod current;
mod jit_time;
mod layout;
mod nodes;
mod overflow;
pub(crate) mod own_thread;
mod owners;
pub(crate) mod pauses;
mod probes;
pub(crate) mod searches;
#[cfg(test)]
mod tests;

#[cfg(unix)]
pub(crate) use self::cpu::{cpu_time_of, own_cpu_time};
pub(crate) use self::{
    allocations::count as count_allocations,
    calls::{Call, current_call, end_callees, enter, innermost_call, leave, unwind},
    jit_time::{compilation_begins, compilation_ends},
    layout::{check_offsets, histogram_shift},
    own_thread::calibration::{CALLEES, Calibration},
    owners::{TreeId, end_session, forget_session, has_tree_of_session, look_at_threads, start_session, tree_of_thread},
    probes::{count_woven, enter_with_bytes, enter_woven, handle_with_bytes, handle_woven, leave_with_bytes, leave_woven},
};

#[cfg(unix)]
pub(crate) use self::owners::forget_thread;

/// Sets the maximum number of nodes, and the bits that select buckets. Called before the first method.
pub(crate) fn set_limits(max_nodes: u32, histogram_shift: u32) {
    nodes::set_limit(max_nodes);
    layout::set_histogram_shift(histogram_shift);
}
