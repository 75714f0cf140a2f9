//! The profile that a woven program writes: its format, its call trees, its reports. Knows nothing of PE files.
//!
//! ```text
//! bytes -> Profile { threads of nodes, names } -> method table | call tree
//! ```

pub mod format;
pub mod names;
pub mod report;
pub mod tree;

pub use format::{Error, Profile, method_id};
pub use names::{SourceName, source_name};
