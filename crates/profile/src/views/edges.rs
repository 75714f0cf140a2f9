//! Who calls a method, and whom it calls.

use serde::Serialize;

use super::Site;
use crate::{
    metric::{Metric, Ranked, rank},
    model::{Profile, SampleType},
    report::{SortBy, percent, running},
};

/// What a method is to the one asked about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Relation {
    /// It calls it.
    Caller,
    /// It is called by it.
    Callee,
}

/// A caller of a method, or a callee. Times are in milliseconds, and of these calls alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EdgeRow<'n> {
    /// The method asked about.
    pub method: &'n str,
    /// What the other is to it.
    pub relation: Relation,
    /// Which: an index into the profile's functions; none for calls by nobody that was measured.
    #[serde(skip)]
    pub function: Option<usize>,
    /// The other's name; `(not measured)` for calls by nobody that was.
    pub name: &'n str,
    /// Where the other is.
    #[serde(flatten)]
    pub site: Site<'n>,
    /// How often the one called the other.
    pub calls: i64,
    /// Running in what was called, and its callees.
    pub total_ms: f64,
    /// The same in percent of the method's own total.
    pub total_percent: f64,
    /// Waiting in what was called, and its callees.
    pub waiting_ms: f64,
}

/// What is added up of an edge.
#[derive(Clone, Copy, Default)]
struct Sums {
    calls: i64,
    running: i64,
    waiting: i64,
    /// How many calls along it are open on the present path: what is called within one is in its time.
    open: usize,
    is_met: bool,
}

impl Profile {
    /// The callers of a function, then its callees; each the one with the most time, or the most of what it is sorted by,
    /// first. `names` are [`display_names`](Self::display_names).
    pub fn edges<'n>(&'n self, function: usize, sort: SortBy, names: &'n [String]) -> Vec<EdgeRow<'n>> {
        // The last one is for nobody.
        let mut callers = vec![Sums::default(); self.functions.len() + 1];
        let mut callees = callers.clone();
        let mut of_method = Sums::default();
        let nobody = self.functions.len();
        for tree in &self.trees {
            let [wall, waiting, probes] =
                [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(|what| self.cumulative(tree, what));
            let calls = self.flat(tree, SampleType::CALLS);
            let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default();
            tree.walk(|index, is_entered| {
                let Some(node) = tree.nodes.get(index) else { return };
                let caller = node.caller.and_then(|caller| tree.nodes.get(caller)).map_or(nobody, |caller| caller.function);
                let is_callee = caller == function;
                if node.function != function && !is_callee {
                    return;
                }
                let time = running(at(&wall, index), at(&waiting, index), at(&probes, index));
                let own = (node.function == function).then_some(&mut of_method);
                let from = (node.function == function).then(|| callers.get_mut(caller)).flatten();
                let to = is_callee.then(|| callees.get_mut(node.function)).flatten();
                for sums in [own, from, to].into_iter().flatten() {
                    sums.step(is_entered, at(calls, index), time, at(&waiting, index));
                }
            });
        }
        let rows = |all: Vec<Sums>, relation| {
            let met = all.into_iter().enumerate().filter(|(_, sums)| sums.is_met);
            let mut rows: Vec<EdgeRow<'n>> =
                met.map(|(other, sums)| self.edge(function, other, relation, sums, of_method.running, names)).collect();
            rank(&mut rows, sort);
            rows
        };
        let mut edges = rows(callers, Relation::Caller);
        edges.extend(rows(callees, Relation::Callee));
        edges
    }

    fn edge<'n>(
        &'n self,
        method: usize,
        other: usize,
        relation: Relation,
        sums: Sums,
        of: i64,
        names: &'n [String],
    ) -> EdgeRow<'n> {
        let function = self.functions.get(other);
        EdgeRow {
            method: names.get(method).map_or("", String::as_str),
            relation,
            function: function.map(|_| other),
            name: names.get(other).map_or("(not measured)", String::as_str),
            site: self.site(function),
            calls: sums.calls,
            total_ms: self.milliseconds(sums.running.max(0)),
            total_percent: percent(sums.running.max(0), of),
            waiting_ms: self.milliseconds(sums.waiting),
        }
    }
}

impl Sums {
    fn step(&mut self, is_entered: bool, calls: i64, running: i64, waiting: i64) {
        if !is_entered {
            self.open -= 1;
            return;
        }
        self.is_met = true;
        self.calls = self.calls.saturating_add(calls);
        if self.open == 0 {
            self.running = self.running.saturating_add(running);
            self.waiting = self.waiting.saturating_add(waiting);
        }
        self.open += 1;
    }
}

impl Ranked for EdgeRow<'_> {
    fn name(&self) -> &str {
        self.name
    }

    /// Of what is not known of single edges, it is their time.
    fn metric(&self, metric: Metric) -> Option<f64> {
        let elapsed = self.total_ms + self.waiting_ms;
        Some(match metric {
            Metric::Waiting => self.waiting_ms,
            Metric::Calls => self.calls as f64,
            Metric::Average => elapsed / self.calls.max(1) as f64,
            _ => elapsed,
        })
    }
}
