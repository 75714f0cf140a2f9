//! The header.

use std::io::{self, Write};

use profile_format::{
    HeaderFlags,
    header::{self as layout, BLOCK, CONTROL_AT, MAGIC, STRINGS_AT, VERSION},
};

use super::{
    control::Control,
    cursor::{Cursor, put_string, put_u32, put_u64},
};
use crate::{
    error::Error,
    model::{Clock, End, Mode, SampleLosses},
};

/// The fields of the header.
pub(crate) struct Header {
    pub(crate) program: String,
    pub(crate) runtime: String,
    /// The path of the program.
    pub(crate) path: String,
    pub(crate) pid: u32,
    pub(crate) end: End,
    pub(crate) mode: Mode,
    pub(crate) clock: Clock,
    pub(crate) ticks_per_second: u64,
    pub(crate) start_ticks: i64,
    pub(crate) end_ticks: i64,
    pub(crate) start_time: u64,
    pub(crate) max_nodes: u32,
    /// Overhead of a probe in ticks: within the call's own time, in its caller's, and the part of reading the clock once.
    pub(crate) probe_inside: f64,
    pub(crate) probe_outside: f64,
    pub(crate) clock_read: f64,
    /// Overhead in ticks of a call that is only counted, and of its leave probe.
    pub(crate) counting: f64,
    pub(crate) counting_leave: f64,
    /// The smallest step of the clock in ticks; 0 if it was not measured.
    pub(crate) clock_step: f64,
    pub(crate) sample_losses: SampleLosses,
    pub(crate) histogram_shift: u32,
    pub(crate) event_shift: u32,
    pub(crate) paused_ticks: i64,
    /// CPU time of the process, in ns.
    pub(crate) cpu_ns: Option<i64>,
    pub(crate) is_paused: bool,
    pub(crate) disk_was_full: bool,
    /// Whether calls were captured: a merged file has a flag for it, other files have chunks of calls.
    pub(crate) has_captured_calls: bool,
    /// Whether nodes have allocated bytes.
    pub(crate) has_allocations: bool,
    /// Whether they were to have them, but the runtime cannot count those of a thread.
    pub(crate) lacks_allocations: bool,
    /// Whether the file is merged, and the number of its processes.
    pub(crate) is_merged: bool,
    pub(crate) processes: u64,
    /// Its size in bytes.
    pub(crate) size: usize,
}

/// Marks a file as a copy that was taken while the program ran.
pub(crate) fn set_running(bytes: &mut [u8]) {
    if let Some(flags) = bytes.get_mut(layout::FLAGS_AT) {
        *flags |= HeaderFlags::COPY.bits() as u8;
    }
}

/// Returns whether the blocks behind the header are packed.
pub(super) fn is_packed(bytes: &[u8]) -> Result<bool, Error> {
    flags(&mut Cursor::new(bytes, 0)).map(|flags| flags.has(HeaderFlags::PACKED))
}

