//! Threads, or those one after another that shared a tree.

use std::cmp::Reverse;

use serde::Serialize;

use crate::{
    model::{CallTree, Profile, SampleType, ThreadName},
    report::{percent, running},
    text::counted,
};

/// So many names of threads are shown that shared a tree.
const NAMES_SHOWN: usize = 3;

/// A thread. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// The number of its tree.
    pub tree: u64,
    /// What it is called: `Worker (4)`, `thread 7`, `12 threads of tree 3, one after another`.
    pub name: String,
    /// How many there are.
    pub threads: u64,
    /// How long it ran.
    pub running_ms: f64,
    /// The same in percent of what ran on all threads.
    pub running_percent: f64,
    /// How long it waited.
    pub waiting_ms: f64,
    /// Its CPU time; none if it isn't known.
    pub cpu_ms: Option<f64>,
    /// How many calls there were on it.
    pub calls: i64,
}

impl Profile {
    /// The threads, those that ran the longest first.
    pub fn thread_rows(&self) -> Vec<ThreadRow> {
        let all = self.running();
        let mut rows: Vec<(i64, ThreadRow)> = self.trees.iter().map(|tree| self.thread_row(tree, all)).collect();
        rows.sort_by_key(|(running, _)| Reverse(*running));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn thread_row(&self, tree: &CallTree, all: i64) -> (i64, ThreadRow) {
        let sum = |what| self.flat(tree, what).iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
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
    /// Which threads it is of: `Worker (4)`, `thread 7`, `12 threads of tree 3, one after another`.
    pub fn thread_names(&self) -> String {
        // Of several processes, threads have no numbers.
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
