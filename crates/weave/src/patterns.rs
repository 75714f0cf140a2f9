//! Patterns that name methods, and the search for the patterns that may match a name.

pub(crate) mod candidates;
pub(crate) mod condition;
mod glob;
mod parameters;
pub mod pattern;
