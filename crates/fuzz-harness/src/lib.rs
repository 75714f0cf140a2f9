//! What fuzzing needs, be it guided by coverage (`fuzz/`) or deterministic (`tests/fuzz`): the same seeds, mutators and
//! properties.
//!
//! ```text
//! seed -> Fields (where its numbers are) -> mutate -> bytes -> Target::check -> Outcome | what does not hold
//! ```
//!
//! A mutator knows the formats, so that what it changes is read and not refused at the first header: a row number becomes
//! one past the end, a blob longer than its heap, a branch leads elsewhere. A target does with bytes what a command does.

/// The same that makes them for the tests of `profile`.
#[path = "../../profile/tests/builder/mod.rs"]
mod profile_builder;

/// The same that makes them for the tests of `export`.
#[path = "../../export/tests/parquet_files/mod.rs"]
mod parquet_files;

pub mod dangling;
pub mod fields;
pub mod mutate;
pub mod random;
pub mod repository;
pub mod seeds;
pub mod targets;

pub use fields::Fields;
pub use mutate::mutate;
pub use random::Random;
pub use seeds::Seed;
pub use targets::{Outcome, Target};
