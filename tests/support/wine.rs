//! Wine, which runs programs for Windows.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::require;

/// Wine, with a folder that it takes for a Windows.
pub struct Wine {
    program: PathBuf,
    prefix: PathBuf,
}

impl Wine {
    /// What `cargo xtask test` found; see [`require`].
    pub fn find() -> Option<Self> {
        Some(Self::new(require("ILINST_WINE")?, require("ILINST_WINE_PREFIX")?))
    }

    /// The same Wine with another folder.
    pub fn with_prefix(&self, prefix: PathBuf) -> Self {
        Self::new(self.program.clone(), prefix)
    }

    /// Has Wine's server wait a minute for the next program. Debian's ends with the last one, and a program that starts just then
    /// does nothing, says nothing, and has 0 as its exit code.
    fn new(program: PathBuf, prefix: PathBuf) -> Self {
        let wine = Self { program, prefix };
        // What they start stays, and would hold what it inherits. A server that runs already is kept by who started it.
        for command in [Command::new("wineserver").arg("-p60"), wine.command(Path::new("cmd")).args(["/c", "exit"])] {
            command.env("WINEPREFIX", &wine.prefix).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = command.status();
        }
        wine
    }

    /// The folder.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// A program for Windows, or one of Wine's own.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(program).env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        // Wine would start a debugger for a program that crashes.
        command.env("WINEDLLOVERRIDES", "winedbg.exe=d");
        command
    }
}
