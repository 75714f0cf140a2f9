//! The model of a profile, independent of its writer: call paths, each with a list of values. The terms are pprof's. A sample
//! type states the meaning of a value. A *flat* value is the path's own, without its callees; a *cumulative* value includes them.
//! Reports call these self and total.

use std::{collections::BTreeSet, fmt};

use names::MethodId;
pub use profile_format::{ClockKind as Clock, RecordingMode as Mode};

use crate::{error::Error, lines::SourceFile, statistics::Statistics};

/// A profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The program's name.
    pub program: String,
    /// The runtime that it ran on.
    pub runtime: String,
    /// The path of the program's file; empty if it is not known.
    pub path: String,
    /// The process id.
    pub pid: u32,
    /// The number of processes. It is more than one in a merged profile, whose times are sums over them.
    pub processes: u64,
    /// The way the program ended; of several processes, the worst.
    pub end: End,
    /// The mode of measurement.
    pub mode: Mode,
    /// The clock that times were read from.
    pub clock: Clock,
    /// The clock's ticks per second; never 0.
    pub ticks_per_second: u64,
    /// The time of the first probe: 100 ns units since the year 1, UTC.
    pub start_time: u64,
    /// The duration of the run from the first probe on, in ticks; never below 0.
    pub duration: i64,
    /// The time of the program's last reading of the clock, in ticks since the first probe.
    pub last_seen: i64,
    /// The part of `duration` in which recording was paused, in ticks.
    pub paused: i64,
    /// Whether recording is paused now.
    pub is_paused: bool,
    /// Whether the disk was full, so that the last records may not be in the file.
    pub disk_was_full: bool,
    /// Whether single calls were captured. Capturing takes time that is not part of the measured overhead of probes.
    pub has_captured_calls: bool,
    /// Whether allocated bytes were to be counted, but the runtime cannot count those of a thread.
    pub lacks_allocations: bool,
    /// CPU time of the process, in ns; `None` if it is not known.
    pub cpu_ns: Option<i64>,
    /// The overhead of a probe.
    pub probe_cost: ProbeCost,
    /// Samples that are missing or late.
    pub sample_losses: SampleLosses,
    /// The sample types of the values, in their order.
    pub sample_types: Vec<SampleType>,
    /// The modules that were instrumented and loaded: pprof's mappings.
    pub modules: Vec<Module>,
    /// The functions that the call trees refer to.
    pub functions: Vec<Function>,
    /// The call trees.
    pub trees: Vec<CallTree>,
    /// By function: the distribution of its calls' times; `None` if it was not measured.
    pub statistics: Vec<Option<Box<Statistics>>>,
    /// The number of bits by which times are shifted right for a histogram.
    pub histogram_shift: u32,
    /// By function: the type of an exception that left it.
    pub exception_types: Vec<Option<String>>,
    /// The names of the phases that marks begin, in the order of time.
    pub phases: Vec<String>,
    /// The parts of the run that the profile covers, as start and end in ticks since the first probe. An end of `None` is the
    /// run's end. Empty for the whole run.
    pub parts: Vec<(i64, Option<i64>)>,
    /// Whether the profile covers a part of the run, such as a phase.
    pub is_part: bool,
    /// The number of events, in mode trace.
    pub events: u64,
    /// The limit of nodes in the program's trees; 0 if it is not known.
    pub max_nodes: u32,
    /// The source files whose sequence points were counted, by path. Empty if the run had no counters of lines.
    pub lines: Vec<SourceFile>,
    /// The first defect of the file. All records before a cut remain usable.
    pub damage: Option<Error>,
}

impl Default for Profile {
    /// Returns the profile of a program that did nothing: exact mode, a clock of nanoseconds, a clean end.
    fn default() -> Self {
        Self {
            program: String::new(),
            runtime: String::new(),
            path: String::new(),
            pid: 0,
            processes: 1,
            end: End::Clean,
            mode: Mode::Exact,
            clock: Clock::Stopwatch,
            ticks_per_second: 1_000_000_000,
            start_time: 0,
            parts: Vec::new(),
            is_part: false,
            duration: 0,
            last_seen: 0,
            paused: 0,
            is_paused: false,
            disk_was_full: false,
            has_captured_calls: false,
            lacks_allocations: false,
            cpu_ns: None,
            probe_cost: ProbeCost::default(),
            sample_losses: SampleLosses::default(),
            statistics: Vec::new(),
            histogram_shift: 0,
            exception_types: Vec::new(),
            phases: Vec::new(),
            events: 0,
            sample_types: Vec::new(),
            modules: Vec::new(),
            functions: Vec::new(),
            trees: Vec::new(),
            max_nodes: 0,
            lines: Vec::new(),
            damage: None,
        }
    }
}

