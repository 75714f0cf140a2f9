//! A row of the table of functions.

use serde::Serialize;

/// A function in the table. Times are in milliseconds, without the overhead of probes. *Running* time is thread time without the
/// time in blocking calls.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'p> {
    /// The function: an index into the profile's functions.
    #[serde(skip)]
    pub function: usize,
    /// Its display name.
    pub name: String,
    /// Its name in metadata: `Namespace.Type::Method`; `None` if the program could not determine it.
    pub raw_name: Option<String>,
    /// The namespace of its type; empty if the type has none, `None` if the name is not known.
    pub namespace: Option<&'p str>,
    /// Its type's name in source form; `None` if the name is not known.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The types of its parameters; `None` without its assembly.
    pub parameters: Option<&'p str>,
    /// The source file of its beginning, from the PDB; `None` without a PDB.
    pub file: Option<&'p str>,
    /// The line of its beginning, from 1.
    pub line: Option<u32>,
    /// Its token in its module.
    pub token: String,
    /// The full name of its assembly.
    pub assembly: Option<&'p str>,
    /// Its module's version identifier, in hex.
    pub mvid: Option<String>,
    /// Number of times that it was entered.
    pub calls: u64,
    /// Number of times that it was left.
    pub leaves: u64,
    /// Number of calls that were open when the profile was written.
    pub open: u64,
    /// Running time in the function alone.
    pub self_ms: f64,
    /// Possible error of `self_ms`: the variation of the subtracted overhead between places. 0 if nothing was subtracted.
    pub self_uncertainty_ms: f64,
    /// Running time in the function and its callees.
    pub total_ms: f64,
    /// Possible error of `total_ms`: the sum over the function and its callees.
    pub total_uncertainty_ms: f64,
    /// Waiting time in the function and its callees.
    pub waiting_ms: f64,
    /// Running and waiting time per call; for an async method `latency_ms`.
    pub average_ms: f64,
    /// `self_ms` in percent of the profile's running time.
    pub self_percent: f64,
    /// `total_ms` in percent of the profile's running time.
    pub total_percent: f64,
    /// Time of the first call, including compiling and loading. The longest of several paths.
    pub first_ms: Option<f64>,
    /// Time of the shortest later call. In a part of a run, as precise as percentiles.
    pub min_ms: Option<f64>,
    /// Median time of later calls: 50 % of them took at most this long. Precise to
    /// [`HISTOGRAM_ERROR_PERCENT`](crate::statistics::HISTOGRAM_ERROR_PERCENT), as are the next two.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// Time of the longest later call; precise as `min_ms`.
    pub max_ms: Option<f64>,
    /// Whether it is a blocking call.
    pub waits: bool,
    /// Whether it is an async method: `first` to `max` are then times from start to completion.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Async methods: time from start to completion, per completed call.
    pub latency_ms: Option<f64>,
    /// Async methods: the 95th percentile of the time from start to completion.
    #[serde(rename = "latencyP95Ms")]
    pub latency_p95_ms: Option<f64>,
    /// Async methods: time of the steps, callees included.
    pub steps_ms: Option<f64>,
    /// Async methods: suspended time, summed over all calls.
    pub awaiting_ms: Option<f64>,
    /// Async methods: number of calls that ended by an exception or a cancellation.
    pub faulted: Option<u64>,
    /// Async methods: number of calls that have not completed.
    pub pending: Option<u64>,
    /// Number of exceptions that left the function.
    pub exceptions: u64,
    /// The type of one of these exceptions.
    pub exception_type: Option<&'p str>,
    /// CPU time in the function alone, as a sampler measured it.
    pub cpu_ms: Option<f64>,
    /// Number of samples.
    pub samples: Option<u64>,
    /// Bytes that the function alone allocated; `None` if they were not counted.
    pub self_bytes: Option<u64>,
    /// Bytes that the function and its callees allocated.
    pub total_bytes: Option<u64>,
    /// Whether more than half of the measured time in the function alone was overhead of probes.
    pub mostly_probe: bool,
    /// Number of calls that were counted, but not timed. Except with `is_runtime_async`, they took less than
    /// `ILINST_COUNT_BELOW`, and their time is part of their callers'.
    pub counted: u64,
    /// Whether calls were not timed because the runtime suspends the function (runtime-async). Their time is then in no row.
    #[serde(skip)]
    pub is_runtime_async: bool,
}

impl Row<'_> {
    /// Returns whether none of its time is known, as all of its calls were only counted.
    pub fn is_counted(&self) -> bool {
        self.counted > 0 && self.counted >= self.calls
    }
}
