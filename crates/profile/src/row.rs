//! What the table says of a function.

use serde::Serialize;

/// A function in the table. Times are in milliseconds, and what the probes took is out of them; *running* is thread time
/// less what was spent in calls that wait.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'p> {
    /// Which: an index into the profile's functions.
    #[serde(skip)]
    pub function: usize,
    /// Its name as a person would say it.
    pub name: String,
    /// Its name in metadata: `Namespace.Type::Method`; none if the program could not tell it.
    pub raw_name: Option<String>,
    /// The namespace of its type; empty if that has none. None as above.
    pub namespace: Option<&'p str>,
    /// Its type as a person would write it; none as above.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The types of its parameters; none if its file was not at hand.
    pub parameters: Option<&'p str>,
    /// The source file it begins in, as its PDB has it, and the line; none without a PDB.
    pub file: Option<&'p str>,
    /// From 1.
    pub line: Option<u32>,
    /// Its token in its module.
    pub token: String,
    /// The full name of its assembly.
    pub assembly: Option<&'p str>,
    /// Its module's version identifier, in hex.
    pub mvid: Option<String>,
    /// How often it was entered.
    pub calls: u64,
    /// How often it was left.
    pub leaves: u64,
    /// How many calls were open when the profile was written.
    pub open: u64,
    /// Running in it alone.
    pub self_ms: f64,
    /// Running in it and its callees.
    pub total_ms: f64,
    /// Waiting in it and its callees.
    pub waiting_ms: f64,
    /// Running and waiting, by calls; of an async method `latency_ms`.
    pub average_ms: f64,
    /// `self_ms` in percent of all that ran.
    pub self_percent: f64,
    /// `total_ms` in percent of all that ran.
    pub total_percent: f64,
    /// The first call: what compiling and loading take is in it. Of several paths, the longest.
    pub first_ms: Option<f64>,
    /// The shortest of the others; of a part of the run within the same as percentiles.
    pub min_ms: Option<f64>,
    /// The median: what 50 % of them did not exceed. Within
    /// [`HISTOGRAM_ERROR_PERCENT`](crate::statistics::HISTOGRAM_ERROR_PERCENT), as the next two.
    pub p50_ms: Option<f64>,
    /// 95 %.
    pub p95_ms: Option<f64>,
    /// 99 %.
    pub p99_ms: Option<f64>,
    /// The longest; as `min_ms`.
    pub max_ms: Option<f64>,
    /// Whether it is a call that waits.
    pub waits: bool,
    /// Whether it is an async method: what is `first` to `max` for others is from start to completion then.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Of an async method: from start to completion, by the calls that completed.
    pub latency_ms: Option<f64>,
    /// What 95 % of its calls did not exceed.
    #[serde(rename = "latencyP95Ms")]
    pub latency_p95_ms: Option<f64>,
    /// Of an async method: how long its steps took, with what they called.
    pub steps_ms: Option<f64>,
    /// Of an async method: how long its calls were in none of their steps, all together.
    pub awaiting_ms: Option<f64>,
    /// How many of its calls an exception or a cancellation ended.
    pub faulted: Option<u64>,
    /// How many of its calls have not come to their end.
    pub pending: Option<u64>,
    /// How many exceptions left it.
    pub exceptions: u64,
    /// The type of one of them.
    pub exception_type: Option<&'p str>,
    /// CPU time in it alone, where a sampler saw it.
    pub cpu_ms: Option<f64>,
    /// How often a sampler saw it running.
    pub samples: Option<u64>,
    /// Whether probes took more than half of the time that was measured in it.
    pub mostly_probe: bool,
    /// Whether it was only counted after a while.
    pub muted: bool,
}
