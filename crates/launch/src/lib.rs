//! Starts programs that are woven for it: finds the program behind a command line, keeps what was woven of it in a cache,
//! starts the command with the woven files in their place, and passes signals on.
//!
//! ```text
//! command line -> Program -> Cache entry (a copy of its folder, woven) -> Running -> exit code
//! command of the SDK -> Session -> the SDK builds -> Started (ilinst again) -> Program
//! ```

mod beside;
mod cache;
mod diagnostics;
mod home;
mod inputs;
mod private;
mod profiled;
mod program;
mod running;
mod sdk;
mod session;
mod signals;

pub use cache::{Cache, Cleared, Entry, EntryDescription, Kept, Said};
pub use diagnostics::{Attached, DiagnosticsPort, STANDS_STILL};
pub use home::Home;
pub use inputs::Inputs;
pub use private::Temporary;
pub use profiled::{ClrProfiler, Environment, Recording, Reported, tracker_of};
pub use program::Program;
pub use running::{Running, exit_code};
pub use sdk::SdkCommand;
pub use session::{Session, Started};
#[cfg(unix)]
pub use signals::is_ignored;
pub use signals::{Noted, Signals};
