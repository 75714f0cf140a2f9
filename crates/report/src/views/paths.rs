//! Call paths: the nodes of a tree with self and total values.

use profile::{
    CallTree, Profile, SampleType,
    aggregate::{percent, running},
    rows::{Metric, Ranked, SortBy},
};
use serde::Serialize;

use super::site::{Site, site};

/// A node of a call tree. Times are in milliseconds, and have the meaning of those in [`Row`](profile::rows::Row).
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathRow<'n> {
    /// Its index in the list.
    pub id: usize,
    /// The index of its caller, which precedes it; `None` if no measured function called it.
    pub caller: Option<usize>,
    /// The number of its tree, if trees are separate.
    pub tree: Option<u64>,
    /// The number of its callers.
    pub depth: usize,
    /// Its function: an index into the profile's functions.
    #[serde(skip)]
    pub function: usize,
    /// The method's display name.
    pub name: &'n str,
    /// The place of the method.
    #[serde(flatten)]
    pub site: Site<'n>,
    /// Number of times that it was entered on this path.
    pub calls: i64,
    /// Number of calls that were open when the profile was written.
    pub open: i64,
    /// Running time in the method alone.
    pub self_ms: f64,
    /// Possible error of `self_ms`.
    pub self_uncertainty_ms: f64,
    /// Running time in the method and its callees.
    pub total_ms: f64,
    /// Possible error of `total_ms`.
    pub total_uncertainty_ms: f64,
    /// `self_ms` in percent of the profile's running time.
    pub self_percent: f64,
    /// `total_ms` in percent of the profile's running time.
    pub total_percent: f64,
    /// Waiting time in the method alone.
    pub self_waiting_ms: f64,
    /// Waiting time in the method and its callees.
    pub waiting_ms: f64,
    /// Running and waiting time per call; for an async method, time from start to completion per completed call.
    pub average_ms: f64,
    /// Number of exceptions that left it.
    pub exceptions: i64,
    /// CPU time in the method alone, as a sampler measured it.
    pub cpu_ms: Option<f64>,
    /// Number of samples.
    pub samples: Option<i64>,
    /// Bytes that the method alone allocated on this path; `None` if they were not counted.
    pub self_bytes: Option<u64>,
    /// Bytes that the method and its callees allocated.
    pub total_bytes: Option<u64>,
    /// Async methods: time from start to completion, summed over completed calls.
    pub latency_ms: Option<f64>,
    /// Async methods: the suspended part of `latency_ms`.
    pub awaiting_ms: Option<f64>,
    /// Whether it is a blocking call.
    pub waits: bool,
    /// Whether it stands for all calls of its method beyond the limit of nodes.
    pub overflow: bool,
    /// Number of calls that were counted, but not timed: their time is part of the caller's.
    pub counted: i64,
}

impl PathRow<'_> {
    /// Returns whether none of its own time is known, as all of it is part of its caller's.
    pub fn is_counted(&self) -> bool {
        self.counted > 0 && self.counted >= self.calls
    }
}

impl Ranked for PathRow<'_> {
    fn name(&self) -> &str {
        self.name
    }

    /// Returns a metric. The time of a path is running plus waiting time; metrics of single calls are not known for paths.
    fn metric(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::SelfTime | Metric::Total => Some(self.total_ms + self.waiting_ms),
            Metric::Waiting => Some(self.waiting_ms),
            Metric::Calls => Some(self.calls as f64),
            Metric::Average | Metric::P95 | Metric::Max => Some(self.average_ms),
            Metric::Exceptions => Some(self.exceptions as f64),
            Metric::Cpu => self.cpu_ms,
            Metric::Bytes | Metric::TotalBytes => self.total_bytes.map(|bytes| bytes as f64),
        }
    }
}

