//! The functions of Mono's embedding and profiler interfaces (`mono/metadata/profiler.h`, version 5.4 and later).

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr::null_mut,
    time::Duration,
};

/// A method of Mono (`MonoMethod`).
pub(super) type Method = *const c_void;

/// Receives a frame of a walk: its method, its domain, the start of its code and an offset there. Returns 1 to end the walk.
pub(super) type OnFrame = unsafe extern "C" fn(Method, *const c_void, *const c_void, c_int, *mut c_void) -> c_int;

/// The moments at which Mono calls the sampler.
#[derive(Clone, Copy)]
pub(super) struct Callbacks {
    /// A signal handler: the interrupted address, and the context for a walk.
    pub(super) sample: unsafe extern "C" fn(*mut c_void, *const u8, *const c_void),
    /// On a thread that has begun or is about to end, with its `pthread_t`.
    pub(super) thread_started: unsafe extern "C" fn(*mut c_void, usize),
    pub(super) thread_stopped: unsafe extern "C" fn(*mut c_void, usize),
    /// A method, image or domain is about to be freed.
    pub(super) method_freed: unsafe extern "C" fn(*mut c_void, *const c_void),
    pub(super) image_unloaded: unsafe extern "C" fn(*mut c_void, *const c_void),
    pub(super) domain_unloaded: unsafe extern "C" fn(*mut c_void, *const c_void),
    pub(super) shutdown: unsafe extern "C" fn(*mut c_void),
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that this process's Mono exports.
        #[derive(Clone, Copy)]
        pub(super) struct Api { $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Api {
            /// Finds the functions; an error names the missing one.
            pub(super) fn find() -> Result<Self, String> {
                Ok(Self { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the name ends with 0. The type is that of Mono's headers.
                    unsafe {
                        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast());
                        if found.is_null() {
                            return Err(format!("this Mono has no {}; --sample needs Mono 5.4 or later", stringify!($name)));
                        }
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(found)
                    }
                },)* })
            }
        }
    };
}

functions! {
    mono_get_runtime_build_info: fn() -> *mut c_char;
    mono_profiler_create: fn(*mut c_void) -> *mut c_void;
    mono_profiler_enable_sampling: fn(*mut c_void) -> c_int;
    mono_profiler_set_sample_mode: fn(*mut c_void, c_int, u32) -> c_int;
    mono_profiler_set_sample_hit_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void, *const u8, *const c_void));
    mono_profiler_set_thread_started_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void, usize));
    mono_profiler_set_thread_stopped_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void, usize));
    mono_profiler_set_method_free_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void, *const c_void));
    mono_profiler_set_image_unloading_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void, *const c_void));
    mono_profiler_set_domain_unloading_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void, *const c_void));
    mono_profiler_set_runtime_shutdown_begin_callback: fn(*mut c_void, unsafe extern "C" fn(*mut c_void));
    mono_stack_walk_async_safe: fn(OnFrame, *const c_void, *mut c_void);
    mono_thread_info_current_unchecked: fn() -> *const c_void;
    mono_method_get_token: fn(Method) -> u32;
    mono_method_get_class: fn(Method) -> *const c_void;
    mono_class_get_image: fn(*const c_void) -> *const c_void;
    mono_image_get_filename: fn(*const c_void) -> *const c_char;
}

/// `MONO_PROFILER_SAMPLE_MODE_PROCESS`: by the CPU time of the process.
const BY_CPU_TIME: c_int = 1;
/// `MONO_PROFILER_SAMPLE_MODE_REAL`
const BY_ELAPSED_TIME: c_int = 2;

impl Api {
    /// The version for users: `6.8.0.105`.
    pub(super) fn version(&self) -> String {
        // SAFETY: the call returns a string of the caller's, which is small enough to stay.
        let text = unsafe { text((self.mono_get_runtime_build_info)()) };
        text.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Has Mono call back. Valid only while Mono loads its profilers.
    pub(super) fn start(&self, callbacks: Callbacks, wall: bool, period: Duration) -> Result<(), String> {
        let frequency = (1_000_000_000 / period.as_nanos().max(1)) as u32;
        let mode = if wall { BY_ELAPSED_TIME } else { BY_CPU_TIME };
        // SAFETY: the callbacks have the types of Mono's headers, and the library is never unloaded. They ignore the pointer
        // that is null here.
        unsafe {
            let handle = (self.mono_profiler_create)(null_mut());
            if handle.is_null() || (self.mono_profiler_enable_sampling)(handle) == 0 {
                return Err("Mono takes no samples here".to_owned());
            }
            (self.mono_profiler_set_thread_started_callback)(handle, callbacks.thread_started);
            (self.mono_profiler_set_thread_stopped_callback)(handle, callbacks.thread_stopped);
            (self.mono_profiler_set_method_free_callback)(handle, callbacks.method_freed);
            (self.mono_profiler_set_image_unloading_callback)(handle, callbacks.image_unloaded);
            (self.mono_profiler_set_domain_unloading_callback)(handle, callbacks.domain_unloaded);
            (self.mono_profiler_set_runtime_shutdown_begin_callback)(handle, callbacks.shutdown);
            (self.mono_profiler_set_sample_hit_callback)(handle, callbacks.sample);
            if (self.mono_profiler_set_sample_mode)(handle, mode, frequency) == 0 {
                return Err("another profiler of this Mono takes samples".to_owned());
            }
        }
        Ok(())
    }

    /// The `MonoThreadInfo` of this thread; null for threads that Mono does not know.
    pub(super) fn info_of_thread(&self) -> *const c_void {
        // SAFETY: the call reads thread-local storage.
        unsafe { (self.mono_thread_info_current_unchecked)() }
    }

    /// Walks the stack of the interrupted thread, innermost frame first. For the signal handler.
    ///
    /// # Safety
    /// The context must be the one of the handler's call, and `data` what `on_frame` expects.
    pub(super) unsafe fn walk(&self, on_frame: OnFrame, context: *const c_void, data: *mut c_void) {
        // SAFETY: the caller guarantees it.
        unsafe { (self.mono_stack_walk_async_safe)(on_frame, context, data) };
    }

    /// The token of a method in its image, its image and the path of that. The token is 0 for methods that Mono makes.
    ///
    /// # Safety
    /// The method must not be freed.
    pub(super) unsafe fn place_of(&self, method: Method) -> (u32, usize, String) {
        // SAFETY: the functions read fields of structures that live as long as the method.
        unsafe {
            let image = (self.mono_class_get_image)((self.mono_method_get_class)(method));
            ((self.mono_method_get_token)(method), image.addr(), text((self.mono_image_get_filename)(image)))
        }
    }
}

/// # Safety
/// The pointer must be null, or lead to a string that ends with 0.
unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}