/// Reads the first bytes, up to the flags.
fn flags(reader: &mut Cursor<'_>) -> Result<HeaderFlags, Error> {
    check_version(reader)?;
    let flags = reader.u32()?;
    let known = HeaderFlags::from_bits(flags);
    if known.has_unknown() { Err(reader.unknown("flags", flags)) } else { Ok(known) }
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let known = flags(&mut Cursor::new(bytes, 0))?;
        if known.has(HeaderFlags::PACKED) {
            return Err(Error::Damaged { what: "blocks that were not unpacked", offset: layout::FLAGS_AT });
        }
        let at = |at: usize| Cursor::new(bytes.get(at..).unwrap_or_default(), at);
        let size = at(layout::SIZE_AT).u32()? as usize;
        let (is_merged, processes) = (known.has(HeaderFlags::MERGED), at(layout::PROCESSES_AT).u64()?.max(1));
        // A header may be cut off before these.
        let later = |at: usize| Cursor::new(bytes.get(at..size).unwrap_or_default(), at);
        let cost = |at| later(at).positive().unwrap_or_default();
        let number = |at| later(at).u64().unwrap_or_default();
        let mut strings = Cursor::new(bytes.get(STRINGS_AT..size.min(CONTROL_AT)).unwrap_or_default(), STRINGS_AT);
        Ok(Self {
            // In the order of the file.
            program: strings.string()?,
            runtime: strings.string()?,
            path: strings.string()?,
            pid: at(layout::PID_AT).u32()?,
            end: end(known),
            mode: at(layout::MODE_AT).kind("mode", Mode::from_number)?,
            clock: at(layout::CLOCK_AT).kind("clock", Clock::from_number)?,
            ticks_per_second: at(layout::TICKS_PER_SECOND_AT).u64()?.max(1),
            start_ticks: at(layout::START_AT).i64()?,
            end_ticks: at(layout::END_AT).i64()?,
            start_time: at(layout::TIME_AT).u64()?,
            max_nodes: at(layout::MAX_NODES_AT).u32()?,
            probe_inside: at(layout::PROBE_INSIDE_AT).positive()?,
            probe_outside: at(layout::PROBE_OUTSIDE_AT).positive()?,
            clock_read: at(layout::CLOCK_READ_AT).positive()?,
            counting: cost(layout::COUNTING_AT),
            counting_leave: cost(layout::COUNTING_LEAVE_AT),
            clock_step: cost(layout::CLOCK_STEP_AT),
            sample_losses: SampleLosses {
                lost: number(layout::LOST_SAMPLES_AT),
                late: number(layout::LATE_SAMPLES_AT),
                unsampled_threads: number(layout::UNSAMPLED_THREADS_AT),
            },
            histogram_shift: at(layout::HISTOGRAM_SHIFT_AT).u32()?.min(63),
            event_shift: at(layout::EVENT_SHIFT_AT).u32()?.min(63),
            paused_ticks: at(layout::PAUSED_AT).i64()?.max(0),
            cpu_ns: Some(at(layout::CPU_AT).i64()?).filter(|cpu| *cpu >= 0),
            // The control page is optional, and a file may be cut off before it.
            is_paused: Control::read(bytes).unwrap_or_default().is_paused,
            disk_was_full: known.has(HeaderFlags::DISK_FULL),
            has_captured_calls: known.has(HeaderFlags::CAPTURED),
            has_allocations: known.has(HeaderFlags::ALLOCATIONS),
            lacks_allocations: known.has(HeaderFlags::NO_ALLOCATIONS),
            is_merged,
            processes: if is_merged { processes } else { 1 },
            size,
        })
    }
}

/// Reads the first bytes, and checks that the file is a profile of this version.
fn check_version(reader: &mut Cursor<'_>) -> Result<(), Error> {
    if reader.u64() != Ok(MAGIC) {
        return Err(Error::NotAProfile);
    }
    match reader.u32()? {
        VERSION => Ok(()),
        found => Err(Error::Version { found, known: VERSION }),
    }
}

/// Returns how the program ended.
fn end(flags: HeaderFlags) -> End {
    // A program that ends by an exception may set the flag for a clean end, too.
    if flags.has(HeaderFlags::UNHANDLED_EXCEPTION) {
        End::UnhandledException
    } else if flags.has(HeaderFlags::CLEAN_EXIT) {
        End::Clean
    } else if flags.has(HeaderFlags::COPY) {
        End::Running
    } else {
        End::Unknown
    }
}

