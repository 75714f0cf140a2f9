//! Callers and callees of methods.

use foldhash::HashMap;
use profile::{
    Profile, SampleType,
    aggregate::{percent, running},
    rows::{Metric, Ranked, SortBy, rank},
};
use serde::Serialize;

use super::site::{Site, site};

/// The relation of a method to the selected one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Relation {
    /// It calls the selected method.
    Caller,
    /// The selected method calls it.
    Callee,
}

/// A caller or callee of a method. Times are in milliseconds, and are those of the calls between the two.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EdgeRow<'n> {
    /// The selected method.
    pub method: &'n str,
    /// The relation of the other method to the selected one.
    pub relation: Relation,
    /// The other method: an index into the profile's functions; `None` for calls from unmeasured code.
    #[serde(skip)]
    pub function: Option<usize>,
    /// The other method's name; `(not measured)` for calls from unmeasured code.
    pub name: &'n str,
    /// The place of the other method.
    #[serde(flatten)]
    pub site: Site<'n>,
    /// The number of calls between the two.
    pub calls: i64,
    /// The number of those that were counted, but not timed: their time is part of the caller's.
    pub counted: i64,
    /// Running time in the called method and its callees.
    pub total_ms: f64,
    /// Possible error of `total_ms`.
    pub total_uncertainty_ms: f64,
    /// `total_ms` in percent of the selected method's total.
    pub total_percent: f64,
    /// Waiting time in the called method and its callees.
    pub waiting_ms: f64,
    /// Bytes that the called method and its callees allocated; `None` if they were not counted.
    pub total_bytes: Option<u64>,
}

impl EdgeRow<'_> {
    /// Returns whether none of these calls was timed.
    pub fn is_counted(&self) -> bool {
        self.counted > 0 && self.counted >= self.calls
    }
}

/// The sums of an edge.
#[derive(Clone, Copy, Default)]
struct Sums {
    calls: i64,
    counted: i64,
    running: i64,
    uncertainty: i64,
    waiting: i64,
    bytes: i64,
    /// The number of open calls of this edge on the current path. The time of the outermost one includes those nested in it.
    open: usize,
}

/// The edges of a profile: the sums of each function, and of each pair of caller and callee.
struct Edges {
    of_functions: Vec<Sums>,
    /// By caller and callee.
    between: HashMap<(usize, usize), Sums>,
}

/// Returns the callers of each function, then its callees, largest first by the sort order's metric or else by time. `names`
/// are [`display_names`](Profile::display_names).
pub fn edges<'n>(profile: &'n Profile, functions: &[usize], sort: SortBy, names: &'n [String]) -> Vec<EdgeRow<'n>> {
    let sums = sum_edges(profile, functions);
    let (mut callers, mut callees): (HashMap<usize, Vec<usize>>, HashMap<usize, Vec<usize>>) = Default::default();
    for (caller, callee) in sums.between.keys() {
        callers.entry(*callee).or_default().push(*caller);
        callees.entry(*caller).or_default().push(*callee);
    }
    let mut edges = Vec::new();
    for function in functions {
        let of = sums.of_functions.get(*function).map_or(0, |sums| sums.running);
        for (relation, others) in [(Relation::Caller, callers.get(function)), (Relation::Callee, callees.get(function))] {
            let row = |other: &usize| {
                let pair = if relation == Relation::Caller { (*other, *function) } else { (*function, *other) };
                let sums = sums.between.get(&pair).copied().unwrap_or_default();
                edge(profile, *function, *other, relation, sums, of, names)
            };
            // Rows of equal rank and name stay in the order of functions.
            let mut others = others.cloned().unwrap_or_default();
            others.sort_unstable();
            let mut rows: Vec<EdgeRow<'n>> = others.iter().map(row).collect();
            rank(&mut rows, sort);
            edges.extend(rows);
        }
    }
    edges
}

