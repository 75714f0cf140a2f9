//! Captures calls with their values: hooks with info write them into the profile while the program runs. Values are
//! read where no garbage collection can begin, by a layout made from metadata. Memory is allocated only for a new
//! function, new generic arguments or a new class.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use profile_format::{CallEnd, CallFlags, CallRecordKind, ParameterMode, UnreadReason, ValueKind, calls::NOT_SHOWN};
use weave::Captured;

use super::{
    calls::{self, Frame, MAX_REFERENCES, ThreadCalls},
    classes, described,
    record::Record,
};
use crate::{
    abi::runtime::{ArgumentInfo, Context, MAX_RANK, Range, Runtime},
    function::{Field, Function, Instance, ObjectLayout, Parameter, ValueLayout},
    process::clock,
    tree,
    worlds::{InCallback, InHook, Object, read_value},
};

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
/// The number of thread suspensions so far, for example for garbage collections.
static SUSPENSIONS: AtomicU64 = AtomicU64::new(0);

/// The fields of a value are shown; the fields of those fields are not.
const FIELDS: usize = 1;
/// float32 and float64
const FLOATS: [u8; 2] = [ValueKind::Single.number(), ValueKind::Double.number()];
/// `char`
const CHAR: u8 = ValueKind::Char.number();
/// .NET throws a `NullReferenceException` for addresses below it.
const LOWEST_ADDRESS: usize = 1 << 16;
/// The number of array elements that are kept.
const MAX_ELEMENTS: usize = 4;

/// Called before the first function.
pub(crate) fn start_capture(_: InCallback, runtime: Runtime, captured: Captured, trace_size: u32, start: i64) -> Option<()> {
    let strings = runtime.string_layout()?;
    let has_first_register_alone = cfg!(unix) && runtime.version().is_none_or(|[major, ..]| major < 5);
    calls::set_budget(trace_size);
    CAPTURE.set(Capture { runtime, captured, start, strings, has_first_register_alone }).ok()
}

pub(crate) fn is_on() -> bool {
    CAPTURE.get().is_some()
}

/// Threads are suspended: objects may move.
pub(crate) fn suspended() {
    SUSPENSIONS.fetch_add(1, Relaxed);
}

/// The way a call ended.
#[derive(Clone, Copy)]
enum Ending<'h> {
    /// It returned, with the info of its hook.
    Returned(InHook<'h>, usize),
    TailCall,
    Exception,
}

impl From<Ending<'_>> for CallEnd {
    fn from(ending: Ending<'_>) -> Self {
        match ending {
            Ending::Returned(..) => Self::Returned,
            Ending::TailCall => Self::TailCall,
            Ending::Exception => Self::Exception,
        }
    }
}

/// `FunctionEnter3WithInfo`
pub(crate) extern "C" fn on_enter(function: &'static Function, info: usize) {
    // SAFETY: this is a hook.
    let hook = unsafe { InHook::new() };
    // SAFETY: the runtime passes the info of this call.
    let called_at = unsafe { called_at(info) };
    let begun = calls::of_thread(|calls| begin_record(hook, calls, function, info, called_at)).flatten();
    let now = tree::enter(hook, function.method_id, called_at);
    if let (Some(record), Some(capture)) = (begun, CAPTURE.get()) {
        // The tree does not record the call if recording was paused in between.
        let now = if now == 0 { clock::now() } else { now };
        record.finish(now - capture.start);
    }
}

/// `FunctionLeave3WithInfo`
pub(crate) extern "C" fn on_leave(function: &'static Function, info: usize) {
    // SAFETY: this is a hook.
    let hook = unsafe { InHook::new() };
    // SAFETY: the runtime passes the info of this call.
    let called_at = unsafe { called_at(info) };
    let now = tree::leave(hook, function.method_id, called_at);
    end_call(function, Ending::Returned(hook, info), now, called_at);
}

