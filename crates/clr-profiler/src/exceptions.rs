//! What exceptions end, by the events that the runtime sends of them.
//!
//! An event names a function, not a call, and some are not sent. Next to native frames (reflection, static constructors), .NET 9 and
//! later say which function an exception is about to leave, and not that it has; then the exception is thrown again on the other side.
//! .NET 10 and 11 pass over a call that was made by the same method, if its finally block throws. What this leaves open, hooks end by
//! the stack pointer ([`call_tree::enter`]).

use std::cell::RefCell;

use crate::{
    call_tree::{self, Call, searches},
    capture,
    functions::{self, Function},
    info::Id,
};

/// What the runtime is in, as its events say.
struct Place {
    /// Where it was on the stack when it said so.
    at: usize,
    of: Of,
}

enum Of {
    /// A function that an exception is about to leave, or that handles it: its call, if it is recorded, and whether a finally block of
    /// it runs. Exceptions within are others.
    Function { id: Id, call: Option<(&'static Function, Call)>, is_in_finally: bool },
    /// A filter, which runs above calls that its exception may leave later: those from this stack pointer on.
    Filter { called_at: usize },
}

impl Place {
    /// Whether exceptions may come and go while the runtime is there.
    fn is_kept(&self) -> bool {
        matches!(self.of, Of::Filter { .. } | Of::Function { is_in_finally: true, .. })
    }
}

thread_local! {
    /// The innermost last.
    static PLACES: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
}

/// Does something with this thread's; nothing at its end.
fn places<T: Default>(with: impl FnOnce(&mut Vec<Place>) -> T) -> T {
    PLACES.try_with(|places| with(&mut places.borrow_mut())).unwrap_or_default()
}

/// `ExceptionThrown`
pub(crate) fn thrown(at: usize) {
    // What is neither left nor handles an exception, and runs no finally block, was left for native code.
    while let Some(left) = places(|all| all.pop_if(|innermost| !innermost.is_kept())) {
        leave(&left);
    }
    searches::begin(at);
}

/// `ExceptionSearchFunctionEnter`
pub(crate) fn is_searched(at: usize) {
    searches::begin(at);
}

/// `ExceptionSearchFilterEnter`
pub(crate) fn filter(at: usize) {
    let called_at = call_tree::current().map_or(usize::MAX, |call| call.called_at);
    places(|all| all.push(Place { at, of: Of::Filter { called_at } }));
}

/// `ExceptionSearchFilterLeave`, however it ended
pub(crate) fn filtered(at: usize) {
    places(|all| all.truncate(all.iter().rposition(|place| matches!(place.of, Of::Filter { .. })).unwrap_or(all.len())));
    searches::begin(at);
}

/// `ExceptionSearchCatcherFound`
pub(crate) fn catcher_is_found() {
    searches::end();
}

/// `ExceptionUnwindFunctionEnter`
pub(crate) fn unwind(id: Id, at: usize) {
    // What the runtime told of from here, or from further down, it has left meanwhile.
    while let Some(left) = places(|all| all.pop_if(|innermost| innermost.at <= at)) {
        leave(&left);
    }
    let filter = places(|all| {
        all.iter().rev().find_map(|place| match place.of {
            Of::Filter { called_at } => Some(called_at),
            Of::Function { .. } => None,
        })
    });
    // The frame of a filter is no call.
    let is_within = |call: &Call| filter.is_none_or(|called_at| call.called_at < called_at);
    let innermost = |function: &'static Function| Some((function, call_tree::innermost(function.method_id).filter(is_within)?));
    let call = functions::find(id).and_then(innermost);
    searches::keep(|| end_within(call));
    places(|all| all.push(Place { at, of: Of::Function { id, call, is_in_finally: false } }));
}

/// `ExceptionUnwindFinallyEnter` and `Leave`
pub(crate) fn finally(is_in: bool) {
    places(|all| {
        if let Some(Place { of: Of::Function { is_in_finally, .. }, .. }) = all.last_mut() {
            *is_in_finally = is_in;
        }
    });
}

/// `ExceptionUnwindFunctionLeave`: .NET 9 and later send one too many where a filter throws.
pub(crate) fn unwound() {
    if let Some(left) = places(|all| all.pop_if(|innermost| matches!(innermost.of, Of::Function { .. }))) {
        leave(&left);
    }
}

/// `ExceptionCatcherEnter`
pub(crate) fn catch(id: Id) {
    let handling = places(|all| {
        let is_it = |place: &Place| matches!(place.of, Of::Function { id: of, .. } if of == id);
        let innermost = all.iter().rev().take_while(|place| !matches!(place.of, Of::Filter { .. }));
        let above = innermost.enumerate().find(|(_, place)| is_it(place)).map(|(above, _)| above)?;
        all.drain(all.len() - 1 - above..).next()
    });
    if let Some(Place { of: Of::Function { call, .. }, .. }) = handling {
        end_within(call);
    }
}

/// What a call has called has ended.
fn end_within(call: Option<(&'static Function, Call)>) {
    if let Some((_, call)) = call
        && let Some(now) = call_tree::end_within(call)
    {
        capture::end_within(now, call.called_at);
    }
}

fn leave(left: &Place) {
    if let Of::Function { call: Some((function, call)), .. } = left.of
        && let Some(now) = searches::keep(|| call_tree::unwind(call))
    {
        capture::unwind(function, now, call.called_at);
    }
}

/// The address of something that the caller has on the stack.
#[inline(always)]
pub(crate) fn here() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
