//! A child of a fork has the profile's mapping too, and would write into what its parent records: there, nothing is recorded.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering::Relaxed},
};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this is a child of the process that the profile is of. Locks of its parent's threads stay taken here.
#[inline]
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Has the child know of each fork to come, before it goes on.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: what is called in the child allocates nothing and waits for nothing. When the library is unloaded, libc forgets it.
        unsafe {
            libc::pthread_atfork(None, None, Some(begin));
        }
    });
}

#[cfg(unix)]
extern "C" fn begin() {
    IS_CHILD.store(true, Relaxed);
    // The child has no thread but this one.
    crate::call_tree::forget_thread();
}
