//! The clock for call times: the one behind .NET's Stopwatch, which the tracker uses too.

/// The current time in ticks.
#[cfg(unix)]
#[inline]
pub(crate) fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Ticks per second.
#[cfg(unix)]
pub(crate) fn frequency() -> u64 {
    1_000_000_000
}

#[cfg(windows)]
#[link(name = "kernel32")]
unsafe extern "system" {
    fn QueryPerformanceCounter(count: *mut i64) -> i32;
    fn QueryPerformanceFrequency(frequency: *mut i64) -> i32;
}

/// The current time in ticks.
#[cfg(windows)]
#[inline]
pub(crate) fn now() -> i64 {
    let mut count = 0;
    // SAFETY: the call writes the number.
    unsafe { QueryPerformanceCounter(&mut count) };
    count
}

/// Ticks per second.
#[cfg(windows)]
pub(crate) fn frequency() -> u64 {
    let mut frequency = 0;
    // SAFETY: the call writes the number.
    unsafe { QueryPerformanceFrequency(&mut frequency) };
    frequency.max(1) as u64
}
