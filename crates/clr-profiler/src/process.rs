//! The process that the profiler is loaded into: its settings, its clock, and its children.

pub(crate) mod clock;
pub(crate) mod forked;
pub(crate) mod settings;
