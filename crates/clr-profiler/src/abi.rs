//! The profiling API: its tables, COM, and safe wrappers of the runtime's interfaces.

pub mod com;
pub(crate) mod metadata;
pub(crate) mod runtime;
pub mod tables;
