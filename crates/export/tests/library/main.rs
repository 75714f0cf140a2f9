//! Exports of profiles, and what imports read from files of others.

mod allocations;
#[path = "../../../profile/tests/builder/mod.rs"]
mod builder;
mod coverage;
mod depth;
mod hostile;
mod parquet;
mod parquet_files;
mod phases;
mod samples;
mod timeline;
