//! Exports, read by the programs they are for: each must show the numbers of the report.

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
