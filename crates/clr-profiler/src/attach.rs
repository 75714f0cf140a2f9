//! `ilinst attach`: ReJIT instruments methods of a running program for a given time, then reverts them. Instrumented
//! bodies call the call tree by address (`tree/probes.rs`), so the program loads only this library. The library
//! stays loaded, because calls still running may return to it.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::c_void,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ecma335::{Table, Token};
use live::Sampling;
use weave::{NativeProbes, Tracker, Weave};

use crate::{
    abi::{
        com::{E_FAIL, HResult, Interface, S_OK},
        metadata::MetadataEmit,
        runtime::{COLLECTIBLE, Id, Runtime},
        tables::{FunctionControl, mask},
    },
    events::at_load,
    file::{self, Contents, Pieces},
    modules::{
        loaded::{Loaded, TOOL},
        rules::Rules,
    },
    process::{clock, settings},
    sampler, session,
    tree::{self, CALLEES, Calibration},
    worlds::{self, InCallback, MayWait, OnOwnThread},
};

// Receives later attach requests: a runtime that has used ReJIT never unloads a profiler.
#[cfg(windows)]
mod named_pipe;
#[cfg(target_os = "linux")]
mod unnamed_pipe;
#[cfg(not(any(windows, target_os = "linux")))]
mod unsupported;
#[cfg(windows)]
use named_pipe::RequestPipe;
#[cfg(target_os = "linux")]
use unnamed_pipe::RequestPipe;
#[cfg(not(any(windows, target_os = "linux")))]
use unsupported::RequestPipe;

/// The events of an attachment that instruments methods.
const EVENTS: (u32, u32) = (mask::MODULE_LOADS | mask::JIT_COMPILATION | mask::ENABLE_REJIT, 0);

/// A method as ReJIT identifies it: its module id and its token.
type Method = (Id, u32);

/// The state of one attachment.
#[derive(Default)]
struct State {
    /// Taken by the thread of the attachment.
    session: Option<Session>,
    /// The new IL bodies, by method.
    bodies: HashMap<Method, Vec<u8>>,
    /// The number of methods that the runtime refused to recompile, and the last error code.
    refused: Option<(usize, HResult)>,
    /// The result to report once the runtime has detached.
    result: String,
    runtime: Option<Runtime>,
}

/// The new bodies of loaded modules.
struct Woven {
    bodies: HashMap<Method, Vec<u8>>,
    /// The reasons for skipped modules.
    skipped: BTreeSet<String>,
    /// Whether only modules of the framework are loaded so far.
    is_starting: bool,
}

