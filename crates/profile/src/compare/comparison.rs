//! The comparison, and its verdict on each method.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;

use super::{
    change::{Change, Distributions, Test, median},
    counted::{as_counted, counted_methods},
    matching::Matching,
    method::{MethodChange, Verdict},
};
use crate::{
    metric::{Metric, MetricUnit, SortBy},
    model::{Profile, SampleType},
};

/// The thresholds of a comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CompareOptions {
    /// The metric that decides whether a method is slower.
    pub by: Metric,
    /// The least change in percent that counts. `None`: 5, or 10 if a side has one run.
    pub threshold_percent: Option<f64>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { by: Metric::SelfTime, threshold_percent: None }
    }
}

/// The least change of a time that counts, as a part of the program's running time.
pub const LEAST_SHARE: f64 = 0.001;

/// Two sides of runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The number of runs of the base.
    pub base_runs: usize,
    /// The number of new runs.
    pub new_runs: usize,
    /// The test that tells changes from noise.
    pub test: Test,
    /// The least change in percent that counts.
    pub threshold_percent: f64,
    /// The metric that decides whether a method is slower.
    pub by: &'static str,
    /// The options that set the modes of measurement of all runs, each once.
    pub modes: Vec<&'static str>,
    /// Changes of the whole program, in ms: `running`, `waiting`, `elapsed`, and `cpu` if known.
    pub program: IndexMap<&'static str, Change>,
    /// The methods, those with the largest change of the deciding metric first.
    pub methods: Vec<MethodChange>,
    /// The methods that [`retain`](Self::retain) removed. Paths may still mention them.
    #[serde(skip)]
    pub(super) others: Vec<MethodChange>,
    /// By profile and function: an index into `methods` followed by `others`. Profiles of the base come first.
    #[serde(skip)]
    pub(super) method_of: Vec<Vec<usize>>,
    /// By profile and function: whether some run only counted the method's calls.
    #[serde(skip)]
    pub(super) counted: Vec<Vec<bool>>,
}

/// The compared numbers of the whole program.
const PROGRAM: [(&str, MetricUnit, OfProgram); 5] = [
    ("running", MetricUnit::Milliseconds, |profile| {
        Metric::SelfTime.is_of(profile).then(|| profile.milliseconds(profile.running()))
    }),
    ("waiting", MetricUnit::Milliseconds, |profile| {
        Metric::Waiting.is_of(profile).then(|| profile.milliseconds(profile.sum(SampleType::WAITING)))
    }),
    ("elapsed", MetricUnit::Milliseconds, |profile| Some(profile.milliseconds(profile.duration))),
    ("cpu", MetricUnit::Milliseconds, |profile| profile.cpu_ns.map(|cpu| cpu as f64 / 1e6)),
    ("bytes", MetricUnit::Bytes, |profile| Metric::Bytes.is_of(profile).then(|| profile.sum(SampleType::ALLOCATED) as f64)),
];
type OfProgram = fn(&Profile) -> Option<f64>;

/// Returns the names of the compared numbers of the whole program.
pub fn numbers_of_program() -> impl Iterator<Item = &'static str> {
    PROGRAM.iter().map(|(name, ..)| *name)
}

/// Returns the unit of a number of the whole program.
pub fn unit_of_program(name: &str) -> MetricUnit {
    PROGRAM.iter().find(|(known, ..)| *known == name).map_or(MetricUnit::Milliseconds, |(_, unit, _)| *unit)
}

/// By method, metric and run: the value, if known.
type Values = Vec<Vec<Vec<Option<f64>>>>;

fn values(profiles: &[&Profile], method_of: &[Vec<usize>], methods: usize) -> Values {
    let mut values: Values = vec![vec![vec![None; profiles.len()]; Metric::ALL.len()]; methods];
    for (run, profile) in profiles.iter().enumerate() {
        for row in profile.rows(SortBy::Name) {
            let method = method_of.get(run).and_then(|of| of.get(row.function)).copied();
            let Some(of_method) = method.and_then(|method| values.get_mut(method)) else { continue };
            for (metric, of_metric) in Metric::ALL.iter().zip(of_method).filter(|(metric, _)| metric.is_of(profile)) {
                let sum = &mut of_metric[run];
                *sum = match (*sum, metric.value(&row)) {
                    (Some(one), Some(other)) => Some(metric.fold()(one, other)),
                    (one, other) => one.or(other),
                };
            }
        }
    }
    values
}

