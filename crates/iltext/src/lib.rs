//! Assemblies as text, without a command line: IL assembly ([`dis`]), listings ([`list`]), and what differs between two
//! of them ([`diff`]).
//!
//! Each module reads bytes that the caller has, makes a model, and has printers of that model. The crate opens no file and
//! writes to nothing but what it is given; what cannot be read is an [`ecma335::Error`] with its file offset.

pub mod diff;
pub mod dis;
pub mod filter;
pub mod list;
pub mod words;

mod attribute_values;
mod parent_index;
mod quote;
