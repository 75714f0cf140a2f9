//! The header of both versions.

use std::io::{self, Write};

use super::{
    cursor::Cursor,
    layout::{self, CONTROL_AT, FLAGS_AT, MAGIC, STRINGS_AT},
    merged::put,
    names::string,
};
use crate::{
    error::Error,
    model::{Clock, End, Mode},
};

/// The latest version supported.
pub(crate) const VERSION: u32 = 2;

mod flag {
    pub(super) const CLEAN_EXIT: u32 = 1;
    pub(super) const UNHANDLED_EXCEPTION: u32 = 2;
    /// In version 2: names are complete; the profile is in memory.
    pub(super) const NAMES_COMPLETE: u32 = 4;
    pub(super) const IN_MEMORY: u32 = 8;
    /// The file is a copy, taken while the program ran.
    pub(super) const COPY: u32 = 16;
    /// The disk was full: the last records are not in the file.
    pub(super) const DISK_FULL: u32 = 32;
    /// The file is merged from the profiles of several processes.
    pub(super) const MERGED: u32 = 64;
    /// In a merged file, which has no captured calls itself: some of its sources had them.
    pub(super) const CAPTURED: u32 = 128;
}

/// The flags that version 1 does not have.
const OF_VERSION_2: u32 = flag::NAMES_COMPLETE | flag::IN_MEMORY | flag::COPY | flag::DISK_FULL | flag::MERGED | flag::CAPTURED;

/// The fields of the header.
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) program: String,
    pub(crate) runtime: String,
    /// The path of the program; empty in version 1.
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
    pub(crate) histogram_shift: u32,
    pub(crate) event_shift: u32,
    pub(crate) paused_ticks: i64,
    /// CPU time of the process, in ns.
    pub(crate) cpu_ns: Option<i64>,
    pub(crate) is_paused: bool,
    pub(crate) disk_was_full: bool,
    /// Whether calls were captured: a merged file has a flag for it, other files have chunks of calls.
    pub(crate) has_captured_calls: bool,
    /// Whether the file is merged, and the number of its processes.
    pub(crate) is_merged: bool,
    pub(crate) processes: u64,
    /// Its size in bytes.
    pub(crate) size: usize,
}