/// Sums the edges of all selected functions in one walk over each tree, since a pattern may select every function.
fn sum_edges(profile: &Profile, functions: &[usize]) -> Edges {
    let nobody = profile.functions.len();
    let mut is_asked = vec![false; nobody + 1];
    functions.iter().for_each(|function| is_asked.get_mut(*function).into_iter().for_each(|is_asked| *is_asked = true));
    let mut edges = Edges { of_functions: vec![Sums::default(); nobody], between: HashMap::default() };
    for tree in &profile.trees {
        let [wall, waiting, probes] =
            [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(|what| profile.cumulative(tree, what));
        let [uncertainty, bytes] = [SampleType::UNCERTAINTY, SampleType::ALLOCATED].map(|what| profile.cumulative(tree, what));
        let [calls, counted] = [SampleType::CALLS, SampleType::COUNTED].map(|what| profile.flat(tree, what));
        let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default();
        tree.walk(|index, is_entered| {
            let Some(node) = tree.nodes.get(index) else { return };
            let caller = node.caller.and_then(|caller| tree.nodes.get(caller)).map_or(nobody, |caller| caller.function);
            let [is_callee, is_caller] = [node.function, caller].map(|function| is_asked.get(function) == Some(&true));
            let own = edges.of_functions.get_mut(node.function).filter(|_| is_callee);
            let between = (is_callee || is_caller).then(|| edges.between.entry((caller, node.function)).or_default());
            let time = running(at(&wall, index), at(&waiting, index), at(&probes, index));
            let of_outermost = [time, at(&uncertainty, index), at(&waiting, index), at(&bytes, index)];
            for sums in [own, between].into_iter().flatten() {
                sums.step(is_entered, [at(calls, index), at(counted, index)], of_outermost);
            }
        });
    }
    edges
}

fn edge<'n>(
    profile: &'n Profile,
    method: usize,
    other: usize,
    relation: Relation,
    sums: Sums,
    of: i64,
    names: &'n [String],
) -> EdgeRow<'n> {
    let function = profile.functions.get(other);
    EdgeRow {
        method: names.get(method).map_or("", String::as_str),
        relation,
        function: function.map(|_| other),
        name: names.get(other).map_or("(not measured)", String::as_str),
        site: site(profile, function),
        calls: sums.calls,
        counted: sums.counted,
        total_ms: profile.milliseconds(sums.running.max(0)),
        total_uncertainty_ms: profile.milliseconds(sums.uncertainty),
        total_percent: percent(sums.running.max(0), of),
        waiting_ms: profile.milliseconds(sums.waiting),
        total_bytes: profile.has(SampleType::ALLOCATED).then(|| sums.bytes.max(0) as u64),
    }
}

impl Sums {
    fn step(&mut self, is_entered: bool, [calls, counted]: [i64; 2], [running, uncertainty, waiting, bytes]: [i64; 4]) {
        if !is_entered {
            self.open -= 1;
            return;
        }
        self.calls = self.calls.saturating_add(calls);
        self.counted = self.counted.saturating_add(counted);
        if self.open == 0 {
            self.running = self.running.saturating_add(running);
            self.uncertainty = self.uncertainty.saturating_add(uncertainty);
            self.waiting = self.waiting.saturating_add(waiting);
            self.bytes = self.bytes.saturating_add(bytes);
        }
        self.open += 1;
    }
}

impl Ranked for EdgeRow<'_> {
    fn name(&self) -> &str {
        self.name
    }

    /// Metrics that edges lack are replaced by their time.
    fn metric(&self, metric: Metric) -> Option<f64> {
        let elapsed = self.total_ms + self.waiting_ms;
        Some(match metric {
            Metric::Waiting => self.waiting_ms,
            Metric::Calls => self.calls as f64,
            Metric::Bytes | Metric::TotalBytes => self.total_bytes? as f64,
            Metric::Average => elapsed / self.calls.max(1) as f64,
            _ => elapsed,
        })
    }
}
