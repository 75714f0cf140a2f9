//! The program's modules, and the methods of them to record.

pub(crate) mod loaded;
pub(crate) mod rules;
