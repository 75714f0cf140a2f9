//! Requests to the diagnostics port of a running .NET program (dotnet/diagnostics, "Diagnostic IPC Protocol").

#[cfg(windows)]
mod pipe;
#[cfg(unix)]
mod socket;

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use little_endian::{LE, PutNumbers, ReadBytesExt};

use instrument::{Failure, failure::about};
#[cfg(windows)]
use pipe as system;
#[cfg(unix)]
use socket as system;

/// The port of one process.
#[derive(Clone, Debug)]
pub struct DiagnosticsPort {
    process: u32,
    path: PathBuf,
}

/// The runtime's answer to a request to load a profiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attached {
    /// It has loaded it.
    Done,
    /// Why not (an `HRESULT`).
    Refused(u32),
}

impl Attached {
    /// It has a profiler, or lets go of one (`CORPROF_E_PROFILER_ALREADY_ACTIVE`).
    pub const HAS_ONE: Self = Self::Refused(0x8013_136A);
    /// The runtime is still starting (`CORPROF_E_NOT_YET_AVAILABLE`, `CORPROF_E_RUNTIME_UNINITIALIZED`).
    pub const IS_STARTING: [Self; 2] = [Self::Refused(0x8013_135B), Self::Refused(0x8013_1371)];
}

const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
const HEADER: usize = 20;
/// Of the commands to profilers, the first.
const ATTACH_PROFILER: [u8; 2] = [3, 1];
/// The set and the command of an answer that is no error.
const OK: [u8; 2] = [0xFF, 0];
/// A profiler that stays takes a request at once, unless its process stands still.
const UNTIL_TAKEN: Duration = Duration::from_secs(10);
/// How often is seen whether anybody still waits for an answer.
const INTERVAL: Duration = Duration::from_millis(20);

impl DiagnosticsPort {
    /// The port of a process of this user, which may be about to open it. None if it was given up before there was one.
    ///
    /// # Errors
    /// If there is no such process, it is another user's, is stopped, or has no port.
    pub fn of_process(process: u32, is_given_up: &dyn Fn() -> bool) -> instrument::Result<Option<Self>> {
        Ok(system::port_of(process, is_given_up)?.map(|path| Self { process, path }))
    }

    /// Whether the process and its runtime are there.
    pub fn is_open(&self) -> bool {
        system::is_open(self.process, &self.path)
    }

    /// Whether the process is stopped, where that can be seen.
    pub fn is_stopped(&self) -> bool {
        system::is_stopped(self.process)
    }

    /// Asks a profiler that was attached before, and stays: whether there is one that takes it. It may read the request from a
    /// file in a folder, which has to stay until it has answered.
    pub fn ask_again(&self, lines: &[u8], folder: &Path, is_given_up: &dyn Fn() -> bool) -> bool {
        let (process, folder, request) = (self.process, folder.to_owned(), live::request(lines));
        let ask = move || Ok(system::ask_by_pipe(process, &folder, &request));
        within(UNTIL_TAKEN, is_given_up, ask).is_ok_and(|asked| asked == Some(true))
    }

    /// Has the runtime load a profiler, which is given some bytes. None if it was given up before there was an answer.
    ///
    /// # Errors
    /// If it does not answer in time.
    pub fn attach_profiler(
        &self,
        class: u128,
        library: &Path,
        data: &[u8],
        patience: Duration,
        is_given_up: &dyn Fn() -> bool,
    ) -> instrument::Result<Option<Attached>> {
        let mut payload = Vec::new();
        payload.put_u32(patience.as_millis() as u32);
        payload.put_u32((class >> 96) as u32);
        payload.put_u16((class >> 80) as u16);
        payload.put_u16((class >> 64) as u16);
        payload.extend((class as u64).to_be_bytes());
        put_text(&mut payload, library);
        payload.put_u32(data.len() as u32);
        payload.extend(data);
        let Ok(size) = u16::try_from(HEADER + payload.len()) else {
            let text = format_args!(
                "the options take {} bytes, and a runtime's diagnostics port takes {} in all: give fewer or shorter patterns",
                data.len(),
                u16::MAX
            );
            return Err(Failure::usage(text));
        };
        let (path, message) =
            (self.path.clone(), [&MAGIC[..], &size.to_le_bytes(), &ATTACH_PROFILER, &[0, 0], &payload].concat());
        within(patience, is_given_up, move || ask(&path, &message)).map_err(|error| {
            Failure::not_recorded(if error.kind() == io::ErrorKind::TimedOut {
                let (process, path) = (self.process, self.path.display());
                format!("process {process} did not answer at {path} within {patience:?}: {STANDS_STILL}")
            } else {
                format!("{}{}", about(&self.path, &error), system::why(&error))
            })
        })
    }
}

