//! Findings: a problem and the advice for it.

use std::path::PathBuf;

use serde::Serialize;

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The kind of problem.
    pub code: Code,
    /// The file or folder that it is about.
    pub place: PathBuf,
    /// The problem.
    pub what: String,
    /// The advice for it.
    pub advice: String,
}

impl Finding {
    pub(crate) fn new(code: Code, place: impl Into<PathBuf>, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { code, place: place.into(), what: what.into(), advice: advice.into() }
    }
}

/// The troubles that are known: their names in JSON are these in kebab case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Nothing there was woven.
    NotWoven,
    /// The instrumented file was replaced: a build has copied the original back, or made a new one.
    CopiedBack,
    /// No method was to be woven: by the patterns, or by what is left alone by default.
    NothingMatched,
    /// The program is in one file, and runs what is in it.
    SingleFile,
    /// The tracker is not where what was woven is.
    TrackerNotFound,
    /// The list of what the program may load does not name it.
    TrackerNotListed,
    /// Another tracker is there than the one that belongs there.
    OtherTracker,
    /// The .NET that the program brings with it lacks what the tracker needs.
    TrackerUnfit,
    /// Browsers refuse the file: it is not the one whose hash is in the list of the published program.
    OtherHashListed,
    /// The program loaded another file of the same name.
    OtherFileLoaded,
    /// The program loaded nothing that is woven.
    NotLoaded,
    /// It loaded what is woven, and no probe ran.
    NotCalled,
    /// The profile could not be written where it was wanted.
    NotWritable,
    /// The program was cut off.
    Killed,
    /// There were more call paths than the limit.
    Limit,
    /// The disk was full.
    DiskFull,
    /// Nothing was recorded for some time, or ever, as the program was asked to pause.
    Paused,
    /// Calls were counted, and no more.
    CountOnly,
    /// Methods have no names: their file was changed after it was instrumented, or is not at hand.
    NoNames,
}

impl Code {
    /// Whether it costs nothing that was to be measured: said, but no fault.
    pub fn is_note(self) -> bool {
        matches!(self, Self::CountOnly | Self::Killed)
    }
}
