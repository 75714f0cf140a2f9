//! A sampling profiler: threads take samples of their own stacks, by timers on their CPU time, and a thread of the profiler adds
//! the samples up. Nothing is suspended, and no code of the program changes. docs/design/live-profiler.md has the reasons.
//!
//! ```text
//! clock (clock, event) -> signal handler (signal, walk) -> ring of the thread -> sampler's thread (code: names) -> paths in the profile
//! ```

mod call;
mod clock;
mod code;
mod handler;
mod ids;
mod maps;
mod mono;
mod of_thread;
mod paths;
mod prologue;
mod symbols;
mod threads;

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use live::Sampling;
use profile_format::RecordingMode;

pub use self::mono::mono_profiler_init_ilinst;
pub(crate) use self::threads::began as thread_began;
use self::{
    code::Names,
    handler::{
        ring::Sample,
        signal::{self, Table},
        walk::End,
    },
    of_thread::{NOT_RUN, OfThread, PERIOD},
    paths::{AllPaths, Value},
    threads::Threads,
};
use crate::{
    abi::{
        runtime::{Id, Runtime},
        tables::mask,
    },
    file, session as recording,
    worlds::{InCallback, MayWait, OnOwnThread},
};

/// The events that the sampler needs. With these, code that was compiled ahead of time stays in use, and methods are inlined.
pub(crate) const EVENTS: (u32, u32) = (mask::THREADS | mask::JIT_COMPILATION | mask::MODULE_LOADS, mask::DYNAMIC_UNLOADS);

/// After so many samples of a waiting thread whose stack could not be walked to its end, the last one is kept.
const MOST_TRIES: u32 = 3;

/// A recording under way.
struct Session {
    sampling: Sampling,
    names: Names,
    /// By place of a thread.
    of_threads: HashMap<usize, OfThread>,
    /// The CPU time of threads in ns when the recording began, by their ids.
    cpu_before: HashMap<i32, i64>,
    paths: AllPaths,
    nodes_left: i64,
    /// The number of samples for which a ring had no room.
    lost: u64,
    /// The number of samples that came late.
    late: u64,
    sample: Sample,
    frames: Vec<u64>,
    looked_at: Option<Instant>,
    /// The time of elapsed time's last samples, and what they stand for.
    ticked: Option<Instant>,
    tick: Duration,
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);
static IS_ON: AtomicBool = AtomicBool::new(false);

fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether samples are recorded.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Begins to record into the profile that was created.
pub(crate) fn start(_: impl MayWait, runtime: Runtime, sampling: Sampling, max_nodes: u32) -> Result<(), String> {
    signal::prepare_memory()?;
    signal::install()?;
    code::clear();
    file::set_mode(if sampling.wall { RecordingMode::Wall } else { RecordingMode::Cpu });
    *RUNTIME.lock().unwrap_or_else(PoisonError::into_inner) = Some(runtime);
    let new = Session {
        sampling,
        names: Names::new(runtime),
        of_threads: HashMap::new(),
        cpu_before: HashMap::new(),
        paths: AllPaths::default(),
        nodes_left: max_nodes.into(),
        lost: 0,
        late: 0,
        sample: Sample::default(),
        frames: Vec::new(),
        looked_at: None,
        ticked: None,
        tick: sampling.period(),
    };
    new.publish_code();
    *session() = Some(new);
    IS_ON.store(true, Relaxed);
    signal::take_late();
    signal::set_on(true);
    Ok(())
}

/// Leaves out the CPU time of threads so far: the program ran before the profiler was attached.
pub(crate) fn leave_out_cpu_so_far(_: OnOwnThread) {
    if let Some(session) = session().as_mut() {
        session.cpu_before = threads::ids().filter_map(|id| Some((id, threads::cpu_time(id)?))).collect();
    }
}

/// Adds the methods that were compiled before the profiler was attached.
pub(crate) fn add_compiled(_: OnOwnThread, runtime: Runtime) {
    runtime.compiled().into_iter().for_each(|function| code::add_compiled(runtime, function));
}

/// `JITCompilationFinished`, `DynamicMethodJITCompilationFinished`
pub(crate) fn compiled(_: InCallback, function: Id, is_dynamic: bool) {
    if !is_on() {
        return;
    }
    let runtime = *RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = runtime {
        if is_dynamic { code::add_dynamic(runtime, function) } else { code::add_compiled(runtime, function) }
    }
}

