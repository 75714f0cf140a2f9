//! Captures calls with their values: hooks with info write them into the profile while the program runs. Values are
//! read where no garbage collection can begin, by a plan made from metadata. Memory is allocated only for a new
//! function, new generic arguments or a new class.

mod calls;
mod classes;
mod record;

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release},
};

use instrument::live::Captured;
use profile_format::{CallEnd, CallFlags, CallRecordKind, ParameterMode, UnreadReason, ValueKind, calls::NOT_SHOWN};

use self::{calls::Frame, record::Record};
use crate::{
    call_tree, clock,
    functions::{self, Function},
    hooks,
    info::{ArgumentInfo, Context, Range, Runtime},
    plan::Plan,
    signature::{Instance, Parameter},
};

pub(crate) use self::calls::{ThreadCalls, end_thread};

struct Capture {
    runtime: Runtime,
    captured: Captured,
    start: i64,
    strings: (usize, usize),
    /// Whether the runtime reports only the first register of a returned value: on Unix, .NET Core 3.1 loses the
    /// others.
    has_first_register_alone: bool,
}

static CAPTURE: OnceLock<Capture> = OnceLock::new();
/// The number of module unloads so far: class ids may mean other classes afterwards.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// The number of thread suspensions so far, for example for garbage collections.
static SUSPENSIONS: AtomicU64 = AtomicU64::new(0);

/// The maximum number of by-reference parameters of a call that are read again at its end.
const MAX_REFERENCES: usize = 6;
/// The fields of a value are shown; the fields of those fields are not.
const FIELDS: usize = 1;
/// float32 and float64
const FLOATS: [u8; 2] = [ValueKind::Single.number(), ValueKind::Double.number()];
/// The number of array elements that are kept.
const MAX_ELEMENTS: usize = 4;

/// Called before the first function.
pub(crate) fn start(runtime: Runtime, captured: Captured, trace_size: u32, start: i64) -> Option<()> {
    let strings = runtime.string_layout()?;
    let has_first_register_alone = cfg!(unix) && runtime.version().is_none_or(|[major, ..]| major < 5);
    calls::start(trace_size);
    CAPTURE.set(Capture { runtime, captured, start, strings, has_first_register_alone }).ok()
}

pub(crate) fn is_on() -> bool {
    CAPTURE.get().is_some()
}

/// A module was unloaded.
pub(crate) fn forget() {
    GENERATION.fetch_add(1, Relaxed);
    classes::forget();
}

/// Threads are suspended: objects may move.
pub(crate) fn suspended() {
    SUSPENSIONS.fetch_add(1, Relaxed);
}

/// `FunctionEnter3WithInfo`
pub(crate) extern "C" fn on_enter(function: &'static Function, info: usize) {
    // SAFETY: the runtime passes the info of this call.
    let called_at = unsafe { hooks::called_at(info) };
    let begun = enter(function, info, called_at);
    let now = call_tree::enter(function.method_id, called_at);
    if let (Some(record), Some(capture)) = (begun, CAPTURE.get()) {
        // The tree does not record the call if recording was paused in between.
        let now = if now == 0 { clock::now() } else { now };
        record.end(now - capture.start);
    }
}

/// `FunctionLeave3WithInfo`
pub(crate) extern "C" fn on_leave(function: &'static Function, info: usize) {
    // SAFETY: the runtime passes the info of this call.
    let called_at = unsafe { hooks::called_at(info) };
    let now = call_tree::leave(function.method_id, called_at);
    leave(function, CallEnd::Returned, info, now, called_at);
}

/// `FunctionTailcall3WithInfo`
pub(crate) extern "C" fn on_tailcall(function: &'static Function, info: usize) {
    // SAFETY: the runtime passes the info of this call.
    let called_at = unsafe { hooks::called_at(info) };
    let now = call_tree::leave(function.method_id, called_at);
    leave(function, CallEnd::TailCall, 0, now, called_at);
}

/// Records that an exception has left a function's call, made at a stack pointer (0: unknown).
pub(crate) fn unwind(function: &'static Function, now: i64, called_at: usize) {
    if is_on() {
        leave(function, CallEnd::Exception, 0, now, called_at);
    }
}

/// Ends the calls within one call that exceptions have left.
pub(crate) fn end_within(now: i64, called_at: usize) {
    if called_at != 0
        && let (Some(capture), Some(calls)) = (CAPTURE.get(), calls::of_thread())
    {
        end_gone(calls, called_at - 1, now - capture.start);
    }
}

