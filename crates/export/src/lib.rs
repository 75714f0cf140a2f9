//! Profiles in the formats of other tools. Each is one file here, which streams: what is kept in memory beside the profile
//! is a path and its names.
//!
//! ```text
//! Profile -> values by measure, in nanoseconds -> walk over the tree -> folded | speedscope | pprof | trace | JSON | rows
//! ```

mod folded;
mod format;
mod measure;
mod pprof;
mod speedscope;
mod trace;
mod walk;

use std::io::{self, Write};

use profile::Profile;

pub use format::Format;
pub use measure::Measure;

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct Export<'p> {
    /// The profile.
    pub profile: &'p Profile,
    /// Its file, which mode trace's events are read from; may be empty for what has none.
    pub bytes: &'p [u8],
    /// What a folded stack's number is.
    pub measure: Measure,
    /// Whether folded stacks begin with their thread.
    pub by_thread: bool,
}

/// Why a profile cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The format has no place for what was recorded; says what to do.
    #[error("{0}")]
    Refused(String),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}

impl Export<'_> {
    /// Writes the profile in a format.
    ///
    /// # Errors
    /// If it cannot be written, or the format has no place for what was recorded.
    pub fn write(&self, format: Format, out: &mut impl Write) -> Result<(), Error> {
        match format {
            Format::Folded => folded::write(self, out),
            Format::Speedscope => speedscope::write(self, out),
            Format::Pprof => pprof::write(self, out),
            Format::Trace => trace::write(self, out),
        }
    }
}