/// `FunctionTailcall3WithInfo`
pub(crate) extern "C" fn on_tailcall(function: &'static Function, info: usize) {
    // SAFETY: this is a hook.
    let hook = unsafe { InHook::new() };
    // SAFETY: the runtime passes the info of this call.
    let called_at = unsafe { called_at(info) };
    let now = tree::leave(hook, function.method_id, called_at);
    end_call(function, Ending::TailCall, now, called_at);
}

/// The offset of the caller's stack pointer in the data of the runtime's stub (`PROFILE_PLATFORM_SPECIFIC_DATA`).
const CALLED_AT: usize = if cfg!(target_arch = "aarch64") { 232 } else { 32 };

/// The stack pointer of the call, from the info of a hook; 0 if not found. The data is internal to the runtime and
/// undocumented, so the value is used only if it is plausible.
///
/// # Safety
/// `info` must be the value that the runtime passed to a hook that still runs.
unsafe fn called_at(info: usize) -> usize {
    /// A method's frame and the data of the runtime's stub are not larger.
    const MOST: usize = 1 << 20;
    // SAFETY: `COR_PRF_ELT_INFO` is the address of a structure. Its first field is the address of the stub's data of
    // the call.
    let called_at: usize = unsafe {
        let of_stub: usize = read_value(info);
        read_value(of_stub + CALLED_AT)
    };
    let is_above = called_at > info && called_at - info < MOST && called_at.is_multiple_of(size_of::<usize>());
    if is_above { called_at } else { 0 }
}

/// Records that an exception has left a function's call, made at a stack pointer (0: unknown).
pub(crate) fn unwind(function: &'static Function, now: i64, called_at: usize) {
    if is_on() {
        end_call(function, Ending::Exception, now, called_at);
    }
}

/// Ends the calls within one call that exceptions have left.
pub(crate) fn end_callees(now: i64, called_at: usize) {
    if called_at != 0
        && let Some(capture) = CAPTURE.get()
    {
        calls::of_thread(|calls| end_gone(calls, called_at - 1, now - capture.start));
    }
}

/// Ends the calls that cannot be open while a method runs that was called at this stack pointer.
fn end_gone(calls: &mut ThreadCalls, called_at: usize, at: i64) {
    while let Some(frame) = calls.pop_gone(called_at) {
        if let Some(record) = end_record(calls, &frame, CallEnd::Exception) {
            record.finish(at);
        }
    }
}

/// The record of a call's end; `None` if the call is not captured.
fn end_record(calls: &mut ThreadCalls, frame: &Frame, how: CallEnd) -> Option<Record> {
    let mut record = calls.record(CallRecordKind::Leave, frame.instance?.number, frame.number)?;
    record.set_end(how);
    Some(record)
}

/// The record of a call that begins, without its time, which the tree determines.
fn begin_record(
    hook: InHook<'_>,
    calls: &mut ThreadCalls,
    function: &'static Function,
    info: usize,
    called_at: usize,
) -> Option<Record> {
    let capture = CAPTURE.get()?;
    if calls.has_gone(called_at) {
        end_gone(calls, called_at, clock::now() - capture.start);
    }
    if calls.is_too_deep() {
        return None;
    }
    if tree::pauses::is_on() {
        calls.push(Frame::unknown(function, called_at));
        return None;
    }
    let mut found = ArgumentInfo::new();
    let Some(instance) = capture.instance_of_call(hook, function, info, &mut found) else {
        calls.push(Frame::unknown(function, called_at));
        return None;
    };
    let mut references = [0; MAX_REFERENCES];
    let number = calls.next_number();
    let mut record = calls.record(CallRecordKind::Enter, instance.number, number);
    if capture.wants_arguments()
        && let Some(record) = &mut record
    {
        // SAFETY: the runtime has just said where the arguments of this call are.
        unsafe { capture.arguments(hook, record, instance, found.ranges(), &mut references) };
    }
    let suspensions = SUSPENSIONS.load(Relaxed);
    calls.push(Frame { function, called_at, instance: Some(instance), number, suspensions, references });
    record
}