/// Ends the calls that cannot be open while a method runs that was called at this stack pointer.
fn end_gone(calls: &mut ThreadCalls, called_at: usize, at: i64) {
    while let Some(frame) = calls.pop_gone(called_at) {
        if let Some(record) = end_of(calls, &frame, CallEnd::Exception) {
            record.end(at);
        }
    }
}

/// The record of a call's end; `None` if the call is not captured.
fn end_of(calls: &mut ThreadCalls, frame: &Frame, how: CallEnd) -> Option<Record> {
    // SAFETY: descriptions of functions are never freed.
    let instance = unsafe { frame.instance.as_ref() }?;
    let mut record = calls.record(CallRecordKind::Leave, instance.number, frame.number)?;
    record.end_of(how);
    Some(record)
}

/// The record of a call that begins, without its time, which the tree determines.
fn enter(function: &'static Function, info: usize, called_at: usize) -> Option<Record> {
    let (capture, calls) = (CAPTURE.get()?, calls::of_thread()?);
    let Capture { runtime, captured, .. } = capture;
    if calls.has_gone(called_at) {
        end_gone(calls, called_at, clock::now() - capture.start);
    }
    if calls.is_too_deep() {
        return None;
    }
    if call_tree::pauses::is_on() {
        calls.push(Frame::unknown(function, called_at));
        return None;
    }
    let mut found = ArgumentInfo::new();
    let wants_arguments = captured.this || captured.arguments;
    let is_asked_at_once = wants_arguments && !capture.has_first_register_alone;
    let mut frame = 0;
    if function.is_generic || is_asked_at_once {
        match runtime.enter_info(function.id, info, wants_arguments, is_asked_at_once.then_some(&mut found)) {
            Some(seen) => frame = seen,
            // The frame is complete even if the arguments were not given.
            None => frame = runtime.enter_info(function.id, info, wants_arguments, None).unwrap_or_default(),
        }
    }
    let context = if function.is_generic { runtime.context(function.id, frame) } else { None };
    let Some(instance) = instance(*runtime, function, context.as_ref()) else {
        calls.push(Frame::unknown(function, called_at));
        return None;
    };
    // A request for floating-point arguments loses them for the program, too.
    if wants_arguments && !is_asked_at_once && !instance.parameters.iter().any(|each| may_have_floats(&each.plan)) {
        let _ = runtime.enter_info(function.id, info, true, Some(&mut found));
    }
    let mut references = [0; MAX_REFERENCES];
    let number = calls.next_number();
    let mut record = calls.record(CallRecordKind::Enter, instance.number, number);
    if wants_arguments && let Some(record) = &mut record {
        capture.arguments(record, instance, found.ranges(), &mut references);
    }
    calls.push(Frame { function, called_at, instance, number, suspensions: SUSPENSIONS.load(Relaxed), references });
    record
}

fn leave(function: &'static Function, how: CallEnd, info: usize, now: i64, called_at: usize) {
    let (Some(capture), Some(calls)) = (CAPTURE.get(), calls::of_thread()) else { return };
    let at = now - capture.start;
    if called_at != 0 {
        end_gone(calls, called_at - 1, at);
    }
    while let Some(frame) = calls.pop(function, called_at) {
        let is_it = std::ptr::eq(frame.function, function);
        // Those above it ended without an event.
        let how = if is_it { how } else { CallEnd::Exception };
        if let Some(mut record) = end_of(calls, &frame, how) {
            // SAFETY: descriptions of functions are never freed.
            let instance = unsafe { frame.instance.as_ref() };
            if let Some(instance) = instance.filter(|_| how == CallEnd::Returned) {
                capture.returned(&mut record, function, instance, info);
                capture.after(&mut record, instance, &frame);
            }
            record.end(at);
        }
        if is_it {
            return;
        }
    }
}

/// Whether a parameter may have a new value at the end of the call.
fn is_looked_at_again(passing: ParameterMode) -> bool {
    matches!(passing, ParameterMode::Ref | ParameterMode::Out)
}

