//! What a profile is, whoever wrote it: call paths, and for each a list of values. The words are pprof's: a sample type
//! says what a value measures; a value is *flat*, the path's own without its callees', and adding those of its callees
//! makes it *cumulative*. Reports say self and total.

use std::fmt;

use identity::MethodId;

use crate::error::Error;

/// A profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The program's name.
    pub program: String,
    /// What it ran on.
    pub runtime: String,
    /// The process.
    pub pid: u32,
    /// How the program ended.
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
    /// What the values measure, in their order.
    pub sample_types: Vec<SampleType>,
    /// The modules that were woven and loaded: pprof's mappings.
    pub modules: Vec<Module>,
    /// The functions that the call trees mention.
    pub functions: Vec<Function>,
    /// The call trees.
    pub trees: Vec<CallTree>,
    /// How many nodes the program's trees were allowed; 0 if it isn't said.
    pub max_nodes: u32,
    /// What is missing: a file cut short still says all that it holds.
    pub damage: Option<Error>,
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It came to its end.
    Clean,
    /// By an exception that nobody caught.
    UnhandledException,
    /// Unknown: the program was cut off.
    Unknown,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clean => "ended cleanly",
            Self::UnhandledException => "ended by an unhandled exception",
            Self::Unknown => "was cut off",
        })
    }
}

/// How a program was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Each call was counted and timed.
    Exact,
}

/// What time was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// .NET's Stopwatch.
    Stopwatch,
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
}

impl SampleType {
    /// How often a path was entered.
    pub const CALLS: Self = Self { name: "calls", unit: Unit::Count };
    /// How often it was left.
    pub const LEAVES: Self = Self { name: "leaves", unit: Unit::Count };
    /// How many calls were open when the profile was written.
    pub const OPEN: Self = Self { name: "open", unit: Unit::Count };
    /// Time by the clock on the wall, whether anything ran or not; that of open calls too.
    pub const WALL: Self = Self { name: "wall", unit: Unit::Ticks };
}

/// A woven module.
#[derive(Clone, PartialEq, Eq, Debug)]
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
}

/// What call paths lead to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Which method it is.
    pub method_id: MethodId,
    /// Its name; none if the program could not tell it.
    pub name: Option<MethodName>,
    /// Its module: an index into the profile's; none if the program did not name it.
    pub module: Option<usize>,
}

/// A method's name, as metadata has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodName {
    /// `Namespace.Outer/Inner`
    pub type_name: String,
    /// The method's own.
    pub method: String,
}

/// What a thread did, or several one after another that shared it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CallTree {
    /// How many threads it is of.
    pub threads: u64,
    /// How many calls are not in it, since there was no room for more nodes.
    pub lost_calls: u64,
    /// How many tokens of probes were of no open call, and passed over.
    pub bad_tokens: u64,
    /// The call paths. Callers stand before their callees.
    pub nodes: Vec<Node>,
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

impl Profile {
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
