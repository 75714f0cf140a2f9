//! The sampled threads, each with a clock on its CPU time.

use std::{
    collections::{HashMap, HashSet},
    fs,
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::handler::{
    event::Event,
    signal::{self, MAX_THREADS, Thread},
};
use crate::worlds::InCallback;

/// The threads of the process.
#[derive(Default)]
pub(super) struct Threads {
    sampled: Vec<Sampled>,
    places: HashMap<i32, usize>,
    /// Places of ended threads.
    free: Vec<usize>,
    /// Threads of the sampler itself.
    own: Vec<i32>,
    /// The time between two signals of a clock; `None` for no clocks.
    period: Option<Duration>,
    is_on: bool,
    /// Whether the system forbids perf events.
    has_no_events: bool,
    /// The number of timers that may still be made. Each needs a place in the user's queue of signals, which the runtime needs, too.
    timers_left: u64,
    /// The threads that got no clock, or block the signal.
    refused: HashSet<i32>,
    /// The threads that owed a sample at the last look, with their CPU time behind the last one, in ns.
    silent: HashMap<i32, i64>,
    next_scan: Option<Instant>,
}

/// A sampled thread.
pub(super) struct Sampled {
    pub(super) thread: &'static Thread,
    clock: Option<Clock>,
    /// 0 once it has ended.
    pub(super) id: i32,
}

/// Sends a thread the signal after each period of its CPU time, until it is dropped. The first one to send it has the sample taken.
struct Clock {
    /// In time, but only outside of the kernel, and not allowed everywhere.
    event: Option<Event>,
    /// At the ticks of the kernel, also for time in system calls.
    timer: Option<Timer>,
}

/// A timer of the kernel (`timer_create`).
struct Timer(libc::timer_t);

// SAFETY: a timer's id is a number that any thread may pass to the kernel.
unsafe impl Send for Timer {}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is this process's, and deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

static ALL: Mutex<Option<Threads>> = Mutex::new(None);
/// The folder of the calling thread in `/proc`.
const THIS: &str = "thread-self";

/// All sampled threads. While the lock is held, the runtime must not be asked anything: its threads wait for this lock when they begin.
pub(super) fn all() -> MutexGuard<'static, Option<Threads>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id of this thread.
pub(super) fn own_id() -> i32 {
    // SAFETY: the call has no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// The clock of a thread's CPU time (`CPUCLOCK_SCHED`, for one thread).
fn cpu_clock(id: i32) -> libc::clockid_t {
    !id << 3 | 6
}

/// The CPU time of a thread in ns; `None` if it has ended.
pub(super) fn cpu_time(id: i32) -> Option<i64> {
    // The clock of id 0 is that of the calling thread.
    if id == 0 { None } else { crate::tree::cpu_time_of(cpu_clock(id)) }
}

/// The ids of all threads of this process.
pub(super) fn ids() -> impl Iterator<Item = i32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok())
}

/// Whether a thread belongs to this process. `/proc` may be that of other process namespaces, and have other numbers.
fn is_own(id: i32) -> bool {
    // SAFETY: signal 0 is not sent.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, 0) == 0 }
}

/// This thread has begun to run managed code.
pub(crate) fn began(_: InCallback) {
    if let Some(threads) = all().as_mut() {
        threads.add(own_id());
    }
}

/// The first signal of a thread comes after a random part of the period: else threads that run for less would have no samples.
fn first(period: Duration, id: i32) -> Duration {
    let mut random = [0; 8];
    // SAFETY: the call writes to the array. Without random bytes, the thread's number has to do.
    if unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), libc::GRND_NONBLOCK) } != random.len() as isize {
        random = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    }
    Duration::from_nanos(1 + u64::from_le_bytes(random) % (period.as_nanos() as u64).max(1))
}