/// A function with the generic arguments of a call.
fn instance(runtime: Runtime, function: &'static Function, context: Option<&Context>) -> Option<&'static Instance> {
    let generation = GENERATION.load(Relaxed);
    let is_it = |instance: &Instance| match context {
        None => !function.is_generic,
        Some(context) => {
            instance.generation == generation && instance.class == context.class && *instance.arguments == *context.arguments()
        }
    };
    let mut at = function.instances.load(Acquire);
    // SAFETY: entries of the list are never freed.
    while let Some(instance) = unsafe { at.as_ref() } {
        if is_it(instance) {
            return Some(instance);
        }
        at = instance.next;
    }
    describe(runtime, function, context, generation)
}

#[cold]
fn describe(
    runtime: Runtime,
    function: &'static Function,
    context: Option<&Context>,
    generation: u32,
) -> Option<&'static Instance> {
    let describe = || {
        let context = context.copied().or_else(|| runtime.context(function.id, 0)).unwrap_or_default();
        functions::describe(function, &context)
    };
    // A panic must not unwind into the program.
    let instance = std::panic::catch_unwind(std::panic::AssertUnwindSafe(describe)).ok()??;
    let instance = Box::leak(Box::new(Instance { generation, ..instance }));
    let mut first = function.instances.load(Acquire);
    loop {
        instance.next = first;
        // Two threads may each add an instance: both are correct.
        match function.instances.compare_exchange_weak(first, instance, Release, Acquire) {
            Ok(_) => return Some(instance),
            Err(other) => first = other,
        }
    }
}

/// Whether a result is in the first register, or the register points to it.
fn is_in_first_register(plan: &Plan) -> bool {
    match plan {
        Plan::Plain { kind, size } => *size <= size_of::<usize>() && !FLOATS.contains(kind),
        Plan::Enum { .. } | Plan::Reference | Plan::ByRef(_) => true,
        Plan::Nullable { size, of, .. } => *size <= size_of::<usize>() && is_in_first_register(of),
        Plan::Struct { size, .. } => size.is_some_and(|size| size > 2 * size_of::<usize>()),
        Plan::Decimal | Plan::Unread { .. } => false,
    }
}

/// Whether an argument may be a value in registers, at least one of them for floating point.
fn may_have_floats(plan: &Plan) -> bool {
    match plan {
        Plan::Struct { size, fields, .. } => {
            let is_in_registers = size.is_none_or(|size| size <= 2 * size_of::<usize>());
            let has_floats = |fields: &[crate::plan::Field]| fields.iter().any(|field| is_float(&field.plan));
            is_in_registers && fields.as_ref().is_none_or(|fields| has_floats(fields))
        }
        Plan::Nullable { of, .. } => is_float(of),
        Plan::Unread { .. } => true,
        _ => false,
    }
}

/// Whether a part of a value may be a floating-point number.
fn is_float(plan: &Plan) -> bool {
    matches!(plan, Plan::Plain { kind, .. } if FLOATS.contains(kind)) || may_have_floats(plan)
}

/// The locations of arguments, in ranges; a range may hold several arguments.
struct Places<'r> {
    ranges: &'r [Range],
    /// The number of values.
    count: usize,
    next: usize,
    /// The number of bytes used in the first range.
    at: usize,
}

impl Places<'_> {
    /// The location of the next value; `None` if the runtime does not report it.
    fn next(&mut self, plan: &Plan) -> Option<usize> {
        let size = plan.size();
        if self.ranges.len() == self.count {
            let range = self.ranges.get(self.next)?;
            self.next += 1;
            return Some(range.address).filter(|_| size.is_none_or(|size| size <= range.length as usize));
        }
        // Without its size, the locations of the next values are unknown.
        let Some(size) = size else {
            self.ranges = &[];
            return None;
        };
        let (first, rest) = self.ranges.split_first()?;
        let left = (first.length as usize).checked_sub(self.at).filter(|left| size <= *left);
        let Some(left) = left else {
            self.ranges = &[];
            return None;
        };
        let address = first.address + self.at;
        if left == size {
            (self.ranges, self.at) = (rest, 0);
        } else {
            self.at += size;
        }
        Some(address)
    }
}

/// # Safety
/// A `T` must be at that address.
unsafe fn read<T: Copy>(at: usize) -> T {
    // SAFETY: the caller guarantees this; it need not be aligned.
    unsafe { std::ptr::with_exposed_provenance::<T>(at).read_unaligned() }
}

