//! The IL rewriter: selects methods, inserts probes, and keeps the behaviour of each body.
//!
//! ```text
//! MethodBody -> Code (labels) -> probe -> Code -> Layout (offsets) -> check -> MethodBody
//! ```
//!
//! A method that cannot be woven for certain keeps its original body, with a [`Reason`]. The others of its module are woven
//! all the same. No other assembly is read.
//!
//! The rooms, each of which uses those before it: `patterns`, `probes`, `select`, `output`, `module`.

mod module;
mod output;
mod patterns;
mod probes;
mod select;

pub use ilrewrite::{LeaveMode, Shape};

pub use self::{
    module::{
        Decision, LoadedBodies, ReweaveError, Rewoven, Weave, WovenBodies, plan::Plan, refusal, refusal::Refusal, reweave, weave,
        weave_loaded, woven_methods,
    },
    output::{
        check as output_check,
        note::{self, Note},
        pdb,
        strong_name::{self, StrongNameKey},
        woven::Woven,
    },
    patterns::pattern::{self, Pattern},
    probes::{
        call_sites::CallTarget,
        captured::Captured,
        hook_method::{self, HookError, HookMethod},
        hooks::{HookPoint, Hooks},
        spans,
        timed_calls::{Calls, CallsWord},
        tracker::{ModuleTokens, NativeProbes, Tracker},
        waits::waits,
    },
    select::{
        matches, method_names,
        method_options::{BodyFilter, MethodOptions},
        option_table,
        options::{self, DecidedBy, Options, Rule, Selection},
        reason::Reason,
    },
};