struct Session {
    runtime: Runtime,
    rules: Rules,
    profile: PathBuf,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// Held while the profiler queries modules that may be unloaded. The runtime frees no module before
/// `ModuleUnloadStarted` returns, and that callback waits for this lock.
static UNLOADING: Mutex<()> = Mutex::new(());
/// Held by callbacks while they use the trees of a session, and while these are freed. Unlike probes, callbacks run while managed
/// code is suspended.
static TREES_IN_USE: RwLock<()> = RwLock::new(());
/// True while a session records.
static IS_ON: AtomicBool = AtomicBool::new(false);

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No module is unloaded while the result is held.
fn hold_modules() -> MutexGuard<'static, ()> {
    UNLOADING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `ModuleUnloadStarted`: waits until no thread queries modules. Modules with instrumented methods never unload: see
/// [`Session::weave`].
pub(crate) fn allow_unload(_: InCallback) {
    drop(hold_modules());
}

/// Runs an action on this thread's tree, if it has one of the current session.
pub(crate) fn with_trees(may: InCallback, action: impl FnOnce(InCallback)) {
    let _in_use = TREES_IN_USE.read().unwrap_or_else(PoisonError::into_inner);
    if IS_ON.load(Relaxed) && tree::has_tree_of_session() {
        action(may);
    }
}

/// `InitializeForAttach`, with the data that the launcher sent.
pub(crate) fn start_attachment(may: InCallback, runtime: *mut c_void, data: &[u8]) -> HResult {
    std::panic::set_hook(Box::new(|_| {}));
    settings::give(data);
    let session = || {
        let runtime = session::checked(runtime)?;
        // Without ReJIT, the runtime detaches the profiler afterwards.
        let (low, high) = if settings::sampling()?.is_some() { sampler::EVENTS } else { EVENTS };
        runtime.set_event_mask(low, high).ok_or("the runtime does not compile methods anew")?;
        pin();
        Session::new(may, runtime)
    };
    match session() {
        Ok(session) => {
            *state() = Some(State { session: Some(session), ..State::default() });
            S_OK
        }
        Err(error) => {
            settings::report(may, &format!("{}{error}", live::FAILED));
            E_FAIL
        }
    }
}

/// `ProfilerAttachComplete`: starts the profiler's own thread, which does the rest.
pub(crate) fn run_attachment(may: InCallback) {
    let Some(session) = state().as_mut().and_then(|state| state.session.take()) else { return };
    let (runtime, profile) = (session.runtime, session.profile.clone());
    if let Err(error) = worlds::spawn(move |own| session.run(own)) {
        let _ = file::finish(may, clock::now());
        let _ = std::fs::remove_file(profile);
        let text = format!("{}no thread can be started: {error}", live::FAILED);
        settings::report(may, &text);
        if let Some(state) = state().as_mut() {
            state.result = text;
        }
        let _ = runtime.request_detach();
    }
}

impl Session {
    fn new(may: impl MayWait, runtime: Runtime) -> Result<Self, String> {
        settings::check_version()?;
        let rules = Rules::new(settings::options()?, settings::all_assemblies());
        session::leave_out_cpu_so_far();
        let contents = Contents { has_values: false, has_allocations: rules.options().counts_bytes() };
        Ok(Self { runtime, rules, profile: session::create_profile(may, &session::name_of(runtime), contents)?.0 })
    }

    /// Serves this attachment, then later ones if the runtime has not detached.
    fn run(self, own: OnOwnThread) {
        let runtime = self.runtime;
        at_load::weave_alone();
        runtime.initialize_thread();
        let mut result = self.once(own);
        let Err(error) = runtime.request_detach() else { return };
        let mut pipe = RequestPipe::open();
        let closed = |error: &io::Error| format!("; it cannot be attached to again: {error}");
        let closed = pipe.as_ref().err().map(closed).unwrap_or_default();
        loop {
            let stays = |refused| format!("{}{error}{refused}{closed}", live::STAYS);
            settings::report(own, &result.map_or_else(|failed| failed, stays));
            loop {
                let Some(lines) = pipe.as_mut().ok().and_then(RequestPipe::next) else { return };
                settings::give(&lines);
                // The client of a queued request may have ended.
                if !settings::is_stopped() {
                    break;
                }
            }
            *state() = Some(State::default());
            result =
                Self::new(own, runtime).map_err(|error| format!("{}{error}", live::FAILED)).and_then(|session| session.once(own));
        }
    }

    fn once(mut self, own: OnOwnThread) -> Result<String, String> {
        let result = match settings::sampling() {
            Ok(None) => self.weave().and_then(|(methods, skipped)| self.record(own, &methods, &skipped)),
            Ok(Some(sampling)) => self.sample(own, sampling),
            Err(error) => Err(error),
        };
        let result = result.map_err(|error| {
            let pieces = end_recording(own).or_else(|| file::finish(own, clock::now()));
            pieces.into_iter().for_each(|pieces| unmap(own, self.runtime, pieces));
            let _ = std::fs::remove_file(&self.profile);
            format!("{}{error}", live::FAILED)
        });
        if matches!(settings::sampling(), Ok(Some(_))) && result.is_ok() {
            // Nothing is left to be undone: the client need not wait for the runtime to detach the profiler.
            settings::report(own, live::DETACHED);
        }
        // A client that receives the result may attach again at once.
        if let Some(state) = state().as_mut() {
            state.result = result.as_ref().map_or_else(Clone::clone, |refused| format!("{}{refused}", live::DETACHED));
        }
        result
    }