impl Capture {
    /// Writes `this` and the arguments of a call. Keeps the targets of by-reference arguments.
    fn arguments(&self, record: &mut Record, instance: &Instance, ranges: &[Range], references: &mut [usize]) {
        let count = instance.parameters.len() + usize::from(instance.this.is_some());
        let mut places = Places { ranges, count, next: 0, at: 0 };
        if let Some(this) = &instance.this {
            let at = places.next(this);
            if self.captured.this {
                record.has(CallFlags::THIS);
                self.put(record, this, at);
            }
        }
        if !self.captured.arguments {
            return;
        }
        record.has(CallFlags::ARGUMENTS);
        let mut kept = references.iter_mut();
        for Parameter { passing, plan } in &instance.parameters {
            let at = places.next(plan);
            if is_looked_at_again(*passing)
                && let Some(kept) = kept.next()
            {
                // SAFETY: an argument that is a reference is as large as an address.
                *kept = at.map_or(0, |at| unsafe { read::<usize>(at) });
            }
            if *passing == ParameterMode::Out {
                record.unread(UnreadReason::Out);
            } else {
                self.put(record, plan, at);
            }
        }
    }

    fn returned(&self, record: &mut Record, function: &Function, instance: &Instance, info: usize) {
        let Some(plan) = instance.returned.as_ref().filter(|_| self.captured.returned) else { return };
        let is_known = !self.has_first_register_alone || is_in_first_register(plan);
        let range = if is_known { self.runtime.leave_info(function.id, info) } else { None };
        let range = range.filter(|range| plan.size().is_none_or(|size| size <= range.length as usize));
        record.has(CallFlags::RETURNED);
        self.put(record, plan, range.map(|range| range.address));
    }

    /// Writes the targets of by-reference parameters at the end of the call.
    fn after(&self, record: &mut Record, instance: &Instance, frame: &Frame) {
        if !self.captured.arguments {
            return;
        }
        let changed = instance.parameters.iter().filter(|parameter| is_looked_at_again(parameter.passing));
        for (index, parameter) in changed.enumerate() {
            record.has(CallFlags::BY_REFERENCE);
            let Plan::ByRef(plan) = &parameter.plan else {
                record.unread(UnreadReason::UnknownType);
                continue;
            };
            match frame.references.get(index) {
                None => record.unread(UnreadReason::NoRoom),
                Some(0) => record.unread(UnreadReason::NotFound),
                Some(at) if calls::is_on_stack(*at) || frame.suspensions == SUSPENSIONS.load(Relaxed) => {
                    self.put(record, plan, Some(*at));
                }
                Some(_) => record.unread(UnreadReason::Moved),
            }
        }
    }

    /// Writes a value, or the reason why it was not read.
    fn put(&self, record: &mut Record, plan: &Plan, at: Option<usize>) {
        match at {
            // SAFETY: the runtime reports that location, and the plan is for the value's type.
            Some(at) => record.whole(|record| unsafe { self.value(record, plan, at, FIELDS) }),
            None => record.unread(UnreadReason::NotFound),
        }
    }

    /// # Safety
    /// A value of the plan's type must be at `at`, and no garbage collection may begin.
    unsafe fn value(&self, record: &mut Record, plan: &Plan, at: usize, depth: usize) -> Option<()> {
        // SAFETY: the caller guarantees the value. Objects and references lead to values of their types.
        unsafe {
            match plan {
                Plan::Plain { kind, size } => {
                    record.byte(*kind)?;
                    record.copy(at, *size)
                }
                Plan::Decimal => {
                    // In memory: flags, high, low, middle.
                    let [flags, high, low, middle]: [u32; 4] = read(at);
                    record.byte(ValueKind::Decimal)?;
                    [low, middle, high, flags].into_iter().try_for_each(|word| record.u32(word))
                }
                Plan::Enum { number, element, size } => {
                    record.byte(ValueKind::Enum)?;
                    record.u32(*number)?;
                    record.byte(*element)?;
                    record.copy(at, *size)
                }
                Plan::Reference => self.object(record, read(at), depth),
                Plan::Nullable { value_at, of, .. } => {
                    if read::<u8>(at) == 0 {
                        return record.byte(ValueKind::Null);
                    }
                    self.value(record, of, at + value_at, depth)
                }
                Plan::Struct { number, fields, .. } => {
                    record.byte(ValueKind::Struct)?;
                    record.u32(*number)?;
                    match fields.as_ref().filter(|_| depth > 0) {
                        None => record.byte(NOT_SHOWN),
                        Some(fields) => {
                            record.byte(fields.len() as u8)?;
                            fields.iter().try_for_each(|field| {
                                self.value(record, &field.plan, at + field.offset, depth - 1 + field.deeper)
                            })
                        }
                    }
                }
                // A reference within a value may point to a variable that no longer exists.
                Plan::ByRef(_) if depth < FIELDS => record.try_unread(UnreadReason::Reference),
                Plan::ByRef(to) => match read::<usize>(at) {
                    0 => record.byte(ValueKind::Null),
                    target => self.value(record, to, target, depth),
                },
                Plan::Unread { reason, .. } => record.try_unread(*reason),
            }
        }
    }

