//! The profile that an instrumented program writes: its file, its model, and its presentation. Knows nothing of PE files.
//!
//! ```text
//! bytes -> records -> Profile { call paths, values by sample type, functions } -> sums -> text | JSON
//! ```

pub mod aggregate;
pub mod calls;
pub mod compare;
pub mod csv;
mod error;
mod format;
pub mod json;
mod limits;
pub mod merge;
mod metric;
pub mod model;
mod names;
mod read;
pub mod report;
mod row;
pub mod statistics;
mod text;
pub mod views;

pub use error::Error;
pub use format::{Command, Control, Event, events, layout, traced_nodes};
pub use limits::Losses;
pub use metric::{Metric, MetricUnit};
pub use model::{CallTree, End, Profile, SampleType};
pub use text::{Column, TextOptions};