/// A line of the status of a thread (proc(5)); `thread` is its folder in `/proc`.
fn status(thread: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

/// Whether a thread blocks the signal. The line has a bit for each signal, from 1.
fn blocks_signal(id: i32) -> bool {
    let blocked = status(&format!("self/task/{id}"), "SigBlk:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    blocked.is_some_and(|mask| mask >> (signal::number() - 1) & 1 != 0)
}

/// Whether a filter of system calls (seccomp) is on. Some filters end the process when it asks for a perf event.
fn is_filtered() -> bool {
    const FILTER: &str = "2";
    status(THIS, "Seccomp:").is_some_and(|mode| mode == FILTER)
}

/// The number of timers up to half of the user's queue of signals (`SigQ: 12/96364`). A runtime whose queue is full cannot
/// interrupt its threads.
fn timers_left() -> u64 {
    let numbers = status(THIS, "SigQ:").unwrap_or_default();
    let numbers = numbers.split_once('/').and_then(|(used, limit)| Some((used.parse::<u64>().ok()?, limit.parse::<u64>().ok()?)));
    numbers.map_or(u64::MAX, |(used, limit)| (limit / 2).saturating_sub(used))
}

/// Begins to sample all threads, with clocks of this period or, without one, by signals of another thread.
pub(super) fn start(period: Option<Duration>) {
    let mut all = all();
    let threads = all.get_or_insert_with(Threads::default);
    (threads.period, threads.is_on, threads.next_scan) = (period, true, None);
    threads.has_no_events = is_filtered();
    threads.refused.clear();
    threads.silent.clear();
    signal::set_period(period.unwrap_or_default());
    threads.own = vec![own_id()];
    threads.scan();
}

/// Ends all clocks.
pub(super) fn stop() {
    if let Some(threads) = all().as_mut() {
        threads.is_on = false;
        let ids: Vec<i32> = threads.places.keys().copied().collect();
        ids.into_iter().for_each(|id| threads.remove(id));
    }
}

impl Threads {
    /// The number of threads that got no clock, or block the signal. A thread counts once it owed samples at two looks in a row, and
    /// took none between them.
    pub(super) fn refused(&mut self) -> u64 {
        let mut silent = HashMap::new();
        for Sampled { thread, id, .. } in self.sampled.iter().filter(|sampled| sampled.id != 0) {
            let last = thread.cpu.load(Relaxed);
            let is_due = match self.period {
                Some(_) => cpu_time(*id).is_some_and(|cpu| thread.owes(cpu)),
                None => thread.is_asked.load(Relaxed),
            };
            if is_due {
                silent.insert(*id, last);
                let is_silent = self.silent.get(id) == Some(&last) && blocks_signal(*id);
                self.refused.extend(is_silent.then_some(*id));
            }
        }
        self.silent = silent;
        self.refused.len() as u64
    }

    /// The sampled threads by place; ended ones among them.
    pub(super) fn list(&self) -> &[Sampled] {
        &self.sampled
    }

    fn add(&mut self, id: i32) {
        if !self.is_on || self.places.contains_key(&id) || self.own.contains(&id) || !is_own(id) {
            return;
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.sampled[place].thread.reuse(id);
                place
            }
            None if self.sampled.len() < MAX_THREADS => {
                let Some(thread) = Thread::new(id) else {
                    self.refused.insert(id);
                    return;
                };
                self.sampled.push(Sampled { thread: Box::leak(Box::new(thread)), clock: None, id: 0 });
                self.sampled.len() - 1
            }
            None => {
                self.refused.insert(id);
                return;
            }
        };
        let sampled = &mut self.sampled[place];
        sampled.id = id;
        signal::set_thread(place, sampled.thread);
        self.places.insert(id, place);
        if let Some(period) = self.period {
            let first = first(period, id);
            let cpu = cpu_time(id).unwrap_or_default();
            sampled.thread.set_credited(cpu + first.as_nanos() as i64 - period.as_nanos() as i64);
            let clock = self.clock(id, place, [first, period]);
            // A thread that has ended since needs none.
            if clock.event.is_none() && clock.timer.is_none() && cpu_time(id).is_some() {
                self.refused.insert(id);
            }
            self.sampled[place].clock = Some(clock);
        }
    }

    fn clock(&mut self, id: i32, place: usize, times: [Duration; 2]) -> Clock {
        let event = if self.has_no_events { None } else { Some(Event::new(id, place, signal::number(), times[0])) };
        if let Some(Err(error)) = &event {
            self.has_no_events = matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS));
        }
        let timer = if self.timers_left == 0 { None } else { Timer::new(id, place, times) };
        self.timers_left -= u64::from(timer.is_some());
        Clock { event: event.and_then(Result::ok), timer }
    }

    fn remove(&mut self, id: i32) {
        let Some(place) = self.places.remove(&id) else { return };
        let sampled = &mut self.sampled[place];
        sampled.clock = None;
        // The last samples are read before the place is used again: `release`.
        sampled.id = 0;
    }

    /// Makes the places of ended threads free, once their samples are read.
    pub(super) fn release(&mut self, place: usize) {
        let Some(sampled) = self.sampled.get(place).filter(|sampled| sampled.id == 0) else { return };
        if sampled.thread.id.swap(0, Relaxed) != 0 {
            self.free.push(place);
        }
    }

    /// Finds threads that the runtime did not report, and those that have ended. A scan of many threads takes longer, so it is made
    /// less often.
    pub(super) fn scan_at_times(&mut self) {
        let now = Instant::now();
        if self.next_scan.is_none_or(|next| now >= next) {
            self.scan();
            self.next_scan = Some(Instant::now() + 20 * now.elapsed().max(Duration::from_millis(1)));
        }
    }

    fn scan(&mut self) {
        self.timers_left = timers_left();
        let mut ended: Vec<i32> = Vec::new();
        let mut alive = HashSet::with_capacity(self.places.len());
        for id in ids() {
            alive.insert(id);
            self.add(id);
        }
        // The list may lack a thread while others end.
        ended.extend(self.places.keys().filter(|id| !alive.contains(id) && !is_own(**id)));
        ended.into_iter().for_each(|id| self.remove(id));
    }
}

