//! Reads and writes ECMA-335: the PE image, the CLI header, metadata, signatures and IL method bodies.
//!
//! Read a file from the outside in:
//!
//! ```text
//! bytes -> Image -> Metadata { heaps, tables } -> MethodBody -> instructions
//! ```
//!
//! Write it by appending. [`MetadataBuilder`] adds rows and heap items after the input's own, so tokens in undecoded
//! code stay valid. [`ImageWriter`] gives an IL-only image a new layout. To any other image it adds one section with
//! the new metadata and bodies, and every RVA of the input keeps its value. The crate does no I/O, knows nothing of
//! instrumentation, and never panics on invalid bytes.

pub mod attribute;
pub mod body;
pub mod budget;
pub mod builder;
pub mod container;
pub mod cursor;
pub mod dangling;
pub mod debug;
pub mod element;
pub mod error;
pub mod flags;
pub mod heap;
pub mod image;
mod list_cache;
pub mod lists;
pub mod metadata;
pub mod names;
pub mod nesting;
pub mod opcode;
pub mod output;
pub mod pdb;
pub mod pdb_stream;
pub mod schema;
pub mod segments;
pub mod signature;
pub mod tables;
pub mod token;
pub mod vacancy;
pub mod writer;

pub use body::{Clause, ClauseKind, MethodBody};
pub use budget::Budget;
pub use builder::{Additions, MetadataBuilder};
pub use container::{FileKind, is_named_as_assembly, open, open_loaded};
pub use cursor::Cursor;
pub use error::{Error, ErrorKind, Result};
pub use image::Image;
pub use metadata::Metadata;
pub use names::{FullNames, MAX_NESTING};
pub use opcode::OpCode;
pub use output::OutputFile;
pub use schema::Table;
pub use segments::Segments;
pub use token::{FileOffset, Rid, Rva, Token};
pub use writer::ImageWriter;
