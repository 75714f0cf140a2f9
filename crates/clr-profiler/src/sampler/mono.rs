//! Samples of Mono. Its code keeps no frame pointers, so that only Mono itself can walk a stack: it interrupts its threads, and its
//! walker runs in their signal handlers. How long a thread ran since its last sample, the thread's CPU clock says.
//!
//! Mono interrupts all threads at the same times, whether they run or wait. Beside load it is late, and then finds a thread where
//! the kernel last took the processor from it. So threads get clocks of CPU time once the signal is known, and Mono's own signals
//! to them have no effect. Samples of elapsed time come by Mono's signals.

mod api;
mod signals;

use std::{
    collections::HashMap,
    ffi::{c_char, c_int, c_void},
    ptr::null,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicI32, AtomicI64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

use live::Sampling;
use profile_format::RecordingMode;

use self::{
    api::{Api, Callbacks, Method},
    signals::Signals,
};
use super::{
    clock::{Clock, Clocks, Signal, first},
    handler::{
        event,
        ring::{Ring, Sample, Writer},
        walk::{End, MAX_FRAMES},
    },
    ids::{self, Ids},
    maps::Maps,
    of_thread::{NOT_RUN, OfThread, PERIOD},
    paths::{AllPaths, Value},
    threads::own_id,
};
use crate::{
    abi::runtime::ModuleInfo,
    file::{self, Contents},
    process::{clock, settings},
    session as recording,
    tree::own_cpu_time,
    worlds::{self, InCallback, MayWait, OnOwnThread},
};

/// A sampled thread. It is never freed: its signal handler may run at any time.
struct Thread {
    id: AtomicI32,
    has_ended: AtomicBool,
    ring: Ring,
    /// The thread's CPU time and the clock at its last sample, in ns. Of the handler alone, until the thread has ended: then the
    /// whole CPU time.
    cpu: AtomicI64,
    clock: AtomicI64,
    /// Whether a perf event sent the signal that the handler handles.
    is_of_event: AtomicBool,
    /// Whether a clock of the thread sent the signal of its last sample.
    had_clock: AtomicBool,
    signals: Signals,
}

/// A thread in a recording.
struct Sampled {
    thread: &'static Thread,
    /// `None` for samples of elapsed time, and before the signal is known.
    clock: Option<Clock>,
    /// `None` before the first sample.
    of_thread: Option<OfThread>,
}

/// A recording under way.
struct Session {
    api: Api,
    sampling: Sampling,
    ids: Ids,
    maps: Maps,
    /// Ids by method; `None` for methods that Mono makes, such as wrappers of native functions.
    methods: HashMap<usize, Option<u64>>,
    threads: Vec<Sampled>,
    clocks: Clocks,
    /// Threads that have ended. Later threads use them.
    free: Vec<&'static Thread>,
    paths: AllPaths,
    nodes_left: i64,
    /// The time for which rings had no room, in ns.
    lost: u64,
    sample: Sample,
    frames: Vec<u64>,
    looked_at: Option<Instant>,
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);
static API: OnceLock<Api> = OnceLock::new();
/// Each thread's own [`Thread`]. Unlike thread-local storage of a library that is loaded late, it allocates nothing in the handler.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether recording is paused. The signal handler must not ask the profile: it may interrupt the thread that has it locked.
static IS_PAUSED: AtomicBool = AtomicBool::new(false);
static IS_WALL: AtomicBool = AtomicBool::new(false);
/// The CPU time between two samples of a thread, in ns.
static PERIOD_NS: AtomicI64 = AtomicI64::new(0);

fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called by Mono, which was started with `--profile=ilinst`. The program runs in any case.
#[unsafe(no_mangle)]
pub extern "C" fn mono_profiler_init_ilinst(_options: *const c_char) {
    // A panic here must print nothing to the program's output.
    std::panic::set_hook(Box::new(|_| {}));
    // SAFETY: Mono calls this function, and hooks of the CLR are not in use.
    let may = unsafe { InCallback::new() };
    let status = begin(may).unwrap_or_else(|error| format!("{}{error}", live::FAILED));
    settings::report(may, &status);
}

fn begin(may: InCallback) -> Result<String, String> {
    settings::check_version()?;
    let sampling = settings::sampling()?.ok_or("Mono has no other profile than --sample")?;
    let api = Api::find()?;
    let mut key = 0;
    // SAFETY: the call writes the key.
    if unsafe { libc::pthread_key_create(&raw mut key, None) } != 0 {
        return Err("the process has no room for another key of thread-specific data".to_owned());
    }
    let (path, _) = recording::create_profile(may, &format!("Mono {}, Unix", api.version()), Contents::default())?;
    file::set_mode(if sampling.wall { RecordingMode::Wall } else { RecordingMode::Cpu });
    let (_, _) = (API.set(api), KEY.set(key));
    IS_WALL.store(sampling.wall, Relaxed);
    PERIOD_NS.store(sampling.period().as_nanos() as i64, Relaxed);
    *session() = Some(Session {
        api,
        sampling,
        ids: Ids::default(),
        maps: Maps::read(),
        methods: HashMap::new(),
        threads: Vec::new(),
        clocks: Clocks::find(),
        free: Vec::new(),
        paths: AllPaths::default(),
        nodes_left: settings::max_nodes().into(),
        lost: 0,
        sample: Sample::default(),
        frames: Vec::new(),
        looked_at: None,
    });
    IS_PAUSED.store(file::is_paused(), Relaxed);
    IS_ON.store(true, Release);
    let callbacks = Callbacks { sample, thread_started, thread_stopped, method_freed, image_unloaded, domain_unloaded, shutdown };
    let watch = || worlds::spawn(run).map_err(|error| format!("no thread can be started: {error}"));
    api.start(callbacks, sampling.wall, sampling.period()).and_then(|()| watch()).inspect_err(|_| {
        IS_ON.store(false, Relaxed);
        // Nothing is in it.
        let _ = std::fs::remove_file(&path);
    })?;
    Ok(format!("{} {}", live::SAMPLING, path.display()))
}

/// Reads the samples while the program runs. Mono does not know this thread, so it must not allocate Mono's objects.
fn run(own: OnOwnThread) {
    while IS_ON.load(Relaxed) {
        std::thread::sleep(PERIOD);
        if let Some(session) = session().as_mut() {
            let alive = session.threads.iter().map(|sampled| sampled.thread).filter(|thread| !thread.has_ended.load(Acquire));
            alive.for_each(|thread| thread.signals.send_again(thread.id.load(Relaxed)));
            session.drain();
            session.start_clocks();
            session.look_at_times(own);
        }
    }
}

/// Of this thread; `None` if Mono has not reported it.
fn of_this_thread() -> Option<&'static Thread> {
    // SAFETY: the key exists, and its values are null or threads, which are never freed.
    unsafe { libc::pthread_getspecific(*KEY.get()?).cast::<Thread>().as_ref() }
}

