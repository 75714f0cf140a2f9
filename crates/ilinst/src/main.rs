//! `ilinst`: instruments .NET assemblies without .NET.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod attach;
mod cache;
mod calls;
mod colours;
mod compare;
mod completions;
mod config;
mod config_file;
mod control;
mod diff;
mod dis;
mod doctor;
mod duration;
mod explain;
mod export;
mod failure;
mod hooks;
mod hot;
mod inputs;
mod instrument;
mod interrupt;
mod list;
mod man;
mod merge;
mod method_pattern;
mod output;
mod profiles;
mod report;
mod response_file;
mod restore;
mod run;
mod snapshot;
mod symbols;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod tracker;
mod verify;
mod view;

use control::{mark, pause, reset, resume};
use std::process::ExitCode;

use clap::Parser;

use crate::{
    failure::{EXIT_USAGE, Failure, is_closed},
    terminal::{complain, complain_in_lines, in_output},
};

/// Measures .NET programs that no profiler can be attached to: weaves enter and leave probes into built assemblies.
#[derive(Parser, Debug)]
#[command(name = "ilinst", version, about, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 findings; 2 wrong usage; 3 bad input or output; 4 methods left alone under --strict.
@FILE stands for the arguments in a file, one a line.

Try:
  ilinst run -- dotnet app.dll              what a program of yours does with
                                            its time; also: dotnet run, test
  ilinst instrument app.dll -o woven/       weave a program; run woven/app.dll
                                            as you would app.dll
  ilinst report app-1234.ilprof             what it did with its time";

/// One line a subcommand: its module, its variant and where it is run from.
macro_rules! subcommands {
    ($($(#[$doc:meta])* $variant:ident = $module:ident)*) => {
        #[derive(clap::Subcommand, Debug)]
        enum Command { $($(#[$doc])* $variant($module::Opts),)* }

        fn run(command: Command) -> anyhow::Result<u8> {
            match command { $(Command::$variant(opts) => opts.run(),)* }
        }
    };
}
subcommands! {
    /// Weave a program, run it, and show what it did with its time
    Run = run
    /// Weave methods of a program that runs, for a while, and show what they did
    Attach = attach
    /// Weave probes into assemblies, or into every assembly of a folder
    Instrument = instrument
    /// Show an assembly's types and methods, and what would be woven
    List = list
    /// Say why a method is woven or left alone, and which option or rule decided it
    Explain = explain
    /// Show the options that hold for an input, and where each comes from
    Config = config
    /// Show an assembly, or some of its types and methods, as IL assembly
    Dis = dis
    /// Show what differs between two assemblies, such as one before and after weaving
    Diff = diff
    /// Show the profile that a woven program wrote, or is writing
    Report = report
    /// Compare profiles: what became slower, faster, new or gone
    Compare = compare
    /// Write a profile in the format of another tool
    Export = export
    /// Merge the profiles of many processes into one
    Merge = merge
    /// Say why there is no profile, or not all of one
    Doctor = doctor
    /// Show call paths that other tools added up
    View = view
    /// Copy the profile of a program while it runs on
    Snapshot = snapshot
    /// Let a running program record nothing
    Pause = pause
    /// Let it record again
    Resume = resume
    /// Begin a running program's profile anew
    Reset = reset
    /// Begin a phase of a running program, by name
    Mark = mark
    /// Put back the originals of what was woven in place
    Restore = restore
    /// Show or clear what `run` has woven and keeps
    Cache = cache
    /// Write the tracker alone
    Tracker = tracker
    /// Check assemblies against the rules of ECMA-335
    Verify = verify
    /// Print what a shell needs to complete command lines
    Completions = completions
    /// Write the manual's pages
    #[command(hide = true)]
    Man = man
}

fn main() -> ExitCode {
    if let Some(started) = launch::Started::find() {
        return exit(started.map_err(Into::into).and_then(run::by_sdk));
    }
    // Windows' shells leave globs to the program.
    exit(response_file::expand(wild::args_os()).map_err(Into::into).and_then(|arguments| match Cli::try_parse_from(arguments) {
        Ok(cli) => run(cli.command),
        Err(error) => say(&error),
    }))
}

/// Help and version are no errors; what is wrong with the arguments may be in the name of a file.
fn say(error: &clap::Error) -> anyhow::Result<u8> {
    if error.use_stderr() {
        let text = error.render().to_string();
        // With a number, as all that is wrong has.
        complain_in_lines(&text.replacen("error: ", "ilinst: error ILI0015: ", 1));
        return Ok(EXIT_USAGE);
    }
    error.print().map_err(|error| in_output(&error))?;
    Ok(0)
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
        failure.exit
    });
    ExitCode::from(code)
}
