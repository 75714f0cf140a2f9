//! The profile that an instrumented program writes: its file and its model. Knows nothing of PE files, and does no I/O.
//!
//! ```text
//! bytes -> records -> Profile { call paths, values by sample type, functions } -> sums, merged files, comparisons
//! ```

pub mod aggregate;
pub mod calls;
pub mod compare;
pub mod coverage;
mod error;
mod file;
pub mod lines;
pub mod merge;
mod metric;
pub mod model;
mod names;
mod read;
mod row;
pub mod rows;
pub mod statistics;

pub use error::Error;
pub use file::{Control, Event, added_lines, events, traced_nodes, unpacked};
pub use model::{CallTree, End, Profile, SampleType};
pub use names::counted;
pub use read::ProfileFile;
