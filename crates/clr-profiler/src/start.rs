//! A program that runs under the profiler from its start on.

use std::{
    ffi::c_void,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use live::Sampling;

use crate::{
    abi::{
        com::{E_FAIL, HResult, S_OK},
        runtime::Runtime,
        tables::mask,
    },
    attach,
    events::{at_load, functions},
    file::{self, Contents},
    hooks,
    modules::rules::Rules,
    process::{clock, settings},
    sampler, session,
    tree::{CALLEES, Calibration, pauses, searches},
    values::{capture, described},
    worlds::{self, InCallback, MayWait, OnOwnThread},
};

/// `Initialize`: reports the result to the launcher. The program runs in any case.
pub(crate) fn start_program(may: InCallback, runtime: *mut c_void) -> HResult {
    // A panic here must print nothing to the program's output.
    std::panic::set_hook(Box::new(|_| {}));
    match begin(may, runtime) {
        Ok(status) => {
            settings::report(may, &status);
            S_OK
        }
        Err(error) => {
            settings::report(may, &format!("{}{error}", live::FAILED));
            E_FAIL
        }
    }
}

fn begin(may: InCallback, object: *mut c_void) -> Result<String, String> {
    let runtime = session::checked(object)?;
    let (options, captured) = (settings::options()?, settings::captured()?);
    if let Some(sampling) = settings::sampling()? {
        return sample(may, runtime, sampling);
    }
    let rules = Rules::new(options, settings::all_assemblies());
    let tracker = settings::tracker();
    let why_hooks = tracker.as_ref().and_then(|_| at_load::why_not(runtime));
    if let (Some(tracker), None) = (&tracker, &why_hooks) {
        // Silent if it cannot write, like the tracker.
        let (wanted, _) = settings::output(&session::name_of_program());
        file::prepare_folder(may, &wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
        at_load::start_rewriting(may, runtime, rules, tracker)?;
        runtime.set_event_mask(mask::MODULE_LOADS | mask::CACHE_SEARCHES, 0).ok_or("the runtime refuses the events")?;
        return Ok(at_load::first_status());
    }
    let (path, now) = session::create_profile(
        may,
        &session::name_of(runtime),
        Contents { has_values: captured.is_some(), ..Contents::default() },
    )?;
    let status = match why_hooks {
        None => format!("{} {}", live::RECORDING, path.display()),
        Some(why) => format!("{}{why}", live::BY_HOOKS),
    };
    described::follow_modules(may, runtime);
    functions::choose_functions(may, runtime, rules, status.clone());
    let mut events = mask::ENTERLEAVE | mask::JIT_COMPILATION | mask::MODULE_LOADS | mask::EXCEPTIONS;
    if let Some(captured) = captured {
        events |= mask::SUSPENDS | mask::FRAME_INFO;
        events |= if captured.this || captured.arguments { mask::FUNCTION_ARGS } else { 0 };
        events |= if captured.returned { mask::FUNCTION_RETVAL } else { 0 };
        capture::start_capture(may, runtime, captured, settings::trace_size(), now)
            .ok_or("the runtime does not say where strings are")?;
    }
    runtime.set_event_mask(events, 0).ok_or("the runtime refuses the events")?;
    runtime.set_mapper(functions::map).ok_or("the runtime refuses the mapper of functions")?;
    // SAFETY: the stubs follow the runtime's convention. The mapper answers with a function, which is never freed.
    let hooked = unsafe {
        match captured {
            None => runtime.set_hooks([hooks::enter, hooks::leave, hooks::tailcall]),
            Some(_) => runtime.set_hooks_with_info([hooks::enter_with_info, hooks::leave_with_info, hooks::tailcall_with_info]),
        }
    };
    hooked.ok_or("the runtime refuses the hooks")?;
    // Without this thread, the file is updated only at the end.
    let _ = worlds::spawn(keep_file_up_to_date);
    Ok(status)
}

/// Records samples, without probes.
fn sample(may: impl MayWait, runtime: Runtime, sampling: Sampling) -> Result<String, String> {
    // The signal handler stays installed, also where the runtime gives up the profiler.
    attach::pin();
    let (path, _) = session::create_profile(may, &session::name_of(runtime), Contents::default())?;
    sampler::start(may, runtime, sampling, settings::max_nodes()).inspect_err(|_| {
        // Nothing is in it.
        let _ = std::fs::remove_file(&path);
    })?;
    let (low, high) = sampler::EVENTS;
    runtime.set_event_mask(low, high).ok_or("the runtime refuses the events")?;
    let watch = worlds::spawn(|own| sampler::run(own, || false));
    watch.map_err(|error| format!("no thread can be started: {error}"))?;
    Ok(format!("{} {}", live::SAMPLING, path.display()))
}

static IS_ENDED: AtomicBool = AtomicBool::new(false);

/// Keeps the file up to date while the program runs.
fn keep_file_up_to_date(own: OnOwnThread) {
    const PERIOD: Duration = Duration::from_millis(100);
    let mut calibration = Calibration::new(own, |number| hooks::enter_and_leave(&CALLEES[number]));
    for turn in 0_u64.. {
        if turn % 10 == 0 && !pauses::is_on() {
            calibration.measure_more();
        }
        std::thread::sleep(PERIOD);
        if IS_ENDED.load(Relaxed) {
            return;
        }
        session::update_file(own, turn % 10 == 0);
    }
}

/// `Shutdown`
pub(crate) fn end_program(may: InCallback) {
    sampler::stop(may);
    IS_ENDED.store(true, Relaxed);
    session::update_file(may, true);
    searches::end_all_searches(may);
    file::finish(may, clock::now());
}
