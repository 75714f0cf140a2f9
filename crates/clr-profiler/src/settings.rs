//! What the environment says: the launcher writes it, and the tracker's own variables mean the same here.

use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use instrument::live::{
    ALL_ASSEMBLIES, CAPTURE, Captured, DURATION, LONGEST, OPTIONS, OUTPUT, PROGRAM, PROJECTS_ALONE, STATUS, STOP, TRACKER,
    VERSION,
};
use weave::Options;

const MAX_NODES: &str = "ILINST_MAX_NODES";
const DEFAULT_MAX_NODES: u32 = 1_000_000;
const TRACE_SIZE: &str = "ILINST_TRACE_SIZE";
const DEFAULT_TRACE_SIZE: u32 = 64 << 20;

/// What wins over the environment: a program that runs has the one that it was started with.
static GIVEN: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

/// Takes lines: `NAME=value`.
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

/// How long methods stay woven that ran already.
pub(crate) fn duration() -> Duration {
    Duration::from_millis(variable(DURATION).and_then(|number| number.parse().ok()).unwrap_or_default()).min(LONGEST)
}

/// Whether they are to be put back before: somebody says so, or nobody waits for it any more.
pub(crate) fn is_stopped() -> bool {
    variable(STATUS).is_some_and(|folder| Path::new(&folder).join(STOP).exists() || !Path::new(&folder).exists())
}

/// Refuses another version's launcher, if there is one.
pub(crate) fn check_version() -> Result<(), String> {
    let own = env!("CARGO_PKG_VERSION");
    match variable(VERSION).filter(|wanted| wanted != own) {
        Some(wanted) => Err(format!("the profiler is of version {own}, and ilinst of {wanted}")),
        None => Ok(()),
    }
}

/// Which methods are recorded.
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

/// The assembly that the user named, if it is known.
pub(crate) fn named_program() -> Option<PathBuf> {
    let path = variable(PROGRAM).filter(|path| !path.is_empty());
    path.and_then(|path| std::fs::canonicalize(path).ok())
}

/// The tracker by which woven methods record themselves, if methods are to be woven.
pub(crate) fn tracker() -> Option<PathBuf> {
    env::var_os(TRACKER).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// What is kept of each call; none: nothing.
pub(crate) fn captured() -> Result<Option<Captured>, String> {
    let words = variable(CAPTURE).unwrap_or_default();
    if words.is_empty() {
        return Ok(None);
    }
    words.parse().map(Some).map_err(|error| format!("{CAPTURE}: {error}"))
}

pub(crate) fn max_nodes() -> u32 {
    number(MAX_NODES).unwrap_or(DEFAULT_MAX_NODES)
}

/// How many bytes of calls are kept.
pub(crate) fn trace_size() -> u32 {
    number(TRACE_SIZE).unwrap_or(DEFAULT_TRACE_SIZE)
}

fn number(variable: &str) -> Option<u32> {
    self::variable(variable)?.trim().parse().ok().filter(|number| *number > 0)
}

/// The program: the assembly that its command line names first, else its host.
pub(crate) fn program() -> PathBuf {
    let is_assembly = |word: &PathBuf| {
        let extension = word.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        ["dll", "exe"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    };
    let named = env::args_os().skip(1).map(PathBuf::from).find(is_assembly);
    let host = || env::current_exe().unwrap_or_default();
    named.and_then(|named| std::path::absolute(named).ok()).unwrap_or_else(host)
}

/// The file in which the host reads how the program's runtime is configured, if it is there: beside the program, or as the host's
/// command line says.
pub(crate) fn runtime_configuration() -> Option<PathBuf> {
    let mut words = env::args_os().skip(1).skip_while(|word| word != "--runtimeconfig").skip(1);
    let named = words.next().and_then(|named| std::path::absolute(named).ok());
    let beside = || {
        let program = program();
        let is_library = program.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("dll"));
        let is_exe = program.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"));
        let name = if is_library || is_exe { program.file_stem() } else { program.file_name() };
        Some(program.with_file_name(format!("{}.runtimeconfig.json", name?.display())))
    };
    named.or_else(beside).filter(|path| path.is_file())
}

/// The profile of a program of this name: where it is wanted, else in the current folder; and whether that is the name of a file,
/// which it replaces.
pub(crate) fn output(name: &str) -> (PathBuf, bool) {
    let file = format!("{name}-{}.ilprof", std::process::id());
    let wanted = variable(OUTPUT).unwrap_or_default().replace("%p", &std::process::id().to_string()).replace("%n", name);
    let path = std::path::absolute(if wanted.is_empty() { "." } else { &wanted }).unwrap_or_default();
    let is_folder = wanted.is_empty() || wanted.ends_with(std::path::is_separator) || path.is_dir();
    (if is_folder { path.join(file) } else { path }, !is_folder)
}

/// Says to the launcher how the profiler began.
pub(crate) fn report(status: &str) {
    if let Some(folder) = variable(STATUS) {
        // Who does not hear of it says so.
        let _ = std::fs::write(Path::new(&folder).join(std::process::id().to_string()), status);
    }
}
