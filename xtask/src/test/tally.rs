//! What steps and the tests among them share: how they are built and with what, and what came of them.

use std::{collections::BTreeMap, path::PathBuf, process::Command, time::Duration};

use crate::{common::root, toolchain::Toolchain};

/// The profile that tests are built by: optimised, since the corpus is large, and with every check.
pub(super) const PROFILE: &str = "corpus";

/// What came of steps and tests. A step that runs no tests counts as one.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: Vec<String>,
    /// What was not tested, and why.
    pub(super) skipped: Vec<String>,
    /// Runtimes that are not here, and cannot be fetched: how many tests would have run on each.
    pub(super) without: BTreeMap<String, usize>,
    pub(super) times: Vec<(Duration, String)>,
}

/// What tests of programs need.
pub(super) struct Runtimes {
    pub(super) toolchain: Toolchain,
    pub(super) corpus: PathBuf,
    /// `ilinst.exe`.
    pub(super) exe: Option<PathBuf>,
    /// The CLR profiler for arm64.
    pub(super) library: Option<PathBuf>,
}

pub(super) fn print_line(name: &str, what: &str, time: Duration) {
    println!("{name:<20} {:>7.1} s  {what}", time.as_secs_f64());
}

pub(super) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}
