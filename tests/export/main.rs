//! Exports, read by what reads them: each has to say what the report says.

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../crates/profile/tests/builder/mod.rs"]
mod builder;
mod fleet;
mod folded;
mod made;
mod pprof;
mod program;
mod speedscope;
mod tables;