fn end_call(function: &'static Function, ending: Ending<'_>, now: i64, called_at: usize) {
    let Some(capture) = CAPTURE.get() else { return };
    let at = now - capture.start;
    calls::of_thread(|calls| {
        if called_at != 0 {
            end_gone(calls, called_at - 1, at);
        }
        while let Some(frame) = calls.pop(function, called_at) {
            let is_it = std::ptr::eq(frame.function, function);
            // Those above it ended without an event.
            let ending = if is_it { ending } else { Ending::Exception };
            if let Some(mut record) = end_record(calls, &frame, ending.into()) {
                if let (Ending::Returned(hook, info), Some(instance)) = (ending, frame.instance) {
                    // SAFETY: the hook belongs to the end of this call.
                    unsafe {
                        capture.returned(hook, &mut record, function, instance, info);
                        capture.after(hook, &mut record, instance, &frame, calls);
                    }
                }
                record.finish(at);
            }
            if is_it {
                return;
            }
        }
    });
}

/// Whether a parameter may have a new value at the end of the call.
fn is_looked_at_again(passing: ParameterMode) -> bool {
    matches!(passing, ParameterMode::Ref | ParameterMode::Out)
}

/// A function with the generic arguments of a call.
fn instance(
    hook: InHook<'_>,
    runtime: Runtime,
    function: &'static Function,
    context: Option<&Context>,
) -> Option<&'static Instance> {
    let generation = classes::generation();
    let is_it = |instance: &Instance| match context {
        None => !function.is_generic,
        Some(context) => {
            instance.generation == generation && instance.class == context.class && *instance.arguments == *context.arguments()
        }
    };
    function.instances.find(is_it).or_else(|| describe(hook, runtime, function, context, generation))
}

#[cold]
fn describe(
    hook: InHook<'_>,
    runtime: Runtime,
    function: &'static Function,
    context: Option<&Context>,
    generation: u32,
) -> Option<&'static Instance> {
    let describe = || {
        let context = context.copied().or_else(|| runtime.context(function.id, 0)).unwrap_or_default();
        described::describe_instance(hook, function, &context)
    };
    // A panic must not unwind into the program.
    let mut instance = std::panic::catch_unwind(std::panic::AssertUnwindSafe(describe)).ok()??;
    instance.generation = generation;
    Some(function.instances.add(instance))
}

/// Whether a result is in the first register, or the register points to it.
fn is_in_first_register(layout: &ValueLayout) -> bool {
    match layout {
        ValueLayout::Plain { kind, size } => *size <= size_of::<usize>() && !FLOATS.contains(kind),
        ValueLayout::Enum { .. } | ValueLayout::Reference | ValueLayout::ByRef(_) => true,
        ValueLayout::Nullable { size, of, .. } => *size <= size_of::<usize>() && is_in_first_register(of),
        ValueLayout::Struct { size, .. } => size.is_some_and(|size| size > 2 * size_of::<usize>()),
        ValueLayout::Span { .. } | ValueLayout::Decimal | ValueLayout::Unread { .. } => false,
    }
}

/// Whether an argument may be a value in registers, at least one of them for floating point.
fn may_have_floats(layout: &ValueLayout) -> bool {
    match layout {
        ValueLayout::Struct { size, fields, .. } => {
            let is_in_registers = size.is_none_or(|size| size <= 2 * size_of::<usize>());
            let has_floats = |fields: &[Field]| fields.iter().any(|field| is_float(&field.layout));
            is_in_registers && fields.as_ref().is_none_or(|fields| has_floats(fields))
        }
        ValueLayout::Nullable { of, .. } => is_float(of),
        ValueLayout::Unread { .. } => true,
        _ => false,
    }
}

