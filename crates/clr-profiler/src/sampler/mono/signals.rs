//! A signal handler in front of Mono's. While Mono aborts a thread or unloads a domain, it walks the other thread's stack in an
//! async context. A sample at this time would end the process: Mono's handler asserts that it begins no second one. So such a
//! sample is put off.
//!
//! Mono sends a thread no signal before it has handled the last one. It ignores one that reaches a new thread before this has a
//! domain, and would wait for it forever. So each new thread is sent signals until one leads to a sample.
//!
//! Mono does not export the flag of its `MonoThreadInfo`. It is the only number that is 1 inside Mono's handler, and 0 before
//! and after it.

use std::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// A set of numbers of a `MonoThreadInfo`, by their places.
type Places = [u64; SETS];

/// Larger structures are read up to here: 4 KiB.
const SETS: usize = 16;
/// The most signals that a thread is sent for one sample. Those that it does not take stay in the user's queue of signals.
const MOST_SIGNALS: u32 = 100;
/// Before the flag is known.
const UNKNOWN: usize = usize::MAX;

/// The signal, once it is known; 0 before.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static IS_FOUND: AtomicBool = AtomicBool::new(false);
/// Mono's handler.
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The flag's place.
static FLAG: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// The places that may be the flag's.
static CANDIDATES: [AtomicU64; SETS] = [const { AtomicU64::new(u64::MAX) }; SETS];

/// The state of a thread that its handlers share.
#[derive(Default)]
pub(super) struct Signals {
    /// The numbers that were 1 inside Mono's handler.
    ones: [AtomicU64; SETS],
    /// The number of signals to send until a sample is taken: the thread is new, or its sample was put off.
    signals_left: AtomicU32,
    /// Whether a clock of the thread sends its signals.
    has_clock: AtomicBool,
}

/// The signal by which Mono interrupts threads; `None` before the first one.
pub(super) fn number() -> Option<c_int> {
    Some(SIGNAL.load(Relaxed)).filter(|signal| *signal != 0)
}

impl Signals {
    /// Has the thread sent signals until a sample of it is taken.
    pub(super) fn ask(&self) {
        self.signals_left.store(MOST_SIGNALS, Release);
    }

    /// Sets whether a clock of the thread sends its signals. Those of Mono then have no effect: they come late beside load.
    pub(super) fn set_has_clock(&self, has_clock: bool) {
        self.has_clock.store(has_clock, Relaxed);
    }

    pub(super) fn has_clock(&self) -> bool {
        self.has_clock.load(Relaxed)
    }

    /// Called inside Mono's handler. `info` is the thread's `MonoThreadInfo`.
    ///
    /// # Safety
    /// The arguments must be those of the handler, and of this thread.
    pub(super) unsafe fn is_inside(&self, info: *const c_void, context: *const c_void, handler: Handler) {
        self.signals_left.store(0, Release);
        if !IS_FOUND.swap(true, Relaxed) {
            // SAFETY: the kernel passes the context.
            unsafe { install(&*context.cast(), handler) };
        }
        if FLAG.load(Relaxed) == UNKNOWN {
            // SAFETY: the caller guarantees it.
            let ones = unsafe { places_with(info, 1) };
            self.ones.iter().zip(ones).for_each(|(set, ones)| set.store(ones, Relaxed));
        }
    }

    /// Sends the signal to the thread if a sample of it is due.
    pub(super) fn send_again(&self, thread: i32) {
        let is_due = || self.signals_left.fetch_update(AcqRel, Relaxed, |left| left.checked_sub(1)).is_ok();
        if is_due() {
            // SAFETY: the call names a thread of this process; if it has ended, nothing happens.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL.load(Relaxed)) };
        }
    }
}