/// Marks a file of version 2 as a copy that was taken while the program ran.
pub(crate) fn set_running(bytes: &mut [u8]) {
    if let Some(flags) = bytes.get_mut(FLAGS_AT) {
        *flags |= flag::COPY as u8;
    }
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Cursor::new(bytes, 0);
        if reader.array() != Ok(*MAGIC) {
            return Err(Error::NotAProfile);
        }
        let version = reader.u32()?;
        if !(1..=VERSION).contains(&version) {
            return Err(Error::Version { found: version, known: VERSION });
        }
        let is_first = version == 1;
        let of_version_2 = if is_first { 0 } else { OF_VERSION_2 };
        let known = flag::CLEAN_EXIT | flag::UNHANDLED_EXCEPTION | of_version_2;
        let flags = reader.u32()?;
        let end = match flags {
            flags if flags & !known != 0 => return Err(reader.unknown("flags", flags)),
            // A program that ends by an exception may set the flag for a clean end, too.
            flags if flags & flag::UNHANDLED_EXCEPTION != 0 => End::UnhandledException,
            flags if flags & flag::CLEAN_EXIT != 0 => End::Clean,
            flags if flags & flag::COPY != 0 => End::Running,
            _ => End::Unknown,
        };
        let pid = reader.u32()?;
        let _pointer_size = reader.u32()?;
        let clock = match reader.u32()? {
            0 => Clock::Stopwatch,
            1 if !is_first => Clock::Tsc,
            2 if !is_first => Clock::Program,
            code => return Err(reader.unknown("clock", code)),
        };
        let size = reader.u32()? as usize;
        let (ticks_per_second, start_ticks, end_ticks) = (reader.u64()?.max(1), reader.i64()?, reader.i64()?);
        let (start_time, max_nodes) = (reader.u64()?, reader.u32()?);
        let mode = match reader.u32()? {
            0 => Mode::Exact,
            1 if !is_first => Mode::Sampled,
            2 if !is_first => Mode::Count,
            3 if !is_first => Mode::Trace,
            layout::MODE_CPU if !is_first => Mode::Cpu,
            layout::MODE_WALL if !is_first => Mode::Wall,
            code => return Err(reader.unknown("mode", code)),
        };
        let mut header = Self {
            version,
            program: String::new(),
            runtime: String::new(),
            path: String::new(),
            pid,
            end,
            mode,
            clock,
            ticks_per_second,
            start_ticks,
            end_ticks,
            start_time,
            max_nodes,
            probe_inside: 0.0,
            probe_outside: 0.0,
            clock_read: 0.0,
            histogram_shift: 0,
            event_shift: 0,
            paused_ticks: 0,
            cpu_ns: None,
            is_paused: false,
            disk_was_full: flags & flag::DISK_FULL != 0,
            has_captured_calls: flags & flag::CAPTURED != 0,
            is_merged: flags & flag::MERGED != 0,
            processes: 1,
            size,
        };
        if is_first {
            while reader.position < STRINGS_AT {
                match reader.u32()? {
                    0 => {}
                    value => return Err(reader.unknown("a header field of value", value)),
                }
            }
        } else {
            header.read_version_2(&mut reader, bytes)?;
        }
        let mut strings = Cursor::new(bytes.get(STRINGS_AT..size.min(CONTROL_AT)).unwrap_or_default(), STRINGS_AT);
        (header.program, header.runtime) = (strings.string()?, strings.string()?);
        if !is_first {
            header.path = strings.string()?;
        }
        Ok(header)
    }

    fn read_version_2(&mut self, reader: &mut Cursor<'_>, bytes: &[u8]) -> Result<(), Error> {
        (self.probe_inside, self.probe_outside, self.clock_read) = (reader.positive()?, reader.positive()?, reader.positive()?);
        (self.histogram_shift, self.event_shift) = (reader.u32()?.min(63), reader.u32()?.min(63));
        self.paused_ticks = reader.i64()?.max(0);
        self.cpu_ns = Some(reader.i64()?).filter(|cpu| *cpu >= 0);
        if self.is_merged {
            self.processes = reader.u64()?.max(1);
        }
        // The control page is optional, and a file may be cut off before it.
        let control = super::Control::read(bytes).unwrap_or_default();
        self.is_paused = control.is_paused;
        Ok(())
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
    /// The sum over all processes.
    pub(crate) duration: i64,
    pub(crate) paused: i64,
    pub(crate) start_time: u64,
    pub(crate) max_nodes: u32,
    pub(crate) probe_inside: f64,
    pub(crate) probe_outside: f64,
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
            End::Clean => flag::CLEAN_EXIT,
            End::UnhandledException => flag::UNHANDLED_EXCEPTION,
            End::Running => flag::COPY,
            End::Unknown => 0,
        };
        let full = if self.disk_was_full { flag::DISK_FULL } else { 0 };
        let captured = if self.has_captured_calls { flag::CAPTURED } else { 0 };
        let mode = match self.mode {
            Mode::Exact => 0,
            Mode::Sampled => 1,
            Mode::Count => 2,
            Mode::Trace => 3,
            Mode::Cpu => layout::MODE_CPU,
            Mode::Wall => layout::MODE_WALL,
        };
        let mut header = vec![0; layout::BLOCK];
        header.iter_mut().zip(MAGIC).for_each(|(byte, magic)| *byte = *magic);
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        for (at, field) in [
            (layout::VERSION_AT, pair(VERSION, flag::MERGED | flag::NAMES_COMPLETE | end | full | captured)),
            (layout::CLOCK_AT, pair(0, layout::BLOCK as u32)),
            (layout::TICKS_AT, self.clock.ticks_per_second),
            (layout::END_AT, self.duration as u64),
            (layout::TIME_AT, self.start_time),
            (layout::MAX_NODES_AT, pair(self.max_nodes, mode)),
            (layout::PROBE_INSIDE_AT, self.probe_inside.to_bits()),
            (layout::PROBE_OUTSIDE_AT, self.probe_outside.to_bits()),
            (layout::HISTOGRAM_SHIFT_AT, pair(self.clock.histogram_shift, 0)),
            (layout::PAUSED_AT, self.paused as u64),
            (layout::CPU_AT, self.cpu_ns.unwrap_or(-1) as u64),
            (layout::PROCESSES_AT, self.processes),
        ] {
            put(&mut header, at, field);
        }
        // Names are limited in length when they are read, so that all three fit.
        let mut strings = Vec::new();
        [self.program, self.runtime, self.path].iter().for_each(|text| string(cut(text), &mut strings));
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
