//! A forked child inherits the profile's mapping, and would write into its parent's profile. Nothing is recorded in a
//! child.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering::Relaxed},
};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child. Locks that other threads of the parent held are never released here.
#[inline]
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Registers a handler that runs in the child of each later fork, before the child continues.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the handler allocates nothing and waits for nothing. When the library is unloaded, libc removes it.
        unsafe {
            libc::pthread_atfork(None, None, Some(begin));
        }
    });
}

#[cfg(unix)]
extern "C" fn begin() {
    IS_CHILD.store(true, Relaxed);
    // The child has no other thread.
    crate::call_tree::forget_thread();
}
