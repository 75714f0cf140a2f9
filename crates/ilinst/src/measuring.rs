//! How `run` measures calls: options in place of the tracker's variables.

use std::process::Command;

use clap::{Args, ValueEnum};

use crate::failure::Failure;

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

    /// Also count the bytes that methods allocate, exactly; each call is timed, and probes take longer
    #[arg(help_heading = "Measuring", long, conflicts_with_all = ["sample", "hooks"])]
    allocations: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// The time of each call (default)
    Exact,
    /// The number of calls, and samples of the running methods
    Sampled,
    /// The number of calls alone, without callers
    Count,
    /// Like exact, and also the start and end of each call
    Trace,
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
    /// Refuses options that exclude each other.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match self.mode.filter(|mode| self.allocations && matches!(mode, Mode::Sampled | Mode::Count)) {
            None => Ok(()),
            Some(mode) => {
                let mode = mode.to_possible_value().map(|mode| mode.get_name().to_owned()).unwrap_or_default();
                let text = format!(
                    "--allocations needs --mode exact (the default) or trace: --mode {mode} does not see each call begin and end"
                );
                Err(Failure::usage(text).into())
            }
        }
    }

    /// Whether allocated bytes are to be counted.
    pub(crate) fn counts_allocations(&self) -> bool {
        self.allocations
    }

    /// Sets the variables of a program.
    pub(crate) fn tell(&self, program: &mut Command) {
        if let Some(mode) = self.mode.and_then(|mode| mode.to_possible_value()) {
            program.env("ILINST_MODE", mode.get_name());
        }
        if let Some(clock) = self.clock.and_then(|clock| clock.to_possible_value()) {
            program.env("ILINST_CLOCK", clock.get_name());
        }
        if self.exact {
            program.env("ILINST_COUNT_BELOW", "0");
        }
        if self.allocations {
            program.env("ILINST_ALLOCATIONS", "1");
        }
    }
}
