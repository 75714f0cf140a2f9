//! Wine, which runs programs for Windows.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::require;

/// Wine, with its prefix folder.
pub struct Wine {
    program: PathBuf,
    prefix: PathBuf,
}

impl Wine {
    /// Returns the Wine that `cargo xtask test` found; see [`require`].
    pub fn find() -> Option<Self> {
        Some(Self::new(require("ILINST_WINE")?, require("ILINST_WINE_PREFIX")?))
    }

    /// Returns the same Wine with another prefix.
    pub fn with_prefix(&self, prefix: PathBuf) -> Self {
        Self::new(self.program.clone(), prefix)
    }

    /// Makes Wine's server wait a minute for the next program. Debian's server ends with the last program. A program that starts
    /// at that moment does nothing, prints nothing, and has exit code 0.
    fn new(program: PathBuf, prefix: PathBuf) -> Self {
        let wine = Self { program, prefix };
        // Started processes stay, and would keep inherited handles open. A server that is already running is kept by the process
        // that started it.
        for command in [Command::new("wineserver").arg("-p60"), wine.command(Path::new("cmd")).args(["/c", "exit"])] {
            command.env("WINEPREFIX", &wine.prefix).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = command.status();
        }
        wine
    }

    /// Returns the prefix folder.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Returns a command that runs a program for Windows, or one of Wine's own.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(program).env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        // Wine would start a debugger for a program that crashes.
        command.env("WINEDLLOVERRIDES", "winedbg.exe=d");
        command
    }
}
