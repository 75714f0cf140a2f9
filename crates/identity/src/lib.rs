//! What a method is known by: the id that its probes pass, and the name that a person wrote. Knows nothing of PE files,
//! nor of the profile's.

mod method_id;
mod source_name;

pub use method_id::MethodId;
pub use source_name::{Part, SourceName, source_name};
