//! `ilinst completions`: what a shell needs to complete command lines.

use std::io::Write as _;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::{Cli, terminal::Terminal};

/// Print what a shell needs to complete command lines of ilinst.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  ilinst completions bash > ~/.local/share/bash-completion/completions/ilinst
  ilinst completions zsh > ~/.zfunc/_ilinst
  ilinst completions powershell >> $PROFILE";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "ilinst", &mut script);
        let mut terminal = Terminal::text();
        terminal.write_all(&script)?;
        terminal.close()?;
        Ok(0)
    }
}
