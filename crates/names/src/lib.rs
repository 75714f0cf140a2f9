//! Names and ids of methods: the id that a probe passes, the names in metadata and in the source, and the mark by which an
//! instrumented module states both.
//!
//! A method has a name in metadata. [`source_name()`] leads to the name in the source, and [`CompilerGenerated`] to the method
//! that a state machine was made for. [`Mark`] states the key of a module, with which its [`MethodId`]s begin. [`Symbols`] leads
//! from an id to names and source lines.

mod compiler_generated;
mod descriptions;
mod line_table;
mod mark;
mod member;
mod method_id;
mod method_number;
mod name_check;
mod source_name;
mod symbols;
mod visible;
mod woven_ids;
mod woven_names;

pub use compiler_generated::{CompilerGenerated, Origin, Step};
pub use descriptions::{Description, Descriptions};
pub use line_table::{CountedPoint, LineDocument, LineTable, TableMethod};
pub use mark::{EMBEDDED_NAMESPACE, LINES_TYPE, MARK_TYPE, Mark, TRACKER_NAMESPACE, first_embedded, module_key};
pub use member::{is_compiler_generated, written_member, written_type};
pub use method_id::MethodId;
pub use method_number::{method_number, numbers_in};
pub use name_check::{TypeCheck, name_check};
pub use source_name::{Part, SourceName, source_name};
pub use symbols::{Manifest, MethodLines, Symbol, Symbols, module_keys};
pub use visible::{Visible, is_hidden};
pub use woven_ids::woven_ids;
pub use woven_names::WovenNames;