    /// # Safety
    /// `object` must be an object or null, and no garbage collection may begin.
    unsafe fn object(&self, record: &mut Record, object: usize, depth: usize) -> Option<()> {
        use crate::plan::Class;
        if object == 0 {
            return record.byte(ValueKind::Null);
        }
        let class = self.runtime.class_of_object(object).and_then(classes::of);
        // SAFETY: the runtime reports the class of the object.
        unsafe {
            match class {
                None | Some(Class::Unknown) => record.try_unread(UnreadReason::UnknownType),
                Some(Class::String) => {
                    let (length_at, units_at) = self.strings;
                    let length: u32 = read(object + length_at);
                    record.string(length, object + units_at)
                }
                Some(Class::Boxed { at, plan }) => self.value(record, plan, object + at, depth),
                Some(Class::Array { number, rank, size, element }) => {
                    let mut dimensions = [0; crate::info::MAX_RANK];
                    let dimensions = dimensions.get_mut(..*rank)?;
                    let Some(data) = self.runtime.array(object, dimensions) else {
                        return record.try_unread(UnreadReason::NotFound);
                    };
                    record.byte(ValueKind::Array)?;
                    record.u32(*number)?;
                    record.byte(*rank as u8)?;
                    dimensions.iter().try_for_each(|length| record.u32(*length))?;
                    let all = dimensions.iter().fold(1_usize, |all, length| all.saturating_mul(*length as usize));
                    let shown = if depth > 0 && *size > 0 { all.min(MAX_ELEMENTS) } else { 0 };
                    record.byte(shown as u8)?;
                    (0..shown).try_for_each(|index| self.value(record, element, data + index * size, depth - 1))
                }
                Some(Class::Object { number, fields }) => {
                    record.byte(ValueKind::Object)?;
                    record.u32(*number)?;
                    record.u64(object as u64)?;
                    if depth == 0 {
                        return record.byte(NOT_SHOWN);
                    }
                    record.byte(fields.len() as u8)?;
                    fields
                        .iter()
                        .try_for_each(|field| self.value(record, &field.plan, object + field.offset, depth - 1 + field.deeper))
                }
                Some(Class::Type { at }) => {
                    /// A flag in handles of types that are no classes: pointers, type parameters.
                    const NO_CLASS: usize = 2;
                    let handle: usize = read(object + at);
                    match Some(handle).filter(|handle| handle & NO_CLASS == 0).and_then(classes::number) {
                        Some(number) => {
                            record.byte(ValueKind::Type)?;
                            record.u32(number)
                        }
                        None => record.try_unread(UnreadReason::UnknownType),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: Plan = Plan::Plain { kind: 8, size: 4 };

    fn places(ranges: &[(usize, u32)], plans: &[Plan]) -> Vec<Option<usize>> {
        let ranges: Vec<Range> = ranges.iter().map(|(address, length)| Range { address: *address, length: *length }).collect();
        let mut places = Places { ranges: &ranges, count: plans.len(), next: 0, at: 0 };
        plans.iter().map(|plan| places.next(plan)).collect()
    }

    #[test]
    fn arguments_are_found_by_their_sizes() {
        let unknown = Plan::Unread { reason: UnreadReason::UnknownLayout, size: None };
        let three = [Plan::Reference, INT, INT];
        assert_eq!(places(&[(100, 8), (200, 4), (300, 4)], &three), [Some(100), Some(200), Some(300)]);
        // A range may hold several arguments.
        assert_eq!(places(&[(100, 12), (300, 4)], &three), [Some(100), Some(108), Some(300)]);
        // A range smaller than its value belongs to something else.
        assert_eq!(places(&[(100, 4), (200, 4), (300, 4)], &three), [None, Some(200), Some(300)]);
        // After a value of unknown size, the locations are unknown, unless each value has its own range.
        assert_eq!(places(&[(100, 20)], &[INT, unknown.clone(), INT]), [Some(100), None, None]);
        assert_eq!(places(&[(100, 4), (200, 40), (300, 4)], &[INT, unknown, INT]), [Some(100), Some(200), Some(300)]);
        assert_eq!(places(&[], &[INT]), [None]);
    }
}