/// Returns the nodes of a tree in its order: callers before their callees. `names` are
/// [`display_names`](Profile::display_names).
pub fn paths<'n>(profile: &'n Profile, tree: &CallTree, names: &'n [String]) -> Vec<PathRow<'n>> {
    use SampleType as S;
    let [wall, waiting, probes] = [S::WALL, S::WAITING, S::PROBES].map(|what| profile.flat(tree, what));
    let [all, all_waiting, all_probes] = [S::WALL, S::WAITING, S::PROBES].map(|what| profile.cumulative(tree, what));
    let [calls, open, exceptions] = [S::CALLS, S::OPEN, S::EXCEPTIONS].map(|what| profile.flat(tree, what));
    let counted = profile.flat(tree, S::COUNTED);
    let [cpu, samples] = [S::CPU, S::SAMPLES].map(|what| profile.flat(tree, what));
    let [latency, completed, steps] = [S::LATENCY, S::COMPLETED, S::STEPS].map(|what| profile.flat(tree, what));
    let (uncertainty, all_uncertainty) = (profile.flat(tree, S::UNCERTAINTY), profile.cumulative(tree, S::UNCERTAINTY));
    let (bytes, all_bytes) = (profile.flat(tree, S::ALLOCATED), profile.cumulative(tree, S::ALLOCATED));
    let counted_bytes = |values: &[i64], id: usize| values.get(id).map(|bytes| (*bytes).max(0) as u64);
    let all_running = profile.running();
    let mut rows: Vec<PathRow<'n>> = Vec::with_capacity(tree.nodes.len());
    for (id, node) in tree.nodes.iter().enumerate() {
        let function = profile.functions.get(node.function);
        let notes = tree.notes.get(id).copied().unwrap_or_default();
        let own = running(at(wall, id), at(waiting, id), at(probes, id)).max(0);
        let total = running(at(&all, id), at(&all_waiting, id), at(&all_probes, id)).max(0);
        let (calls, completed, latency) = (at(calls, id), at(completed, id), at(latency, id));
        let elapsed = total.saturating_add(at(&all_waiting, id));
        let is_timed = notes.is_async && completed > 0;
        let (time, by) = if is_timed { (latency, completed) } else { (elapsed, calls) };
        rows.push(PathRow {
            id,
            caller: node.caller,
            tree: None,
            depth: node.caller.and_then(|caller| rows.get(caller)).map_or(0, |caller| caller.depth + 1),
            function: node.function,
            name: names.get(node.function).map_or("", String::as_str),
            site: site(profile, function),
            calls,
            open: at(open, id),
            self_ms: profile.milliseconds(own),
            self_uncertainty_ms: profile.milliseconds(at(uncertainty, id)),
            total_ms: profile.milliseconds(total),
            total_uncertainty_ms: profile.milliseconds(at(&all_uncertainty, id)),
            self_percent: percent(own, all_running),
            total_percent: percent(total, all_running),
            self_waiting_ms: profile.milliseconds(at(waiting, id)),
            waiting_ms: profile.milliseconds(at(&all_waiting, id)),
            average_ms: profile.milliseconds(time) / by.max(1) as f64,
            exceptions: at(exceptions, id),
            cpu_ms: (!cpu.is_empty() && profile.mode.has_samples()).then(|| at(cpu, id) as f64 / 1e6),
            samples: profile.mode.has_samples().then(|| at(samples, id)),
            self_bytes: counted_bytes(bytes, id),
            total_bytes: counted_bytes(&all_bytes, id),
            latency_ms: is_timed.then(|| profile.milliseconds(latency)),
            awaiting_ms: is_timed.then(|| profile.milliseconds(latency.saturating_sub(at(steps, id)).max(0))),
            waits: function.is_some_and(|function| function.method_id.waits()),
            overflow: notes.is_overflow,
            counted: at(counted, id),
        });
    }
    rows
}

/// Returns the rows of [`paths`] in reading order, with new indexes. A row is followed by its callees, largest
/// first by the sort order's metric or else by time. A row that `is_kept` refuses is omitted with all rows below it.
pub fn in_tree_order<'n>(rows: &[PathRow<'n>], sort: SortBy, is_kept: impl Fn(&PathRow<'n>) -> bool) -> Vec<PathRow<'n>> {
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); rows.len() + 1];
    for row in rows.iter().filter(|row| is_kept(row)) {
        callees[row.caller.map_or(0, |caller| caller + 1)].push(row.id);
    }
    let mut ordered: Vec<PathRow<'n>> = Vec::new();
    // An explicit stack, since recursion in the program makes paths of any depth.
    let mut stack: Vec<(usize, Option<usize>)> = Vec::new();
    let mut place = 0;
    let mut caller = None;
    loop {
        let list = &mut callees[place];
        // The stack returns the last one first.
        list.reverse();
        list.sort_by(|one, other| {
            let (one, other) = (&rows[*one], &rows[*other]);
            let by_name = if sort == SortBy::Name { other.name.cmp(one.name) } else { std::cmp::Ordering::Equal };
            one.key(sort).total_cmp(&other.key(sort)).then(by_name)
        });
        stack.extend(list.iter().map(|id| (*id, caller)));
        let Some((id, of)) = stack.pop() else { return ordered };
        ordered.push(PathRow { id: ordered.len(), caller: of, ..rows[id].clone() });
        (place, caller) = (id + 1, Some(ordered.len() - 1));
    }
}

/// Returns the path with the most time. It begins at the largest row and continues to the largest callee, while that callee
/// has more than its caller's own time. `by` chooses the metric: waiting time, calls or CPU time; otherwise time.
pub fn hot_path<'n>(rows: &[PathRow<'n>], by: SortBy) -> Vec<PathRow<'n>> {
    let own = |row: &PathRow<'n>| match by {
        SortBy::Waiting => row.self_waiting_ms,
        SortBy::SelfTime | SortBy::Total => row.self_ms + row.self_waiting_ms,
        SortBy::Bytes | SortBy::TotalBytes => row.self_bytes.unwrap_or_default() as f64,
        _ => row.self_ms,
    };
    let mut hottest: Vec<Option<usize>> = vec![None; rows.len() + 1];
    for row in rows {
        let best = &mut hottest[row.caller.map_or(0, |caller| caller + 1)];
        if row.key(by) > best.and_then(|best| rows.get(best)).map_or(0.0, |best| best.key(by)) {
            *best = Some(row.id);
        }
    }
    let mut path: Vec<PathRow<'n>> = Vec::new();
    let mut next = hottest[0];
    while let Some(row) = next.and_then(|id| rows.get(id)) {
        if path.last().is_some_and(|caller| own(caller) > row.key(by)) {
            break;
        }
        next = hottest[row.id + 1];
        path.push(PathRow { id: path.len(), caller: path.len().checked_sub(1), ..row.clone() });
    }
    path
}

fn at(values: &[i64], index: usize) -> i64 {
    values.get(index).copied().unwrap_or_default()
}
