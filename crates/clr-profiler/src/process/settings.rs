//! Settings from the environment: the launcher sets it, and the tracker's own variables have the same meaning here.

use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ecma335::is_named_as_assembly;
use live::{
    ALL_ASSEMBLIES, CAPTURE, CLOCK, DURATION, LONGEST, OPTIONS, OUTPUT, PROGRAM, PROJECTS_ALONE, SAMPLE, STATUS, STOP, Sampling,
    TRACKER, VERSION,
};
use profile_format::ClockKind;
use weave::{Captured, Options};

use crate::worlds::MayWait;

const MAX_NODES: &str = "ILINST_MAX_NODES";
const DEFAULT_MAX_NODES: u32 = 1_000_000;
const TRACE_SIZE: &str = "ILINST_TRACE_SIZE";
const DEFAULT_TRACE_SIZE: u32 = 64 << 20;

/// Settings that override the environment: a running program has the environment of its start.
static GIVEN: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

/// Parses lines of the form `NAME=value`.
pub(crate) fn give(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let given = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    *GIVEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(given);
}

fn variable(name: &str) -> Option<String> {
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    given.as_ref().and_then(|given| given.get(name).cloned()).or_else(|| env::var(name).ok())
}

/// The time for which an attachment keeps methods instrumented.
pub(crate) fn duration() -> Duration {
    Duration::from_millis(variable(DURATION).and_then(|number| number.parse().ok()).unwrap_or_default()).min(LONGEST)
}

/// Whether methods are to be reverted early: on request, or because the client has ended.
pub(crate) fn is_stopped() -> bool {
    variable(STATUS).is_some_and(|folder| Path::new(&folder).join(STOP).exists() || !Path::new(&folder).exists())
}

/// Refuses a launcher of another version, if there is a launcher.
pub(crate) fn check_version() -> Result<(), String> {
    let own = env!("CARGO_PKG_VERSION");
    match variable(VERSION).filter(|wanted| wanted != own) {
        Some(wanted) => Err(format!("the profiler is of version {own}, and ilinst of {wanted}")),
        None => Ok(()),
    }
}

/// The options that select the methods to record.
pub(crate) fn options() -> Result<Options, String> {
    match variable(OPTIONS) {
        Some(words) => words.parse().map_err(|error| format!("{OPTIONS}: {error}")),
        None => Ok(Options::default()),
    }
}

pub(crate) fn all_assemblies() -> bool {
    variable(ALL_ASSEMBLIES).is_some_and(|value| value == "1")
}

pub(crate) fn projects_alone() -> bool {
    variable(PROJECTS_ALONE).is_some_and(|value| value == "1")
}

/// The assembly that the user named, if known.
pub(crate) fn named_program() -> Option<PathBuf> {
    let path = variable(PROGRAM).filter(|path| !path.is_empty());
    path.and_then(|path| std::fs::canonicalize(path).ok())
}

/// The tracker for instrumented methods, if methods are to be instrumented when their module is loaded.
pub(crate) fn tracker() -> Option<PathBuf> {
    env::var_os(TRACKER).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The values to capture from each call; `None` for no capture.
pub(crate) fn captured() -> Result<Option<Captured>, String> {
    let words = variable(CAPTURE).unwrap_or_default();
    if words.is_empty() {
        return Ok(None);
    }
    words.parse().map(Some).map_err(|error| format!("{CAPTURE}: {error}"))
}

/// The way to sample, if the profiler is to take samples.
pub(crate) fn sampling() -> Result<Option<Sampling>, String> {
    variable(SAMPLE).filter(|words| !words.is_empty()).map(|words| words.parse()).transpose()
}

/// The clock that is wanted, if one is.
pub(crate) fn clock() -> Option<ClockKind> {
    match &*variable(CLOCK).unwrap_or_default() {
        "tsc" => Some(ClockKind::Tsc),
        "stopwatch" => Some(ClockKind::Stopwatch),
        _ => None,
    }
}

pub(crate) fn max_nodes() -> u32 {
    number(MAX_NODES).unwrap_or(DEFAULT_MAX_NODES)
}

/// The size limit for captured calls in bytes.
pub(crate) fn trace_size() -> u32 {
    number(TRACE_SIZE).unwrap_or(DEFAULT_TRACE_SIZE)
}

fn number(variable: &str) -> Option<u32> {
    self::variable(variable)?.trim().parse().ok().filter(|number| *number > 0)
}

/// The program: the first assembly on its command line, else its host.
pub(crate) fn program() -> PathBuf {
    let named = env::args_os().skip(1).map(PathBuf::from).find(|word| is_named_as_assembly(word));
    let host = || env::current_exe().unwrap_or_default();
    named.and_then(|named| std::path::absolute(named).ok()).unwrap_or_else(host)
}

/// The host's runtime configuration file, if it exists: next to the program, or named by the host's command line.
pub(crate) fn runtime_configuration() -> Option<PathBuf> {
    let mut words = env::args_os().skip(1).skip_while(|word| word != "--runtimeconfig").skip(1);
    let named = words.next().and_then(|named| std::path::absolute(named).ok());
    let beside = || {
        let program = program();
        let name = if is_named_as_assembly(&program) { program.file_stem() } else { program.file_name() };
        Some(program.with_file_name(format!("{}.runtimeconfig.json", name?.display())))
    };
    named.or_else(beside).filter(|path| path.is_file())
}

/// The profile's path for a program of this name: as requested, else in the current folder. Also whether that is a
/// file name, whose file is replaced.
pub(crate) fn output(name: &str) -> (PathBuf, bool) {
    let file = format!("{name}-{}.ilprof", std::process::id());
    let wanted = variable(OUTPUT).unwrap_or_default().replace("%p", &std::process::id().to_string()).replace("%n", name);
    let path = std::path::absolute(if wanted.is_empty() { "." } else { &wanted }).unwrap_or_default();
    let is_folder = wanted.is_empty() || wanted.ends_with(std::path::is_separator) || path.is_dir();
    (if is_folder { path.join(file) } else { path }, !is_folder)
}

/// Reports to the launcher the result of the profiler's start.
pub(crate) fn report(_: impl MayWait, status: &str) {
    if let Some(folder) = variable(STATUS) {
        // A launcher without a status reports that itself.
        let _ = std::fs::write(Path::new(&folder).join(std::process::id().to_string()), status);
    }
}
