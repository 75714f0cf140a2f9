//! Assemblies as text, without a command line: IL assembly ([`dis`]), listings ([`list`]), and differences between
//! two assemblies ([`diff`]).
//!
//! Each module reads the caller's bytes, makes a model, and has printers for that model. The crate opens no file, and
//! writes only to the given outputs. Unreadable parts are reported as an [`ecma335::Error`] with its file offset.

pub mod diff;
pub mod dis;
pub mod filter;
pub mod list;
pub mod words;

mod attribute_values;
mod parent_index;
mod quote;
