//! `ilinst`: instruments .NET assemblies without .NET.

mod arguments;
mod diff;
mod dis;
mod failure;
mod instrument;
mod list;
mod report;
mod restore;
mod terminal;
mod text;
mod verify;

use std::{io::Write as _, process::ExitCode};

use clap::Parser;

use crate::failure::{EXIT_USAGE, Failure, is_broken_pipe};

/// Measures .NET programs that no profiler can be attached to: weaves enter and leave probes into built assemblies.
#[derive(Parser, Debug)]
#[command(name = "ilinst", version, about, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 findings; 2 wrong usage; 3 bad input or output; 4 methods left alone under --strict.

Try:
  ilinst instrument app.dll -o woven/       weave a program; run woven/app.dll as you would app.dll
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
    /// Weave probes into assemblies, or into every assembly of a folder
    Instrument = instrument
    /// Show an assembly's types and methods, and what would be woven
    List = list
    /// Show an assembly, or some of its types and methods, as IL assembly
    Dis = dis
    /// Show what differs between two assemblies, such as one before and after weaving
    Diff = diff
    /// Show the profile that a woven program wrote
    Report = report
    /// Put back the originals of what was woven in place
    Restore = restore
    /// Check assemblies against the rules of ECMA-335
    Verify = verify
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; clap knows which stream they go to.
            let code = if error.use_stderr() { EXIT_USAGE } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match run(cli.command) {
        Ok(code) => ExitCode::from(code),
        // Whoever read our output has closed it: nothing is left to say.
        Err(error) if error.chain().any(is_broken_pipe) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "ilinst: {}", failure::one_line(&error));
            ExitCode::from(error.downcast_ref::<Failure>().map_or(failure::EXIT_BAD_INPUT, |failure| failure.exit))
        }
    }
}