fn set_own(thread: *const Thread) {
    if let Some(key) = KEY.get() {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(*key, thread.cast()) };
    }
}

unsafe extern "C" fn thread_started(_: *mut c_void, _: usize) {
    if of_this_thread().is_none()
        && let Some(thread) = session().as_mut().and_then(Session::add_thread)
    {
        set_own(thread);
    }
}

unsafe extern "C" fn thread_stopped(_: *mut c_void, id: usize) {
    // Another thread may report it: then the signal handler of the ended thread may still run.
    // SAFETY: the call has no arguments.
    if id == unsafe { libc::pthread_self() } as usize
        && let Some(thread) = of_this_thread()
    {
        set_own(null());
        thread.cpu.store(own_cpu_time(), Relaxed);
        thread.has_ended.store(true, Release);
    }
}

/// Reads the samples while their methods have names, as some methods are about to be freed.
fn forget(which: impl FnOnce(&mut Session)) {
    if let Some(session) = session().as_mut() {
        session.drain();
        which(session);
    }
}

unsafe extern "C" fn method_freed(_: *mut c_void, method: *const c_void) {
    forget(|session| {
        session.methods.remove(&method.addr());
    });
}

unsafe extern "C" fn image_unloaded(_: *mut c_void, image: *const c_void) {
    forget(|session| {
        session.methods.clear();
        session.ids.forget(image.addr());
    });
}

