//! The IL rewriter: selects methods, inserts probes, and keeps the behaviour of each body.
//!
//! ```text
//! MethodBody -> Code (labels) -> probe -> Code -> Layout (offsets) -> check -> MethodBody
//! ```
//!
//! A method that cannot be woven for certain keeps its original body, with a [`Reason`]. The others of its module are woven
//! all the same. No other assembly is read.

mod budget;
mod calls;
mod candidates;
mod capture;
mod dangling;
mod embed;
mod facts;
mod forwarders;
pub mod hook;
mod hook_values;
pub mod hooks;
mod local_sigs;
mod made;
pub mod module;
pub mod named;
pub mod note;
pub mod options;
pub mod output_check;
pub mod pattern;
pub mod pdb;
pub mod plan;
pub mod policy;
pub mod reason;
pub mod reweave;
pub mod rules;
mod selector;
pub mod strong_name;
pub mod tracker;
pub mod woven_ids;
pub mod woven_names;

pub use calls::{CallTarget, waits};
pub use capture::Captured;
pub use hook::{HookError, HookMethod};
pub use hooks::{Hooks, Place};
pub use ilrewrite::{LeaveMode, Shape};
pub use module::{Decision, LoadedBodies, Weave, Woven, WovenBodies, weave, weave_loaded};
pub use note::Note;
pub use options::{Calls, CallsWord, Options};
pub use pattern::Pattern;
pub use plan::{Plan, Refusal};
pub use reason::Reason;
pub use reweave::{ReweaveError, Rewoven, reweave};
pub use rules::{Holds, Rule, Source, Worth};
pub use strong_name::StrongNameKey;
pub use tracker::{ModuleTokens, NativeProbes, Tracker};
pub use woven_names::WovenNames;
