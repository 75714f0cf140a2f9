//! Clocks that send a thread a signal after each period of its CPU time.

use std::{ffi::c_int, fs, time::Duration};

use super::handler::event::Event;

/// Sends a thread the signal after each period of its CPU time, until it is dropped. The first one to send it has the sample taken.
pub(super) struct Clock {
    /// In time, but only outside of the kernel, and not allowed everywhere.
    _event: Option<Event>,
    /// At the ticks of the kernel, also for time in system calls.
    _timer: Option<Timer>,
}

/// The signal that a clock sends.
#[derive(Clone, Copy)]
pub(super) struct Signal {
    pub(super) number: c_int,
    /// The value that comes with it if a timer sends it.
    pub(super) value: usize,
}

/// The kinds of clocks that the system allows.
#[derive(Default)]
pub(super) struct Clocks {
    /// Whether the system forbids perf events.
    has_no_events: bool,
    /// The number of timers that may still be made. Each needs a place in the user's queue of signals, which the runtime needs, too.
    timers_left: u64,
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

/// The clock of a thread's CPU time (`CPUCLOCK_SCHED`, for one thread).
pub(super) fn cpu_clock(id: i32) -> libc::clockid_t {
    !id << 3 | 6
}

/// The first signal of a thread comes after a random part of the period: else threads that run for less would have no samples.
pub(super) fn first(period: Duration, id: i32) -> Duration {
    let mut random = [0; 8];
    // SAFETY: the call writes to the array. Without random bytes, the thread's number has to do.
    if unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), libc::GRND_NONBLOCK) } != random.len() as isize {
        random = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    }
    Duration::from_nanos(1 + u64::from_le_bytes(random) % (period.as_nanos() as u64).max(1))
}

/// A line of the status of a thread (proc(5)); `thread` is its folder in `/proc`.
pub(super) fn status(thread: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

/// A line of the status of the calling thread.
fn own_status(name: &str) -> Option<String> {
    status("thread-self", name)
}

/// Whether a filter of system calls (seccomp) is on. Some filters end the process when it asks for a perf event.
fn is_filtered() -> bool {
    const FILTER: &str = "2";
    own_status("Seccomp:").is_some_and(|mode| mode == FILTER)
}

/// The number of timers up to half of the user's queue of signals (`SigQ: 12/96364`). A runtime whose queue is full cannot
/// interrupt its threads.
fn timers_left() -> u64 {
    let numbers = own_status("SigQ:").unwrap_or_default();
    let numbers = numbers.split_once('/').and_then(|(used, limit)| Some((used.parse::<u64>().ok()?, limit.parse::<u64>().ok()?)));
    numbers.map_or(u64::MAX, |(used, limit)| (limit / 2).saturating_sub(used))
}

impl Clocks {
    /// Asks the system.
    pub(super) fn find() -> Self {
        Self { has_no_events: is_filtered(), timers_left: timers_left() }
    }

    /// Asks the system again how many timers may be made.
    pub(super) fn count_timers(&mut self) {
        self.timers_left = timers_left();
    }

    /// Starts a clock of a thread. The first signal comes after the first of the times, each other one after the second. Events
    /// are found by `place`. `None` if the system refuses all kinds.
    pub(super) fn start(&mut self, id: i32, place: usize, signal: Signal, times: [Duration; 2]) -> Option<Clock> {
        let event = if self.has_no_events { None } else { Some(Event::new(id, place, signal.number, times[0])) };
        if let Some(Err(error)) = &event {
            self.has_no_events = matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS));
        }
        let event = event.and_then(Result::ok);
        let timer = if self.timers_left == 0 { None } else { Timer::new(id, signal, times) };
        self.timers_left -= u64::from(timer.is_some());
        (event.is_some() || timer.is_some()).then_some(Clock { _event: event, _timer: timer })
    }
}

impl Timer {
    /// A timer that expires after the first time, then after each period.
    fn new(id: i32, signal: Signal, [first, period]: [Duration; 2]) -> Option<Self> {
        // SAFETY: the structures are plain data; the calls read them and write the timer's id.
        unsafe {
            let mut event = std::mem::zeroed::<libc::sigevent>();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal.number;
            event.sigev_notify_thread_id = id;
            event.sigev_value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(signal.value) };
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
