//! One module: the plan for its methods, their bodies, and the assembly of the output.

mod assemble;
mod lines;
mod loaded;
mod merge;
pub(crate) mod plan;
pub mod refusal;
mod reweave;
mod weave_body;
mod weaving;
mod woven_methods;

pub use self::{
    assemble::{Decision, WovenBodies, weave},
    loaded::{LoadedBodies, weave_loaded},
    reweave::{ReweaveError, Rewoven, reweave},
    weaving::Weave,
    woven_methods::woven_methods,
};
