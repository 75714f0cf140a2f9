//! Exports, read by what reads them: each has to say what the report says.

mod fleet;
mod folded;
mod pprof;
mod program;
mod speedscope;
mod tables;
