//! Threads, or groups of consecutive threads that shared a tree.

use std::cmp::Reverse;

use profile::{
    CallTree, Profile, SampleType,
    aggregate::{percent, running},
};
use serde::Serialize;

/// A thread. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// The number of its tree.
    pub tree: u64,
    /// Its name: `Worker (4)`, `thread 7`, `12 threads of tree 3, one after another`.
    pub name: String,
    /// The number of threads.
    pub threads: u64,
    /// Its running time.
    pub running_ms: f64,
    /// Possible error of `running_ms`.
    pub running_uncertainty_ms: f64,
    /// Its running time in percent of all threads' running time.
    pub running_percent: f64,
    /// Its waiting time.
    pub waiting_ms: f64,
    /// Its CPU time; `None` if it is not known.
    pub cpu_ms: Option<f64>,
    /// Its number of calls.
    pub calls: i64,
    /// Bytes that it allocated in these calls; `None` if they were not counted.
    pub bytes: Option<u64>,
}

/// Returns the threads, those with the longest running time first. `is_kept` selects functions. If some are not selected,
/// threads without selected calls are omitted, and so are CPU times, which are of whole threads.
pub fn threads(profile: &Profile, is_kept: impl Fn(usize) -> bool) -> Vec<ThreadRow> {
    let kept: Vec<bool> = (0..profile.functions.len()).map(is_kept).collect();
    let are_all = kept.iter().all(|is_kept| *is_kept);
    let all = profile.running();
    let rows = profile.trees.iter().map(|tree| thread_row(profile, tree, &kept, all));
    let has_any = |row: &ThreadRow| row.calls > 0 || row.running_ms > 0.0 || row.waiting_ms > 0.0;
    let mut rows: Vec<(i64, ThreadRow)> = rows.filter(|(_, row)| are_all || has_any(row)).collect();
    rows.sort_by_key(|(running, _)| Reverse(*running));
    let cpu = |row: &ThreadRow| row.cpu_ms.filter(|_| are_all);
    rows.into_iter().map(|(_, row)| ThreadRow { cpu_ms: cpu(&row), ..row }).collect()
}

fn thread_row(profile: &Profile, tree: &CallTree, kept: &[bool], all: i64) -> (i64, ThreadRow) {
    let sum = |what| {
        let nodes = tree.nodes.iter().zip(profile.flat(tree, what));
        let nodes = nodes.filter(|(node, _)| kept.get(node.function).is_none_or(|is_kept| *is_kept));
        nodes.fold(0_i64, |sum, (_, value)| sum.saturating_add(*value))
    };
    let [wall, waiting, probes] = [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(sum);
    let running = running(wall, waiting, probes).max(0);
    let row = ThreadRow {
        tree: tree.number,
        name: tree.thread_names(),
        threads: tree.threads,
        running_ms: profile.milliseconds(running),
        running_uncertainty_ms: profile.milliseconds(sum(SampleType::UNCERTAINTY)),
        running_percent: percent(running, all),
        waiting_ms: profile.milliseconds(waiting),
        cpu_ms: tree.cpu_ns.map(|cpu| cpu as f64 / 1e6),
        calls: sum(SampleType::CALLS),
        bytes: profile.has(SampleType::ALLOCATED).then(|| sum(SampleType::ALLOCATED).max(0) as u64),
    };
    (running, row)
}
