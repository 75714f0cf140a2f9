//! Profiles in the formats of other tools. Each is one file here, which streams: what is kept in memory beside the profile
//! is a path and its names.
//!
//! ```text
//! Profile -> values by measure, in nanoseconds -> walk over the tree -> folded | speedscope | pprof | trace | JSON | rows
//! ```

mod csv_rows;
mod folded;
mod format;
mod json;
mod measure;
mod parquet_rows;
mod pprof;
mod read;
mod rows;
mod speedscope;
mod trace;
mod walk;

use std::io::{self, Write};

use profile::{CallTree, Profile};

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
        if !format.has_whole_paths() || !self.profile.trees.iter().any(is_deep) {
            return self.write_as(format, out);
        }
        let profile = folded(self.profile);
        let phases: Vec<(String, Profile)> = self.phases.iter().map(|(name, phase)| (name.clone(), folded(phase))).collect();
        Export { profile: &profile, phases: &phases, ..*self }.write_as(format, out)
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

/// Where each path is written from its beginning, all of them take the square of the depth: of deeper trees, recursion is
/// folded into its outermost call.
const DEEP: usize = 1000;

fn is_deep(tree: &CallTree) -> bool {
    let mut depths: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        depths.push(node.caller.and_then(|caller| depths.get(caller)).map_or(1, |depth| depth + 1));
    }
    depths.iter().any(|depth| *depth > DEEP)
}

fn folded(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    let functions = profile.functions.len();
    profile.trees.iter_mut().for_each(|tree| *tree = tree.folded(functions));
    profile
}
