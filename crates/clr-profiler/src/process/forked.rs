//! A forked child inherits the profile's mapping, and would write into its parent's profile. Nothing is recorded in a
//! child.

#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child. Locks that other threads of the parent held are never released here.
#[inline]
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Registers a function that runs in the child of each later fork, before the child continues. It may neither allocate
/// nor wait.
#[cfg(unix)]
pub(crate) fn watch_forks(in_child: extern "C" fn()) {
    static IN_CHILD: OnceLock<extern "C" fn()> = OnceLock::new();
    extern "C" fn begin() {
        IS_CHILD.store(true, Relaxed);
        IN_CHILD.get().iter().for_each(|in_child| in_child());
    }
    if IN_CHILD.set(in_child).is_ok() {
        // SAFETY: the handler allocates nothing and waits for nothing. When the library is unloaded, libc removes it.
        unsafe { libc::pthread_atfork(None, None, Some(begin)) };
    }
}
