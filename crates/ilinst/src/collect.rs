//! `ilinst collect`: a build's way to run a program of tests that is instrumented already, and to write the coverage of all tests.

use std::{ffi::OsString, path::PathBuf, process::Command};

use ::instrument::failure::about;
use clap::{Args, Parser as _};
use launch::{Running, Signals, Temporary, exit_code};
use live::OUTPUT;

use crate::{Cli, failure::Failure, profiles::profiles_in, run::ended_with, terminal::complain};

/// Run an instrumented program, and write the coverage of all programs that were run so
#[derive(Args, Debug)]
pub(crate) struct Opts {
    /// The folder that keeps the profile of each program
    #[arg(long, value_name = "DIR")]
    profiles: PathBuf,

    /// The name of this program's profile
    #[arg(long)]
    name: String,

    /// The folder of the program's assemblies
    #[arg(long, value_name = "DIR")]
    assemblies: PathBuf,

    /// The Cobertura file to write
    #[arg(long, value_name = "FILE")]
    coverage: PathBuf,

    /// The command that starts the program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let signals = Signals::take_over()?;
        let output = Temporary::folder()?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env(OUTPUT, output.path());
        let running = Running::start(&mut command, &signals)
            .map_err(|error| Failure::unreadable(about(self.command[0].as_ref(), &error)))?;
        let code = exit_code(running.wait()?);
        signals.release();
        if profiles_in(output.path()).is_empty() {
            return ended_with(code);
        }
        let merged = self.merge(&output);
        let merged = merged.inspect_err(|_| complain(format_args!("note: the profiles are kept in {}", output.keep().display())));
        if let Err(error) = merged.and_then(|()| self.export()) {
            complain(format_args!("{error:#}"));
            return ended_with(if code == 0 { 1 } else { code });
        }
        ended_with(code)
    }

    /// Merges the profiles of this program into one.
    fn merge(&self, output: &Temporary) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.profiles).map_err(|error| Failure::unwritable(about(&self.profiles, &error)))?;
        let profile = self.profiles.join(format!("{}.ilprof", self.name));
        let [merge, assemblies, to] = ["merge", "--assemblies", "--output"].map(OsString::from);
        ilinst(&[merge, output.path().into(), assemblies, self.assemblies.clone().into(), to, profile.into()])
    }

    /// Writes the coverage of this and of other programs.
    fn export(&self) -> anyhow::Result<()> {
        let [export, format, to] = ["export", "--to=cobertura", "--output"].map(OsString::from);
        ilinst(&[export, self.profiles.clone().into(), format, to, self.coverage.clone().into()])
    }
}

/// Does what the command does with these arguments.
fn ilinst(arguments: &[OsString]) -> anyhow::Result<()> {
    let words = [&["ilinst".into()], arguments, &["--quiet".into()]].concat();
    crate::run(Cli::try_parse_from(words)?.command)?;
    Ok(())
}
