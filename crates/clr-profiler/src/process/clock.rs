//! The clock for call times, as the tracker's: the one behind .NET's Stopwatch, or the processor's time stamp counter.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use profile_format::ClockKind;

/// Whether the time stamp counter is the clock.
static IS_COUNTER: AtomicBool = AtomicBool::new(false);
/// Both clocks when the counter was chosen.
static FIRST_TICKS: AtomicI64 = AtomicI64::new(0);
static FIRST_TIME: AtomicI64 = AtomicI64::new(0);

/// Chooses the clock. No thread may have times of the other one that it compares. A counter that is not invariant is not used.
pub(crate) fn choose(wanted: ClockKind) {
    IS_COUNTER.store(false, Relaxed);
    if wanted != ClockKind::Tsc || !counter::is_invariant() {
        return;
    }
    let begin = system::now();
    FIRST_TIME.store(begin, Relaxed);
    FIRST_TICKS.store(counter::now(), Relaxed);
    // Long enough for a frequency that is right to some parts in ten thousand. It becomes more exact later.
    while system::now() - begin < system::frequency() as i64 / 500 {}
    IS_COUNTER.store(true, Relaxed);
}

/// The clock that is used.
pub(crate) fn kind() -> ClockKind {
    if IS_COUNTER.load(Relaxed) { ClockKind::Tsc } else { ClockKind::Stopwatch }
}

/// The current time in ticks.
#[inline]
pub(crate) fn now() -> i64 {
    if IS_COUNTER.load(Relaxed) { counter::now() } else { system::now() }
}

/// Ticks per second. Those of the counter are measured, from its choice until now.
pub(crate) fn frequency() -> u64 {
    if !IS_COUNTER.load(Relaxed) {
        return system::frequency();
    }
    let ticks = counter::now() - FIRST_TICKS.load(Relaxed);
    let seconds = (system::now() - FIRST_TIME.load(Relaxed)) as f64 / system::frequency() as f64;
    (ticks as f64 / seconds) as u64
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Whether it counts evenly, on all processors and in all their states.
    #[allow(unused_unsafe, reason = "safe since a later version of Rust than the oldest that is supported")]
    pub(super) fn is_invariant() -> bool {
        const EXTENDED: u32 = 0x8000_0000;
        const POWER_MANAGEMENT: u32 = EXTENDED + 7;
        const INVARIANT: u32 = 1 << 8;
        // SAFETY: every x64 processor has this instruction. An unknown leaf is not asked for.
        unsafe { __cpuid(EXTENDED).eax >= POWER_MANAGEMENT && __cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0 }
    }

    #[inline]
    pub(super) fn now() -> i64 {
        // SAFETY: every x64 processor has this instruction.
        unsafe { _rdtsc() }.cast_signed()
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn is_invariant() -> bool {
        false
    }

    pub(super) fn now() -> i64 {
        0
    }
}

/// The clock behind .NET's Stopwatch.
#[cfg(unix)]
mod system {
    #[inline]
    pub(super) fn now() -> i64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes the time.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    pub(super) fn frequency() -> u64 {
        1_000_000_000
    }
}

/// The clock behind .NET's Stopwatch.
#[cfg(windows)]
mod system {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn QueryPerformanceCounter(count: *mut i64) -> i32;
        fn QueryPerformanceFrequency(frequency: *mut i64) -> i32;
    }

    #[inline]
    pub(super) fn now() -> i64 {
        let mut count = 0;
        // SAFETY: the call writes the number.
        unsafe { QueryPerformanceCounter(&mut count) };
        count
    }

    pub(super) fn frequency() -> u64 {
        let mut frequency = 0;
        // SAFETY: the call writes the number.
        unsafe { QueryPerformanceFrequency(&mut frequency) };
        frequency.max(1) as u64
    }
}
