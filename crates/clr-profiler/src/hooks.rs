//! Where the program's code calls: stubs that keep the registers that carry arguments and results, as no calling convention
//! does, and call the call tree.

#[cfg(all(target_arch = "aarch64", not(windows)))]
mod aarch64;
#[cfg(all(target_arch = "x86_64", unix))]
mod x86_64_sysv;
#[cfg(all(target_arch = "x86_64", windows))]
mod x86_64_windows;

#[cfg(all(target_arch = "aarch64", not(windows)))]
pub(crate) use aarch64::{enter, enter_and_leave, leave, tailcall};
#[cfg(all(target_arch = "x86_64", unix))]
pub(crate) use x86_64_sysv::{enter, enter_and_leave, enter_with_info, leave, leave_with_info, tailcall, tailcall_with_info};
#[cfg(all(target_arch = "x86_64", windows))]
pub(crate) use x86_64_windows::{enter, enter_and_leave, leave, tailcall};

/// Where that is in what the runtime's stub keeps (`PROFILE_PLATFORM_SPECIFIC_DATA`).
const CALLED_AT: usize = if cfg!(target_arch = "aarch64") { 232 } else { 32 };

#[cfg(not(all(target_arch = "x86_64", unix)))]
pub(crate) use crate::capture::{on_enter as enter_with_info, on_leave as leave_with_info, on_tailcall as tailcall_with_info};
use crate::{call_tree, functions::Function};

/// The stack pointer at which a method was called whose hook with info is passed this; 0 if it is none. What it leads to is the
/// runtime's own, and no document promises it: it is taken for what it can be alone.
///
/// # Safety
/// It has to be what the runtime passes to such a hook, while that runs.
pub(crate) unsafe fn called_at(info: usize) -> usize {
    /// A frame of a method, and what the runtime's stub puts on the stack, are not larger.
    const MOST: usize = 1 << 20;
    // SAFETY: `COR_PRF_ELT_INFO` is the address of a structure that begins with the address of what the stub has kept of the call.
    let called_at = unsafe {
        let of_stub: usize = std::ptr::with_exposed_provenance::<usize>(info).read();
        std::ptr::with_exposed_provenance::<usize>(of_stub + CALLED_AT).read()
    };
    let is_above = called_at > info && called_at - info < MOST && called_at % size_of::<usize>() == 0;
    if is_above { called_at } else { 0 }
}

/// A method begins. A hook is given what the mapper answered, and the stack pointer at which its caller called the method.
extern "C" fn on_enter(function: &'static Function, called_at: usize) {
    call_tree::enter(function.method_id, called_at);
}

/// A method ends, or gives its place to another.
extern "C" fn on_leave(function: &'static Function, called_at: usize) {
    call_tree::leave(function.method_id, called_at);
}