/// The fields of a merged file's header. Times are in ticks of its clock.
pub(crate) struct MergedHeader<'h> {
    pub(crate) program: &'h str,
    pub(crate) runtime: &'h str,
    pub(crate) path: &'h str,
    pub(crate) processes: u64,
    pub(crate) end: End,
    pub(crate) mode: Mode,
    pub(crate) disk_was_full: bool,
    pub(crate) has_captured_calls: bool,
    pub(crate) has_allocations: bool,
    pub(crate) lacks_allocations: bool,
    /// The sum over all processes.
    pub(crate) duration: i64,
    pub(crate) paused: i64,
    pub(crate) start_time: u64,
    pub(crate) max_nodes: u32,
    pub(crate) probe_inside: f64,
    pub(crate) probe_outside: f64,
    pub(crate) counting: f64,
    pub(crate) counting_leave: f64,
    pub(crate) clock_step: f64,
    pub(crate) sample_losses: SampleLosses,
    pub(crate) clock: Timebase,
    pub(crate) cpu_ns: Option<i64>,
}

/// The unit of times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Timebase {
    pub(crate) ticks_per_second: u64,
    pub(crate) histogram_shift: u32,
}

impl MergedHeader<'_> {
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let end = match self.end {
            End::Clean => HeaderFlags::CLEAN_EXIT,
            End::UnhandledException => HeaderFlags::UNHANDLED_EXCEPTION,
            End::Running => HeaderFlags::COPY,
            End::Unknown => HeaderFlags::default(),
        };
        let (full, captured) =
            (HeaderFlags::DISK_FULL.when(self.disk_was_full), HeaderFlags::CAPTURED.when(self.has_captured_calls));
        let allocations =
            HeaderFlags::ALLOCATIONS.when(self.has_allocations) | HeaderFlags::NO_ALLOCATIONS.when(self.lacks_allocations);
        let flags = HeaderFlags::MERGED | HeaderFlags::NAMES_COMPLETE | end | full | captured | allocations;
        let mut header = vec![0; BLOCK];
        for (at, field) in [
            (layout::VERSION_AT, VERSION),
            (layout::FLAGS_AT, flags.bits()),
            (layout::CLOCK_AT, Clock::Stopwatch.number()),
            (layout::SIZE_AT, BLOCK as u32),
            (layout::MAX_NODES_AT, self.max_nodes),
            (layout::MODE_AT, self.mode.number()),
            (layout::HISTOGRAM_SHIFT_AT, self.clock.histogram_shift),
        ] {
            put_u32(&mut header, at, field);
        }
        for (at, field) in [
            (layout::MAGIC_AT, MAGIC),
            (layout::TICKS_PER_SECOND_AT, self.clock.ticks_per_second),
            (layout::END_AT, self.duration as u64),
            (layout::TIME_AT, self.start_time),
            (layout::PROBE_INSIDE_AT, self.probe_inside.to_bits()),
            (layout::PROBE_OUTSIDE_AT, self.probe_outside.to_bits()),
            (layout::COUNTING_AT, self.counting.to_bits()),
            (layout::COUNTING_LEAVE_AT, self.counting_leave.to_bits()),
            (layout::CLOCK_STEP_AT, self.clock_step.to_bits()),
            (layout::LOST_SAMPLES_AT, self.sample_losses.lost),
            (layout::LATE_SAMPLES_AT, self.sample_losses.late),
            (layout::UNSAMPLED_THREADS_AT, self.sample_losses.unsampled_threads),
            (layout::PAUSED_AT, self.paused as u64),
            (layout::CPU_AT, self.cpu_ns.unwrap_or(-1) as u64),
            (layout::PROCESSES_AT, self.processes),
        ] {
            put_u64(&mut header, at, field);
        }
        let mut strings = Vec::new();
        [self.program, self.runtime, self.path].iter().for_each(|text| put_string(cut(text), &mut strings));
        header.iter_mut().skip(STRINGS_AT).zip(strings).for_each(|(byte, of_string)| *byte = of_string);
        out.write_all(&header)
    }
}

/// Returns a text, cut to the available room.
fn cut(text: &str) -> &str {
    const MOST: usize = (CONTROL_AT - STRINGS_AT) / 3 - 4;
    let end = (0..=text.len().min(MOST)).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}
