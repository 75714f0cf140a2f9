//! Stubs called by the program's code. They save the registers for arguments and results, as no calling convention
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

/// The offset of the caller's stack pointer in the data of the runtime's stub (`PROFILE_PLATFORM_SPECIFIC_DATA`).
const CALLED_AT: usize = if cfg!(target_arch = "aarch64") { 232 } else { 32 };

#[cfg(not(all(target_arch = "x86_64", unix)))]
pub(crate) use crate::capture::{on_enter as enter_with_info, on_leave as leave_with_info, on_tailcall as tailcall_with_info};
use crate::{call_tree, functions::Function};

/// The stack pointer of the call, from the info of a hook; 0 if not found. The data is internal to the runtime and
/// undocumented, so the value is used only if it is plausible.
///
/// # Safety
/// `info` must be the value that the runtime passed to a hook that still runs.
pub(crate) unsafe fn called_at(info: usize) -> usize {
    /// A method's frame and the data of the runtime's stub are not larger.
    const MOST: usize = 1 << 20;
    // SAFETY: `COR_PRF_ELT_INFO` is the address of a structure. Its first field is the address of the stub's data of
    // the call.
    let called_at = unsafe {
        let of_stub: usize = std::ptr::with_exposed_provenance::<usize>(info).read();
        std::ptr::with_exposed_provenance::<usize>(of_stub + CALLED_AT).read()
    };
    let is_above = called_at > info && called_at - info < MOST && called_at % size_of::<usize>() == 0;
    if is_above { called_at } else { 0 }
}

/// A method begins. A hook receives the mapper's answer, and the caller's stack pointer at the call.
extern "C" fn on_enter(function: &'static Function, called_at: usize) {
    call_tree::enter(function.method_id, called_at);
}

/// A method ends, or makes a tail call.
extern "C" fn on_leave(function: &'static Function, called_at: usize) {
    call_tree::leave(function.method_id, called_at);
}
