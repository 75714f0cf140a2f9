//! `ilinst`: instruments .NET assemblies without .NET.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod attach;
mod cache;
mod calls;
mod collect;
mod colours;
#[cfg(test)]
mod command_tests;
mod compare;
mod completions;
mod config;
mod config_file;
mod control;
mod coverage;
mod diff;
mod dis;
mod doctor;
mod duration;
mod explain;
mod export;
mod failure;
mod help;
mod hooks;
mod hot;
mod inputs;
mod instrument;
mod interrupt;
mod lines;
mod list;
mod man;
mod measuring;
mod merge;
mod method_pattern;
mod not_loaded;
mod output;
mod patterns;
mod profiles;
mod report;
mod response_file;
mod restore;
mod run;
mod sampling;
mod snapshot;
mod sources;
mod symbols;
mod terminal;
mod tests;
mod text;
mod tracker;
mod verify;
mod view;
mod weaving;

use control::{mark, pause, reset, resume};
use std::{ffi::OsString, process::ExitCode};

use clap::{
    Parser,
    error::ErrorKind::{self, DisplayHelpOnMissingArgumentOrSubcommand as HELP_WITHOUT_ARGUMENTS},
};

use crate::{
    failure::{EXIT_USAGE, Failure, is_closed, page_about},
    terminal::{complain, complain_in_lines, in_output},
};

/// Profile .NET programs by adding timing code to the compiled assemblies.
#[derive(Parser, Debug)]
#[command(name = "ilinst", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ilinst run -- dotnet app.dll              run a program, and report its time
  ilinst instrument app.dll -o woven/       write an instrumented program
  ilinst report app-1234.ilprof             show the profile that it wrote
  ilinst help patterns                      how to choose methods

Exit codes: 0 done; 1 findings; 2 wrong usage; 3 bad input or output; 4 methods not instrumented (--strict).
@FILE reads arguments from a file, one per line.";

/// A line for each subcommand: its variant and its module, which has the name of the command.
macro_rules! subcommands {
    ($($heading:literal { $($(#[$doc:meta])* $variant:ident = $module:ident)* })*) => {
        #[derive(clap::Subcommand, Debug)]
        enum Command { $($($(#[$doc])* $variant($module::Opts),)*)* }

        /// The groups of the commands in the help.
        const GROUPS: &[(&str, &[&str])] = &[$(($heading, &[$(stringify!($module)),*]),)*];

        fn run(command: Command) -> anyhow::Result<u8> {
            match command { $($(Command::$variant(opts) => opts.run(),)*)* }
        }
    };
}
subcommands! {
    "Record a profile" {
        /// Instrument a program, run it, and report where its time went
        Run = run
        /// Write instrumented copies of assemblies, or of a folder
        Instrument = instrument
        /// Restore the originals of files that were instrumented in place
        Restore = restore
        /// Profile a running .NET process for a given time
        Attach = attach
    }
    "Read profiles" {
        /// Show a profile as a table, a call tree, threads, or an HTML page
        Report = report
        /// Compare profiles, and fail a build if a method became slower
        Compare = compare
        /// Convert a profile for pprof, speedscope, Perfetto, or tables
        Export = export
        /// Merge the profiles of many processes into one profile
        Merge = merge
        /// Find the tests that run a method, a line, or changed code
        Tests = tests
        /// Show folded stacks or a Parquet table as a tree or flame graph
        View = view
        /// Find out why a profile is missing or incomplete
        Doctor = doctor
    }
    "Control a running program" {
        /// Copy the profile of a running program
        Snapshot = snapshot
        /// Stop recording
        Pause = pause
        /// Continue recording
        Resume = resume
        /// Discard the recorded times, and begin again
        Reset = reset
        /// Begin a named phase
        Mark = mark
    }
    "Inspect assemblies" {
        /// List types and methods, and show which would be instrumented
        List = list
        /// Explain why methods are instrumented or skipped
        Explain = explain
        /// Disassemble to IL
        Dis = dis
        /// Compare two assemblies, folders or packages
        Diff = diff
        /// Check assemblies against the rules of ECMA-335
        Verify = verify
    }
    "Set up" {
        /// Show the options that apply, and where each comes from
        Config = config
        /// List or delete the instrumented programs that `run` keeps
        Cache = cache
        /// Write the tracker, the library that instrumented programs load
        Tracker = tracker
        /// Print a shell completion script
        Completions = completions
    }
    "Hidden" {
        /// How to choose methods by patterns
        #[command(hide = true)]
        Patterns = patterns
        /// Run tests of a build, and write their coverage
        #[command(hide = true)]
        Collect = collect
        /// Write the manual pages
        #[command(hide = true)]
        Man = man
    }
}

fn main() -> ExitCode {
    if let Some(started) = launch::Started::find() {
        return exit(started.map_err(Into::into).and_then(run::by_sdk));
    }
    // Windows' shells leave globs to the program.
    exit(response_file::expand(wild::args_os()).map_err(Into::into).and_then(|arguments| match Cli::try_parse_from(&arguments) {
        Ok(cli) => run(cli.command),
        Err(error) => print_instead(&error, &arguments),
    }))
}

/// Prints help, the version, or an error in the arguments.
fn print_instead(error: &clap::Error, arguments: &[OsString]) -> anyhow::Result<u8> {
    if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | HELP_WITHOUT_ARGUMENTS) {
        // An argument may be the name of a file, with characters that a terminal would obey.
        complain_in_lines(&format!("ilinst: {}", error.render()));
        return Ok(EXIT_USAGE);
    }
    let is_version = error.kind() == ErrorKind::DisplayVersion;
    let shown = if is_version { None } else { help::command().try_get_matches_from(arguments).err() };
    shown.as_ref().unwrap_or(error).print().map_err(|error| in_output(&error))?;
    Ok(if error.use_stderr() { EXIT_USAGE } else { 0 })
}

/// Names the page about an error to a person. Scripts have the number in the message.
fn say_page(failure: &Failure) {
    let page = page_about(failure.code);
    if terminal::is_error_seen() && failure.code.starts_with("ILI") && !failure.message.contains(&page) {
        complain_in_lines(&format!("{page}\n"));
    }
}

fn exit(result: anyhow::Result<u8>) -> ExitCode {
    let code = result.unwrap_or_else(|error| {
        // Whoever read our output has closed it: nothing is left to say.
        if is_closed(&error) {
            return 0;
        }
        // The only other errors are failures to print.
        let failure = error.downcast().unwrap_or_else(|error| Failure::unwritable(format_args!("{error:#}")));
        complain(&failure);
        say_page(&failure);
        failure.exit
    });
    ExitCode::from(code)
}
