//! The callees of woven code: the tracker, the user's hooks, the receiver of captured values, and probes around calls.

pub(crate) mod call_sites;
pub(crate) mod capture;
pub(crate) mod captured;
pub(crate) mod description;
pub mod hook_method;
pub(crate) mod hook_values;
pub(crate) mod hooks;
pub(crate) mod span_types;
pub mod spans;
pub(crate) mod timed_calls;
pub(crate) mod tracker;
pub(crate) mod waits;
