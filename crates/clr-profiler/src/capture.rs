//! Calls with their values, while the program runs: hooks with info write them into the profile. What is read of the program
//! is read where no collection can begin, by a plan that was made of metadata; nothing is allocated but when a function, its
//! generic arguments or a class are met for the first time.

mod calls;
mod classes;
mod record;

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release},
};

use instrument::live::Captured;
use profile::calls::{How, Passing, kind, record as format, unread};

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
    /// Whether the runtime says what is returned in the first register alone: on Unix, .NET Core 3.1 loses the others.
    has_first_register_alone: bool,
}

static CAPTURE: OnceLock<Capture> = OnceLock::new();
/// How often modules have gone: classes may be others since.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// How often threads were stopped, as for a collection.
static SUSPENSIONS: AtomicU64 = AtomicU64::new(0);

/// By-reference parameters of a call that are looked at when it ends.
const MAX_REFERENCES: usize = 6;
/// Fields of a value are shown; of these values, none are.
const FIELDS: usize = 1;
/// float32 and float64
const FLOATS: [u8; 2] = [0x0C, 0x0D];
/// Elements of an array that are kept.
const MAX_ELEMENTS: usize = 4;

/// Before the first function.
pub(crate) fn start(runtime: Runtime, captured: Captured, trace_size: u32, start: i64) -> Option<()> {
    let strings = runtime.string_layout()?;
    let has_first_register_alone = cfg!(unix) && runtime.version().is_none_or(|[major, ..]| major < 5);
    calls::start(trace_size);
    CAPTURE.set(Capture { runtime, captured, start, strings, has_first_register_alone }).ok()
}

pub(crate) fn is_on() -> bool {
    CAPTURE.get().is_some()
}

/// A module has gone.
pub(crate) fn forget() {
    GENERATION.fetch_add(1, Relaxed);
    classes::forget();
}

/// Threads are stopped: objects may move.
pub(crate) fn suspended() {
    SUSPENSIONS.fetch_add(1, Relaxed);
}

/// `FunctionEnter3WithInfo`
pub(crate) extern "C" fn on_enter(function: &'static Function, info: usize) {
    // SAFETY: the runtime passes what is of this call.
    let called_at = unsafe { hooks::called_at(info) };
    let begun = enter(function, info, called_at);
    let now = call_tree::enter(function.method_id, called_at);
    if let (Some(record), Some(capture)) = (begun, CAPTURE.get()) {
        // The tree has nothing of it if recording was paused in between.
        let now = if now == 0 { clock::now() } else { now };
        record.end(now - capture.start);
    }
}

/// `FunctionLeave3WithInfo`
pub(crate) extern "C" fn on_leave(function: &'static Function, info: usize) {
    // SAFETY: the runtime passes what is of this call.
    let called_at = unsafe { hooks::called_at(info) };
    let now = call_tree::leave(function.method_id, called_at);
    leave(function, How::Returned, info, now, called_at);
}

/// `FunctionTailcall3WithInfo`
pub(crate) extern "C" fn on_tailcall(function: &'static Function, info: usize) {
    // SAFETY: the runtime passes what is of this call.
    let called_at = unsafe { hooks::called_at(info) };
    let now = call_tree::leave(function.method_id, called_at);
    leave(function, How::TailCall, 0, now, called_at);
}

/// An exception has left a function's call, which was called at a stack pointer (0: not known).
pub(crate) fn unwind(function: &'static Function, now: i64, called_at: usize) {
    if is_on() {
        leave(function, How::Exception, 0, now, called_at);
    }
}

/// The calls within one have ended, by exceptions.
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
        if let Some(record) = end_of(calls, &frame, How::Exception) {
            record.end(at);
        }
    }
}

/// The record of a call's end; none if none is kept.
fn end_of(calls: &mut ThreadCalls, frame: &Frame, how: How) -> Option<Record> {
    // SAFETY: descriptions of functions stay.
    let instance = unsafe { frame.instance.as_ref() }?;
    let mut record = calls.record(format::LEAVE, instance.number, frame.number)?;
    record.has(how as u8);
    Some(record)
}