/// The way a program ended, from the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// It ended normally.
    Clean,
    /// An unhandled exception ended it.
    UnhandledException,
    /// It is still running. Files do not state this; only their reader may know.
    Running,
    /// Unknown: the program was killed, or the file ends early.
    Unknown,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clean => "ended cleanly",
            Self::UnhandledException => "ended by an unhandled exception",
            Self::Running => "still running",
            Self::Unknown => "was cut off",
        })
    }
}

/// The overhead of a probe, in ticks; all 0 if it is not known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ProbeCost {
    /// The overhead within the call's own time.
    pub inside: f64,
    /// The overhead within the caller's time.
    pub outside: f64,
    /// The duration of reading the clock once.
    pub clock_read: f64,
    /// The overhead of a call that is only counted, within its caller's time.
    pub counting: f64,
    /// The same of its leave probe, which runs if the path has callees.
    pub counting_leave: f64,
    /// The smallest step of the clock; 0 if it was not measured.
    pub clock_step: f64,
}

/// The samples that a profile lacks, and those that came late.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SampleLosses {
    /// The number of samples for which there was no room.
    pub lost: u64,
    /// The number of samples that came later than their time. They may stand for methods that were called before.
    pub late: u64,
    /// The number of threads that could not be sampled, or only in part.
    pub unsampled_threads: u64,
}

impl SampleLosses {
    /// The losses of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            lost: self.lost.saturating_add(other.lost),
            late: self.late.saturating_add(other.late),
            unsampled_threads: self.unsampled_threads.saturating_add(other.unsampled_threads),
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleType {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
}

/// The unit of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Number.
    Count,
    /// Ticks of the profile's clock.
    Ticks,
    /// Billionths of a second.
    Nanoseconds,
    /// Bytes.
    Bytes,
}

impl SampleType {
    /// All sample types: those of a call tree.
    pub const ALL: [Self; 16] = [
        Self::CALLS,
        Self::LEAVES,
        Self::OPEN,
        Self::WALL,
        Self::WAITING,
        Self::PROBES,
        Self::EXCEPTIONS,
        Self::LATENCY,
        Self::COMPLETED,
        Self::FAULTED,
        Self::STEPS,
        Self::CPU,
        Self::SAMPLES,
        Self::COUNTED,
        Self::UNCERTAINTY,
        Self::ALLOCATED,
    ];
    /// Possible error of a path's own time: the variation of its probes' overhead between places.
    pub const UNCERTAINTY: Self = Self { name: "uncertainty", unit: Unit::Ticks };
    /// Number of times that a path was entered.
    pub const CALLS: Self = Self { name: "calls", unit: Unit::Count };
    /// Number of times that a path was left.
    pub const LEAVES: Self = Self { name: "leaves", unit: Unit::Count };
    /// Number of calls that were open when the profile was written.
    pub const OPEN: Self = Self { name: "open", unit: Unit::Count };
    /// Elapsed time on its threads, running or waiting, including open calls.
    pub const WALL: Self = Self { name: "wall", unit: Unit::Ticks };
    /// Part of [`WALL`](Self::WALL): time in blocking calls.
    pub const WAITING: Self = Self { name: "waiting", unit: Unit::Ticks };
    /// Part of [`WALL`](Self::WALL): overhead of the probes, as calibrated in the program. Reports subtract it.
    pub const PROBES: Self = Self { name: "probes", unit: Unit::Ticks };
    /// Number of exceptions that left the path.
    pub const EXCEPTIONS: Self = Self { name: "exceptions", unit: Unit::Count };
    /// Async methods: time from start to completion, summed over completed calls.
    pub const LATENCY: Self = Self { name: "latency", unit: Unit::Ticks };
    /// Async methods: number of completed calls.
    pub const COMPLETED: Self = Self { name: "completed", unit: Unit::Count };
    /// Async methods: number of completed calls that ended by an exception or a cancellation.
    pub const FAULTED: Self = Self { name: "faulted", unit: Unit::Count };
    /// Async methods: time of their steps, callees included.
    pub const STEPS: Self = Self { name: "steps", unit: Unit::Ticks };
    /// CPU time, as a sampler measured it.
    pub const CPU: Self = Self { name: "cpu", unit: Unit::Nanoseconds };
    /// Number of samples.
    pub const SAMPLES: Self = Self { name: "samples", unit: Unit::Count };
    /// Number of calls that were counted, but not timed: their time is part of their callers'.
    pub const COUNTED: Self = Self { name: "counted", unit: Unit::Count };
    /// Bytes that were allocated. Only runs with `--allocations` have it.
    pub const ALLOCATED: Self = Self { name: "alloc_space", unit: Unit::Bytes };
}

/// An instrumented module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Module {
    /// The first part of its methods' ids.
    pub key: u64,
    /// Its version identifier.
    pub mvid: [u8; 16],
    /// The full name of its assembly.
    pub assembly: String,
    /// Its own name.
    pub name: String,
    /// The version of ilinst that instrumented it.
    pub tool: String,
    /// The file it was loaded from; empty if the program did not record it.
    pub path: String,
}

