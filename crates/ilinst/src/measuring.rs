//! How `run` measures calls: options in place of the tracker's variables.

use std::process::Command;

use clap::{Args, ValueEnum};

use crate::{failure::Failure, weaving::Weaving};

/// The options. Each sets a variable of the program, which keeps its own value without the option.
#[derive(Args, Debug)]
pub(crate) struct MeasuringArgs {
    /// The measurements to record
    #[arg(help_heading = "Measuring", long, value_enum, conflicts_with = "sample")]
    mode: Option<Mode>,

    /// The clock that times calls [default: tsc, where the processor has an invariant counter]
    #[arg(help_heading = "Measuring", long, value_enum, conflicts_with = "sample")]
    clock: Option<Clock>,

    /// Time each call; by default, calls shorter than a probe are no longer timed after some thousand calls, only counted
    #[arg(help_heading = "Measuring", long, conflicts_with = "sample")]
    exact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mode {
    /// The time of each call (default)
    Exact,
    /// The number of calls, and samples of the running methods
    Sampled,
    /// The number of calls alone, without callers
    Count,
    /// Like exact, and also the start and end of each call
    Trace,
    /// No calls: with --lines, the lines alone
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Clock {
    /// The processor's counter (x64)
    Tsc,
    /// The clock of System.Diagnostics.Stopwatch
    Stopwatch,
    /// A clock of the program
    Program,
}

impl MeasuringArgs {
    /// Has the program instrumented without probes in mode none.
    ///
    /// # Errors
    /// If that leaves nothing to record.
    pub(crate) fn choose(&self, weaving: &mut Weaving) -> Result<(), Failure> {
        if self.mode == Some(Mode::None) {
            let options = &mut weaving.options.weave;
            if !options.counts_lines() {
                return Err(Failure::usage("--mode none records no calls, so it needs --lines"));
            }
            (options.lines, options.lines_only) = (false, true);
        }
        Ok(())
    }

    /// Sets the variables of a program.
    pub(crate) fn tell(&self, program: &mut Command) {
        let mode = self.mode.filter(|mode| *mode != Mode::None);
        if let Some(mode) = mode.and_then(|mode| mode.to_possible_value()) {
            program.env("ILINST_MODE", mode.get_name());
        }
        if let Some(clock) = self.clock.and_then(|clock| clock.to_possible_value()) {
            program.env("ILINST_CLOCK", clock.get_name());
        }
        if self.exact {
            program.env("ILINST_COUNT_BELOW", "0");
        }
    }
}