/// The record of a call that begins, but for when: the tree says so.
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
            // The frame is there still.
            None => frame = runtime.enter_info(function.id, info, wants_arguments, None).unwrap_or_default(),
        }
    }
    let context = if function.is_generic { runtime.context(function.id, frame) } else { None };
    let Some(instance) = instance(*runtime, function, context.as_ref()) else {
        calls.push(Frame::unknown(function, called_at));
        return None;
    };
    // Asked for these, it loses them for the program, too.
    if wants_arguments && !is_asked_at_once && !instance.parameters.iter().any(|each| may_have_floats(&each.plan)) {
        let _ = runtime.enter_info(function.id, info, true, Some(&mut found));
    }
    let mut references = [0; MAX_REFERENCES];
    let number = calls.next_number();
    let mut record = calls.record(format::ENTER, instance.number, number);
    if wants_arguments && let Some(record) = &mut record {
        capture.arguments(record, instance, found.ranges(), &mut references);
    }
    calls.push(Frame { function, called_at, instance, number, suspensions: SUSPENSIONS.load(Relaxed), references });
    record
}

fn leave(function: &'static Function, how: How, info: usize, now: i64, called_at: usize) {
    let (Some(capture), Some(calls)) = (CAPTURE.get(), calls::of_thread()) else { return };
    let at = now - capture.start;
    if called_at != 0 {
        end_gone(calls, called_at - 1, at);
    }
    while let Some(frame) = calls.pop(function, called_at) {
        let is_it = std::ptr::eq(frame.function, function);
        // Those above it ended unseen.
        let how = if is_it { how } else { How::Exception };
        if let Some(mut record) = end_of(calls, &frame, how) {
            // SAFETY: descriptions of functions stay.
            let instance = unsafe { frame.instance.as_ref() };
            if let Some(instance) = instance.filter(|_| how == How::Returned) {
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

/// Whether a parameter may have another value when the call ends.
fn is_looked_at_again(passing: Passing) -> bool {
    matches!(passing, Passing::Ref | Passing::Out)
}

/// A function with the arguments that a call has.
fn instance(runtime: Runtime, function: &'static Function, context: Option<&Context>) -> Option<&'static Instance> {
    let generation = GENERATION.load(Relaxed);
    let is_it = |instance: &Instance| match context {
        None => !function.is_generic,
        Some(context) => {
            instance.generation == generation && instance.class == context.class && *instance.arguments == *context.arguments()
        }
    };
    let mut at = function.instances.load(Acquire);
    // SAFETY: what the list has stays.
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
    // Nothing unwinds into the program.
    let instance = std::panic::catch_unwind(std::panic::AssertUnwindSafe(describe)).ok()??;
    let instance = Box::leak(Box::new(Instance { generation, ..instance }));
    let mut first = function.instances.load(Acquire);
    loop {
        instance.next = first;
        // Two threads may each add one: both are right.
        match function.instances.compare_exchange_weak(first, instance, Release, Acquire) {
            Ok(_) => return Some(instance),
            Err(other) => first = other,
        }
    }
}

/// Whether a result is in the first register, or leads to where it is.
fn is_in_first_register(plan: &Plan) -> bool {
    match plan {
        Plan::Plain { kind, size } => *size <= size_of::<usize>() && !FLOATS.contains(kind),
        Plan::Enum { .. } | Plan::Reference | Plan::ByRef(_) => true,
        Plan::Nullable { size, of, .. } => *size <= size_of::<usize>() && is_in_first_register(of),
        Plan::Struct { size, .. } => size.is_some_and(|size| size > 2 * size_of::<usize>()),
        Plan::Decimal | Plan::Unread { .. } => false,
    }
}

/// Whether an argument may be a value in registers of which one is of floating point.
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

/// Whether a part of a value may be one.
fn is_float(plan: &Plan) -> bool {
    matches!(plan, Plan::Plain { kind, .. } if FLOATS.contains(kind)) || may_have_floats(plan)
}

/// Where arguments are: in ranges, which may have several.
struct Places<'r> {
    ranges: &'r [Range],
    /// How many values there are.
    count: usize,
    next: usize,
    /// How much of the first range was given.
    at: usize,
}

impl Places<'_> {
    /// Where the next value is; none if the runtime does not say so.
    fn next(&mut self, plan: &Plan) -> Option<usize> {
        let size = plan.size();
        if self.ranges.len() == self.count {
            let range = self.ranges.get(self.next)?;
            self.next += 1;
            return Some(range.address).filter(|_| size.is_none_or(|size| size <= range.length as usize));
        }
        // Without its size, nothing is known of those behind it.
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
/// There has to be such a value.
unsafe fn read<T: Copy>(at: usize) -> T {
    // SAFETY: the caller's word; it need not be aligned.
    unsafe { std::ptr::with_exposed_provenance::<T>(at).read_unaligned() }
}

impl Capture {
    /// Puts the object that a call is of, and its arguments; keeps what those by reference refer to.
    fn arguments(&self, record: &mut Record, instance: &Instance, ranges: &[Range], references: &mut [usize]) {
        let count = instance.parameters.len() + usize::from(instance.this.is_some());
        let mut places = Places { ranges, count, next: 0, at: 0 };
        if let Some(this) = &instance.this {
            let at = places.next(this);
            if self.captured.this {
                record.has(format::THIS);
                self.put(record, this, at);
            }
        }
        if !self.captured.arguments {
            return;
        }
        record.has(format::ARGUMENTS);
        let mut kept = references.iter_mut();
        for Parameter { passing, plan } in &instance.parameters {
            let at = places.next(plan);
            if is_looked_at_again(*passing)
                && let Some(kept) = kept.next()
            {
                // SAFETY: an argument that is a reference is as large as an address.
                *kept = at.map_or(0, |at| unsafe { read::<usize>(at) });
            }
            if *passing == Passing::Out {
                record.unread(unread::OUT);
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
        record.has(format::RETURNED);
        self.put(record, plan, range.map(|range| range.address));
    }

    /// What by-reference parameters refer to when the call ends.
    fn after(&self, record: &mut Record, instance: &Instance, frame: &Frame) {
        if !self.captured.arguments {
            return;
        }
        let changed = instance.parameters.iter().filter(|parameter| is_looked_at_again(parameter.passing));
        for (index, parameter) in changed.enumerate() {
            record.has(format::BY_REFERENCE);
            let Plan::ByRef(plan) = &parameter.plan else {
                record.unread(unread::UNKNOWN_TYPE);
                continue;
            };
            match frame.references.get(index) {
                None => record.unread(unread::NO_ROOM),
                Some(0) => record.unread(unread::NOT_FOUND),
                Some(at) if calls::is_on_stack(*at) || frame.suspensions == SUSPENSIONS.load(Relaxed) => {
                    self.put(record, plan, Some(*at));
                }
                Some(_) => record.unread(unread::MOVED),
            }
        }
    }

    /// Puts a value, or why there is none.
    fn put(&self, record: &mut Record, plan: &Plan, at: Option<usize>) {
        match at {
            // SAFETY: the runtime says that the value is there, and the plan is of its type.
            Some(at) => record.whole(|record| unsafe { self.value(record, plan, at, FIELDS) }),
            None => record.unread(unread::NOT_FOUND),
        }
    }

    /// # Safety
    /// There has to be a value of the plan's type, and no collection may begin.
    unsafe fn value(&self, record: &mut Record, plan: &Plan, at: usize, depth: usize) -> Option<()> {
        // SAFETY: the caller's word; what objects and references lead to is of the types that they have.
        unsafe {
            match plan {
                Plan::Plain { kind, size } => {
                    record.byte(*kind)?;
                    record.copy(at, *size)
                }
                Plan::Decimal => {
                    // In memory: flags, high, low, middle.
                    let [flags, high, low, middle]: [u32; 4] = read(at);
                    record.byte(kind::DECIMAL)?;
                    [low, middle, high, flags].into_iter().try_for_each(|word| record.u32(word))
                }
                Plan::Enum { number, element, size } => {
                    record.byte(kind::ENUM)?;
                    record.u32(*number)?;
                    record.byte(*element)?;
                    record.copy(at, *size)
                }
                Plan::Reference => self.object(record, read(at), depth),
                Plan::Nullable { value_at, of, .. } => {
                    if read::<u8>(at) == 0 {
                        return record.byte(kind::NULL);
                    }
                    self.value(record, of, at + value_at, depth)
                }
                Plan::Struct { number, fields, .. } => {
                    record.byte(kind::VALUE)?;
                    record.u32(*number)?;
                    match fields.as_ref().filter(|_| depth > 0) {
                        None => record.byte(kind::NOT_SHOWN),
                        Some(fields) => {
                            record.byte(fields.len() as u8)?;
                            fields.iter().try_for_each(|field| {
                                self.value(record, &field.plan, at + field.offset, depth - 1 + field.deeper)
                            })
                        }
                    }
                }
                // Within a value, it may lead to what is no more.
                Plan::ByRef(_) if depth < FIELDS => record.try_unread(unread::REFERENCE),
                Plan::ByRef(to) => match read::<usize>(at) {
                    0 => record.byte(kind::NULL),
                    target => self.value(record, to, target, depth),
                },
                Plan::Unread { reason, .. } => record.try_unread(*reason),
            }
        }
    }

    /// # Safety
    /// It has to be an object, or null, and no collection may begin.
    unsafe fn object(&self, record: &mut Record, object: usize, depth: usize) -> Option<()> {
        use crate::plan::Class;
        if object == 0 {
            return record.byte(kind::NULL);
        }
        let class = self.runtime.class_of_object(object).and_then(classes::of);
        // SAFETY: the class is what the runtime says of the object.
        unsafe {
            match class {
                None | Some(Class::Unknown) => record.try_unread(unread::UNKNOWN_TYPE),
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
                        return record.try_unread(unread::NOT_FOUND);
                    };
                    record.byte(kind::ARRAY)?;
                    record.u32(*number)?;
                    record.byte(*rank as u8)?;
                    dimensions.iter().try_for_each(|length| record.u32(*length))?;
                    let all = dimensions.iter().fold(1_usize, |all, length| all.saturating_mul(*length as usize));
                    let shown = if depth > 0 && *size > 0 { all.min(MAX_ELEMENTS) } else { 0 };
                    record.byte(shown as u8)?;
                    (0..shown).try_for_each(|index| self.value(record, element, data + index * size, depth - 1))
                }
                Some(Class::Object { number, fields }) => {
                    record.byte(kind::OBJECT)?;
                    record.u32(*number)?;
                    record.u64(object as u64)?;
                    if depth == 0 {
                        return record.byte(kind::NOT_SHOWN);
                    }
                    record.byte(fields.len() as u8)?;
                    fields
                        .iter()
                        .try_for_each(|field| self.value(record, &field.plan, object + field.offset, depth - 1 + field.deeper))
                }
                Some(Class::Type { at }) => {
                    /// In handles of types that are no classes: pointers, type parameters.
                    const NO_CLASS: usize = 2;
                    let handle: usize = read(object + at);
                    match Some(handle).filter(|handle| handle & NO_CLASS == 0).and_then(classes::number) {
                        Some(number) => {
                            record.byte(kind::TYPE)?;
                            record.u32(number)
                        }
                        None => record.try_unread(unread::UNKNOWN_TYPE),
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
        let unknown = Plan::Unread { reason: unread::UNKNOWN_LAYOUT, size: None };
        let three = [Plan::Reference, INT, INT];
        assert_eq!(places(&[(100, 8), (200, 4), (300, 4)], &three), [Some(100), Some(200), Some(300)]);
        // Ranges may be of several arguments.
        assert_eq!(places(&[(100, 12), (300, 4)], &three), [Some(100), Some(108), Some(300)]);
        // One that is smaller than its value is of something else.
        assert_eq!(places(&[(100, 4), (200, 4), (300, 4)], &three), [None, Some(200), Some(300)]);
        // Behind what is of no known size, nothing is known, unless each has its range.
        assert_eq!(places(&[(100, 20)], &[INT, unknown.clone(), INT]), [Some(100), None, None]);
        assert_eq!(places(&[(100, 4), (200, 40), (300, 4)], &[INT, unknown, INT]), [Some(100), Some(200), Some(300)]);
        assert_eq!(places(&[], &[INT]), [None]);
    }
}
