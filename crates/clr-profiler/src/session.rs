//! A recording: its file, which the tool can read and command at any moment.

use std::{
    ffi::c_void,
    path::PathBuf,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

use profile_format::{ClockKind, Command, PhaseKind};

use crate::{
    abi::runtime::Runtime,
    file::{self, Contents, Start},
    process::{clock, settings},
    tree::{self, own_thread::phases, pauses},
    worlds::MayWait,
};

/// The interface that was passed, if the launcher has this profiler's version.
pub(crate) fn checked(object: *mut c_void) -> Result<Runtime, String> {
    settings::check_version()?;
    Runtime::new(object).ok_or("the runtime has no ICorProfilerInfo5: it is older than .NET Core".to_owned())
}

/// Creates the profile's file for a runtime of this name; returns its path and start time.
pub(crate) fn create_profile(may: impl MayWait, runtime: &str, contents: Contents) -> Result<(PathBuf, i64), String> {
    let (program, max_nodes, name) = (settings::program(), settings::max_nodes(), name_of_program());
    let (path, replaces) = settings::output(&name);
    // Samples have times in nanoseconds.
    let clock = if settings::sampling()?.is_some() { Some(ClockKind::Stopwatch) } else { settings::clock() };
    clock::choose(clock.unwrap_or(ClockKind::Tsc));
    let histogram_shift = tree::histogram_shift();
    let start = Start {
        clock: clock::kind(),
        ticks_per_second: clock::frequency(),
        now: clock::now(),
        histogram_shift,
        max_nodes,
        replaces,
        contents,
        strings: [&name, runtime, &program.to_string_lossy()],
    };
    #[cfg(unix)]
    crate::process::forked::watch_forks(tree::forget_thread);
    let path = file::create(may, &path, &start).map_err(|error| format!("{}: {error}", path.display()))?;
    tree::set_limits(max_nodes, histogram_shift);
    Ok((path, start.now))
}

pub(crate) fn name_of_program() -> String {
    settings::program().file_stem().map_or_else(|| "program".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The runtime's name for users: `.NET 8.0.4, Unix`.
pub(crate) fn name_of(runtime: Runtime) -> String {
    let [major, minor, build] = runtime.version().unwrap_or_default();
    // Versions before 5 report the version of the .NET Framework.
    let version = if major >= 5 { format!(".NET {major}.{minor}.{build}") } else { ".NET Core".to_owned() };
    format!("{version}, {}", if cfg!(windows) { "Win32NT" } else { "Unix" })
}

/// Executes a command of the tool.
fn execute(may: impl MayWait, command: u32, name: &str) -> bool {
    let now = clock::now();
    match Command::from_number(command) {
        Some(Command::Pause) if file::record_pause(may, true, now) => pauses::pause(now),
        Some(Command::Resume) if file::record_pause(may, false, now) => pauses::resume(now),
        Some(Command::Pause | Command::Resume) => {}
        // Samples have no phases.
        Some(Command::Reset | Command::Mark) if matches!(settings::sampling(), Ok(Some(_))) => return false,
        Some(Command::Reset) => return phases::add_phase(may, "", PhaseKind::Reset, now),
        Some(Command::Mark) => return phases::add_phase(may, name, PhaseKind::Mark, now),
        None => return false,
    }
    true
}

/// Updates the file with the program's progress.
pub(crate) fn update_file(may: impl MayWait, at_threads: bool) {
    let cpu = at_threads.then(cpu_time).flatten();
    file::record_progress(may, clock::now(), clock::frequency(), cpu);
    file::execute_command(may, |command, name| execute(may, command, name));
    if at_threads {
        tree::look_at_threads(may);
    }
}

/// The CPU time of the process in ns before the recording.
static CPU_BEFORE: AtomicI64 = AtomicI64::new(0);

/// Leaves out the CPU time of the process so far: the program ran before the profiler was attached.
pub(crate) fn leave_out_cpu_so_far() {
    CPU_BEFORE.store(0, Relaxed);
    CPU_BEFORE.store(cpu_time().unwrap_or_default(), Relaxed);
}

/// The CPU time of the process since the recording began, in ns.
#[cfg(unix)]
fn cpu_time() -> Option<i64> {
    Some(tree::cpu_time_of(libc::CLOCK_PROCESS_CPUTIME_ID)? - CPU_BEFORE.load(Relaxed))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<i64> {
    None
}
