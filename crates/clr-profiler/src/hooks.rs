//! Stubs called by the program's code. They save the registers for arguments and results, as no calling convention
//! does, and call the call tree.

mod targets;

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

#[cfg(not(all(target_arch = "x86_64", unix)))]
pub(crate) use crate::values::capture::{
    on_enter as enter_with_info, on_leave as leave_with_info, on_tailcall as tailcall_with_info,
};
