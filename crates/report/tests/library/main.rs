//! Views of profiles: as text, as pages, merged and compared.

#[path = "../../../profile/tests/builder/mod.rs"]
mod builder;
mod cases;
mod edges;
mod golden;
mod large_calls;
mod lines;
mod merge;
mod modes;
#[path = "../../../profile/tests/packed/mod.rs"]
mod packed;
mod page;
mod shown;