unsafe extern "C" fn domain_unloaded(_: *mut c_void, _: *const c_void) {
    forget(|session| session.methods.clear());
}

unsafe extern "C" fn shutdown(_: *mut c_void) {
    // SAFETY: Mono calls this function.
    let may = unsafe { InCallback::new() };
    if !IS_ON.swap(false, Relaxed) {
        return;
    }
    if let Some(mut session) = session().take() {
        session.drain();
        session.look_at_times(may);
        session.threads.iter_mut().filter_map(|sampled| sampled.of_thread.as_mut()).for_each(OfThread::write_name);
    }
    recording::update_file(may, true);
    file::finish(may, clock::now());
}

/// A sample while it is written.
struct Walk<'r> {
    writer: Writer<'r>,
    interrupted: usize,
    count: usize,
}

/// The signal handler in front of Mono's.
unsafe extern "C" fn handle(signal: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
    let own = of_this_thread();
    // SAFETY: the kernel passes the structure.
    let event = unsafe { event_of(&*about) };
    own.iter().for_each(|own| own.is_of_event.store(event.is_some(), Relaxed));
    let info = API.get().map_or(null(), Api::info_of_thread);
    // SAFETY: the arguments are the kernel's, and the structure is this thread's.
    unsafe { signals::handle(own.map(|own| &own.signals), info, (signal, about, context)) };
    if let Some(file) = event {
        event::arm(file, PERIOD_NS.load(Relaxed) as u64);
    }
}

/// The descriptor of the event that sent a signal; `None` for other senders.
fn event_of(about: &libc::siginfo_t) -> Option<usize> {
    // SAFETY: the codes of files are positive. Their descriptor lies where other senders have a value.
    let file = (about.si_code > 0).then(|| unsafe { about.si_value() }.sival_ptr.addr() & 0xFFFF_FFFF);
    file.filter(|file| event::place_of(*file).is_some())
}

/// Called in Mono's signal handler.
unsafe extern "C" fn sample(_: *mut c_void, interrupted: *const u8, context: *const c_void) {
    let (Some(thread), Some(api)) = (of_this_thread(), API.get()) else { return };
    // SAFETY: the kernel passed the context to Mono's handler, and the structure is this thread's.
    unsafe { thread.signals.is_inside(api.info_of_thread(), context, handle) };
    let cpu = own_cpu_time();
    let (now, ran) = (clock::now(), cpu - thread.cpu.load(Relaxed));
    let elapsed = now - thread.clock.load(Relaxed);
    let is_recorded = IS_ON.load(Relaxed) && !IS_PAUSED.load(Relaxed);
    // SAFETY: the kernel passes the context.
    let is_waiting = || unsafe { waits(&*context.cast()) };
    let had_clock = thread.had_clock.load(Relaxed);
    let least = if had_clock { PERIOD_NS.load(Relaxed) } else { NOT_RUN };
    // The CPU time counts for the place where the thread is next found running.
    if is_recorded && !IS_WALL.load(Relaxed) && (ran < least || is_waiting()) {
        return;
    }
    thread.cpu.store(cpu, Relaxed);
    thread.clock.store(now, Relaxed);
    if !is_recorded {
        return;
    }
    thread.had_clock.store(thread.signals.has_clock(), Relaxed);
    let in_kernel = if had_clock && thread.is_of_event.load(Relaxed) { passed_over(ran) } else { 0 };
    if in_kernel > 0
        && let Some(writer) = thread.ring.begin(in_kernel as u64)
    {
        writer.end(End::Outermost, std::iter::empty());
    }
    let Some(writer) = thread.ring.begin((ran - in_kernel).max(0) as u64) else { return };
    let mut walk = Walk { writer, interrupted: interrupted.addr(), count: 0 };
    // SAFETY: the context is Mono's, and `on_frame` expects a `Walk`.
    unsafe { api.walk(on_frame, context, (&raw mut walk).cast()) };
    if walk.count == 0 {
        walk.writer.address(native(walk.interrupted));
    }
    let end = if walk.count < MAX_FRAMES { End::Outermost } else { End::Cut };
    walk.writer.end(end, std::iter::once(elapsed as usize));
}

