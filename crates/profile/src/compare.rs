//! What differs between two sides of runs: methods by name and signature, so that two builds compare, and whether a
//! difference is more than noise.

mod identity;
mod test;
mod text;
mod tree;

use indexmap::IndexMap;
use serde::Serialize;

use self::{identity::Matching, test::Distributions};
pub use self::{
    test::{Change, Test},
    tree::PathChange,
};
pub use crate::metric::{Metric, MetricUnit};
use crate::{
    metric::SortBy,
    model::{Profile, SampleType},
};

/// From where on a difference counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CompareOptions {
    /// What says whether a method is slower.
    pub by: Metric,
    /// A change of less than so many percent does not count; none: 5, and 10 where a side has one run.
    pub threshold_percent: Option<f64>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { by: Metric::SelfTime, threshold_percent: None }
    }
}

/// Nor do changes of times that are less than this part of all that ran.
const LEAST_SHARE: f64 = 0.001;

/// What became of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It takes more than it did.
    Slower,
    /// It takes less.
    Faster,
    /// It was called in no run of the base.
    New,
    /// It was called in none of the new runs.
    Gone,
    /// Neither, as far as can be told.
    Same,
}

/// A method on both sides.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MethodChange {
    /// Its name as a person would say it; with the types of its parameters where that tells it from another.
    pub name: String,
    /// Its name in metadata: `Namespace.Type::Method`.
    pub raw_name: Option<String>,
    /// Its type as a person would write it, which its name begins with; none if its name is not known.
    #[serde(skip)]
    pub type_name: Option<String>,
    /// Whether it is a call that waits.
    #[serde(skip)]
    pub waits: bool,
    /// The simple name of its assembly.
    pub assembly: String,
    /// The types of its parameters, if they are known on both sides.
    pub parameters: Option<String>,
    /// Where its source begins in the newest build that has it.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
    /// What became of it.
    pub verdict: Verdict,
    /// By metric, those that are known.
    #[serde(flatten)]
    pub metrics: IndexMap<&'static str, Change>,
}

impl MethodChange {
    /// How a metric changed; none if it is not known.
    pub fn metric(&self, metric: Metric) -> Option<&Change> {
        self.metrics.get(metric.name())
    }
}

/// Two sides of runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// How many runs the base has.
    pub base_runs: usize,
    /// How many are held against it.
    pub new_runs: usize,
    /// How noise is told from change.
    pub test: Test,
    /// A change of less than so many percent does not count.
    pub threshold_percent: f64,
    /// What says whether a method is slower.
    pub by: &'static str,
    /// Of the whole program: `running`, `waiting`, `elapsed`, in ms, and `cpu` where it is known.
    pub program: IndexMap<&'static str, Change>,
    /// Those that changed the most, by what methods are compared by, first.
    pub methods: Vec<MethodChange>,
    /// Those that [`retain`](Self::retain) left out, which paths may have all the same.
    #[serde(skip)]
    others: Vec<MethodChange>,
    /// Which of `methods`, and behind these of `others`, each profile's functions are: the base's profiles, then the new ones.
    #[serde(skip)]
    method_of: Vec<Vec<usize>>,
}

/// What is compared of the whole program, in ms.
const PROGRAM: [(&str, OfProgram); 4] = [
    ("running", |profile| Some(profile.milliseconds(profile.running()))),
    ("waiting", |profile| Some(profile.milliseconds(profile.sum(SampleType::WAITING)))),
    ("elapsed", |profile| Some(profile.milliseconds(profile.duration))),
    ("cpu", |profile| profile.cpu_ns.map(|cpu| cpu as f64 / 1e6)),
];
type OfProgram = fn(&Profile) -> Option<f64>;

/// By method, metric and run: what is known.
type Values = Vec<Vec<Vec<Option<f64>>>>;