    /// Records samples for the requested time.
    fn sample(&self, own: OnOwnThread, sampling: Sampling) -> Result<String, String> {
        let (low, high) = sampler::EVENTS;
        let refused = "the runtime refuses the events";
        // A runtime that has used ReJIT keeps it. This sets nothing new after a first attachment.
        let (keep, _) = EVENTS;
        let set = self.runtime.set_event_mask(low, high).or_else(|| self.runtime.set_event_mask(low | keep, high));
        set.ok_or(refused)?;
        sampler::start(own, self.runtime, sampling, settings::max_nodes())?;
        sampler::leave_out_cpu_so_far(own);
        IS_ON.store(true, Relaxed);
        {
            let _held = hold_modules();
            sampler::add_compiled(own, self.runtime);
        }
        let until = Instant::now() + settings::duration();
        settings::report(own, live::SAMPLING);
        sampler::run(own, || Instant::now() >= until || settings::is_stopped() || !IS_ON.load(Relaxed));
        let pieces = end_recording(own);
        // SAFETY: the sampler's thread alone writes to the profile, and this is the thread.
        pieces.into_iter().for_each(|pieces| unsafe { pieces.unmap() });
        Ok(String::new())
    }

    /// Instruments the loaded modules. If a program has just started, it waits for the first module outside of the framework.
    fn weave(&mut self) -> Result<(Vec<Method>, BTreeSet<String>), String> {
        const PATIENCE: Duration = Duration::from_secs(10);
        const PERIOD: Duration = Duration::from_millis(100);
        let until = Instant::now() + PATIENCE;
        loop {
            let Woven { bodies, skipped, is_starting } = self.weave_loaded()?;
            if is_starting && bodies.is_empty() && Instant::now() < until && !settings::is_stopped() {
                std::thread::sleep(PERIOD);
                continue;
            }
            let mut methods: Vec<Method> = bodies.keys().copied().collect();
            if methods.is_empty() {
                let skipped = skipped.iter().map(|skipped| format!("; skipped: {skipped}")).collect::<String>();
                return Err(format!(
                    "no loaded assembly has a method that your options select and that can be instrumented{skipped}; `ilinst list \
                     ASSEMBLY` shows the names, and `ilinst explain ASSEMBLY METHOD` the rule that skips a method"
                ));
            }
            methods.sort_unstable();
            let mut state = state();
            let state = state.as_mut().ok_or("it is over")?;
            (state.bodies, state.runtime) = (bodies, Some(self.runtime));
            return Ok((methods, skipped));
        }
    }

    /// Weaves the modules that are loaded now. Collectible modules are skipped: the runtime recompiles none of their methods. All
    /// other modules stay loaded for the life of the process.
    fn weave_loaded(&mut self) -> Result<Woven, String> {
        let Self { runtime, rules, .. } = self;
        let take_bytes = rules.options().counts_bytes();
        let [enter, leave, handle] = if take_bytes {
            [tree::enter_with_bytes as *const (), tree::leave_with_bytes as *const (), tree::handle_with_bytes as *const ()]
        } else {
            [tree::enter_woven as *const (), tree::leave_woven as *const (), tree::handle_woven as *const ()]
        }
        .map(|probe| probe as u64);
        let count = tree::count_woven as *const () as u64;
        let probes = NativeProbes { enter, leave, handle, count, take_bytes };
        let tracker = Tracker::read(tracker_runtime::ASSEMBLY).map_err(|error| error.to_string())?.replaced_by(probes);
        let (mut woven, mut skipped, mut collectible) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut is_starting = true;
        for (id, loaded) in loaded(*runtime, &mut skipped)? {
            is_starting &= rules.is_framework(&loaded);
            let Some(id) = id else {
                // A program may have loaded the same module several times.
                let name = Some(loaded.path.clone()).filter(|path| !path.is_empty()).or_else(|| loaded.assembly_name());
                let name = name.unwrap_or_default();
                if collectible.insert(name.clone()) && rules.selects(&loaded) {
                    skipped.insert(format!("{name}: it can be unloaded (collectible), and .NET recompiles no method of it"));
                }
                continue;
            };
            let Some(module) = rules.module(Arc::new(loaded)) else { continue };
            let Loaded { path, image, metadata, .. } = &*module.loaded;
            let weaving = Weave { options: rules.options(), tool: TOOL, ..Weave::new(&tracker) };
            let bodies = match weave::refusal::for_file(image, metadata, &tracker) {
                Some(refusal) => Err(refusal.to_string()),
                None => weave::weave_loaded(image, metadata, &weaving, || MetadataEmit::open(*runtime, id))
                    .map_err(|error| error.to_string()),
            };
            match bodies {
                Ok(bodies) => {
                    let suspended = module.suspended();
                    if suspended > 0 && runtime.calls_original() {
                        let methods = if suspended == 1 { "method" } else { "methods" };
                        skipped.insert(format!(
                            "{path}: calls of {suspended} runtime-async {methods} in optimized code, which .NET 10 keeps running"
                        ));
                    }
                    bodies.iter().flat_map(|bodies| &bodies.calls).for_each(|call| module.write_call(call));
                    woven.extend(bodies.iter().flat_map(weave::LoadedBodies::iter).map(|(method, body)| {
                        let token = Token::new(Table::MethodDef, method.get()).0;
                        module.method(token);
                        ((id, token), body.to_vec())
                    }));
                }
                Err(why) => {
                    skipped.insert(format!("{path}: {why}"));
                }
            }
        }
        Ok(Woven { bodies: woven, skipped, is_starting })
    }

