//! The columns of a comparison: changes of methods and of the program.

use indexmap::IndexMap;
use names::Visible;
use profile::compare::{Change, Comparison, Metric, Verdict};
use serde::Serialize;

/// The metrics shown on the page.
const METRICS: [Metric; 9] = [
    Metric::SelfTime,
    Metric::Total,
    Metric::Waiting,
    Metric::Calls,
    Metric::Average,
    Metric::P95,
    Metric::Cpu,
    Metric::Bytes,
    Metric::TotalBytes,
];

/// A comparison of two sides.
#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    /// The names of the sides: base, new.
    names: [String; 2],
    runs: [usize; 2],
    by: &'static str,
    program: IndexMap<&'static str, Change>,
    /// The verdict on each method.
    verdicts: Vec<Verdict>,
    /// The change of each method by metric, if known.
    metrics: IndexMap<&'static str, Vec<Option<Change>>>,
}

impl Compared {
    pub(crate) fn new(comparison: &Comparison, names: [&str; 2]) -> Self {
        let methods = &comparison.methods;
        let column = |metric: Metric| -> Vec<Option<Change>> {
            let changes = methods.iter().map(|method| method.metric(metric));
            changes.map(|change| change.map(rounded)).collect()
        };
        Self {
            names: names.map(|name| Visible(name).to_string()),
            runs: [comparison.base_runs, comparison.new_runs],
            by: comparison.by,
            program: comparison.program.clone(),
            verdicts: methods.iter().map(|method| method.verdict).collect(),
            metrics: METRICS
                .iter()
                .map(|metric| (metric.name(), column(*metric)))
                .filter(|(_, all)| all.iter().any(Option::is_some))
                .collect(),
        }
    }
}

/// Rounds a change to the precision that the page shows.
fn rounded(change: &Change) -> Change {
    let round = |value: f64, to: f64| (value * to).round() / to;
    Change {
        base: round(change.base, 1e6),
        new: round(change.new, 1e6),
        change: round(change.change, 1e6),
        change_percent: change.change_percent.map(|percent| round(percent, 1e3)),
        p: change.p.map(|p| round(p, 1e6)),
        ..*change
    }
}
