//! Identities of a method: the id that its probes pass, its name in the source, and names as they are shown.
//! The crate knows neither PE files nor profiles.

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