    /// Records the methods for the requested time, then reverts them. Returns a message with the number of methods
    /// that the runtime did not recompile.
    fn record(&self, own: OnOwnThread, methods: &[Method], skipped: &BTreeSet<String>) -> Result<String, String> {
        const PERIOD: Duration = Duration::from_millis(50);
        tree::count_allocations(self.rules.options().counts_bytes());
        tree::start_session(own);
        IS_ON.store(true, Relaxed);
        let refused = |what, error| format!("the runtime does not {what}: {error}");
        // Modules of callers that inlined one of the methods may be collectible.
        let request = |request: &dyn Fn() -> Result<(), String>| {
            let _held = hold_modules();
            request()
        };
        request(&|| self.runtime.request_rejit(methods)).map_err(|error| refused("compile methods anew", error))?;
        let until = Instant::now() + settings::duration();
        let skipped: String = skipped.iter().map(|skipped| format!("\n{skipped}")).collect();
        settings::report(own, &format!("{} {}{skipped}", live::WOVEN, methods.len()));
        let mut calibration = Calibration::new(own, |number| tree::leave_woven(tree::enter_woven(CALLEES[number].method_id)));
        let mut turns = 0_u64..;
        while Instant::now() < until && !settings::is_stopped() && IS_ON.load(Relaxed) {
            let is_tenth = turns.next().is_some_and(|turn| turn % 10 == 0);
            if is_tenth && !tree::pauses::is_on() {
                calibration.measure_more();
            }
            session::update_file(own, is_tenth);
            std::thread::sleep(PERIOD.min(until.saturating_duration_since(Instant::now())));
        }
        let put_back = request(&|| self.runtime.request_revert(methods)).map_err(|error| refused("put methods back", error));
        // Without pieces, the program has ended meanwhile: the file is complete, and no method need be put back.
        let Some(pieces) = end_recording(own) else { return Ok(String::new()) };
        put_back?;
        unmap(own, self.runtime, pieces);
        let refused = state().as_ref().and_then(|state| state.refused);
        let in_words = |(count, why)| format!("; of them, {count} are not compiled anew by the runtime: 0x{why:08X}");
        Ok(refused.map(in_words).unwrap_or_default())
    }
}

/// The loaded modules, parsed while none can be unloaded. Modules that never unload have an id. Modules whose files were
/// replaced are skipped.
fn loaded(runtime: Runtime, skipped: &mut BTreeSet<String>) -> Result<Vec<(Option<Id>, Loaded)>, String> {
    let _held = hold_modules();
    let ids = runtime.modules().ok_or("the runtime does not say what is loaded")?;
    let (mut all, mut changed) = (Vec::new(), BTreeSet::new());
    for (id, place) in ids.into_iter().filter_map(|id| Some((id, runtime.module(id)?))) {
        match Loaded::read(&place) {
            Some(loaded) => all.push(((place.flags & COLLECTIBLE == 0).then_some(id), loaded)),
            None => drop(changed.insert(place.path)),
        }
    }
    // Modules that are made by the program have no path.
    changed.remove("");
    if let Some(first) = changed.pop_first() {
        let others = if changed.is_empty() { String::new() } else { format!(", and {} others", changed.len()) };
        skipped.insert(format!("{first}{others}: the file was replaced or removed since the program loaded it"));
    }
    Ok(all)
}

/// Ends the recording. Returns the still mapped pieces of the file, unless another thread has ended the recording.
fn end_recording(may: impl MayWait) -> Option<Pieces> {
    if !IS_ON.swap(false, Relaxed) {
        return None;
    }
    sampler::stop(may);
    session::update_file(may, true);
    tree::end_session(may);
    file::finish(may, clock::now())
}

/// Unmaps the profile, and with it the last state of an attachment.
fn unmap(own: OnOwnThread, runtime: Runtime, pieces: Pieces) {
    // Probes run as managed code. No probe that began earlier still runs while all managed code is suspended.
    if runtime.stop_for_a_moment() {
        let _unused = TREES_IN_USE.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the session is over, so neither new probes nor ending threads use its trees. This thread runs the
        // session.
        unsafe {
            tree::forget_session(own);
            pieces.unmap();
        }
    }
}

/// Called at the end of the program. Returns whether a profiler was attached.
pub(crate) fn end_program(may: InCallback) -> bool {
    let was_attached = state().is_some();
    if was_attached {
        RequestPipe::close();
        end_recording(may);
    }
    was_attached
}

/// The runtime has detached the profiler.
pub(crate) fn is_detached(may: InCallback) {
    if let Some(state) = state().take() {
        settings::report(may, &state.result);
    }
}

/// `GetReJITParameters`: sets the new body of a method.
pub(crate) fn set_body(_: InCallback, module: Id, token: u32, control: *mut c_void) -> HResult {
    type F = unsafe extern "system" fn(*mut c_void, u32, *const u8) -> HResult;
    let state = state();
    let Some(body) = state.as_ref().and_then(|state| state.bodies.get(&(module, token))) else { return S_OK };
    // SAFETY: the runtime passes an ICorProfilerFunctionControl, whose SetILFunctionBody(ULONG, LPCBYTE) copies the body.
    unsafe {
        let control = Interface::new(control);
        control.method::<F>(FunctionControl::SetILFunctionBody as usize)(control.pointer(), body.len() as u32, body.as_ptr())
    }
}

/// `ReJITError`: the method keeps its original code.
pub(crate) fn refused(_: InCallback, _module: Id, _token: u32, why: HResult) {
    if let Some(state) = state().as_mut() {
        state.refused = Some((state.refused.map_or(1, |(count, _)| count + 1), why));
    }
}

/// Whether a function is instrumented. Such a function must not be inlined.
pub(crate) fn is_woven(_: InCallback, function: Id) -> bool {
    if !IS_ON.load(Relaxed) {
        return false;
    }
    let place = state().as_ref().and_then(|state| state.runtime?.function(function));
    place.is_some_and(|place| state().as_ref().is_some_and(|state| state.bodies.contains_key(&(place.module, place.token))))
}

/// Keeps the library loaded after the runtime has detached it.
#[cfg(unix)]
pub(crate) fn pin() {
    // SAFETY: the address lies in this library. The additional handle is never closed.
    unsafe {
        let mut own = std::mem::zeroed::<libc::Dl_info>();
        if libc::dladdr(pin as *const c_void, &mut own) != 0 && !own.dli_fname.is_null() {
            libc::dlopen(own.dli_fname, libc::RTLD_LAZY | libc::RTLD_NODELETE);
        }
    }
}

#[cfg(windows)]
pub(crate) fn pin() {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> i32;
    }
    // GET_MODULE_HANDLE_EX_FLAG_PIN, _FROM_ADDRESS
    const FLAGS: u32 = 1 | 4;
    let mut module = std::ptr::null_mut();
    // SAFETY: the address lies in this library.
    unsafe { GetModuleHandleExW(FLAGS, pin as *const c_void, &mut module) };
}
