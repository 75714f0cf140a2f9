//! The profile that a woven program writes: its format, its call trees, its reports. Knows nothing of PE files.
//!
//! ```text
//! bytes -> Profile { threads of nodes, names } -> method table | call tree
//! ```

pub mod aggregate;
pub mod format;
pub mod report;

pub use format::{Error, Profile};
