//! The measures that are exported for each call path: a few numbers that all tools can show.

use profile::{
    CallTree, Profile, SampleType,
    model::{Mode, Unit},
};

/// A measure of a call path. Values are the path's own, without those of its callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Number of calls.
    Calls,
    /// Running time, without waiting time and without the overhead of probes.
    SelfTime,
    /// Waiting time.
    Waiting,
    /// CPU time, as a sampler measured it.
    Cpu,
    /// Number of exceptions that left the path.
    Exceptions,
    /// Number of samples.
    Samples,
    /// Bytes that were allocated.
    Bytes,
}

impl Measure {
    /// All measures.
    pub const ALL: [Self; 7] =
        [Self::Calls, Self::SelfTime, Self::Waiting, Self::Cpu, Self::Exceptions, Self::Samples, Self::Bytes];

    /// Returns the name of the measure.
    pub fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::SelfTime => "self",
            Self::Waiting => "waiting",
            Self::Cpu => "cpu",
            Self::Exceptions => "exceptions",
            Self::Samples => "samples",
            Self::Bytes => "bytes",
        }
    }

    /// Returns the measure with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Returns the column of rows that shows the measure.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::SelfTime => "self_ns",
            Self::Waiting => "waiting_ns",
            Self::Cpu => "cpu_ns",
            other => other.name(),
        }
    }

    /// Returns the name and the unit that pprof has for the measure.
    pub(crate) fn in_pprof(self) -> (&'static str, &'static str) {
        match self {
            Self::Bytes => ("alloc_space", "bytes"),
            _ if self.is_time() => (self.name(), "nanoseconds"),
            _ => (self.name(), "count"),
        }
    }

    /// Returns whether the measure is a time in nanoseconds.
    pub fn is_time(self) -> bool {
        matches!(self, Self::SelfTime | Self::Waiting | Self::Cpu)
    }

    /// Returns whether a profile has the measure.
    pub(crate) fn is_in(self, profile: &Profile) -> bool {
        match self {
            Self::Calls => profile.mode.has_calls(),
            Self::SelfTime => profile.mode != Mode::Count,
            Self::Waiting => profile.sum(SampleType::WAITING) > 0,
            Self::Cpu => profile.sum(SampleType::CPU) > 0,
            Self::Exceptions => profile.sum(SampleType::EXCEPTIONS) > 0,
            Self::Samples => profile.mode.has_samples(),
            Self::Bytes => profile.has(SampleType::ALLOCATED),
        }
    }

    /// Returns the measures that a profile has.
    pub(crate) fn of_profile(profile: &Profile) -> Vec<Self> {
        Self::ALL.into_iter().filter(|measure| measure.is_in(profile)).collect()
    }

    /// Returns the measure for each node of a tree; never negative.
    pub(crate) fn values(self, profile: &Profile, tree: &CallTree) -> Vec<i64> {
        let list = |sample_type| in_nanoseconds(profile, tree, sample_type);
        let values = match self {
            Self::Calls => list(SampleType::CALLS),
            Self::Waiting => list(SampleType::WAITING),
            Self::Cpu => list(SampleType::CPU),
            Self::Exceptions => list(SampleType::EXCEPTIONS),
            Self::Samples => list(SampleType::SAMPLES),
            Self::Bytes => list(SampleType::ALLOCATED),
            Self::SelfTime => {
                let others = list(SampleType::WAITING).into_iter().zip(list(SampleType::PROBES));
                let wall = list(SampleType::WALL).into_iter();
                wall.zip(others).map(|(wall, (waiting, probes))| wall.saturating_sub(waiting).saturating_sub(probes)).collect()
            }
        };
        values.into_iter().map(|value| value.max(0)).collect()
    }
}

/// Returns the values of a sample type for each node. Times are in nanoseconds; values are 0 where the type was not measured.
pub(crate) fn in_nanoseconds(profile: &Profile, tree: &CallTree, sample_type: SampleType) -> Vec<i64> {
    let flat = profile.flat(tree, sample_type);
    let mut values = match sample_type.unit {
        Unit::Ticks => flat.iter().map(|ticks| nanoseconds(profile, *ticks)).collect(),
        Unit::Count | Unit::Nanoseconds | Unit::Bytes => flat.to_vec(),
    };
    values.resize(tree.nodes.len(), 0);
    values
}

/// Converts ticks to nanoseconds.
pub(crate) fn nanoseconds(profile: &Profile, ticks: i64) -> i64 {
    let nanoseconds = i128::from(ticks) * 1_000_000_000 / i128::from(profile.ticks_per_second.max(1));
    nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