/// Has a thread take a sample of itself. Returns false if the signal could not be sent.
pub(super) fn interrupt(place: usize, id: i32) -> bool {
    // `siginfo_t` as the kernel takes it from a sender.
    #[repr(C)]
    struct Info {
        head: [i32; 4],
        process: i32,
        user: u32,
        value: usize,
        rest: [u64; 12],
    }
    let process = std::process::id() as i32;
    let head = [signal::number(), 0, libc::SI_QUEUE, 0];
    let info = Info { head, process, user: 0, value: signal::value_of(place), rest: [0; 12] };
    // SAFETY: the structure has the size and layout of a `siginfo_t`. A thread that has ended is an error.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, id, signal::number(), &raw const info) == 0 }
}

/// Whether a thread runs, or waits for a processor.
pub(super) fn is_running(id: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
    // `42 (name) R ...`; the name may have any characters.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
}

/// The name of a thread; empty once it has ended.
pub(super) fn name_of(id: i32) -> String {
    fs::read_to_string(format!("/proc/self/task/{id}/comm")).unwrap_or_default().trim_end().to_owned()
}

impl Timer {
    /// A timer that expires after the first time, then after each period.
    fn new(id: i32, place: usize, [first, period]: [Duration; 2]) -> Option<Self> {
        // SAFETY: the structures are plain data; the calls read them and write the timer's id.
        unsafe {
            let mut event = std::mem::zeroed::<libc::sigevent>();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal::number();
            event.sigev_notify_thread_id = id;
            event.sigev_value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(signal::value_of(place)) };
            let mut timer = std::mem::zeroed::<libc::timer_t>();
            if libc::timer_create(cpu_clock(id), &mut event, &mut timer) != 0 {
                return None;
            }
            let timer = Self(timer);
            let time = |time: Duration| libc::timespec {
                tv_sec: time.as_secs() as libc::time_t,
                tv_nsec: time.subsec_nanos() as libc::c_long,
            };
            let times = libc::itimerspec { it_interval: time(period), it_value: time(first) };
            (libc::timer_settime(timer.0, 0, &times, std::ptr::null_mut()) == 0).then_some(timer)
        }
    }
}
