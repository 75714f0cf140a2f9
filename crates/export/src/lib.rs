//! Profiles in the formats of other tools. Each format has one file here, which streams: beside the profile, only one path and
//! its names are in memory.
//!
//! ```text
//! Profile -> values by measure, in nanoseconds -> walk over the tree -> folded | speedscope | pprof | trace | JSON | rows
//!         -> lines by count -> Cobertura | lcov
//! ```

mod cobertura;
mod csv_rows;
mod depth;
mod folded;
mod format;
mod json;
mod lcov;
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

/// A profile to export, with its phases and options.
#[derive(Clone, Copy, Debug)]
pub struct Export<'p> {
    /// The profile.
    pub profile: &'p Profile,
    /// The bytes of the profile's file, from which the events of mode trace are read. May be empty for other modes.
    pub bytes: &'p [u8],
    /// Its phases by name, each with the same call paths as the profile.
    pub phases: &'p [(String, Profile)],
    /// The run, host and release of the profile, for rows.
    pub origin: &'p Origin,
    /// The measure that the numbers of folded stacks show.
    pub measure: Measure,
    /// Whether folded stacks begin with their thread.
    pub by_thread: bool,
    /// The largest number of calls in a path, for formats that write each path from its outermost call. `Some(0)` is no limit;
    /// `None` limits the output to a few KiB for each path.
    pub max_depth: Option<usize>,
}

/// Why a profile cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The format cannot express the profile; the text says what to do.
    #[error("{0}")]
    Refused(String),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}

impl Export<'_> {
    /// Writes the profile in a format, and returns how paths were shortened for it.
    ///
    /// # Errors
    /// If the output cannot be written, or the format cannot express the profile.
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
            Format::Cobertura => cobertura::write(self, out),
            Format::Lcov => lcov::write(self, out),
        }
    }
}