/// `ModuleUnloadStarted`: reads the samples of the module's methods while they have names.
pub(crate) fn forget(_: InCallback, module: Id) {
    if let Some(session) = is_on().then(session).as_mut().and_then(|session| session.as_mut()) {
        session.drain();
        session.names.forget(module);
    }
}

/// Samples all threads until [`stop`] or `is_over`.
pub(crate) fn run(own: OnOwnThread, is_over: impl Fn() -> bool) {
    let sampling = session().as_ref().map(|session| session.sampling);
    let Some(sampling) = sampling else { return };
    threads::start(Some(sampling.period()).filter(|_| !sampling.wall));
    let period = if sampling.wall { sampling.period() } else { PERIOD };
    while is_on() && !is_over() {
        std::thread::sleep(period);
        if let Some(threads) = threads::all().as_mut() {
            threads.scan_at_times();
        }
        if let Some(session) = session().as_mut() {
            session.look(own);
        }
    }
}

/// Ends the recording.
pub(crate) fn stop(_: impl MayWait) {
    if !IS_ON.swap(false, Relaxed) {
        return;
    }
    threads::stop();
    if let Some(mut session) = session().take() {
        session.drain();
        session.look_at_threads();
        session.of_threads.values_mut().for_each(OfThread::write_name);
    }
    signal::set_on(false);
}

/// The sampled threads by place, with their ids; 0 for ended ones.
fn sampled() -> Vec<(usize, &'static signal::Thread, i32)> {
    let all = threads::all();
    let all = all.iter().flat_map(Threads::list).enumerate();
    all.map(|(place, sampled)| (place, sampled.thread, sampled.id)).collect()
}

impl Session {
    fn look(&mut self, own: OnOwnThread) {
        if self.names.take_changes() {
            self.names.refresh();
            self.publish_code();
        }
        self.drain();
        if self.sampling.wall {
            self.tick();
        }
        if self.looked_at.is_none_or(|last| last.elapsed() >= Duration::from_millis(500)) {
            self.look_at_threads();
            recording::update_file(own, true);
            signal::set_on(!file::is_paused());
            self.looked_at = Some(Instant::now());
        }
    }

    fn publish_code(&self) {
        let [replacements, replaced] = Names::replacements();
        signal::set_code(Table { code: self.names.maps().code(), replacements, replaced });
    }

    /// Reads all samples that were taken so far.
    fn drain(&mut self) {
        let mut has_new_code = false;
        let mut sample = std::mem::take(&mut self.sample);
        for (place, thread, id) in sampled() {
            while thread.ring.next(&mut sample) {
                has_new_code |= sample.end == Some(End::UnknownCode);
                self.record(place, thread, &sample);
            }
            self.lost += thread.ring.take_lost();
            if id == 0 {
                self.end_thread(place, thread);
                if let Some(threads) = threads::all().as_mut() {
                    threads.release(place);
                }
            }
        }
        self.sample = sample;
        if has_new_code {
            self.names.refresh();
            self.publish_code();
        }
    }

    fn end_thread(&mut self, place: usize, thread: &signal::Thread) {
        if let Some(mut ended) = self.of_threads.remove(&place) {
            ended.set_cpu_time(thread.cpu.load(Relaxed));
            ended.write_name();
            self.paths.give_back(ended.paths);
        }
    }