/// Whether a part of a value may be a floating-point number.
fn is_float(layout: &ValueLayout) -> bool {
    matches!(layout, ValueLayout::Plain { kind, .. } if FLOATS.contains(kind)) || may_have_floats(layout)
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
    fn next(&mut self, layout: &ValueLayout) -> Option<usize> {
        let size = layout.size();
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

impl Capture {
    fn wants_arguments(&self) -> bool {
        self.captured.this || self.captured.arguments
    }

    /// A function with the generic arguments of a call that begins, and the locations of its arguments.
    fn instance_of_call(
        &self,
        hook: InHook<'_>,
        function: &'static Function,
        info: usize,
        found: &mut ArgumentInfo,
    ) -> Option<&'static Instance> {
        let (runtime, wants_arguments) = (self.runtime, self.wants_arguments());
        let is_asked_at_once = wants_arguments && !self.has_first_register_alone;
        let mut frame = 0;
        if function.is_generic || is_asked_at_once {
            match runtime.enter_info(function.id, info, wants_arguments, is_asked_at_once.then_some(&mut *found)) {
                Some(seen) => frame = seen,
                // The frame is complete even if the arguments were not given.
                None => frame = runtime.enter_info(function.id, info, wants_arguments, None).unwrap_or_default(),
            }
        }
        let context = if function.is_generic { runtime.context(function.id, frame) } else { None };
        let instance = instance(hook, runtime, function, context.as_ref())?;
        // On .NET Core 3.1, a request for floating-point arguments loses them for the program, too.
        let is_asked = wants_arguments && !is_asked_at_once;
        if is_asked && !instance.parameters.iter().any(|each| may_have_floats(&each.layout)) {
            let _ = runtime.enter_info(function.id, info, true, Some(found));
        }
        Some(instance)
    }

    /// Writes `this` and the arguments of a call. Keeps the targets of by-reference arguments.
    ///
    /// # Safety
    /// The ranges must be those of a call of the instance that begins.
    unsafe fn arguments(
        &self,
        hook: InHook<'_>,
        record: &mut Record,
        instance: &Instance,
        ranges: &[Range],
        references: &mut [usize],
    ) {
        let count = instance.parameters.len() + usize::from(instance.this.is_some());
        let mut places = Places { ranges, count, next: 0, at: 0 };
        if let Some(this) = &instance.this {
            let at = places.next(this);
            if self.captured.this {
                record.set_flag(CallFlags::THIS);
                // SAFETY: `this` is at the first location.
                unsafe { self.put(hook, record, this, at) };
            }
        }
        if !self.captured.arguments {
            return;
        }
        record.set_flag(CallFlags::ARGUMENTS);
        let mut kept = references.iter_mut();
        for Parameter { passing, layout } in &instance.parameters {
            let at = places.next(layout);
            if is_looked_at_again(*passing)
                && let Some(kept) = kept.next()
            {
                // SAFETY: an argument that is a reference is as large as an address.
                *kept = at.map_or(0, |at| unsafe { read_value(at) });
            }
            if *passing == ParameterMode::Out {
                record.unread(UnreadReason::Out);
            } else {
                // SAFETY: the argument is at its location.
                unsafe { self.put(hook, record, layout, at) };
            }
        }
    }

    /// Writes the result of a call.
    ///
    /// # Safety
    /// The info must be that of the hook, at the end of a call of the instance.
    unsafe fn returned(&self, hook: InHook<'_>, record: &mut Record, function: &Function, instance: &Instance, info: usize) {
        let Some(layout) = instance.returned.as_ref().filter(|_| self.captured.returned) else { return };
        let is_known = !self.has_first_register_alone || is_in_first_register(layout);
        let range = if is_known { self.runtime.leave_info(function.id, info) } else { None };
        let range = range.filter(|range| layout.size().is_none_or(|size| size <= range.length as usize));
        record.set_flag(CallFlags::RETURNED);
        // SAFETY: the runtime has just said where the result is.
        unsafe { self.put(hook, record, layout, range.map(|range| range.address)) };
    }

    /// Writes the targets of by-reference parameters at the end of the call.
    ///
    /// # Safety
    /// The frame must be that of a call of the instance, which ends.
    unsafe fn after(&self, hook: InHook<'_>, record: &mut Record, instance: &Instance, frame: &Frame, calls: &ThreadCalls) {
        if !self.captured.arguments {
            return;
        }
        let changed = instance.parameters.iter().filter(|parameter| is_looked_at_again(parameter.passing));
        for (index, parameter) in changed.enumerate() {
            record.set_flag(CallFlags::BY_REFERENCE);
            let ValueLayout::ByRef(layout) = &parameter.layout else {
                record.unread(UnreadReason::UnknownType);
                continue;
            };
            match frame.references.get(index) {
                None => record.unread(UnreadReason::NoRoom),
                Some(0) => record.unread(UnreadReason::NotFound),
                Some(at) if calls.is_on_stack(*at) || frame.suspensions == SUSPENSIONS.load(Relaxed) => {
                    // SAFETY: no object has moved since the reference was passed, or it leads to a variable on the stack.
                    unsafe { self.put(hook, record, layout, Some(*at)) };
                }
                Some(_) => record.unread(UnreadReason::Moved),
            }
        }
    }

    /// Writes a value, or the reason why it was not read.
    ///
    /// # Safety
    /// A value of that layout must be at `at`, if it is known.
    unsafe fn put(&self, hook: InHook<'_>, record: &mut Record, layout: &ValueLayout, at: Option<usize>) {
        match at {
            // SAFETY: the caller guarantees this.
            Some(at) => record.whole(|record| unsafe { self.value(hook, record, layout, at, FIELDS) }),
            None => record.unread(UnreadReason::NotFound),
        }
    }

    /// # Safety
    /// A value of that layout must be at `at`.
    unsafe fn value(&self, hook: InHook<'_>, record: &mut Record, layout: &ValueLayout, at: usize, depth: usize) -> Option<()> {
        // SAFETY: the caller guarantees the value. Objects and references lead to values of their types.
        unsafe {
            match layout {
                ValueLayout::Plain { kind, size } => {
                    record.byte(*kind)?;
                    record.copy(at, *size)
                }
                ValueLayout::Decimal => {
                    // In memory: flags, high, low, middle.
                    let [flags, high, low, middle]: [u32; 4] = read_value(at);
                    record.byte(ValueKind::Decimal)?;
                    [low, middle, high, flags].into_iter().try_for_each(|word| record.u32(word))
                }
                ValueLayout::Enum { number, element, size } => {
                    record.byte(ValueKind::Enum)?;
                    record.u32(*number)?;
                    record.byte(*element)?;
                    record.copy(at, *size)
                }
                ValueLayout::Reference => match Object::read(hook, at) {
                    None => record.byte(ValueKind::Null),
                    Some(object) => self.object(hook, record, object, depth),
                },
                ValueLayout::Nullable { value_at, of, .. } => {
                    if read_value::<u8>(at) == 0 {
                        return record.byte(ValueKind::Null);
                    }
                    self.value(hook, record, of, at + value_at, depth)
                }
                ValueLayout::Struct { number, fields, .. } => {
                    record.byte(ValueKind::Struct)?;
                    record.u32(*number)?;
                    match fields.as_ref().filter(|_| depth > 0) {
                        None => record.byte(NOT_SHOWN),
                        Some(fields) => {
                            record.byte(fields.len() as u8)?;
                            fields.iter().try_for_each(|field| {
                                self.value(hook, record, &field.layout, at + field.offset, depth - 1 + field.deeper)
                            })
                        }
                    }
                }
                ValueLayout::Span { number, .. } if depth < FIELDS => {
                    record.byte(ValueKind::Struct)?;
                    record.u32(*number)?;
                    record.byte(NOT_SHOWN)
                }
                ValueLayout::Span { number, array, reference_at, length_at, element, .. } => {
                    let first: usize = read_value(at + reference_at);
                    let length: u32 = read_value(at + length_at);
                    // Programs may make spans of null pointers.
                    let first = Some(first).filter(|first| *first >= LOWEST_ADDRESS);
                    if let ValueLayout::Plain { kind: CHAR, .. } = **element {
                        return record.string(length, first);
                    }
                    record.byte(ValueKind::Struct)?;
                    record.u32(*number)?;
                    record.byte(2)?;
                    record.byte(ValueKind::Int32)?;
                    record.u32(length)?;
                    let rank: u8 = 1;
                    record.byte(ValueKind::Array)?;
                    record.u32(*array)?;
                    record.byte(rank)?;
                    record.u32(length)?;
                    let readable = first.zip(element.size().filter(|size| *size > 0));
                    let shown = if readable.is_some() { (length as usize).min(MAX_ELEMENTS) } else { 0 };
                    record.byte(shown as u8)?;
                    let (first, size) = readable.unwrap_or_default();
                    (0..shown).try_for_each(|index| self.value(hook, record, element, first + index * size, depth - 1))
                }
                // A reference within a value may point to a variable that no longer exists.
                ValueLayout::ByRef(_) if depth < FIELDS => record.try_unread(UnreadReason::Reference),
                ValueLayout::ByRef(to) => match read_value::<usize>(at) {
                    0 => record.byte(ValueKind::Null),
                    target => self.value(hook, record, to, target, depth),
                },
                ValueLayout::Unread { reason, .. } => record.try_unread(*reason),
            }
        }
    }

    fn object(&self, hook: InHook<'_>, record: &mut Record, object: Object<'_>, depth: usize) -> Option<()> {
        let layout = self.runtime.class_of_object(object).and_then(|class| classes::object_layout(hook, class));
        let address = object.address();
        // SAFETY: the runtime reports the class of the object, and the layout is that of its objects.
        unsafe {
            match layout {
                None | Some(ObjectLayout::Unknown) => record.try_unread(UnreadReason::UnknownType),
                Some(ObjectLayout::String) => {
                    let (length_at, units_at) = self.strings;
                    let length: u32 = read_value(address + length_at);
                    record.string(length, Some(address + units_at))
                }
                Some(ObjectLayout::Boxed { at, layout }) => self.value(hook, record, layout, address + at, depth),
                Some(ObjectLayout::Array { number, rank, size, element }) => {
                    let mut dimensions = [0; MAX_RANK];
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
                    (0..shown).try_for_each(|index| self.value(hook, record, element, data + index * size, depth - 1))
                }
                Some(ObjectLayout::Object { number, fields }) => {
                    record.byte(ValueKind::Object)?;
                    record.u32(*number)?;
                    record.u64(address as u64)?;
                    if depth == 0 {
                        return record.byte(NOT_SHOWN);
                    }
                    record.byte(fields.len() as u8)?;
                    fields.iter().try_for_each(|field| {
                        self.value(hook, record, &field.layout, address + field.offset, depth - 1 + field.deeper)
                    })
                }
                Some(ObjectLayout::Type { at }) => {
                    /// A flag in handles of types that are no classes: pointers, type parameters.
                    const NO_CLASS: usize = 2;
                    let handle: usize = read_value(address + at);
                    match Some(handle)
                        .filter(|handle| handle & NO_CLASS == 0)
                        .and_then(|class| classes::number_of_class(hook, class))
                    {
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

    const INT: ValueLayout = ValueLayout::Plain { kind: 8, size: 4 };

    fn places(ranges: &[(usize, u32)], layouts: &[ValueLayout]) -> Vec<Option<usize>> {
        let ranges: Vec<Range> = ranges.iter().map(|(address, length)| Range { address: *address, length: *length }).collect();
        let mut places = Places { ranges: &ranges, count: layouts.len(), next: 0, at: 0 };
        layouts.iter().map(|layout| places.next(layout)).collect()
    }

    #[test]
    fn arguments_are_found_by_their_sizes() {
        let unknown = ValueLayout::Unread { reason: UnreadReason::UnknownLayout, size: None };
        let three = [ValueLayout::Reference, INT, INT];
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
