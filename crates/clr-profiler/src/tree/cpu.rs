//! CPU times of the threads that own call trees.

#[cfg(unix)]
use std::sync::atomic::Ordering::Relaxed;

use super::layout::Tree;

/// Begins to measure this thread, which owns the tree.
#[cfg(unix)]
pub(super) fn own_cpu_clock(tree: &Tree) {
    let mut id = 0;
    // SAFETY: a thread may request its own clock.
    if unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut id) } == 0 {
        let before = tree.cpu_time.load(Relaxed).max(0);
        tree.cpu_before.store(before - cpu_time_of(id).unwrap_or(0), Relaxed);
        tree.cpu_time.store(before, Relaxed);
        tree.cpu_clock.store(id.into(), Relaxed);
    }
}

/// Reads the clock of the thread that owns the tree. All fields used here are atomic.
#[cfg(unix)]
pub(super) fn look_at_cpu(tree: &Tree) {
    let id = tree.cpu_clock.load(Relaxed);
    if id != 0
        && let Some(time) = cpu_time_of(id as libc::clockid_t)
        && tree.cpu_clock.load(Relaxed) == id
    {
        tree.cpu_time.fetch_max(tree.cpu_before.load(Relaxed) + time, Relaxed);
    }
}

/// The CPU time of this thread, in ns. Async-signal-safe.
#[cfg(unix)]
pub(crate) fn own_cpu_time() -> i64 {
    cpu_time_of(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// The time of a CPU clock, in ns. `None` if its thread has ended. Async-signal-safe.
#[cfg(unix)]
pub(crate) fn cpu_time_of(clock: libc::clockid_t) -> Option<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time. A missing clock is an error.
    (unsafe { libc::clock_gettime(clock, &mut time) } == 0).then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

#[cfg(not(unix))]
pub(super) fn own_cpu_clock(_tree: &Tree) {}

#[cfg(not(unix))]
pub(super) fn look_at_cpu(_tree: &Tree) {}
