//! On Windows, ports are pipes. The system says who serves one to `unsafe` code alone. Anybody may take a name before, so pipes are
//! opened so that their server may know this user, and cannot act as this user.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::windows::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

const PIPES: &str = r"\\.\pipe\";
/// `SECURITY_IDENTIFICATION`
const IDENTIFICATION: u32 = 0x0001_0000;
/// How long a port may take to be there again, which answers one at a time.
const UNTIL_FREE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(10);

/// Where a process's port is.
pub(super) fn port_of(process: u32, _is_given_up: &dyn Fn() -> bool) -> instrument::Result<Option<PathBuf>> {
    Ok(Some(format!("{PIPES}dotnet-diagnostic-{process}").into()))
}

/// Asks a profiler that stays in a process: whether there is one that takes it.
pub(super) fn ask_by_pipe(process: u32, _folder: &Path, request: &[u8]) -> bool {
    let prefix = format!("{}{process}-", live::PIPE);
    let pipes = fs::read_dir(PIPES).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut candidates = pipes.filter(|name| name.to_string_lossy().starts_with(&prefix)).map(|name| Path::new(PIPES).join(name));
    // The process may have been killed whose profiler had one of them.
    candidates.any(|candidate| connect(&candidate).is_ok_and(|mut candidate| candidate.write_all(request).is_ok()))
}

/// A pipe that can be written to, and read if it can be.
pub(super) fn connect(path: &Path) -> io::Result<File> {
    let is_requests = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(live::PIPE));
    let mut options = OpenOptions::new();
    options.read(!is_requests).write(true).security_qos_flags(IDENTIFICATION);
    let since = Instant::now();
    loop {
        match options.open(path) {
            // Another is being answered, or was just now.
            Err(error) if is_in_turn(&error) && since.elapsed() < UNTIL_FREE => thread::sleep(INTERVAL),
            opened => return opened,
        }
    }
}

/// Whether a process and its runtime are there.
pub(super) fn is_open(_process: u32, port: &Path) -> bool {
    connect(port).is_ok()
}

/// Nobody says so.
pub(super) fn is_stopped(_process: u32) -> bool {
    false
}

/// Whether a port may be there again soon.
fn is_in_turn(error: &io::Error) -> bool {
    const ERROR_PIPE_BUSY: i32 = 231;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ERROR_PIPE_BUSY)
}

/// Why a port may not be there.
pub(super) fn why(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            ": there is no such process, it runs no .NET Core 3.1 or later, or it was started with DOTNET_EnableDiagnostics=0"
        }
        _ => "",
    }
}