/// Why a program may not answer, and what to do.
pub const STANDS_STILL: &str =
    "it may be stopped, as by a debugger or SIGSTOP, or starved; when it runs again (kill -CONT), attach again";

/// Does something that may wait for ever on a thread of its own, which is left to itself when the time is over, or when it is
/// given up: none then.
fn within<T: Send + 'static>(
    patience: Duration,
    is_given_up: &dyn Fn() -> bool,
    act: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<Option<T>> {
    let (done, answer) = mpsc::channel();
    let end = Instant::now() + patience;
    // It is of no use to anyone if nobody waits.
    thread::Builder::new().spawn(move || drop(done.send(act())))?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match answer.recv_timeout(left.min(INTERVAL)) {
            Ok(result) => return result.map(Some),
            Err(_) if is_given_up() => return Ok(None),
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn ask(path: &Path, message: &[u8]) -> io::Result<Attached> {
    let mut port = system::connect(path)?;
    port.write_all(message)?;
    let mut header = [0; HEADER];
    port.read_exact(&mut header)?;
    let code = port.read_u32::<LE>()?;
    Ok(if header[16..18] == OK && code.cast_signed() >= 0 { Attached::Done } else { Attached::Refused(code) })
}

/// Text as the protocol has it: how many units, and these, with a zero behind them.
fn put_text(to: &mut Vec<u8>, path: &Path) {
    let units: Vec<u16> = path.to_string_lossy().encode_utf16().chain([0]).collect();
    to.put_u32(units.len() as u32);
    units.iter().for_each(|unit| to.put_u16(*unit));
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        os::unix::net::UnixListener,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    /// A port at which somebody listens, and does not answer.
    fn silent(name: &str) -> (UnixListener, DiagnosticsPort) {
        let path = std::env::temp_dir().join(format!("ilinst-launch-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        (UnixListener::bind(&path).expect("it can be made"), DiagnosticsPort { process: std::process::id(), path })
    }

    #[test]
    fn a_port_that_does_not_answer_is_given_up_in_time() {
        let (_listener, port) = silent("time");
        let patience = Duration::from_millis(100);
        let error = port.attach_profiler(1, Path::new("lib.so"), b"A=1", patience, &|| false).unwrap_err();
        assert!(error.message.contains("did not answer") && error.message.contains("kill -CONT"), "{error}");
        std::fs::remove_file(&port.path).expect("it is there");
    }

    #[test]
    fn a_port_that_does_not_answer_is_given_up_by_who_waits() {
        let (_listener, port) = silent("user");
        let was_asked = AtomicBool::new(false);
        let is_given_up = || was_asked.swap(true, Ordering::Relaxed);
        let answer = port.attach_profiler(1, Path::new("lib.so"), b"A=1", Duration::from_secs(3600), &is_given_up);
        assert_eq!(answer.expect("that is no error"), None);
        std::fs::remove_file(&port.path).expect("it is there");
    }

    /// A program that starts opens its port in a moment.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_is_waited_for() {
        let process = std::process::id();
        let stat = std::fs::read_to_string("/proc/self/stat").expect("it is there");
        let started = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(19)).expect("it started");
        let path = std::env::temp_dir().join(format!("dotnet-diagnostic-{process}-{started}-socket"));
        assert_eq!(DiagnosticsPort::of_process(process, &|| true).expect("it was given up").map(|port| port.path), None);
        let open = || {
            drop(UnixListener::bind(&path));
            false
        };
        let port = DiagnosticsPort::of_process(process, &open).expect("it is there").expect("nobody gave up");
        assert_eq!(port.path, path);
        std::fs::remove_file(path).expect("it was made");
    }

    #[test]
    fn options_that_no_port_takes_are_refused() {
        let port = DiagnosticsPort { process: 1, path: "/nowhere".into() };
        let data = [b'a'; 1 << 16];
        let error = port.attach_profiler(1, Path::new("lib.so"), &data, Duration::MAX, &|| false).unwrap_err();
        assert!(error.message.contains("65536 bytes") && error.message.contains("fewer or shorter patterns"), "{error}");
    }
}