    /// Adds a sample to the paths of its thread.
    fn record(&mut self, place: usize, thread: &signal::Thread, sample: &Sample) {
        self.frames.clear();
        for (index, address) in sample.addresses.iter().enumerate() {
            let found = if index == 0 { Some(self.names.at(*address)) } else { self.names.caller_at(*address) };
            let Some(found) = found else { continue };
            if !(found.is_library && self.frames.last() == Some(&found.method_id)) {
                self.frames.push(found.method_id);
            }
            if index == 0
                && let Some(start) = found.start
                && let Some(caller) = caller_of_leaf(*address, start, &sample.top)
                && sample.addresses.get(1) != Some(&caller)
                && self.names.maps().at(caller).is_some_and(|mapping| mapping.is_executable)
            {
                self.frames.extend(self.names.caller_at(caller).map(|caller| caller.method_id));
            }
        }
        if sample.addresses.is_empty() {
            let kernel = self.names.ids.intern(ids::KERNEL, "[kernel, caller unknown]");
            self.frames.push(kernel);
        }
        if sample.end == Some(End::Cut) {
            let cut = self.names.ids.intern(ids::RUNTIME, "[deeper calls]");
            self.frames.push(cut);
        }
        let id = thread.id.load(Relaxed);
        if !self.add_thread(place, id) {
            return;
        }
        let Some(of_thread) = self.of_threads.get_mut(&place) else { return };
        let ns = i64::try_from(self.sampling.period().as_nanos()).unwrap_or(i64::MAX).saturating_mul(sample.weight as i64);
        let value = if self.sampling.wall {
            let is_kept = sample.end != Some(End::UnknownCode) || of_thread.tries >= MOST_TRIES;
            of_thread.tries = if is_kept { 0 } else { of_thread.tries + 1 };
            of_thread.last = is_kept.then(|| self.frames.clone());
            Value::of_elapsed(self.tick, of_thread.was_running)
        } else {
            Value { samples: sample.weight as i64, ticks: ns, cpu: ns }
        };
        of_thread.paths.record(self.frames.iter().rev().copied(), value, &mut self.nodes_left);
    }

    /// Returns false if the profile has no room for another thread.
    fn add_thread(&mut self, place: usize, id: i32) -> bool {
        if self.of_threads.contains_key(&place) {
            return true;
        }
        let Some(paths) = self.paths.take() else { return false };
        let mut of_thread = OfThread::new(id, paths, self.cpu_before.get(&id).copied().unwrap_or_default());
        of_thread.look();
        self.of_threads.insert(place, of_thread);
        true
    }

    /// Takes a sample of each thread's elapsed time. A thread that has not run since its last sample has the same path still: it is
    /// not interrupted, as that would end some blocking calls of native code.
    fn tick(&mut self) {
        if !signal::is_on() {
            self.ticked = None;
            return;
        }
        let now = Instant::now();
        self.tick = self.ticked.replace(now).map_or(self.sampling.period(), |last| now - last);
        for (place, thread, id) in sampled() {
            if id == 0 || !self.add_thread(place, id) {
                continue;
            }
            let (Some(of_thread), Some(cpu)) = (self.of_threads.get_mut(&place), threads::cpu_time(id)) else { continue };
            let has_run = cpu - thread.cpu.load(Relaxed) >= NOT_RUN;
            let is_asked = thread.is_asked.load(Relaxed);
            match &of_thread.last {
                Some(path) if !has_run || is_asked => {
                    let path = path.iter().rev().copied();
                    of_thread.paths.record(path, Value::of_elapsed(self.tick, false), &mut self.nodes_left);
                }
                _ if is_asked => {}
                _ => {
                    of_thread.was_running = threads::is_running(id);
                    thread.is_asked.store(true, Relaxed);
                    if !threads::interrupt(place, id) {
                        thread.is_asked.store(false, Relaxed);
                    }
                }
            }
        }
    }

    fn look_at_threads(&mut self) {
        self.of_threads.values_mut().for_each(OfThread::look);
        self.late += signal::take_late();
        let refused = threads::all().as_mut().map_or(0, Threads::refused);
        file::set_sample_losses(self.lost, self.late, refused);
    }
}

/// The return address of a method that was interrupted without a frame.
fn caller_of_leaf(address: usize, start: usize, top: &[usize]) -> Option<usize> {
    let interrupted = address.checked_sub(start)?;
    let mut code = [0_u8; prologue::LONGEST];
    // Code behind a prologue matters only for a `ret`.
    let is_read = interrupted + 8 <= code.len() && signal::read_memory(start, code.get_mut(..interrupted + 8)?);
    if is_read {
        return top.get(prologue::return_word(&code[..interrupted + 8], interrupted)?).copied();
    }
    let mut prologue = [0_u8; 64];
    let mut end = [0_u8; 2];
    if !signal::read_memory(start, &mut prologue) || !signal::read_memory(address, &mut end) {
        return None;
    }
    top.get(prologue::far_return_word(&prologue, end)?).copied()
}
