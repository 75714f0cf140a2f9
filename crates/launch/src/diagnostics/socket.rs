//! On Unix, ports are sockets in a folder where anybody may put files: one is a process's if its user made it, and listens there.

use std::{
    env, fs,
    io::{self, ErrorKind},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use instrument::{Failure, live};
use nix::unistd::Uid;

/// Where a process's port is.
pub(super) fn port_of(process: u32) -> instrument::Result<PathBuf> {
    let about = PathBuf::from(format!("/proc/{process}"));
    if cfg!(target_os = "linux") && !about.exists() {
        return Err(Failure::not_recorded(format_args!("process {process}: there is none")));
    }
    let user = Uid::effective().as_raw();
    if let Some(other) = user_of(&about).filter(|other| *other != user) {
        let text = format_args!(
            "process {process} is another user's ({other}, and this is {user}), and could not tell what it records: attach as \
             that user, as by sudo -u '#{other}'"
        );
        return Err(Failure::not_recorded(text));
    }
    // Its own folder, where that can be seen.
    let variables = fs::read(about.join("environ")).unwrap_or_default();
    let own = variables.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"TMPDIR="));
    let own = own.map_or_else(|| "/tmp".into(), |folder| PathBuf::from(String::from_utf8_lossy(folder).into_owned()));
    // Behind the process is when it started: one that was killed leaves its own behind, and the number goes to another.
    let prefix = match started(&about) {
        Some(ticks) => format!("dotnet-diagnostic-{process}-{ticks}-"),
        None => format!("dotnet-diagnostic-{process}-"),
    };
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for folder in [own.clone(), env::temp_dir()] {
        let (ours, theirs) = sockets(&folder, &prefix);
        found.extend(ours);
        others.extend(theirs);
    }
    // Without that time, the youngest.
    let latest = found.into_iter().max_by_key(|path| fs::symlink_metadata(path).and_then(|file| file.modified()).ok());
    latest.ok_or_else(|| {
        let runs_net = fs::read_to_string(about.join("maps")).map(|maps| maps.contains("libcoreclr.so"));
        let why = match (others.first(), runs_net) {
            (Some(other), _) => &format!("{} is no socket of its user, and is not used", other.display()),
            (None, Ok(false)) => "it runs no .NET (libcoreclr.so), or its runtime is a part of a single file",
            (None, Ok(true)) => "its runtime was started with DOTNET_EnableDiagnostics=0",
            (None, Err(_)) => "it runs no .NET, or was started with DOTNET_EnableDiagnostics=0",
        };
        Failure::not_recorded(format_args!("process {process} has no diagnostics port ({prefix}* in {}): {why}", own.display()))
    })
}

/// Where a profiler that stays in a process may be asked again: the process may have had the number of one that was killed.
pub(super) fn doors_of(process: u32, port: &Path) -> Vec<PathBuf> {
    let folder = port.parent().unwrap_or(Path::new("/"));
    sockets(folder, &format!("{}{process}-", live::DOOR)).0
}

/// The sockets of this user whose names begin with something; and what else has such a name, which anybody may have put there.
fn sockets(folder: &Path, prefix: &str) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let user = Uid::effective().as_raw();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)).map(|entry| entry.path());
    named.partition(|path| fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket() && file.uid() == user))
}

/// A socket at which this user listens.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    let (peer, user) = (peer(&stream)?, Uid::effective().as_raw());
    // In a folder that is not sticky, names may have changed hands.
    if peer == user {
        return Ok(stream);
    }
    Err(io::Error::new(ErrorKind::PermissionDenied, format!("user {peer} listens there, and not {user}, who attaches")))
}

/// The user on the other side.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> io::Result<u32> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    Ok(getsockopt(stream, PeerCredentials)?.uid())
}

/// The user on the other side.
#[cfg(not(target_os = "linux"))]
fn peer(stream: &UnixStream) -> io::Result<u32> {
    Ok(nix::unistd::getpeereid(stream)?.0.as_raw())
}

/// Whether a process and its runtime are there: a runtime that ends in order removes its socket. It is not connected to, as
/// nobody may be there to accept that.
pub(super) fn is_open(process: u32, port: &Path) -> bool {
    let about = PathBuf::from(format!("/proc/{process}"));
    let is_running = || match state(&about) {
        Some(state) => !matches!(state, 'Z' | 'X'),
        None => !cfg!(target_os = "linux") && UnixStream::connect(port).is_ok(),
    };
    fs::symlink_metadata(port).is_ok() && is_running()
}

/// Nothing more than the error says.
pub(super) fn why(_error: &io::Error) -> &'static str {
    ""
}

/// The effective user of a process, where `/proc` is there to say it (proc(5)).
fn user_of(process: &Path) -> Option<u32> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// When a process started, in clock ticks since the machine did, where `/proc` is there to say it (proc(5), `starttime`).
fn started(process: &Path) -> Option<u64> {
    field(process, 22)?.parse().ok()
}

/// Whether it runs, sleeps, or has ended and nobody knows it yet (proc(5), `state`).
fn state(process: &Path) -> Option<char> {
    field(process, 3)?.chars().next()
}

fn field(process: &Path, number: usize) -> Option<String> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The second field is a name in parentheses, and may be any text.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(number - 3).map(str::to_owned)
}
