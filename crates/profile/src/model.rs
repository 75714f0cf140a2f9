//! What a profile is, whoever wrote it: call paths, and for each a list of values. The words are pprof's: a sample type
//! says what a value measures; a value is *flat*, the path's own without its callees', and adding those of its callees
//! makes it *cumulative*. Reports say self and total.

use std::fmt;

use identity::MethodId;

use crate::{error::Error, statistics::Statistics};

/// A profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The program's name.
    pub program: String,
    /// What it ran on.
    pub runtime: String,
    /// The program's file; empty if it isn't known.
    pub path: String,
    /// The process.
    pub pid: u32,
    /// How many processes it is of: more than one if it was merged, and times are sums over them.
    pub processes: u64,
    /// How the program ended; of several, the worst.
    pub end: End,
    /// How it was measured.
    pub mode: Mode,
    /// What time was read from.
    pub clock: Clock,
    /// The clock's ticks in a second; never 0.
    pub ticks_per_second: u64,
    /// When the first probe ran: 100 ns units since the year 1, UTC.
    pub start_time: u64,
    /// How long the program ran, from the first probe on, in ticks; never below 0.
    pub duration: i64,
    /// When the program last looked at the clock, in ticks since the first probe.
    pub last_seen: i64,
    /// Of that, how long nothing was recorded, since the program was asked to pause.
    pub paused: i64,
    /// Whether it is paused now.
    pub is_paused: bool,
    /// Whether the disk was full, so that what came last may not be in the file.
    pub disk_was_full: bool,
    /// Whether single calls were captured, which takes time that no probe's cost has in it.
    pub has_captured_calls: bool,
    /// CPU time of the process, in ns; none if it isn't known.
    pub cpu_ns: Option<i64>,
    /// What a probe costs.
    pub probe_cost: ProbeCost,
    /// What the values measure, in their order.
    pub sample_types: Vec<SampleType>,
    /// The modules that were woven and loaded: pprof's mappings.
    pub modules: Vec<Module>,
    /// The functions that the call trees mention.
    pub functions: Vec<Function>,
    /// The call trees.
    pub trees: Vec<CallTree>,
    /// By function: how the times of its calls are distributed; none where that was not measured.
    pub statistics: Vec<Option<Box<Statistics>>>,
    /// By how many bits times are shifted before they are put into a histogram.
    pub histogram_shift: u32,
    /// By function: the type of an exception that left it.
    pub exception_types: Vec<Option<String>>,
    /// The names of the phases that marks begin, in the order of time.
    pub phases: Vec<String>,
    /// Which parts of the run it is of, from and to, in ticks since the first probe; to none: to the end. None: all of it.
    pub parts: Vec<(i64, Option<i64>)>,
    /// Whether it is of a part of the run, as a phase.
    pub is_part: bool,
    /// How many events there are, in mode trace.
    pub events: u64,
    /// How many nodes the program's trees were allowed; 0 if it isn't said.
    pub max_nodes: u32,
    /// What is missing: a file cut short still says all that it holds.
    pub damage: Option<Error>,
}

impl Default for Profile {
    /// Of a program that did nothing: by a clock of nanoseconds, measured exactly, and ended.
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
            cpu_ns: None,
            probe_cost: ProbeCost::default(),
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
            damage: None,
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It came to its end.
    Clean,
    /// By an exception that nobody caught.
    UnhandledException,
    /// Not yet: it runs. No file says so, who reads it may know.
    Running,
    /// Unknown: the program was cut off.
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

/// How a program was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Each call was counted and timed.
    Exact,
    /// Each call was counted; time is what a sampler saw.
    Sampled,
    /// Calls were counted, and no more: there are no paths.
    Count,
    /// As exact, with each call's beginning and end.
    Trace,
}

/// What time was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// .NET's Stopwatch.
    Stopwatch,
    /// The processor's time stamp counter.
    Tsc,
    /// The program's own: its time may be simulated.
    Program,
}

/// What a probe costs, in ticks; all 0 if it isn't known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ProbeCost {
    /// What a call that does nothing shows as its own time.
    pub inside: f64,
    /// What it adds to its caller's beside that.
    pub outside: f64,
    /// What reading the clock once takes.
    pub clock_read: f64,
}

/// What a value measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleType {
    /// A word for it.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: Unit,
}

/// What values are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Pieces.
    Count,
    /// Ticks of the profile's clock.
    Ticks,
    /// Billionths of a second.
    Nanoseconds,
}

