//! The worlds of the profiler's code: hooks, other callbacks of the runtime, and threads of the profiler. Tokens of no size show
//! which of them a function belongs to. A function that waits requires a token that code in a hook does not have.

use std::{io, marker::PhantomData, num::NonZeroUsize, thread};

/// Code in a hook has it. No garbage collection begins while the hook runs, so objects stay where they are. The code
/// neither allocates nor waits, except for a function, generic arguments, a class or a thread that it meets for the first time.
#[derive(Clone, Copy)]
pub(crate) struct InHook<'h>(PhantomData<(&'h (), *const ())>);

impl InHook<'_> {
    /// # Safety
    /// The runtime must have called a hook on this thread, and the hook must run as long as the token lives.
    pub(crate) unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

/// Code in another callback of the runtime has it. The callback may load types and wait for a garbage collection. Hooks that
/// wait for a lock would prevent the collection, so the code holds no lock meanwhile that they take.
#[derive(Clone, Copy)]
pub(crate) struct InCallback(PhantomData<*const ()>);

impl InCallback {
    /// # Safety
    /// The runtime must have called a callback on this thread that permits such queries. This thread must hold no lock
    /// that hooks take.
    pub(crate) unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

/// Code on a thread of the profiler has it. The thread runs no code of the program.
#[derive(Clone, Copy)]
pub(crate) struct OnOwnThread(PhantomData<*const ()>);

/// Starts a thread of the profiler.
pub(crate) fn spawn(body: impl FnOnce(OnOwnThread) + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("ilinst".into()).spawn(|| body(OnOwnThread(PhantomData))).map(drop)
}

/// A token of code that may wait: for locks, files and other threads.
pub(crate) trait MayWait: Copy {}
impl MayWait for InCallback {}
impl MayWait for OnOwnThread {}

/// An object, at its address while a hook runs.
#[derive(Clone, Copy)]
pub(crate) struct Object<'h> {
    address: NonZeroUsize,
    _hook: InHook<'h>,
}

impl<'h> Object<'h> {
    /// Reads a reference; `None` if it is null.
    ///
    /// # Safety
    /// A reference to an object must be at `at`.
    pub(crate) unsafe fn read(hook: InHook<'h>, at: usize) -> Option<Self> {
        // SAFETY: the caller guarantees this.
        let address = unsafe { read_value::<usize>(at) };
        NonZeroUsize::new(address).map(|address| Self { address, _hook: hook })
    }

    pub(crate) fn address(self) -> usize {
        self.address.get()
    }
}

/// Reads a value of the program, which need not be aligned.
///
/// # Safety
/// A `T` must be at that address.
pub(crate) unsafe fn read_value<T: Copy>(at: usize) -> T {
    // SAFETY: the caller guarantees this.
    unsafe { std::ptr::with_exposed_provenance::<T>(at).read_unaligned() }
}
