//! Why is there no profile, or not all of one? Looks at what lies in a folder, at what a profile says, and at what a program
//! loads while it runs, and says what is wrong and what to do about it.
//!
//! ```text
//! folder, profile, run -> [Finding]
//! ```

mod finding;
mod folder;
mod manifest;
mod opened;
mod profiles;
mod run;

pub use finding::{Code, Finding};
pub use folder::{Folder, WovenFile};
pub use profiles::of_profile;
pub use run::{Run, of_command, of_run, run};