/// The part of the CPU time before an event, in ns, that ended in the kernel: events pass over such periods. The caller is not
/// known any more.
fn passed_over(ran: i64) -> i64 {
    let period = PERIOD_NS.load(Relaxed).max(1);
    if ran < 2 * period { 0 } else { ran - period }
}

/// Whether the signal has ended a system call, or made the kernel repeat it.
#[cfg(target_arch = "x86_64")]
unsafe fn waits(context: &libc::ucontext_t) -> bool {
    const SYSCALL: [u8; 2] = [0x0F, 0x05];
    let registers = &context.uc_mcontext.gregs;
    let [pc, result] = [libc::REG_RIP, libc::REG_RAX].map(|register| registers[register as usize]);
    let code = std::ptr::with_exposed_provenance::<[u8; 2]>(pc as usize);
    // SAFETY: the thread runs this code. In front of it is more code.
    unsafe { *code == SYSCALL || result == -i64::from(libc::EINTR) && *code.sub(1) == SYSCALL }
}

/// Whether the signal has ended a system call, or made the kernel repeat it.
#[cfg(target_arch = "aarch64")]
unsafe fn waits(context: &libc::ucontext_t) -> bool {
    const SVC: u32 = 0xD400_0001;
    let machine = &context.uc_mcontext;
    let code = std::ptr::with_exposed_provenance::<u32>(machine.pc as usize);
    // SAFETY: the thread runs this code. In front of it is more code.
    unsafe { *code == SVC || machine.regs[0] as i64 == -i64::from(libc::EINTR) && *code.sub(1) == SVC }
}

/// The form in which a ring has the address of native code: methods have even numbers.
fn native(address: usize) -> usize {
    address << 1 | 1
}

