//! A profile for people: what ran, a table of functions, a tree of calls.

use std::fmt::Write;

use identity::Visible;

use crate::{
    aggregate::Callees,
    model::{CallTree, Profile, SampleType},
    report::SortBy,
};

/// How many levels of the call tree are indented; deeper ones say their depth instead, since recursion has no end of them.
const INDENTED_LEVELS: usize = 40;

impl Profile {
    /// What ran, and what is missing of it.
    pub fn head(&self) -> String {
        let (milliseconds, threads) = (self.milliseconds(self.duration), counted(self.threads(), "thread"));
        let (program, runtime, pid) = (Visible(&self.program), Visible(&self.runtime), self.pid);
        let mut text = format!("{program} (process {pid}) on {runtime}: {milliseconds:.1} ms, {threads}, {}\n", self.end);
        if let Some(damage) = &self.damage {
            let _ = writeln!(text, "warning ILI0007: the file is damaged, and what follows is all that it holds: {damage}");
        }
        if self.lost_calls() > 0 {
            let (lost, limit) = (counted(self.lost_calls(), "call"), self.max_nodes);
            let set = "ILINST_MAX_NODES sets another limit";
            let _ =
                writeln!(text, "warning ILI0021: not recorded: {lost}, as the call tree is limited to {limit} call paths; {set}");
        }
        if self.bad_tokens() > 0 {
            let bad = counted(self.bad_tokens(), "token");
            let _ = writeln!(
                text,
                "warning ILI0022: passed over: {bad} of probes, as they are of no call that was open on their thread"
            );
        }
        text
    }

    /// The table as text: `limit` rows at most.
    pub fn table(&self, sort: SortBy, limit: usize) -> String {
        let rows = self.rows(sort);
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{:>12} {:>12} {:>12} {:>12} {:>7} {:>7}  method",
            "calls", "self ms", "total ms", "average ms", "self %", "total %"
        );
        for row in rows.iter().take(limit) {
            let _ = writeln!(
                text,
                "{:>12} {:>12.3} {:>12.3} {:>12.6} {:>7.2} {:>7.2}  {}{}",
                row.calls,
                row.self_ms,
                row.total_ms,
                row.average_ms,
                row.self_percent,
                row.total_percent,
                Visible(&row.name),
                if row.open > 0 { "  (still running)" } else { "" }
            );
        }
        if rows.len() > limit {
            let _ = writeln!(text, "{:>12} and {} methods more; --limit 0 shows all", "", rows.len() - limit);
        }
        text
    }

    /// The call tree as text, all threads in one. Paths that took less than `min_percent` of the run are left out.
    pub fn tree_text(&self, min_percent: f64) -> String {
        let tree = self.merged_tree();
        TreePrinter {
            profile: self,
            names: self.display_names(),
            callees: tree.callees(),
            total: self.cumulative(&tree, SampleType::WALL),
            own: self.flat(&tree, SampleType::WALL),
            calls: self.flat(&tree, SampleType::CALLS),
            tree: &tree,
            min_percent,
        }
        .print()
    }
}

/// `1 thread`, `2 threads`
fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

struct TreePrinter<'t> {
    profile: &'t Profile,
    names: Vec<String>,
    tree: &'t CallTree,
    callees: Callees,
    total: Vec<i64>,
    own: &'t [i64],
    calls: &'t [i64],
    min_percent: f64,
}

impl TreePrinter<'_> {
    fn print(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{:>7} {:>12} {:>12} {:>12}  call tree", "total %", "total ms", "self ms", "calls");
        // A stack of our own: recursion in the program makes paths as deep as it likes.
        let mut stack: Vec<(usize, usize)> = self.sorted_callees(None).into_iter().map(|index| (index, 0)).collect();
        while let Some((index, depth)) = stack.pop() {
            let name = self.tree.nodes.get(index).and_then(|node| self.names.get(node.function)).map_or("", String::as_str);
            let depth_mark = if depth > INDENTED_LEVELS { format!("[{depth}] ") } else { String::new() };
            let total = at(&self.total, index);
            let _ = writeln!(
                text,
                "{:>7.2} {:>12.3} {:>12.3} {:>12}  {:indent$}{depth_mark}{}",
                self.profile.percent(total),
                self.profile.milliseconds(total),
                self.profile.milliseconds(at(self.own, index).max(0)),
                at(self.calls, index),
                "",
                Visible(name),
                indent = depth.min(INDENTED_LEVELS) * 2
            );
            stack.extend(self.sorted_callees(Some(index)).into_iter().map(|callee| (callee, depth + 1)));
        }
        text
    }

    /// The callees of a node that are to be shown, those that took longest last.
    fn sorted_callees(&self, caller: Option<usize>) -> Vec<usize> {
        let callees = self.callees.of(caller).iter().rev().copied();
        let mut shown: Vec<usize> =
            callees.filter(|callee| self.profile.percent(at(&self.total, *callee)) >= self.min_percent).collect();
        shown.sort_by_key(|callee| at(&self.total, *callee));
        shown
    }
}

fn at(values: &[i64], index: usize) -> i64 {
    values.get(index).copied().unwrap_or_default()
}
