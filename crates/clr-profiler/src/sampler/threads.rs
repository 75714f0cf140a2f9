//! The sampled threads, each with a clock on its CPU time.

use std::{
    collections::{HashMap, HashSet},
    fs,
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::{
    clock::{Clock, Clocks, Signal, cpu_clock, first, status},
    handler::signal::{self, MAX_THREADS, Thread},
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
    clocks: Clocks,
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

static ALL: Mutex<Option<Threads>> = Mutex::new(None);

/// All sampled threads. While the lock is held, the runtime must not be asked anything: its threads wait for this lock when they begin.
pub(super) fn all() -> MutexGuard<'static, Option<Threads>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id of this thread.
pub(super) fn own_id() -> i32 {
    // SAFETY: the call has no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
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

/// Whether a thread blocks the signal. The line has a bit for each signal, from 1.
fn blocks_signal(id: i32) -> bool {
    let blocked = status(&format!("self/task/{id}"), "SigBlk:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    blocked.is_some_and(|mask| mask >> (signal::number() - 1) & 1 != 0)
}

/// Begins to sample all threads, with clocks of this period or, without one, by signals of another thread.
pub(super) fn start(period: Option<Duration>) {
    let mut all = all();
    let threads = all.get_or_insert_with(Threads::default);
    (threads.period, threads.is_on, threads.next_scan) = (period, true, None);
    threads.clocks = Clocks::find();
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
            let signal = Signal { number: signal::number(), value: signal::value_of(place) };
            let clock = self.clocks.start(id, place, signal, [first, period]);
            // A thread that has ended since needs none.
            if clock.is_none() && cpu_time(id).is_some() {
                self.refused.insert(id);
            }
            self.sampled[place].clock = clock;
        }
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
        self.clocks.count_timers();
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
