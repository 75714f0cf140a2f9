//! Profiles in the formats of other tools. Each is one file here, which streams: what is kept in memory beside the profile
//! is a path and its names.
//!
//! ```text
//! Profile -> values by measure, in nanoseconds -> walk over the tree -> folded | speedscope | pprof | trace | JSON | rows
//! ```

mod csv_rows;
mod depth;
mod folded;
mod format;
mod json;
mod measure;
mod parquet_file;
mod parquet_rows;
mod pprof;
mod read;
mod rows;
mod speedscope;
mod trace;
mod walk;

use std::io::{self, Write};

use profile::Profile;

pub use depth::Cut;
pub use format::Format;
pub use measure::Measure;
pub use read::{read_folded, read_parquet};
pub use rows::{Origin, date};

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct Export<'p> {
    /// The profile.
    pub profile: &'p Profile,
    /// Its file, which mode trace's events are read from; may be empty for what has none.
    pub bytes: &'p [u8],
    /// Its phases by name, each with the same call paths as the profile.
    pub phases: &'p [(String, Profile)],
    /// Where it comes from, for rows.
    pub origin: &'p Origin,
    /// What a folded stack's number is.
    pub measure: Measure,
    /// Whether folded stacks begin with their thread.
    pub by_thread: bool,
    /// How many calls a path has at most where each is written from its beginning, 0 for any number; without it as many as keep
    /// the output within some KiB a path.
    pub max_depth: Option<usize>,
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
    /// Writes the profile in a format, and says how paths were cut for it.
    ///
    /// # Errors
    /// If it cannot be written, or the format has no place for what was recorded.
    pub fn write(&self, format: Format, out: &mut impl Write) -> Result<Cut, Error> {
        let Some((profile, phases, cut)) = Some(()).filter(|()| format.has_whole_paths()).and_then(|()| depth::cut(self)) else {
            self.write_as(format, out)?;
            return Ok(Cut::default());
        };
        Export { profile: &profile, phases: &phases, ..*self }.write_as(format, out)?;
        Ok(cut)
    }

    fn write_as(&self, format: Format, out: &mut impl Write) -> Result<(), Error> {
        match format {
            Format::Folded => folded::write(self, out),
            Format::Speedscope => speedscope::write(self, out),
            Format::Pprof => pprof::write(self, out),
            Format::Trace => trace::write(self, out),
            Format::Json => json::write(self, out),
            Format::Csv => csv_rows::write(self, out),
            Format::Parquet => parquet_rows::write(self, out),
        }
    }
}
