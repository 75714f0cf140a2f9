//! Ends calls that exceptions leave, by the exception events of the runtime.
//!
//! An event names a function, not a call, and some events are not sent. Next to native frames (reflection, static
//! constructors), .NET 9 and later report which function an exception is about to leave, but not the exit. The
//! exception is then thrown again on the other side. .NET 10 and 11 send no event for a call made by the same method,
//! if its finally block throws. Hooks end the calls that remain open, by the stack pointer ([`tree::enter`]).

use std::cell::RefCell;

use super::functions;
use crate::{
    abi::runtime::Id,
    function::Function,
    tree::{self, Call, searches},
    values::capture,
    worlds::InCallback,
};

/// The runtime's current activity, as its events report it.
struct Activity {
    /// The stack pointer at the time of its event.
    at: usize,
    of: Of,
}

enum Of {
    /// An exception is about to leave a function, or the function handles it. `call` is its recorded call. While a
    /// finally block of it runs, exceptions within are separate ones.
    Function { id: Id, call: Option<(&'static Function, Call)>, is_in_finally: bool },
    /// A filter. It runs above calls that its exception may leave later: those from this stack pointer on.
    Filter { called_at: usize },
}

impl Activity {
    /// Whether other exceptions may occur and end during the activity.
    fn is_kept(&self) -> bool {
        matches!(self.of, Of::Filter { .. } | Of::Function { is_in_finally: true, .. })
    }
}

thread_local! {
    /// The innermost last.
    static ACTIVITIES: RefCell<Vec<Activity>> = const { RefCell::new(Vec::new()) };
}

/// Calls a function with this thread's activities; returns the default value at the thread's end.
fn activities<T: Default>(with: impl FnOnce(&mut Vec<Activity>) -> T) -> T {
    ACTIVITIES.try_with(|activities| with(&mut activities.borrow_mut())).unwrap_or_default()
}

/// `ExceptionThrown`
pub(crate) fn thrown(_: InCallback, at: usize) {
    // An exception has neither left this function nor been handled there, and no finally block runs: native code
    // caught it.
    while let Some(left) = activities(|all| all.pop_if(|innermost| !innermost.is_kept())) {
        leave(&left);
    }
    searches::begin_search(at);
}

/// `ExceptionSearchFunctionEnter`
pub(crate) fn is_searched(_: InCallback, at: usize) {
    searches::begin_search(at);
}

/// `ExceptionSearchFilterEnter`
pub(crate) fn filter(_: InCallback, at: usize) {
    let called_at = tree::current_call().map_or(usize::MAX, |call| call.called_at);
    activities(|all| all.push(Activity { at, of: Of::Filter { called_at } }));
}

/// `ExceptionSearchFilterLeave`, whichever way the filter ended
pub(crate) fn filtered(_: InCallback, at: usize) {
    activities(|all| {
        all.truncate(all.iter().rposition(|activity| matches!(activity.of, Of::Filter { .. })).unwrap_or(all.len()));
    });
    searches::begin_search(at);
}

/// `ExceptionSearchCatcherFound`
pub(crate) fn catcher_is_found(_: InCallback) {
    searches::end_search();
}

/// `ExceptionUnwindFunctionEnter`
pub(crate) fn unwind(may: InCallback, id: Id, at: usize) {
    // The runtime has left activities reported at the same stack pointer, or at a lower one.
    while let Some(left) = activities(|all| all.pop_if(|innermost| innermost.at <= at)) {
        leave(&left);
    }
    let filter = activities(|all| {
        all.iter().rev().find_map(|activity| match activity.of {
            Of::Filter { called_at } => Some(called_at),
            Of::Function { .. } => None,
        })
    });
    // The frame of a filter is no call.
    let is_within = |call: &Call| filter.is_none_or(|called_at| call.called_at < called_at);
    let innermost = |function: &'static Function| Some((function, tree::innermost_call(function.method_id).filter(is_within)?));
    let call = functions::find(may, id).and_then(innermost);
    searches::keep_search(|| end_callees_of(call));
    activities(|all| all.push(Activity { at, of: Of::Function { id, call, is_in_finally: false } }));
}

/// `ExceptionUnwindFinallyEnter` and `Leave`
pub(crate) fn finally(_: InCallback, is_in: bool) {
    activities(|all| {
        if let Some(Activity { of: Of::Function { is_in_finally, .. }, .. }) = all.last_mut() {
            *is_in_finally = is_in;
        }
    });
}

/// `ExceptionUnwindFunctionLeave`: .NET 9 and later send a superfluous one if a filter throws.
pub(crate) fn unwound(_: InCallback) {
    if let Some(left) = activities(|all| all.pop_if(|innermost| matches!(innermost.of, Of::Function { .. }))) {
        leave(&left);
    }
}

/// `ExceptionCatcherEnter`
pub(crate) fn catch(_: InCallback, id: Id) {
    let handling = activities(|all| {
        let is_it = |activity: &Activity| matches!(activity.of, Of::Function { id: of, .. } if of == id);
        let innermost = all.iter().rev().take_while(|activity| !matches!(activity.of, Of::Filter { .. }));
        let above = innermost.enumerate().find(|(_, activity)| is_it(activity)).map(|(above, _)| above)?;
        all.drain(all.len() - 1 - above..).next()
    });
    if let Some(Activity { of: Of::Function { call, .. }, .. }) = handling {
        end_callees_of(call);
    }
}

/// Ends the callees of a call.
fn end_callees_of(call: Option<(&'static Function, Call)>) {
    if let Some((_, call)) = call
        && let Some(now) = tree::end_callees(call)
    {
        capture::end_callees(now, call.called_at);
    }
}

fn leave(left: &Activity) {
    if let Of::Function { call: Some((function, call)), .. } = left.of
        && let Some(now) = searches::keep_search(|| tree::unwind(call))
    {
        capture::unwind(function, now, call.called_at);
    }
}

/// An address in the caller's part of the stack.
#[inline(always)]
pub(crate) fn here() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
