//! What a running .NET program is asked by its diagnostics port (dotnet/diagnostics, "Diagnostic IPC Protocol").

use std::{
    env, fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use instrument::{Failure, failure::about};

/// The port of one process.
#[derive(Clone, Debug)]
pub struct DiagnosticsPort {
    path: PathBuf,
}

/// What a runtime answers to being asked to load a profiler.
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
}

const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
const HEADER: usize = 20;
/// Of the commands to profilers, the first.
const ATTACH_PROFILER: [u8; 2] = [3, 1];
/// The set and the command of an answer that is no error.
const OK: [u8; 2] = [0xFF, 0];
/// How long a port of Windows may take to be there again, which answers one at a time.
#[cfg(not(unix))]
const UNTIL_FREE: Duration = Duration::from_secs(2);
#[cfg(not(unix))]
const INTERVAL: Duration = Duration::from_millis(10);
/// What a port of Windows that is not there may mean.
const WITHOUT_PORT: &str = ": there is no such process, it runs no .NET Core 3.1 or later, or it was started with \
                            DOTNET_EnableDiagnostics=0";

impl DiagnosticsPort {
    /// The port of a process.
    ///
    /// # Errors
    /// If there is no such process, or it has none.
    pub fn of(process: u32) -> instrument::Result<Self> {
        if cfg!(windows) {
            return Ok(Self { path: format!(r"\\.\pipe\dotnet-diagnostic-{process}").into() });
        }
        let about = PathBuf::from(format!("/proc/{process}"));
        if cfg!(target_os = "linux") && !about.exists() {
            return Err(Failure::not_recorded(format_args!("process {process}: there is none")));
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
        let is_port = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        let entries = [own.clone(), env::temp_dir()].map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let sockets = entries.into_iter().flatten().map(|entry| entry.path()).filter(is_port);
        // Without that time, the youngest.
        let latest = sockets.max_by_key(|path| fs::metadata(path).and_then(|file| file.modified()).ok());
        let port = latest.map(|path| Self { path }).ok_or_else(|| {
            let runs_net = fs::read_to_string(about.join("maps")).map(|maps| maps.contains("libcoreclr.so"));
            let why = match runs_net {
                Ok(false) => "it runs no .NET (libcoreclr.so), or its runtime is a part of a single file",
                Ok(true) => "its runtime was started with DOTNET_EnableDiagnostics=0",
                Err(_) => "it is another user's, runs no .NET, or was started with DOTNET_EnableDiagnostics=0",
            };
            Failure::not_recorded(format_args!(
                "process {process} has no diagnostics port ({prefix}* in {}): {why}",
                own.display()
            ))
        })?;
        Ok(port)
    }

    /// Whether somebody listens there.
    pub fn is_open(&self) -> bool {
        self.connect().is_ok()
    }

    /// Asks a profiler that was attached before, and stays: whether there is one.
    pub fn ask_again(&self, process: u32, data: &[u8]) -> bool {
        let door = self.path.with_file_name(format!("{}{process}", instrument::live::DOOR));
        Self { path: door }.connect().is_ok_and(|mut door| door.write_all(data).is_ok())
    }

    /// Has the runtime load a profiler, which is given some bytes.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn attach_profiler(&self, class: u128, library: &Path, data: &[u8], patience: Duration) -> instrument::Result<Attached> {
        let mut payload = (patience.as_millis() as u32).to_le_bytes().to_vec();
        payload.extend(((class >> 96) as u32).to_le_bytes());
        payload.extend(((class >> 80) as u16).to_le_bytes());
        payload.extend(((class >> 64) as u16).to_le_bytes());
        payload.extend((class as u64).to_be_bytes());
        put_text(&mut payload, library);
        payload.extend((data.len() as u32).to_le_bytes());
        payload.extend(data);
        self.ask(ATTACH_PROFILER, &payload).map_err(|error| {
            let is_missing = cfg!(windows) && error.kind() == io::ErrorKind::NotFound;
            let why = if is_missing { WITHOUT_PORT } else { "" };
            Failure::not_recorded(format_args!("{}{why}", about(&self.path, &error)))
        })
    }

    fn ask(&self, command: [u8; 2], payload: &[u8]) -> io::Result<Attached> {
        let mut port = self.connect()?;
        let size = u16::try_from(HEADER + payload.len()).map_err(|_| io::Error::other("more than the port takes"))?;
        port.write_all(&[&MAGIC[..], &size.to_le_bytes(), &command, &[0, 0], payload].concat())?;
        let mut header = [0; HEADER];
        port.read_exact(&mut header)?;
        let mut code = [0; 4];
        port.read_exact(&mut code)?;
        let code = u32::from_le_bytes(code);
        Ok(if header[16..18] == OK && code.cast_signed() >= 0 { Attached::Done } else { Attached::Refused(code) })
    }

    #[cfg(unix)]
    fn connect(&self) -> io::Result<std::os::unix::net::UnixStream> {
        std::os::unix::net::UnixStream::connect(&self.path)
    }

    #[cfg(not(unix))]
    fn connect(&self) -> io::Result<fs::File> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true);
        #[cfg(windows)]
        // SECURITY_IDENTIFICATION: who answers may know who asks, and not act as them.
        std::os::windows::fs::OpenOptionsExt::security_qos_flags(&mut options, 0x0001_0000);
        let since = std::time::Instant::now();
        loop {
            match options.open(&self.path) {
                // Another is being answered, or was just now.
                Err(error) if is_in_turn(&error) && since.elapsed() < UNTIL_FREE => std::thread::sleep(INTERVAL),
                opened => return opened,
            }
        }
    }
}

/// Whether a port may be there again soon.
#[cfg(not(unix))]
fn is_in_turn(error: &io::Error) -> bool {
    const ERROR_PIPE_BUSY: i32 = 231;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ERROR_PIPE_BUSY)
}

/// When a process started, in clock ticks since the machine did, where `/proc` is there to say it (proc(5), `starttime`).
fn started(process: &Path) -> Option<u64> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The second field is a name in parentheses, and may be any text; the 22nd is the time.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(22 - 3)?.parse().ok()
}

/// Text as the protocol has it: how many units, and these, with a zero behind them.
fn put_text(to: &mut Vec<u8>, path: &Path) {
    let units: Vec<u16> = path.to_string_lossy().encode_utf16().chain([0]).collect();
    to.extend((units.len() as u32).to_le_bytes());
    to.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
}
