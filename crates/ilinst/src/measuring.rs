//! How `run` and `attach` measure calls: options in place of the tracker's variables.

use std::process::Command;

use clap::{Args, ValueEnum};

use crate::{failure::Failure, weaving::Weaving};

/// The options of `run`. Each sets a variable of the program, which keeps its own value without the option.
#[derive(Args, Debug)]
pub(crate) struct MeasuringArgs {
    /// The measurements to record
    #[arg(help_heading = "Measuring", long, value_enum, conflicts_with = "sample")]
    mode: Option<Mode>,

    /// The clock that times calls [default: tsc, where the processor has an invariant counter]
    #[arg(help_heading = "Measuring", long, value_enum, conflicts_with = "sample")]
    clock: Option<Clock>,

    /// Time each call; by default, short calls are only counted after some thousand calls
    #[arg(help_heading = "Measuring", long, conflicts_with = "sample")]
    exact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mode {
    /// Times of calls; short calls are only counted after some thousand calls (default)
    Exact,
    /// The number of calls, and samples of the running methods
    Sampled,
    /// The number of calls alone, without callers
    Count,
    /// The time of each call, with its start and end
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
    /// If that leaves nothing to record, or the mode does not count allocated bytes.
    pub(crate) fn choose(&self, weaving: &mut Weaving) -> Result<(), Failure> {
        let options = &mut weaving.options.weave;
        if self.mode == Some(Mode::None) {
            if !options.counts_lines() {
                return Err(Failure::usage("--mode none records no calls, so it needs --lines"));
            }
            (options.lines, options.lines_only) = (false, true);
        }
        let word = self.mode.filter(|mode| options.counts_bytes() && matches!(mode, Mode::Sampled | Mode::Count | Mode::None));
        match word.and_then(|mode| mode.to_possible_value()) {
            Some(word) => Err(Failure::usage(format_args!(
                "--allocations needs --mode exact (the default) or trace: --mode {} does not see each call begin and end",
                word.get_name()
            ))),
            None => Ok(()),
        }
    }

    /// Refuses the values that hooks cannot have.
    ///
    /// # Errors
    /// If an option has such a value.
    pub(crate) fn refuse_for_hooks(&self) -> Result<(), Failure> {
        let text = match (self.mode, self.clock) {
            (Some(mode), _) if mode != Mode::Exact => "--hooks times each call: leave out --hooks, or --mode",
            (_, Some(Clock::Program)) => "--hooks cannot read a program's own clock: leave out --hooks, or --clock program",
            _ => return Ok(()),
        };
        Err(Failure::usage(text))
    }

    /// Sets the variables of a program.
    pub(crate) fn tell(&self, program: &mut Command) {
        let mode = self.mode.filter(|mode| *mode != Mode::None);
        if let Some(mode) = mode.and_then(|mode| mode.to_possible_value()) {
            program.env("ILINST_MODE", mode.get_name());
        }
        if let Some(clock) = self.clock.and_then(|clock| clock.to_possible_value()) {
            program.env(live::CLOCK, clock.get_name());
        }
        if self.exact {
            program.env("ILINST_COUNT_BELOW", "0");
        }
    }
}

/// The options of `attach`, which times each call.
#[derive(Args, Debug)]
pub(crate) struct AttachedMeasuringArgs {
    /// The measurements to record: attach times each call, and has no other mode than exact
    #[arg(help_heading = "Measuring", long, value_enum, conflicts_with = "sample", hide_possible_values = true)]
    mode: Option<Mode>,

    /// The clock that times calls: tsc or stopwatch [default: tsc, where the processor has an invariant counter]
    #[arg(help_heading = "Measuring", long, value_enum, conflicts_with = "sample", hide_possible_values = true)]
    clock: Option<Clock>,

    /// Time each call, which attach always does
    #[arg(help_heading = "Measuring", long, conflicts_with = "sample")]
    exact: bool,
}

impl AttachedMeasuringArgs {
    /// The clock's name, if an option names one.
    ///
    /// # Errors
    /// If an option has a value for programs that were instrumented before.
    pub(crate) fn clock(&self) -> Result<Option<String>, Failure> {
        let text = match (self.mode, self.clock) {
            (Some(Mode::Sampled | Mode::Count), _) => {
                "attach times each call. To measure CPU time without probes, use --sample; for other modes, `ilinst run --mode`"
            }
            (Some(Mode::Trace), _) => {
                "attach records no events: the start and end of each call are for `ilinst run --mode trace`"
            }
            (Some(Mode::None), _) => "attach counts no lines: --mode none is for `ilinst run --lines`",
            (_, Some(Clock::Program)) => "attach cannot read a program's own clock, which is for `ilinst run --clock program`",
            (_, clock) => return Ok(clock.and_then(|clock| Some(clock.to_possible_value()?.get_name().to_owned()))),
        };
        Err(Failure::usage(text))
    }
}
