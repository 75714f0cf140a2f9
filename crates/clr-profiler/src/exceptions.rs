//! What exceptions end, by the events that the runtime sends of them.
//!
//! An event names a function, not a call, and some are not sent. Next to native frames (reflection, static constructors), .NET 9 and
//! later say which function an exception is about to leave, and not that it has; then the exception is thrown again on the other side.
//! What this leaves open, hooks end by the stack pointer ([`call_tree::enter`]).

use std::cell::RefCell;

use crate::{
    call_tree::{self, searches},
    capture,
    functions::{self, Function},
    info::Id,
};

/// A function that an exception is about to leave, or that handles it.
struct Unwinding {
    id: Id,
    /// The function and where its call was called, if it is recorded.
    call: Option<(&'static Function, usize)>,
    /// Where the runtime was when it said so.
    at: usize,
    /// Whether a finally block of it runs: exceptions within are others.
    is_in_finally: bool,
}

thread_local! {
    /// The innermost ones last: a finally block may call what handles exceptions of its own.
    static UNWINDING: RefCell<Vec<Unwinding>> = const { RefCell::new(Vec::new()) };
}

/// Does something with this thread's; nothing at its end.
fn unwinding<T: Default>(with: impl FnOnce(&mut Vec<Unwinding>) -> T) -> T {
    UNWINDING.try_with(|unwinding| with(&mut unwinding.borrow_mut())).unwrap_or_default()
}

/// `ExceptionThrown`
pub(crate) fn thrown(at: usize) {
    // What is neither left nor handles an exception, and runs no finally block, was left for native code.
    while let Some(left) = unwinding(|all| all.pop_if(|innermost| !innermost.is_in_finally)) {
        leave(&left);
    }
    searches::begin(at);
}

/// `ExceptionSearchFunctionEnter`, `ExceptionSearchFilterLeave`
pub(crate) fn is_searched(at: usize) {
    searches::begin(at);
}

/// `ExceptionSearchCatcherFound`
pub(crate) fn catcher_is_found() {
    searches::end();
}

/// `ExceptionUnwindFunctionEnter`
pub(crate) fn unwind(id: Id, at: usize) {
    searches::end();
    let function = functions::find(id);
    let call = function.and_then(|function| Some((function, call_tree::innermost(function.method_id)?)));
    unwinding(|all| {
        // The runtime is not in those that it told of from here, or from further down.
        while all.pop_if(|innermost| innermost.at <= at).is_some() {}
        all.push(Unwinding { id, call, at, is_in_finally: false });
    });
}

/// `ExceptionUnwindFinallyEnter` and `Leave`
pub(crate) fn finally(is_in: bool) {
    unwinding(|all| all.iter_mut().next_back().into_iter().for_each(|innermost| innermost.is_in_finally = is_in));
}

/// `ExceptionUnwindFunctionLeave`
pub(crate) fn unwound() {
    if let Some(left) = unwinding(Vec::pop) {
        leave(&left);
    }
}

/// `ExceptionCatcherEnter`
pub(crate) fn catch(id: Id) {
    searches::end();
    let handling = unwinding(|all| {
        let handling = all.iter().rposition(|unwinding| unwinding.id == id)?;
        all.drain(handling..).next()
    });
    if let Some((_, called_at)) = handling.and_then(|handling| handling.call) {
        let now = call_tree::handle(called_at);
        capture::handle(now, called_at);
    }
}

fn leave(left: &Unwinding) {
    if let Some((function, called_at)) = left.call {
        let now = call_tree::unwind(function.method_id, called_at);
        capture::unwind(function, now, called_at);
    }
}

/// The address of something that the caller has on the stack.
#[inline(always)]
pub(crate) fn here() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
