//! Windows: the function is in rcx, the caller's stack pointer in rdx. The caller reserves 32 bytes of its stack for
//! the callee.

use std::arch::{asm, naked_asm};

use super::targets::{on_enter, on_leave};
use crate::function::Function;

macro_rules! keep_arguments_and_call {
    ($target:path) => {
        naked_asm!(
            "push rcx",
            "push rdx",
            "push r8",
            "push r9",
            "push rax",
            "sub rsp, 96",
            "movups [rsp + 32], xmm0",
            "movups [rsp + 48], xmm1",
            "movups [rsp + 64], xmm2",
            "movups [rsp + 80], xmm3",
            "call {target}",
            "movups xmm0, [rsp + 32]",
            "movups xmm1, [rsp + 48]",
            "movups xmm2, [rsp + 64]",
            "movups xmm3, [rsp + 80]",
            "add rsp, 96",
            "pop rax",
            "pop r9",
            "pop r8",
            "pop rdx",
            "pop rcx",
            "ret",
            target = sym $target,
        )
    };
}

/// `FunctionEnter3`
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter() {
    keep_arguments_and_call!(on_enter)
}

/// `FunctionTailcall3`
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn tailcall() {
    keep_arguments_and_call!(on_leave)
}

/// `FunctionLeave3`: a result is in rax or xmm0. rcx held the function; at the end of a method that the runtime
/// suspends, the caller reads its continuation from rcx: none.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave() {
    naked_asm!(
        "push rax",
        "sub rsp, 48",
        "movups [rsp + 32], xmm0",
        "call {target}",
        "movups xmm0, [rsp + 32]",
        "add rsp, 48",
        "pop rax",
        "xor ecx, ecx",
        "ret",
        target = sym on_leave,
    )
}

/// Calls enter and leave, like an empty method.
pub(crate) fn enter_and_leave(function: &'static Function) {
    // SAFETY: the stack is aligned for calls. The stubs follow their convention, which preserves r12.
    unsafe {
        asm!(
            "mov rcx, r12",
            "mov rdx, rsp",
            "call {enter}",
            "mov rcx, r12",
            "mov rdx, rsp",
            "call {leave}",
            enter = sym enter,
            leave = sym leave,
            in("r12") function,
            clobber_abi("C"),
        );
    }
}
