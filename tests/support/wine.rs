//! Wine, which runs programs for Windows.

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Has the server of Wine for this prefix wait a minute for the next program. Debian's ends with the last one, and a program that
/// starts just then does nothing, says nothing, and has 0 as its exit code.
pub fn keep_wine_server(prefix: &Path) {
    let mut command = Command::new("wineserver");
    command.arg("-p60").env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
    // It stays, and would hold what it inherits. If one runs already, that one is asked to stay by who started it.
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
