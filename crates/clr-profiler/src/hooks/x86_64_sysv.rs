//! System V: an undocumented convention of the JIT. Enter receives the function in r14, as all argument registers are
//! in use, and the caller's stack pointer in r15. Leave and tailcall receive these in rdi and rsi.

use std::arch::{asm, naked_asm};

use super::targets::{on_enter, on_leave};
use crate::{function::Function, values::capture};

macro_rules! keep_arguments_and_call {
    ([$($move:literal),*], $target:path) => {
        naked_asm!(
            // Seven registers: with the return address, the stack is aligned to 16 bytes.
            "push rax",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "sub rsp, 128",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            $($move,)*
            "call {target}",
            "movups xmm0, [rsp]",
            "movups xmm1, [rsp + 16]",
            "movups xmm2, [rsp + 32]",
            "movups xmm3, [rsp + 48]",
            "movups xmm4, [rsp + 64]",
            "movups xmm5, [rsp + 80]",
            "movups xmm6, [rsp + 96]",
            "movups xmm7, [rsp + 112]",
            "add rsp, 128",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "ret",
            target = sym $target,
        )
    };
}

/// `FunctionEnter3`
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter() {
    keep_arguments_and_call!(["mov rdi, r14", "mov rsi, r15"], on_enter)
}

/// `FunctionTailcall3`: the arguments may already be in place.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn tailcall() {
    keep_arguments_and_call!([], on_leave)
}

/// `FunctionLeave3`: a result is in rax and rdx, in xmm0 and xmm1, or in one of each. The continuation of a method
/// that the runtime suspends is in rcx.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave() {
    naked_asm!(
        "push rax",
        "push rdx",
        "push rcx",
        "sub rsp, 32",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "call {target}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "add rsp, 32",
        "pop rcx",
        "pop rdx",
        "pop rax",
        "ret",
        target = sym on_leave,
    )
}

/// `FunctionEnter3WithInfo`: the runtime's own stub saves registers, but not the floating-point ones before .NET 5.
#[unsafe(naked)]
pub(crate) extern "C" fn enter_with_info(_function: &'static Function, _info: usize) {
    keep_arguments_and_call!([], capture::on_enter)
}

/// `FunctionLeave3WithInfo`: as above.
#[unsafe(naked)]
pub(crate) extern "C" fn leave_with_info(_function: &'static Function, _info: usize) {
    keep_arguments_and_call!([], capture::on_leave)
}

/// `FunctionTailcall3WithInfo`: as above.
#[unsafe(naked)]
pub(crate) extern "C" fn tailcall_with_info(_function: &'static Function, _info: usize) {
    keep_arguments_and_call!([], capture::on_tailcall)
}

/// Calls enter and leave, like an empty method.
pub(crate) fn enter_and_leave(function: &'static Function) {
    // SAFETY: the stack is aligned for calls. The stubs follow their convention, which preserves r14 and r15.
    unsafe {
        asm!(
            "mov r15, rsp",
            "call {enter}",
            "mov rdi, r14",
            "mov rsi, r15",
            "call {leave}",
            enter = sym enter,
            leave = sym leave,
            in("r14") function,
            out("r15") _,
            clobber_abi("C"),
        );
    }
}