fn values(profiles: &[&Profile], method_of: &[Vec<usize>], methods: usize) -> Values {
    let mut values: Values = vec![vec![vec![None; profiles.len()]; Metric::ALL.len()]; methods];
    for (run, profile) in profiles.iter().enumerate() {
        for row in profile.rows(SortBy::Name) {
            let method = method_of.get(run).and_then(|of| of.get(row.function)).copied();
            let Some(of_method) = method.and_then(|method| values.get_mut(method)) else { continue };
            for (metric, of_metric) in Metric::ALL.iter().zip(of_method) {
                let sum = &mut of_metric[run];
                *sum = match (*sum, metric.of(&row)) {
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
        let test = Test::of(base.len(), new.len());
        let threshold_percent = options.threshold_percent.unwrap_or(if test == Test::Threshold { 10.0 } else { 5.0 });
        let profiles: Vec<&Profile> = base.iter().chain(new).collect();
        let Matching { methods, mut method_of } = Matching::of(&profiles);
        let running: Vec<f64> = profiles.iter().map(|profile| profile.milliseconds(profile.running())).collect();
        let least_ms = LEAST_SHARE * test::median(&running);
        let mut values = values(&profiles, &method_of, methods.len());
        let mut distributions = Distributions::default();
        let mut compare = |values: &[Option<f64>], unit: MetricUnit| {
            let least = if unit == MetricUnit::Milliseconds { least_ms } else { 0.0 };
            let (of_base, of_new) = values.split_at(base.len());
            Change::of([of_base, of_new], (threshold_percent, least), &mut distributions)
        };
        let mut changes: Vec<(usize, MethodChange)> = methods
            .into_iter()
            .zip(&mut values)
            .enumerate()
            .map(|(index, (mut method, values))| {
                let called = |side: &[Option<f64>]| side.iter().any(Option::is_some);
                let (in_base, in_new) =
                    values.first().map_or((false, false), |runs| (called(&runs[..base.len()]), called(&runs[base.len()..])));
                for (metric, values) in Metric::ALL.iter().zip(values) {
                    // What was not called took nothing; how long a call takes is not known then.
                    let is_sum =
                        matches!(metric, Metric::SelfTime | Metric::Total | Metric::Waiting | Metric::Calls | Metric::Exceptions);
                    values.iter_mut().filter(|value| is_sum && value.is_none()).for_each(|value| *value = Some(0.0));
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
        let program = PROGRAM.iter().filter_map(|(name, value)| {
            let values: Vec<Option<f64>> = profiles.iter().map(|profile| value(profile)).collect();
            Some((*name, compare(&values, MetricUnit::Milliseconds)?))
        });
        Self {
            base_runs: base.len(),
            new_runs: new.len(),
            test,
            threshold_percent,
            by: options.by.name(),
            program: program.collect(),
            methods: changes.into_iter().map(|(_, method)| method).collect(),
            others: Vec::new(),
            method_of,
        }
    }

    /// Keeps some methods alone; of the paths, those that lead to them, and what they call.
    pub fn retain(&mut self, is_kept: impl Fn(&MethodChange) -> bool) {
        let methods = std::mem::take(&mut self.methods).into_iter().chain(std::mem::take(&mut self.others)).enumerate();
        let (kept, others): (Vec<_>, Vec<_>) = methods.partition(|(_, method)| is_kept(method));
        let mut places = vec![usize::MAX; kept.len() + others.len()];
        kept.iter().chain(&others).enumerate().for_each(|(place, (index, _))| places[*index] = place);
        self.method_of.iter_mut().flatten().for_each(|method| *method = places.get(*method).copied().unwrap_or(usize::MAX));
        self.methods = kept.into_iter().map(|(_, method)| method).collect();
        self.others = others.into_iter().map(|(_, method)| method).collect();
    }

    /// The methods that paths have: those of the comparison, then those that [`retain`](Self::retain) left out.
    pub fn of_paths(&self) -> impl Iterator<Item = &MethodChange> {
        self.methods.iter().chain(&self.others)
    }

    /// The methods of which something became.
    pub fn of(&self, verdict: Verdict) -> impl Iterator<Item = &MethodChange> {
        self.methods.iter().filter(move |method| method.verdict == verdict)
    }

    /// How noise is told from change, in a sentence.
    pub fn how(&self) -> String {
        let (threshold, share) = (self.threshold_percent, LEAST_SHARE * 100.0);
        let size = format!("it is {threshold} % or more, and {share} % of what ran");
        match self.test {
            Test::MannWhitney => {
                format!("a change counts if {size}, and p <= {} by the Mann-Whitney U test, two-sided, of the runs", test::ALPHA)
            }
            Test::Ranges => format!("a change counts if {size}, and no run of one side is among those of the other"),
            Test::Threshold => format!("a change counts if {size}; with one run on a side nothing tells change from noise"),
        }
    }
}
