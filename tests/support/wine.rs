//! Wine, which runs programs for Windows.

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Has the server of Wine for this prefix wait a minute for the next program. Debian's ends with the last one, and a program that
/// starts just then does nothing, says nothing, and has 0 as its exit code.
pub fn keep_wine_server(wine: &Path, prefix: &Path) {
    // What they start stays, and would hold what it inherits. A server that runs already is kept by who started it.
    for command in [Command::new("wineserver").arg("-p60"), Command::new(wine).args(["cmd", "/c", "exit"])] {
        command.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
