//! `ilinst completions`: what a shell needs to complete command lines.

use std::io::Write as _;

use ::instrument::TOOL;
use clap::Args;
use clap_complete::{Shell, generate};
use serde_json::json;

use crate::{
    help,
    terminal::{Terminal, print_json},
};

/// Print a shell completion script
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The shell
    shell: Shell,

    /// Print the shell's name and its script as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst completions bash > ~/.local/share/bash-completion/completions/ilinst
  ilinst completions zsh > ~/.zfunc/_ilinst
  ilinst completions powershell >> $PROFILE";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let mut script = Vec::new();
        generate(self.shell, &mut help::command(), "ilinst", &mut script);
        if self.json {
            let script = String::from_utf8_lossy(&script);
            print_json(&json!({ "tool": TOOL, "shell": self.shell.to_string(), "script": script }))?;
            return Ok(0);
        }
        let mut terminal = Terminal::text();
        terminal.write_all(&script)?;
        terminal.close()?;
        Ok(0)
    }
}
