//! Threads, or groups of consecutive threads that shared a tree.

use std::cmp::Reverse;

use serde::Serialize;

use crate::{
    model::{CallTree, Profile, SampleType, ThreadName},
    report::{percent, running},
    text::counted,
};

/// The most thread names shown for a shared tree.
const NAMES_SHOWN: usize = 3;

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
    /// Its running time in percent of all threads' running time.
    pub running_percent: f64,
    /// Its waiting time.
    pub waiting_ms: f64,
    /// Its CPU time; `None` if it is not known.
    pub cpu_ms: Option<f64>,
    /// Its number of calls.
    pub calls: i64,
}

impl Profile {
    /// Returns the threads, those with the longest running time first. `is_kept` selects functions. If some are not selected,
    /// threads without selected calls are omitted, and so are CPU times, which are of whole threads.
    pub fn thread_rows(&self, is_kept: impl Fn(usize) -> bool) -> Vec<ThreadRow> {
        let kept: Vec<bool> = (0..self.functions.len()).map(is_kept).collect();
        let are_all = kept.iter().all(|is_kept| *is_kept);
        let all = self.running();
        let rows = self.trees.iter().map(|tree| self.thread_row(tree, &kept, all));
        let has_any = |row: &ThreadRow| row.calls > 0 || row.running_ms > 0.0 || row.waiting_ms > 0.0;
        let mut rows: Vec<(i64, ThreadRow)> = rows.filter(|(_, row)| are_all || has_any(row)).collect();
        rows.sort_by_key(|(running, _)| Reverse(*running));
        let cpu = |row: &ThreadRow| row.cpu_ms.filter(|_| are_all);
        rows.into_iter().map(|(_, row)| ThreadRow { cpu_ms: cpu(&row), ..row }).collect()
    }

    fn thread_row(&self, tree: &CallTree, kept: &[bool], all: i64) -> (i64, ThreadRow) {
        let sum = |what| {
            let nodes = tree.nodes.iter().zip(self.flat(tree, what));
            let nodes = nodes.filter(|(node, _)| kept.get(node.function).is_none_or(|is_kept| *is_kept));
            nodes.fold(0_i64, |sum, (_, value)| sum.saturating_add(*value))
        };
        let [wall, waiting, probes] = [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(sum);
        let running = running(wall, waiting, probes).max(0);
        let row = ThreadRow {
            tree: tree.number,
            name: tree.thread_names(),
            threads: tree.threads,
            running_ms: self.milliseconds(running),
            running_percent: percent(running, all),
            waiting_ms: self.milliseconds(waiting),
            cpu_ms: tree.cpu_ns.map(|cpu| cpu as f64 / 1e6),
            calls: sum(SampleType::CALLS),
        };
        (running, row)
    }
}

impl CallTree {
    /// Returns the names of its threads: `Worker (4)`, `thread 7`, `12 threads of tree 3, one after another`.
    pub fn thread_names(&self) -> String {
        // Threads of several processes have no numbers.
        if let Some(thread) = self.names.first().filter(|thread| thread.managed_id == 0) {
            let name = if thread.name.is_empty() { "without a name" } else { &thread.name };
            return format!("{name}, {}", counted(self.threads, "thread"));
        }
        let name = |thread: &ThreadName| match thread.name.as_str() {
            "" => format!("thread {}", thread.managed_id),
            name => format!("{name} ({})", thread.managed_id),
        };
        let mut names: Vec<String> = self.names.iter().take(NAMES_SHOWN).map(name).collect();
        let more = self.threads.saturating_sub(names.len() as u64);
        if names.is_empty() {
            return match self.threads {
                0 | 1 => format!("thread of tree {}", self.number),
                many => format!("{} of tree {}, one after another", counted(many, "thread"), self.number),
            };
        }
        if more > 0 {
            names.push(format!("and {more} more, one after another"));
        }
        names.join(", ")
    }
}
