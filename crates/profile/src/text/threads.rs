//! The table of threads.

use std::fmt::Write;

use identity::Visible;

use super::counted;
use crate::{
    model::{CallTree, Profile, SampleType},
    report::{percent, running},
};

/// So many names of threads are shown that shared a tree.
const NAMES_SHOWN: usize = 3;

impl Profile {
    /// The threads as text, or those one after another that shared a tree: how long they ran and waited, and their CPU time.
    pub fn thread_table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{:>12} {:>7} {:>12} {:>12} {:>12}  thread", "running ms", "%", "waiting ms", "CPU ms", "calls");
        let all = self.running();
        let sum = |tree: &CallTree, what| self.flat(tree, what).iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
        let mut trees: Vec<(i64, &CallTree)> = self
            .trees
            .iter()
            .map(|tree| {
                let [wall, waiting, probes] =
                    [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(|what| sum(tree, what));
                (running(wall, waiting, probes).max(0), tree)
            })
            .collect();
        trees.sort_by_key(|(running, _)| std::cmp::Reverse(*running));
        for (running, tree) in trees {
            let cpu = tree.cpu_ns.map(|cpu| format!("{:.3}", cpu as f64 / 1e6)).unwrap_or_default();
            let _ = writeln!(
                text,
                "{:>12.3} {:>7.2} {:>12.3} {cpu:>12} {:>12}  {}",
                self.milliseconds(running),
                percent(running, all),
                self.milliseconds(sum(tree, SampleType::WAITING)),
                sum(tree, SampleType::CALLS),
                Visible(tree.thread_names())
            );
        }
        text
    }
}

impl CallTree {
    /// Which threads it is of: `Worker (4)`, `thread 7`, `tree 3 of 12 threads`.
    pub(super) fn thread_names(&self) -> String {
        let name = |thread: &crate::model::ThreadName| match thread.name.as_str() {
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