impl SampleType {
    /// How many there are, at most, in a profile.
    pub(crate) const MOST: usize = 13;
    /// How often a path was entered.
    pub const CALLS: Self = Self { name: "calls", unit: Unit::Count };
    /// How often it was left.
    pub const LEAVES: Self = Self { name: "leaves", unit: Unit::Count };
    /// How many calls were open when the profile was written.
    pub const OPEN: Self = Self { name: "open", unit: Unit::Count };
    /// Time of its threads by the clock on the wall, whether anything ran or not; that of open calls too.
    pub const WALL: Self = Self { name: "wall", unit: Unit::Ticks };
    /// Of [`WALL`](Self::WALL): in calls that wait.
    pub const WAITING: Self = Self { name: "waiting", unit: Unit::Ticks };
    /// Of [`WALL`](Self::WALL): what the probes themselves took, as calibrated in the program. Reports leave it out.
    pub const PROBES: Self = Self { name: "probes", unit: Unit::Ticks };
    /// How many exceptions left it.
    pub const EXCEPTIONS: Self = Self { name: "exceptions", unit: Unit::Count };
    /// Of an async method: from start to completion, over all its calls that have ended.
    pub const LATENCY: Self = Self { name: "latency", unit: Unit::Ticks };
    /// How many calls these are.
    pub const COMPLETED: Self = Self { name: "completed", unit: Unit::Count };
    /// How many of these an exception ended, or a cancellation.
    pub const FAULTED: Self = Self { name: "faulted", unit: Unit::Count };
    /// Of an async method: how long its steps took, with what they called.
    pub const STEPS: Self = Self { name: "steps", unit: Unit::Ticks };
    /// CPU time, where a sampler saw it.
    pub const CPU: Self = Self { name: "cpu", unit: Unit::Nanoseconds };
    /// How often a sampler saw it running.
    pub const SAMPLES: Self = Self { name: "samples", unit: Unit::Count };
}

/// A woven module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Module {
    /// What the ids of its methods begin with.
    pub key: u64,
    /// Its version identifier.
    pub mvid: [u8; 16],
    /// The full name of its assembly.
    pub assembly: String,
    /// Its own name.
    pub name: String,
    /// What wove it.
    pub tool: String,
    /// The file it was loaded from; empty if the program did not say it.
    pub path: String,
}

/// What call paths lead to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Which method it is.
    pub method_id: MethodId,
    /// Its name; none if the program could not tell it.
    pub name: Option<MethodName>,
    /// What is known of it by the file it is from; none if that was not at hand.
    pub source: Option<Source>,
    /// Its module: an index into the profile's; none if the program did not name it.
    pub module: Option<usize>,
}

/// What a method's file says of it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Source {
    /// Its type as a person would write it: `Namespace.Outer<T>.Inner`.
    pub type_name: String,
    /// The method, with its type parameters: `Load<T>`, `Name.get`, `operator +`, `Main [lambda at Program.cs:41]`.
    pub method: String,
    /// The types of its parameters: `int, string`; none if they are not known.
    pub parameters: Option<String>,
    /// Whether a compiler made it, with no body that a person wrote.
    pub is_made: bool,
    /// The source file it begins in, as its PDB has it, and the line, from 1.
    pub file: Option<String>,
    /// None without a PDB.
    pub line: Option<u32>,
}

/// A method's name, as metadata has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MethodName {
    /// `Namespace.Outer/Inner`
    pub type_name: String,
    /// The method's own.
    pub method: String,
}

/// What a thread did, or several one after another that shared it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CallTree {
    /// Its number.
    pub number: u64,
    /// Its threads that are known by name or number, in the order of time.
    pub names: Vec<ThreadName>,
    /// CPU time of its threads, in ns; none if it isn't known.
    pub cpu_ns: Option<i64>,
    /// How many threads it is of.
    pub threads: u64,
    /// How many calls are not in it, since there was no room for more nodes.
    pub lost_calls: u64,
    /// How many tokens of probes were of no open call, and passed over.
    pub bad_tokens: u64,
    /// The call paths. Callers stand before their callees.
    pub nodes: Vec<Node>,
    /// What is said of each node beside.
    pub notes: Vec<Notes>,
    /// The flat values: a list for each of the profile's sample types, with one for each node. Where threads ran on while
    /// the profile was written, callees may have taken longer than their caller: then its own time is below zero.
    pub values: Vec<Vec<i64>>,
}

/// A function called along one path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// Which: an index into the profile's functions.
    pub function: usize,
    /// The path it was called from: an index into the tree's nodes; none if no function that was measured called it.
    pub caller: Option<usize>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadName {
    /// The number that .NET gives it.
    pub managed_id: u32,
    /// Its name; empty if it has none.
    pub name: String,
}

/// What is said of a node beside its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// It is an async method, and its calls are those that were written.
    pub is_async: bool,
    /// It stands for all calls of its method on paths that there was no room for.
    pub is_overflow: bool,
    /// It was only counted after a while, since it was called so often.
    pub is_muted: bool,
    /// Steps of it were not told which call they belong to.
    pub lost_flow: bool,
}

impl Notes {
    /// Of two paths in one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            is_async: self.is_async || other.is_async,
            is_overflow: self.is_overflow || other.is_overflow,
            is_muted: self.is_muted || other.is_muted,
            lost_flow: self.lost_flow || other.lost_flow,
        }
    }
}

impl Profile {
    /// Whether a moment, in ticks since the first probe, is in the parts of the run that it is of.
    pub fn has_moment(&self, ticks: i64) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|(from, to)| ticks >= *from && to.is_none_or(|to| ticks < to))
    }

    /// Ticks in milliseconds.
    pub fn milliseconds(&self, ticks: i64) -> f64 {
        ticks as f64 * 1e3 / self.ticks_per_second as f64
    }

    /// How many threads the call trees are of.
    pub fn threads(&self) -> u64 {
        self.trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.threads))
    }

    /// How many calls are in no call tree.
    pub fn lost_calls(&self) -> u64 {
        self.trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.lost_calls))
    }

    /// How many tokens of probes were of no open call.
    pub fn bad_tokens(&self) -> u64 {
        self.trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.bad_tokens))
    }
}
