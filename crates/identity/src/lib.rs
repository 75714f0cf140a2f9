//! What a method is known by: the id that its probes pass, and the name that a person wrote; and how names are shown.
//! Knows nothing of PE files, nor of the profile's.

mod member;
mod method_id;
mod name_check;
mod source_name;
mod visible;

pub use member::{is_made, written_member, written_type};
pub use method_id::MethodId;
pub use name_check::{TypeCheck, name_check};
pub use source_name::{Part, SourceName, source_name};
pub use visible::{Visible, is_hidden};