impl Comparison {
    /// Compares runs.
    pub fn new(base: &[Profile], new: &[Profile], options: &CompareOptions) -> Self {
        let test = Test::new(base.len(), new.len());
        let threshold_percent = options.threshold_percent.unwrap_or(if test == Test::Threshold { 10.0 } else { 5.0 });
        let profiles: Vec<&Profile> = base.iter().chain(new).collect();
        let Matching { methods, mut method_of } = Matching::new(&profiles);
        let counted = counted_methods(&profiles, &method_of, methods.len());
        let profiles: Vec<Cow<'_, Profile>> =
            profiles.iter().zip(&counted).map(|(profile, counted)| as_counted(profile, counted)).collect();
        let profiles: Vec<&Profile> = profiles.iter().map(AsRef::as_ref).collect();
        let running: Vec<f64> = profiles.iter().map(|profile| profile.milliseconds(profile.running())).collect();
        let least_ms = LEAST_SHARE * median(&running);
        let mut values = values(&profiles, &method_of, methods.len());
        let mut distributions = Distributions::default();
        let mut compare = |values: &[Option<f64>], unit: MetricUnit| {
            let least = if unit == MetricUnit::Milliseconds { least_ms } else { 0.0 };
            // Bytes have no noise that a threshold would be for.
            let of_bytes = options.threshold_percent.unwrap_or_default();
            let threshold_percent = if unit == MetricUnit::Bytes { of_bytes } else { threshold_percent };
            let (of_base, of_new) = values.split_at(base.len());
            Change::new([of_base, of_new], (threshold_percent, least), &mut distributions)
        };
        let mut changes: Vec<(usize, MethodChange)> = methods
            .into_iter()
            .zip(&mut values)
            .enumerate()
            .map(|(index, (mut method, values))| {
                let is_known = |side: &[Option<f64>]| side.iter().any(Option::is_some);
                let in_base = values.iter().any(|runs| is_known(&runs[..base.len()]));
                let in_new = values.iter().any(|runs| is_known(&runs[base.len()..]));
                for (metric, values) in Metric::ALL.iter().zip(values) {
                    // A method without calls has sums of zero; its time per call is not known.
                    let is_zero =
                        |value: &Option<f64>, profile: &Profile| metric.is_sum() && value.is_none() && metric.is_of(profile);
                    let missing = values.iter_mut().zip(&profiles).filter(|(value, profile)| is_zero(value, profile));
                    missing.for_each(|(value, _)| *value = Some(0.0));
                    method.metrics.extend(compare(values, metric.unit()).map(|change| (metric.name(), change)));
                }
                let change = method.metric(options.by);
                method.verdict = match (in_base, in_new) {
                    (false, true) => Verdict::New,
                    (true, false) => Verdict::Gone,
                    _ if change.is_some_and(|change| change.counts && change.change > 0.0) => Verdict::Slower,
                    _ if change.is_some_and(|change| change.counts) => Verdict::Faster,
                    _ => Verdict::Same,
                };
                (index, method)
            })
            .filter(|(_, method)| method.metrics.values().any(|change| change.base + change.new > 0.0))
            .collect();
        let weight = |method: &MethodChange| method.metric(options.by).map_or(0.0, |change| change.change.abs());
        changes.sort_by(|(_, one), (_, other)| weight(other).total_cmp(&weight(one)).then_with(|| one.name.cmp(&other.name)));
        let mut places: Vec<usize> = vec![usize::MAX; values.len()];
        changes.iter().enumerate().for_each(|(place, (index, _))| places[*index] = place);
        method_of.iter_mut().flatten().for_each(|method| *method = places.get(*method).copied().unwrap_or(usize::MAX));
        let mut modes: Vec<&str> = profiles.iter().map(|profile| profile.mode.option()).collect();
        modes.sort();
        modes.dedup();
        let program = PROGRAM.iter().filter_map(|(name, unit, value)| {
            let values: Vec<Option<f64>> = profiles.iter().map(|profile| value(profile)).collect();
            Some((*name, compare(&values, *unit)?))
        });
        Self {
            base_runs: base.len(),
            new_runs: new.len(),
            test,
            threshold_percent,
            by: options.by.name(),
            modes,
            program: program.collect(),
            methods: changes.into_iter().map(|(_, method)| method).collect(),
            others: Vec::new(),
            method_of,
            counted,
        }
    }

    /// Keeps only some methods. Of the paths, keeps those to these methods and those below them.
    pub fn retain(&mut self, is_kept: impl Fn(&MethodChange) -> bool) {
        let methods = std::mem::take(&mut self.methods).into_iter().chain(std::mem::take(&mut self.others)).enumerate();
        let (kept, others): (Vec<_>, Vec<_>) = methods.partition(|(_, method)| is_kept(method));
        let mut places = vec![usize::MAX; kept.len() + others.len()];
        kept.iter().chain(&others).enumerate().for_each(|(place, (index, _))| places[*index] = place);
        self.method_of.iter_mut().flatten().for_each(|method| *method = places.get(*method).copied().unwrap_or(usize::MAX));
        self.methods = kept.into_iter().map(|(_, method)| method).collect();
        self.others = others.into_iter().map(|(_, method)| method).collect();
    }

    /// Returns the methods that paths refer to: those of the comparison, then those that [`retain`](Self::retain) removed.
    pub fn methods_of_paths(&self) -> impl Iterator<Item = &MethodChange> {
        self.methods.iter().chain(&self.others)
    }

    /// Returns the methods with a verdict.
    pub fn methods_with(&self, verdict: Verdict) -> impl Iterator<Item = &MethodChange> {
        self.methods.iter().filter(move |method| method.verdict == verdict)
    }
}
