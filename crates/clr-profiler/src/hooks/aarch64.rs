//! AArch64, except Windows: the function is in x10, the caller's stack pointer in x11. A result is in x0 and x1 or in
//! v0 to v3. The continuation of a method that the runtime suspends is in x2.

use std::arch::{asm, naked_asm};

use super::targets::{on_enter, on_leave};
use crate::function::Function;

macro_rules! keep_registers_and_call {
    ($target:path) => {
        naked_asm!(
            "stp x29, x30, [sp, #-224]!",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "str x8, [sp, #80]",
            "stp q0, q1, [sp, #96]",
            "stp q2, q3, [sp, #128]",
            "stp q4, q5, [sp, #160]",
            "stp q6, q7, [sp, #192]",
            "mov x0, x10",
            "mov x1, x11",
            "bl {target}",
            "ldp q6, q7, [sp, #192]",
            "ldp q4, q5, [sp, #160]",
            "ldp q2, q3, [sp, #128]",
            "ldp q0, q1, [sp, #96]",
            "ldr x8, [sp, #80]",
            "ldp x6, x7, [sp, #64]",
            "ldp x4, x5, [sp, #48]",
            "ldp x2, x3, [sp, #32]",
            "ldp x0, x1, [sp, #16]",
            "ldp x29, x30, [sp], #224",
            "ret",
            target = sym $target,
        )
    };
}

/// `FunctionEnter3`
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter() {
    keep_registers_and_call!(on_enter)
}

/// `FunctionTailcall3`
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn tailcall() {
    keep_registers_and_call!(on_leave)
}

/// `FunctionLeave3`
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave() {
    keep_registers_and_call!(on_leave)
}

/// Calls enter and leave, like an empty method.
pub(crate) fn enter_and_leave(function: &'static Function) {
    // SAFETY: the stack is aligned for calls. The stubs follow their convention, which preserves x20.
    unsafe {
        asm!(
            "mov x10, x20",
            "mov x11, sp",
            "bl {enter}",
            "mov x10, x20",
            "mov x11, sp",
            "bl {leave}",
            enter = sym enter,
            leave = sym leave,
            in("x20") function,
            clobber_abi("C"),
        );
    }
}
