//! Perf events that interrupt a thread after each period of its CPU time (`PERF_COUNT_SW_TASK_CLOCK`).
//!
//! The kernel checks timers of CPU time at its own ticks, and a thread on a busy machine may run between ticks for long. Perf events
//! have timers of their own, and are in time. Containers often forbid them.
//!
//! An event sends one signal, and is off until the handler arms it again. So no signals queue up for a thread that blocks them.

use std::{
    ffi::c_int,
    mem::MaybeUninit,
    ptr::null_mut,
    sync::{
        Once,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Relaxed, Release},
        },
    },
    time::Duration,
};

use perf_event_open_sys::{bindings, ioctls, perf_event_open};

/// The most file descriptors that events may have; descriptors of events are below it.
const MAX_FILES: usize = 1 << 16;
/// Descriptors below that are left to the program (`select` has no others), or half of a lower limit.
const FIRST_FILE: u64 = 1024;

// `fcntl` for signals of a file, by Linux's numbers.
const F_SETSIG: c_int = 10;
const F_SETOWN_EX: c_int = 15;

/// The number of events that are open.
static OPEN: AtomicU64 = AtomicU64::new(0);
/// The places of threads by the descriptor of their event, plus 1.
static PLACES: [AtomicU32; MAX_FILES] = [const { AtomicU32::new(0) }; MAX_FILES];

/// The event of a thread.
pub(in crate::sampler) struct Event {
    file: c_int,
    /// The value of its slot in `PLACES`.
    slot: u32,
}

impl Event {
    /// Opens an event that interrupts a thread by `signal`, for the first time after `first`. Errors are those of the operating
    /// system.
    pub(in crate::sampler) fn new(id: i32, place: usize, signal: c_int, first: Duration) -> std::io::Result<Self> {
        let limit = file_limit();
        if OPEN.load(Relaxed) >= limit / 4 {
            return Err(std::io::Error::from_raw_os_error(libc::EMFILE));
        }
        let mut attributes = bindings::perf_event_attr {
            size: size_of::<bindings::perf_event_attr>() as u32,
            type_: bindings::PERF_TYPE_SOFTWARE,
            config: bindings::PERF_COUNT_SW_TASK_CLOCK.into(),
            ..Default::default()
        };
        attributes.__bindgen_anon_1.sample_period = first.as_nanos() as u64;
        attributes.set_disabled(1);
        // A signal within a system call would end some with `EINTR`. A timer sends its signal at their end.
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
        let failed = || Err(std::io::Error::last_os_error());
        // SAFETY: the structure is complete, and the event is the new descriptor's.
        let opened = unsafe { perf_event_open(&mut attributes, id, -1, -1, bindings::PERF_FLAG_FD_CLOEXEC.into()) };
        if opened < 0 {
            return failed();
        }
        let file = moved(opened);
        if file < 0 {
            return failed();
        }
        let event = Self { file, slot: place as u32 + 1 };
        OPEN.fetch_add(1, Relaxed);
        let Some(slot) = PLACES.get(file as usize) else { return Err(std::io::Error::from_raw_os_error(libc::EMFILE)) };
        slot.store(event.slot, Release);
        survive_full_queues();
        // `struct f_owner_ex` for a thread.
        let owner = [0, id];
        // SAFETY: the calls read their arguments.
        let is_armed = unsafe {
            libc::fcntl(file, F_SETOWN_EX, owner.as_ptr()) == 0
                && libc::fcntl(file, F_SETSIG, signal) == 0
                && libc::fcntl(file, libc::F_SETFL, libc::O_ASYNC | libc::O_RDWR) == 0
                && ioctls::REFRESH(file, 1) == 0
        };
        if is_armed { Ok(event) } else { failed() }
    }

    /// Whether the descriptor still is an event: the program may have closed it, and opened a file by the same number.
    fn is_open(&self) -> bool {
        std::fs::read_link(format!("/proc/self/fd/{}", self.file)).is_ok_and(|link| link.as_os_str() == "anon_inode:[perf_event]")
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Relaxed);
        // If the program closed the descriptor, a later event may have the same number.
        let slot = PLACES.get(self.file as usize);
        let is_own = slot.is_none_or(|slot| slot.compare_exchange(self.slot, 0, Release, Relaxed).is_ok());
        if is_own && self.is_open() {
            // SAFETY: it is this event's descriptor. A child process may have a copy, and keep the event: so it is turned off.
            unsafe {
                ioctls::DISABLE(self.file, 0);
                libc::close(self.file);
            }
        }
    }
}

/// The place of the thread whose event has a descriptor. Async-signal-safe.
pub(in crate::sampler) fn place_of(file: usize) -> Option<usize> {
    PLACES.get(file)?.load(Relaxed).checked_sub(1).map(|place| place as usize)
}

/// Has an event send its next signal after a period, in ns. Async-signal-safe.
pub(in crate::sampler) fn arm(file: usize, period: u64) {
    // SAFETY: the kernel checks that the descriptor is an event's, and reads the period.
    unsafe {
        libc::ioctl(file as c_int, bindings::PERIOD as _, &raw const period);
        ioctls::REFRESH(file as c_int, 1);
    }
}

/// Moves a new descriptor out of the way of the program's. The result is negative if that fails.
pub(super) fn moved(opened: c_int) -> c_int {
    // SAFETY: the descriptor was just opened, and is closed once.
    unsafe {
        let file = libc::fcntl(opened, libc::F_DUPFD_CLOEXEC, FIRST_FILE.min(file_limit() / 2) as c_int);
        libc::close(opened);
        file
    }
}

/// The number of descriptors that the process may have.
fn file_limit() -> u64 {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: zeros are a limit, and the call writes another one.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        limit.assume_init().rlim_cur
    }
}

/// Where the queue of signals is full, the kernel sends `SIGIO` in place of an event's signal, and that ends a program by default.
fn survive_full_queues() {
    extern "C" fn nothing(_: c_int) {}
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the structures are plain data; the calls read and write them. The handler does nothing.
        unsafe {
            let mut action = std::mem::zeroed::<libc::sigaction>();
            if libc::sigaction(libc::SIGIO, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_DFL {
                action.sa_sigaction = nothing as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(libc::SIGIO, &action, null_mut());
            }
        }
    });
}