/// The handler in front of Mono's, on a thread that may have its own record.
///
/// # Safety
/// The arguments must be those of the kernel's call, and `info` must be the thread's `MonoThreadInfo` or null.
pub(super) unsafe fn handle(
    own: Option<&Signals>,
    info: *const c_void,
    (signal, about, context): (c_int, *mut libc::siginfo_t, *mut c_void),
) {
    let waits_for_clock = |own: &Signals| own.has_clock() && own.signals_left.load(Relaxed) == 0;
    // SAFETY: the kernel passes the structure.
    if own.is_some_and(waits_for_clock) && unsafe { (*about).si_code } == libc::SI_TKILL {
        return;
    }
    let flag = FLAG.load(Relaxed);
    let known = own.filter(|_| !info.is_null());
    // SAFETY: the flag's place is in the structure.
    let is_set = || unsafe { info.cast::<u32>().add(flag).read_volatile() } != 0;
    if let Some(own) = known.filter(|_| flag != UNKNOWN && is_set()) {
        return own.ask();
    }
    let learning = known.filter(|_| flag == UNKNOWN);
    // SAFETY: the caller guarantees it.
    let before = learning.map(|_| unsafe { places_with(info, 0) });
    // SAFETY: the address is that of Mono's handler, which takes these arguments.
    unsafe { std::mem::transmute::<usize, Handler>(NEXT.load(Acquire))(signal, about, context) };
    if let (Some(own), Some(before)) = (learning, before) {
        // SAFETY: the caller guarantees it.
        let after = unsafe { places_with(info, 0) };
        let inside = own.ones.each_ref().map(|set| set.swap(0, Relaxed));
        if inside.iter().any(|set| *set != 0) {
            learn(&before, &inside, &after);
        }
    }
}

/// Notes what a signal has shown.
fn learn(before: &Places, inside: &Places, after: &Places) {
    let mut left = [0; SETS];
    for (index, (candidates, left)) in CANDIDATES.iter().zip(&mut left).enumerate() {
        let seen = before[index] & inside[index] & after[index];
        *left = candidates.fetch_and(seen, Relaxed) & seen;
    }
    if left.iter().map(|set| set.count_ones()).sum::<u32>() == 1
        && let Some((index, set)) = left.iter().enumerate().find(|(_, set)| **set != 0)
    {
        FLAG.store(index * 64 + set.trailing_zeros() as usize, Relaxed);
    }
}

/// The places at which a structure on the heap has a number.
///
/// # Safety
/// `info` must be null, or point to a block that `malloc` returned.
unsafe fn places_with(info: *const c_void, number: u32) -> Places {
    let mut places = [0; SETS];
    if !info.is_null() {
        // SAFETY: the caller guarantees it.
        let count = unsafe { libc::malloc_usable_size(info.cast_mut()) } / size_of::<u32>();
        for place in 0..count.min(SETS * 64) {
            // SAFETY: the block has this place.
            let is_it = unsafe { info.cast::<u32>().add(place).read_volatile() } == number;
            places[place / 64] |= u64::from(is_it) << (place % 64);
        }
    }
    places
}

/// Puts a handler in front of Mono's, from inside Mono's. Its signal is the only one that is blocked here, and was not before.
unsafe fn install(interrupted: &libc::ucontext_t, handler: Handler) {
    let mut now = MaybeUninit::zeroed();
    // SAFETY: the calls fill the structures, and take sets of signals.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), now.as_mut_ptr());
        let now = now.assume_init();
        let is_new = |signal: &c_int| {
            libc::sigismember(&raw const now, *signal) == 1 && libc::sigismember(&raw const interrupted.uc_sigmask, *signal) == 0
        };
        let mut signals = (1..=64).filter(is_new);
        let (Some(signal), None) = (signals.next(), signals.next()) else { return };
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) != 0 {
            return;
        }
        let mut action = action.assume_init();
        if action.sa_flags & libc::SA_SIGINFO == 0 || action.sa_sigaction == handler as usize {
            return;
        }
        SIGNAL.store(signal, Relaxed);
        NEXT.store(action.sa_sigaction, Release);
        action.sa_sigaction = handler as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}