unsafe extern "C" fn on_frame(method: Method, _: *const c_void, code: *const c_void, offset: c_int, data: *mut c_void) -> c_int {
    // SAFETY: the handler passes a `Walk`.
    let walk = unsafe { &mut *data.cast::<Walk<'_>>() };
    if method.is_null() {
        return 0;
    }
    // The innermost frame's address is a return address if native code was interrupted.
    if walk.count == 0 && code.addr().wrapping_add_signed(offset as isize) != walk.interrupted {
        walk.writer.address(native(walk.interrupted));
        walk.count += 1;
    }
    walk.writer.address(method.addr());
    walk.count += 1;
    c_int::from(walk.count >= MAX_FRAMES)
}

impl Session {
    fn add_thread(&mut self) -> Option<&'static Thread> {
        let id = own_id();
        let thread = match self.free.pop() {
            Some(thread) => thread,
            None => {
                let [cpu, clock] = [0, 0].map(AtomicI64::new);
                let [has_ended, is_of_event, had_clock] = [false, false, false].map(AtomicBool::new);
                let (ring, signals) = (Ring::new()?, Signals::default());
                Box::leak(Box::new(Thread { id: id.into(), has_ended, ring, cpu, clock, is_of_event, had_clock, signals }))
            }
        };
        thread.cpu.store(own_cpu_time(), Relaxed);
        thread.clock.store(clock::now(), Relaxed);
        thread.had_clock.store(false, Relaxed);
        thread.signals.ask();
        thread.id.store(id, Relaxed);
        thread.has_ended.store(false, Release);
        self.threads.push(Sampled { thread, clock: None, of_thread: None });
        Some(thread)
    }

    /// Starts the clocks of threads that have none. Threads that get no clock keep Mono's signals.
    fn start_clocks(&mut self) {
        let Some(number) = signals::number().filter(|_| !self.sampling.wall) else { return };
        let is_without = |sampled: &&mut Sampled| sampled.clock.is_none() && !sampled.thread.has_ended.load(Acquire);
        let mut without = self.threads.iter_mut().filter(is_without).peekable();
        if without.peek().is_some() {
            self.clocks.count_timers();
        }
        let period = self.sampling.period();
        for sampled in without {
            let id = sampled.thread.id.load(Relaxed);
            sampled.clock = self.clocks.start(id, id as usize, Signal { number, value: 0 }, [first(period, id), period]);
            sampled.thread.signals.set_has_clock(sampled.clock.is_some());
        }
    }

    /// Reads all samples that were taken so far.
    fn drain(&mut self) {
        let (mut sample, mut threads) = (std::mem::take(&mut self.sample), std::mem::take(&mut self.threads));
        threads.retain_mut(|Sampled { thread, of_thread, .. }| {
            let has_ended = thread.has_ended.load(Acquire);
            let id = thread.id.load(Relaxed);
            while thread.ring.next(&mut sample) {
                self.frames_of(&sample);
                if of_thread.is_none() {
                    *of_thread = self.paths.take().map(|paths| OfThread::new(id, paths, 0));
                    of_thread.iter_mut().for_each(OfThread::look);
                }
                if let Some(of_thread) = of_thread {
                    let ran = sample.weight as i64;
                    let elapsed = sample.top.first().map_or(ran, |elapsed| *elapsed as i64);
                    let ticks = if self.sampling.wall { elapsed } else { ran };
                    let value = Value { samples: 1, ticks, cpu: ran };
                    of_thread.paths.record(self.frames.iter().rev().copied(), value, &mut self.nodes_left);
                }
            }
            self.lost += thread.ring.take_lost();
            if has_ended {
                thread.signals.set_has_clock(false);
                self.free.push(thread);
                if let Some(mut ended) = of_thread.take() {
                    ended.set_cpu_time(thread.cpu.load(Relaxed));
                    ended.write_name();
                    self.paths.give_back(ended.paths);
                }
            }
            !has_ended
        });
        // Threads that began meanwhile wait for the lock of the session.
        (self.sample, self.threads) = (sample, threads);
    }

    /// The ids of a sample's functions, innermost first.
    fn frames_of(&mut self, sample: &Sample) {
        self.frames.clear();
        for address in &sample.addresses {
            let id = if address & 1 == 1 { Some(self.native(address >> 1)) } else { self.method(*address) };
            self.frames.extend(id);
        }
        if sample.addresses.is_empty() {
            let kernel = self.ids.intern(ids::KERNEL, "[kernel, caller unknown]");
            self.frames.push(kernel);
        }
        if sample.end == Some(End::Cut) {
            let cut = self.ids.intern(ids::RUNTIME, "[deeper calls]");
            self.frames.push(cut);
        }
    }

    fn native(&mut self, address: usize) -> u64 {
        if self.maps.at(address).is_none() {
            self.maps = Maps::read();
        }
        match self.maps.at(address).cloned() {
            Some(mapping) if mapping.is_library() => self.ids.native(&mapping, address).method_id,
            Some(mapping) if mapping.path.starts_with("[v") => self.ids.intern(ids::KERNEL, &mapping.path),
            _ => self.ids.intern(ids::RUNTIME, "[runtime stub]"),
        }
    }

    fn method(&mut self, method: usize) -> Option<u64> {
        let (api, ids) = (self.api, &mut self.ids);
        *self.methods.entry(method).or_insert_with(|| {
            // SAFETY: samples are read before a method is freed: `freed`.
            let (token, image, path) = unsafe { api.place_of(std::ptr::with_exposed_provenance(method)) };
            let place = || Some(ModuleInfo { path, base: null(), flags: 0, mvid: None });
            (token != 0).then(|| {
                let id = ids.method(image, token, place);
                id.unwrap_or_else(|| ids.intern(ids::DYNAMIC, &format!("method 0x{token:08X} of a dynamic assembly")))
            })
        })
    }

    fn look_at_times(&mut self, may: impl MayWait) {
        if self.looked_at.is_some_and(|last| last.elapsed() < Duration::from_millis(500)) {
            return;
        }
        self.threads.iter_mut().filter_map(|sampled| sampled.of_thread.as_mut()).for_each(OfThread::look);
        let period = self.sampling.period().as_nanos().max(1) as u64;
        file::set_sample_losses(self.lost / period, 0, 0);
        recording::update_file(may, true);
        IS_PAUSED.store(file::is_paused(), Relaxed);
        self.looked_at = Some(Instant::now());
    }
}