/// A function, the target of call paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its method's id.
    pub method_id: MethodId,
    /// Its name; `None` if the program could not determine it.
    pub name: Option<MethodName>,
    /// Its source names and place, from its assembly and PDB; `None` without these files.
    pub source: Option<Source>,
    /// Its module: an index into the profile's modules; `None` if the program did not name it.
    pub module: Option<usize>,
}

/// The source names and place of a method.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Source {
    /// Its type's name in source form: `Namespace.Outer<T>.Inner`.
    pub type_name: String,
    /// Its own name with type parameters: `Load<T>`, `Name.get`, `operator +`, `Main [lambda at Program.cs:41]`.
    pub method: String,
    /// The types of its parameters: `int, string`; `None` if they are not known.
    pub parameters: Option<String>,
    /// Whether it is compiler-generated and has no body in the source.
    pub is_generated: bool,
    /// The source file of its beginning, from the PDB.
    pub file: Option<String>,
    /// The line of its beginning, from 1; `None` without a PDB.
    pub line: Option<u32>,
}

/// A method's name in metadata.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MethodName {
    /// `Namespace.Outer/Inner`
    pub type_name: String,
    /// The method's own name.
    pub method: String,
}

/// The calls of a thread, or of several consecutive threads that shared the tree.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CallTree {
    /// Its number.
    pub number: u64,
    /// Its threads with known names or numbers, in the order of time.
    pub names: Vec<ThreadName>,
    /// CPU time of its threads, in ns; `None` if it is not known.
    pub cpu_ns: Option<i64>,
    /// The number of its threads.
    pub threads: u64,
    /// The number of calls that the tree lacks because of the limit of nodes.
    pub lost_calls: u64,
    /// The number of ignored probe tokens that belonged to no open call.
    pub bad_tokens: u64,
    /// The call paths. Callers precede their callees.
    pub nodes: Vec<Node>,
    /// The notes on each node.
    pub notes: Vec<Notes>,
    /// The flat values: for each of the profile's sample types, a list with a value for each node. If threads ran while the
    /// profile was written, callees may have taken longer than their caller. The caller's own time is then negative.
    pub values: Vec<Vec<i64>>,
}

/// A function called along one path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// Its function: an index into the profile's functions.
    pub function: usize,
    /// Its caller: an index into the tree's nodes. `None` if no measured function called it.
    pub caller: Option<usize>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadName {
    /// Its managed thread id.
    pub managed_id: u32,
    /// Its name; empty if it has none.
    pub name: String,
}

/// Notes on a node, beside its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// The node is an async method, and its calls are logical calls.
    pub is_async: bool,
    /// The node stands for all calls of its method beyond the limit of nodes.
    pub is_overflow: bool,
    /// Whether its calls were only counted from some time on, as they took less than `ILINST_COUNT_BELOW`. Their time is the
    /// caller's.
    pub is_counted: bool,
    /// Whether its calls were only counted for a while.
    pub was_counted: bool,
    /// Whether its calls were only counted because the runtime suspends the method (runtime-async).
    pub is_runtime_async: bool,
    /// Some of its steps could not be matched to a call.
    pub lost_flow: bool,
}

impl Notes {
    /// Combines the notes of two paths that become one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            is_async: self.is_async || other.is_async,
            is_overflow: self.is_overflow || other.is_overflow,
            is_counted: self.is_counted || other.is_counted,
            was_counted: self.was_counted || other.was_counted,
            is_runtime_async: self.is_runtime_async || other.is_runtime_async,
            lost_flow: self.lost_flow || other.lost_flow,
        }
    }
}

impl Profile {
    /// Returns the functions whose calls were only counted because the runtime suspends them (runtime-async), by index.
    pub fn runtime_async_functions(&self) -> BTreeSet<usize> {
        let nodes = self.trees.iter().flat_map(|tree| tree.nodes.iter().zip(&tree.notes));
        nodes.filter(|(_, notes)| notes.is_runtime_async).map(|(node, _)| node.function).collect()
    }

    /// Returns whether a time, in ticks since the first probe, is within the covered parts of the run.
    pub fn has_moment(&self, ticks: i64) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|(from, to)| ticks >= *from && to.is_none_or(|to| ticks < to))
    }

    /// Converts ticks to milliseconds.
    pub fn milliseconds(&self, ticks: i64) -> f64 {
        ticks as f64 * 1e3 / self.ticks_per_second as f64
    }

    /// Returns the number of threads in the call trees.
    pub fn threads(&self) -> u64 {
        self.trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.threads))
    }

    /// Returns whether lines were counted, and no calls.
    pub fn has_lines_alone(&self) -> bool {
        !self.lines.is_empty() && self.functions.is_empty()
    }

    /// Returns the number of calls that the call trees lack.
    pub fn lost_calls(&self) -> u64 {
        self.trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.lost_calls))
    }

    /// Returns the number of probe tokens that belonged to no open call.
    pub fn bad_tokens(&self) -> u64 {
        self.trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.bad_tokens))
    }
}
