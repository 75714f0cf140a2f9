//! The profiler's life, from the runtime's start to its end.

use std::{
    ffi::c_void,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use instrument::live::Sampling;

use crate::{
    api::mask,
    attached,
    calibration::Calibration,
    call_tree::{self, pauses, phases},
    capture, clock,
    com::{E_FAIL, HResult, S_OK},
    forked, functions,
    info::Runtime,
    modules::Rules,
    profile_file::{self, Start},
    rewriting, sampler, settings,
};

/// `Initialize`: reports the result to the launcher. The program runs in any case.
pub(crate) fn start(runtime: *mut c_void) -> HResult {
    // A panic here must print nothing to the program's output.
    std::panic::set_hook(Box::new(|_| {}));
    match begin(runtime) {
        Ok(status) => {
            settings::report(&status);
            S_OK
        }
        Err(error) => {
            settings::report(&format!("{}{error}", instrument::live::FAILED));
            E_FAIL
        }
    }
}

/// The interface that was passed, if the launcher has this profiler's version.
pub(crate) fn checked(object: *mut c_void) -> Result<Runtime, String> {
    settings::check_version()?;
    Runtime::of(object).ok_or("the runtime has no ICorProfilerInfo5: it is older than .NET Core".to_owned())
}

fn begin(object: *mut c_void) -> Result<String, String> {
    let runtime = checked(object)?;
    let (options, captured) = (settings::options()?, settings::captured()?);
    if let Some(sampling) = settings::sampling()? {
        return sample(runtime, sampling);
    }
    let rules = Rules::new(options, settings::all_assemblies());
    let tracker = settings::tracker();
    let why_hooks = tracker.as_ref().and_then(|_| rewriting::why_not(runtime));
    if let (Some(tracker), None) = (&tracker, &why_hooks) {
        // Silent if it cannot write, like the tracker.
        let (wanted, _) = settings::output(&name_of_program());
        profile_file::prepare(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
        rewriting::start(runtime, rules, tracker)?;
        runtime.set_event_mask(mask::MODULE_LOADS | mask::CACHE_SEARCHES, 0).ok_or("the runtime refuses the events")?;
        return Ok(rewriting::first_status());
    }
    let (path, now) = make_profile(runtime, captured.is_some())?;
    let status = match why_hooks {
        None => format!("{} {}", instrument::live::RECORDING, path.display()),
        Some(why) => format!("{}{why}", instrument::live::BY_HOOKS),
    };
    functions::start(runtime, rules, status.clone());
    let mut events = mask::ENTERLEAVE | mask::JIT_COMPILATION | mask::MODULE_LOADS | mask::EXCEPTIONS;
    if let Some(captured) = captured {
        events |= mask::SUSPENDS | mask::FRAME_INFO;
        events |= if captured.this || captured.arguments { mask::FUNCTION_ARGS } else { 0 };
        events |= if captured.returned { mask::FUNCTION_RETVAL } else { 0 };
        capture::start(runtime, captured, settings::trace_size(), now).ok_or("the runtime does not say where strings are")?;
    }
    runtime.set_event_mask(events, 0).ok_or("the runtime refuses the events")?;
    runtime.set_mapper(functions::map).ok_or("the runtime refuses the mapper of functions")?;
    let hooks = match captured {
        None => runtime.set_hooks(),
        Some(_) => runtime.set_hooks_with_info(),
    };
    hooks.ok_or("the runtime refuses the hooks")?;
    // Without this thread, the file is updated only at the end.
    let _ = std::thread::Builder::new().name("ilinst".into()).stack_size(256 << 10).spawn(keep_house);
    Ok(status)
}

/// Records samples, without probes.
fn sample(runtime: Runtime, sampling: Sampling) -> Result<String, String> {
    let (path, _) = make_profile(runtime, false)?;
    sampler::start(runtime, sampling, settings::max_nodes()).inspect_err(|_| {
        // Nothing is in it.
        let _ = std::fs::remove_file(&path);
    })?;
    let (low, high) = sampler::EVENTS;
    runtime.set_event_mask(low, high).ok_or("the runtime refuses the events")?;
    let watch = std::thread::Builder::new().name("ilinst".into()).spawn(|| sampler::run(|| false));
    watch.map_err(|error| format!("no thread can be started: {error}"))?;
    Ok(format!("{} {}", instrument::live::SAMPLING, path.display()))
}

/// Creates the profile's file; returns its path and start time.
pub(crate) fn make_profile(runtime: Runtime, has_values: bool) -> Result<(PathBuf, i64), String> {
    let (program, max_nodes, name) = (settings::program(), settings::max_nodes(), name_of_program());
    let (wanted, replaces) = settings::output(&name);
    let start = Start {
        ticks_per_second: clock::frequency(),
        now: clock::now(),
        histogram_shift: call_tree::histogram_shift(),
        max_nodes,
        replaces,
        has_values,
        strings: [&name, &name_of(runtime), &program.to_string_lossy()],
    };
    forked::watch();
    let path = profile_file::create(&wanted, &start).map_err(|error| format!("{}: {error}", wanted.display()))?;
    call_tree::start(max_nodes);
    Ok((path, start.now))
}

fn name_of_program() -> String {
    settings::program().file_stem().map_or_else(|| "program".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The runtime's name for users: `.NET 8.0.4, Unix`.
fn name_of(runtime: Runtime) -> String {
    let [major, minor, build] = runtime.version().unwrap_or_default();
    // Versions before 5 report the version of the .NET Framework.
    let version = if major >= 5 { format!(".NET {major}.{minor}.{build}") } else { ".NET Core".to_owned() };
    format!("{version}, {}", if cfg!(windows) { "Win32NT" } else { "Unix" })
}

static IS_ENDED: AtomicBool = AtomicBool::new(false);

/// Keeps the file up to date while the program runs.
fn keep_house() {
    const PERIOD: Duration = Duration::from_millis(100);
    let mut calibration = Calibration::of_hooks();
    for turn in 0_u64.. {
        if turn % 10 == 0 && !pauses::is_on() {
            calibration.go_on();
        }
        std::thread::sleep(PERIOD);
        if IS_ENDED.load(Relaxed) {
            return;
        }
        look(turn % 10 == 0);
    }
}

/// Executes a command of the tool.
fn carry_out(command: u32, name: &str) -> bool {
    const PAUSE: u32 = profile::Command::Pause as u32;
    const RESUME: u32 = profile::Command::Resume as u32;
    const RESET: u32 = profile::Command::Reset as u32;
    const MARK: u32 = profile::Command::Mark as u32;
    let now = clock::now();
    match command {
        PAUSE if profile_file::pause(true, now) => {
            pauses::begin(now);
            sampler::pause(true);
        }
        RESUME if profile_file::pause(false, now) => {
            pauses::end(now);
            sampler::pause(false);
        }
        PAUSE | RESUME => {}
        // Samples have no phases.
        RESET | MARK if sampler::is_on() => return false,
        RESET => return phases::add("", phases::RESET, now),
        MARK => return phases::add(name, phases::MARK, now),
        _ => return false,
    }
    true
}

/// Updates the file with the program's progress.
pub(crate) fn look(at_threads: bool) {
    let cpu = at_threads.then(cpu_time).flatten();
    profile_file::look(clock::now(), cpu);
    profile_file::obey(carry_out);
    if at_threads {
        call_tree::look_at_threads();
    }
}

#[cfg(unix)]
fn cpu_time() -> Option<i64> {
    call_tree::cpu_time_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[cfg(not(unix))]
fn cpu_time() -> Option<i64> {
    None
}

/// `Shutdown`
pub(crate) fn end() {
    if rewriting::is_on() || attached::end_program() {
        return;
    }
    sampler::stop();
    IS_ENDED.store(true, Relaxed);
    look(true);
    call_tree::searches::end_all();
    profile_file::end(clock::now());
}
