//! The metrics of methods for sorting and comparing, each stated once.

use std::str::FromStr;

use crate::{
    model::{Mode, Profile, SampleType},
    row::Row,
};

macro_rules! metrics {
    ($(#[doc = $doc:literal] $(#[$default:meta])? $variant:ident = $name:literal, $unit:ident, $fold:expr, $value:expr;)*) => {
        /// A metric of methods.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Metric { $(#[doc = $doc] $variant,)* }

        /// A sort order: names ascend, metrics descend.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum SortBy {
            $(#[doc = $doc] $(#[$default])? $variant,)*
            /// Name.
            Name,
        }

        impl Metric {
            /// All metrics.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns a short description.
            pub fn help(self) -> &'static str {
                said(match self { $(Self::$variant => $doc,)* })
            }

            /// Returns its unit.
            pub fn unit(self) -> MetricUnit {
                match self { $(Self::$variant => MetricUnit::$unit,)* }
            }

            /// Returns its value for a method; `None` if it is not known.
            pub fn value(self, row: &Row<'_>) -> Option<f64> {
                let value: fn(&Row<'_>) -> Option<f64> = match self { $(Self::$variant => $value,)* };
                value(row)
            }

            /// Returns the function that combines the values of two indistinguishable functions.
            pub(crate) fn fold(self) -> fn(f64, f64) -> f64 {
                match self { $(Self::$variant => $fold,)* }
            }
        }

        impl SortBy {
            /// All sort orders.
            pub const ALL: &[Self] = &[$(Self::$variant,)* Self::Name];

            /// Returns the metric to sort by; `None` for names.
            pub fn metric(self) -> Option<Metric> {
                match self { $(Self::$variant => Some(Metric::$variant),)* Self::Name => None }
            }
        }
    };
}
metrics! {
    /// Running time in the method alone.
    #[default]
    SelfTime = "self", Milliseconds, |one, other| one + other, |row| Some(row.self_ms);
    /// Running time, including callees.
    Total = "total", Milliseconds, |one, other| one + other, |row| Some(row.total_ms);
    /// Waiting time, including callees.
    Waiting = "waiting", Milliseconds, |one, other| one + other, |row| Some(row.waiting_ms);
    /// Number of calls.
    Calls = "calls", Count, |one, other| one + other, |row| Some(row.calls as f64);
    /// Average time of a call.
    Average = "average", Milliseconds, f64::max, |row| (row.calls > 0).then_some(row.average_ms);
    /// The time that 95 % of the calls did not exceed.
    P95 = "p95", Milliseconds, f64::max, |row| row.p95_ms;
    /// Time of the longest call, not counting the first call.
    Max = "max", Milliseconds, f64::max, |row| row.max_ms;
    /// Number of exceptions.
    Exceptions = "exceptions", Count, |one, other| one + other, |row| Some(row.exceptions as f64);
    /// CPU time, if the profile has CPU samples.
    Cpu = "cpu", Milliseconds, |one, other| one + other, |row| row.cpu_ms;
    /// Bytes that the method alone allocated, of runs with --allocations.
    Bytes = "bytes", Bytes, |one, other| one + other, |row| row.self_bytes.map(|bytes| bytes as f64);
    /// Bytes that the method and its callees allocated.
    TotalBytes = "total-bytes", Bytes, |one, other| one + other, |row| row.total_bytes.map(|bytes| bytes as f64);
}

/// The unit of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricUnit {
    /// Thousandths of a second.
    Milliseconds,
    /// Number.
    Count,
    /// Bytes.
    Bytes,
}

impl Metric {
    /// Returns the way to measure the metric, as a sentence without a full stop.
    pub fn measured_by(self) -> &'static str {
        match self {
            Self::SelfTime | Self::Total => "all modes but ILINST_MODE=count measure times",
            Self::Waiting => "ILINST_MODE=count, and --sample without --wall, measure no waiting",
            Self::Calls | Self::Exceptions => "probes count calls and exceptions; --sample does not",
            Self::Average => {
                "probes count and time calls; --sample does not count them, and ILINST_MODE=count does not time them"
            }
            Self::P95 | Self::Max => "single calls are timed by ILINST_MODE=exact, the default, and trace",
            Self::Bytes | Self::TotalBytes => "--allocations counts the bytes that methods allocate (`ilinst run --allocations`)",
            Self::Cpu => "a sampler measures the CPU time of methods (--sample, or ILINST_MODE=sampled)",
        }
    }

    /// Returns whether the metric adds up over calls: a method without calls has 0.
    pub fn is_sum(self) -> bool {
        !matches!(self, Self::Average | Self::P95 | Self::Max | Self::Cpu)
    }

    /// Returns whether a profile can have the metric.
    pub fn is_of(self, profile: &Profile) -> bool {
        let mode = profile.mode;
        match self {
            Self::SelfTime | Self::Total => mode.has_times(),
            Self::Waiting => mode.has_times() && mode != Mode::Cpu,
            Self::Calls | Self::Exceptions => mode.has_calls(),
            Self::Average | Self::P95 | Self::Max => mode.has_times() && mode.has_calls(),
            Self::Cpu => mode.has_samples(),
            Self::Bytes | Self::TotalBytes => profile.has(SampleType::ALLOCATED),
        }
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|metric| metric.name() == name).copied().ok_or_else(|| format!("no metric: {name}"))
    }
}

impl SortBy {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.metric().map_or("name", Metric::name)
    }

    /// Returns a short description.
    pub fn help(self) -> &'static str {
        self.metric().map_or("Name", Metric::help)
    }
}

impl FromStr for SortBy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|sort| sort.name() == name).copied().ok_or_else(|| format!("nothing to sort by: {name}"))
    }
}

/// Returns a doc comment in the form of a help text: without the full stop.
fn said(doc: &str) -> &str {
    doc.trim().trim_end_matches('.')
}

/// A row that can be sorted.
pub trait Ranked {
    /// Returns the name, which orders rows of equal value.
    fn name(&self) -> &str;

    /// Returns the value of a metric; `None` if it is not known.
    fn metric(&self, metric: Metric) -> Option<f64>;

    /// Returns the value to sort by, largest first.
    fn key(&self, sort: SortBy) -> f64 {
        sort.metric().and_then(|metric| self.metric(metric)).unwrap_or_default()
    }
}

/// Sorts rows: the largest first, then by name.
pub fn rank<T: Ranked>(rows: &mut [T], sort: SortBy) {
    rows.sort_by(|one, other| other.key(sort).total_cmp(&one.key(sort)).then_with(|| one.name().cmp(other.name())));
}
