//! On Unix, ports are sockets in a folder where anybody may put files: one is a process's if its user made it, and listens there.

use std::{
    env, fs,
    io::{self, ErrorKind, Write as _},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use instrument::Failure;
use nix::{libc, unistd::Uid};

/// How long a program may take to open its port, once its runtime is loaded; without one, a runtime may be about to be loaded.
const UNTIL_OPEN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
const INTERVAL: Duration = Duration::from_millis(20);
/// A socket's path has so many bytes at most (unix(7), `sun_path`, less its zero).
const LONGEST_PATH: usize = 107;
/// Variables that disable a runtime's port if they are 0.
const SWITCHES: [&str; 4] =
    ["DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics_IPC"];

/// The names of Mono's files: of its program, and of its library.
const MONO: [&str; 3] = ["/mono\n", "/mono-sgen", "/libmono"];

/// Where a process's port is; none if it was given up before there was one.
pub(super) fn port_of(process: u32, is_given_up: &dyn Fn() -> bool) -> instrument::Result<Option<PathBuf>> {
    let about = PathBuf::from(format!("/proc/{process}"));
    let since = Instant::now();
    loop {
        if cfg!(target_os = "linux") && !about.exists() {
            return Err(Failure::not_recorded(format_args!("process {process}: there is no such process")));
        }
        let user = Uid::effective().as_raw();
        if let Some(other) = user_of(&about).filter(|other| *other != user) {
            let text = format_args!(
                "process {process} belongs to user {other}, and ilinst runs as user {user}: run it as that user (sudo -u '#{other}' \
                 ilinst attach {process})"
            );
            return Err(Failure::not_recorded(text));
        }
        if is_stopped(process) {
            let text = format_args!(
                "process {process} is stopped, as by a debugger or SIGSTOP: when it runs again (kill -CONT {process}), attach again"
            );
            return Err(Failure::not_recorded(text));
        }
        let absent = match find_port(process, &about) {
            Ok(port) => return Ok(Some(port)),
            Err(absent) => absent,
        };
        let patience = if absent.is_final { Duration::ZERO } else { UNTIL_OPEN[usize::from(absent.runs_net)] };
        if since.elapsed() >= patience {
            return Err(Failure::not_recorded(format_args!("process {process} has no diagnostics port {}", absent.why)));
        }
        if is_given_up() {
            return Ok(None);
        }
        thread::sleep(INTERVAL);
    }
}

/// Why there is no port.
struct Absent {
    why: String,
    /// Whether none will come.
    is_final: bool,
    runs_net: bool,
}

fn find_port(process: u32, about: &Path) -> Result<PathBuf, Absent> {
    let environment = fs::read(about.join("environ")).unwrap_or_default();
    let variables = || environment.split(|byte| *byte == 0).filter_map(|one| std::str::from_utf8(one).ok()?.split_once('='));
    // Its own folder, where that can be seen.
    let own = variables().find(|(name, _)| *name == "TMPDIR").map_or_else(|| "/tmp".into(), |(_, folder)| PathBuf::from(folder));
    // Behind the process is when it started: one that was killed leaves its own behind, and the number goes to another.
    let prefix = match started(about) {
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
    if let Some(port) = found.into_iter().max_by_key(|path| fs::symlink_metadata(path).and_then(|file| file.modified()).ok()) {
        return Ok(port);
    }
    let maps = fs::read_to_string(about.join("maps"));
    let runs_mono = maps.as_ref().is_ok_and(|maps| MONO.iter().any(|file| maps.contains(file)));
    let runs_net = maps.map(|maps| maps.contains("libcoreclr.so"));
    let switch = variables().find(|(name, value)| SWITCHES.contains(name) && value.trim() == "0");
    let length = own.join(format!("{prefix}socket")).as_os_str().len();
    let (why, is_final) = match (others.first(), switch, runs_net.as_ref().ok()) {
        (Some(other), ..) => (format!("{} is no socket of its user, and is not used", other.display()), false),
        (_, Some((name, value)), _) => (format!("it was started with {name}={value}; start it without"), true),
        (_, _, Some(false)) if runs_mono => {
            let text = "it runs Mono, to which no profiler can be attached; start it by ilinst run --sample -- mono APP.exe";
            (text.to_owned(), true)
        }
        (_, _, Some(false)) => ("it runs no .NET (libcoreclr.so), or its runtime is a part of a single file".to_owned(), false),
        _ if is_in_another_mount_namespace(about) => {
            let text = format!(
                "it runs in a container, or with PrivateTmp= of systemd, where its files are others; run ilinst there (nsenter \
                 --target {process} --mount --pid)"
            );
            (text, true)
        }
        _ if length > LONGEST_PATH => {
            let text = format!(
                "its TMPDIR is too long: with the socket's name, the path has {length} bytes, and a socket's has {LONGEST_PATH} at \
                 most; start it with a shorter TMPDIR"
            );
            (text, true)
        }
        (_, _, runs_net) => {
            let runs = if runs_net.is_some() {
                "its runtime has opened none"
            } else {
                "it runs no .NET, or its runtime has opened none"
            };
            let text = "it starts or ends just now, its runtimeconfig.json turns diagnostics off, or the socket was removed";
            (format!("{runs}: {text}"), false)
        }
    };
    Err(Absent { why: format!("({prefix}* in {}): {why}", own.display()), is_final, runs_net: runs_net.unwrap_or(false) })
}

/// Whether a process sees other files than this one. False if that cannot be found out.
fn is_in_another_mount_namespace(about: &Path) -> bool {
    let namespace = |about: &Path| fs::read_link(about.join("ns/mnt")).ok();
    namespace(about).zip(namespace(Path::new("/proc/self"))).is_some_and(|(its, own)| its != own)
}

/// Asks a profiler that stays in a process: whether there is one that takes it. Its pipe is among the process's descriptors.
pub(super) fn ask_by_pipe(process: u32, folder: &Path, request: &[u8]) -> bool {
    let descriptors = PathBuf::from(format!("/proc/{process}/fd"));
    let link = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    let mut links = fs::read_dir(&descriptors).into_iter().flatten().flatten().filter_map(link);
    let Some(pipe) = links.find_map(|link| live::pipe_of(&link.to_string_lossy())) else { return false };
    let file = folder.join("request");
    let Some(message) = live::message(file.as_os_str().as_encoded_bytes()) else { return false };
    let mut options = fs::OpenOptions::new();
    // A pipe that is full is one that nobody reads.
    options.write(true).custom_flags(libc::O_NONBLOCK);
    let written = fs::write(&file, request).and_then(|()| options.open(descriptors.join(pipe.to_string()))?.write_all(&message));
    written.is_ok()
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

/// Whether it is stopped, by a signal or who traces it.
pub(super) fn is_stopped(process: u32) -> bool {
    matches!(state(&PathBuf::from(format!("/proc/{process}"))), Some('T' | 't'))
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
