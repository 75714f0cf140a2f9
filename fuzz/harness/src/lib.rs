//! Shared code of guided fuzzing (`fuzz/`) and deterministic fuzzing (`tests/fuzz`): seeds, mutators and properties.
//!
//! ```text
//! seed -> Fields (where its numbers are) -> mutate -> bytes -> Target::check -> Outcome | the property that fails
//! ```
//!
//! A mutator knows the formats, so that readers accept a mutated file beyond its first header. It sets a row number one past the
//! end, a blob longer than its heap, or a branch to another place. A target does with bytes the work of a command.

/// The builder of profiles that the tests of `profile` use.
#[path = "../../../crates/profile/tests/builder/mod.rs"]
mod profile_builder;

/// The packer that the tests of `report` use.
#[path = "../../../crates/profile/tests/packed/mod.rs"]
mod packed_profile;

/// The writer of Parquet that the tests of `export` use.
#[path = "../../../crates/export/tests/library/parquet_files/mod.rs"]
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
