//! State shared by steps and tests: the build, the tools, and the results.

use std::{collections::BTreeMap, path::PathBuf, process::Command, time::Duration};

use crate::{common::root, toolchain::Toolchain};

/// The cargo profile of tests: optimised, since the corpus is large, and with all assertions.
pub(super) const PROFILE: &str = "corpus";

/// The results of steps and tests. A step without tests counts as one.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: Vec<String>,
    /// The skipped tests, with reasons.
    pub(super) skipped: Vec<String>,
    /// By missing runtime that cannot be fetched: the number of tests that would have run on it.
    pub(super) without: BTreeMap<String, usize>,
    pub(super) times: Vec<(Duration, String)>,
}

/// The tools that tests of programs need.
pub(super) struct Runtimes {
    pub(super) toolchain: Toolchain,
    pub(super) corpus: PathBuf,
    /// The path of `ilinst.exe`.
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
