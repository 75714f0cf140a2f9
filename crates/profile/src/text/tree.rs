//! The call tree as text.

use std::fmt::Write;

use identity::Visible;

use super::short_time;
use crate::{
    aggregate::Callees,
    model::{CallTree, Mode, Profile, SampleType},
    report::{percent, running},
};

/// How many levels of the call tree are indented; deeper ones say their depth instead, since recursion has no end of them.
const INDENTED_LEVELS: usize = 40;

/// How the call tree is shown.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TreeOptions {
    /// Paths are left out that took less than so many percent of all that ran, and of all that waited.
    pub min_percent: f64,
    /// Calls of a method by itself are part of the outermost one.
    pub fold_recursion: bool,
    /// A tree for each thread, or for those that shared one.
    pub by_thread: bool,
}

impl Profile {
    /// The call tree as text, all threads in one unless asked otherwise.
    pub fn tree_text(&self, options: TreeOptions) -> String {
        if self.mode == Mode::Count {
            return "there is no call tree: calls were counted, and no more\n".into();
        }
        let names = self.display_names();
        let mut text = String::new();
        if options.by_thread {
            for tree in &self.trees {
                let _ = writeln!(text, "{}:", Visible(tree.thread_names()));
                text.push_str(&self.one_tree(tree, &names, options));
            }
        } else {
            text.push_str(&self.one_tree(&self.merged_tree(), &names, options));
        }
        text
    }

    fn one_tree(&self, tree: &CallTree, names: &[String], options: TreeOptions) -> String {
        let folded;
        let tree = if options.fold_recursion {
            folded = tree.folded(self.functions.len());
            &folded
        } else {
            tree
        };
        let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default();
        let lists = |own: bool| {
            [SampleType::WALL, SampleType::WAITING, SampleType::PROBES]
                .map(|sample_type| if own { self.flat(tree, sample_type).to_vec() } else { self.cumulative(tree, sample_type) })
        };
        let times = |[wall, waiting, probes]: &[Vec<i64>; 3]| -> Vec<i64> {
            (0..tree.nodes.len()).map(|index| running(at(wall, index), at(waiting, index), at(probes, index)).max(0)).collect()
        };
        let (own, all) = (lists(true), lists(false));
        TreePrinter {
            profile: self,
            names,
            callees: tree.callees(),
            own: times(&own),
            total: times(&all),
            waiting: {
                let [_, waiting, _] = all;
                waiting
            },
            all_running: self.running(),
            all_waiting: self.sum(SampleType::WAITING),
            tree,
            min_percent: options.min_percent,
        }
        .print()
    }
}

struct TreePrinter<'t> {
    profile: &'t Profile,
    names: &'t [String],
    tree: &'t CallTree,
    callees: Callees,
    /// Running, alone and with callees; then waiting with callees.
    own: Vec<i64>,
    total: Vec<i64>,
    waiting: Vec<i64>,
    all_running: i64,
    all_waiting: i64,
    min_percent: f64,
}

impl TreePrinter<'_> {
    fn print(&self) -> String {
        let mut text = String::new();
        let _ = write!(text, "{:>7} {:>12} {:>12}", "total %", "total ms", "self ms");
        if self.all_waiting > 0 {
            let _ = write!(text, " {:>12}", "waiting ms");
        }
        let _ = writeln!(text, " {:>12}  call tree", "calls");
        // A stack of our own: recursion in the program makes paths as deep as it likes.
        let mut stack: Vec<(usize, usize)> = self.sorted_callees(None).into_iter().map(|index| (index, 0)).collect();
        while let Some((index, depth)) = stack.pop() {
            self.print_node(index, depth, &mut text);
            stack.extend(self.sorted_callees(Some(index)).into_iter().map(|callee| (callee, depth + 1)));
        }
        text
    }

    fn print_node(&self, index: usize, depth: usize, text: &mut String) {
        let name = self.tree.nodes.get(index).and_then(|node| self.names.get(node.function)).map_or("", String::as_str);
        let depth_mark = if depth > INDENTED_LEVELS { format!("[{depth}] ") } else { String::new() };
        let (total, own) = (at(&self.total, index), at(&self.own, index));
        let (percent, total) = (percent(total, self.all_running), self.profile.milliseconds(total));
        let _ = write!(text, "{percent:>7.2} {total:>12.3} {:>12.3}", self.profile.milliseconds(own));
        if self.all_waiting > 0 {
            let _ = write!(text, " {:>12.3}", self.profile.milliseconds(at(&self.waiting, index)));
        }
        let calls = at(self.profile.flat(self.tree, SampleType::CALLS), index);
        let indent = depth.min(INDENTED_LEVELS) * 2;
        let _ = writeln!(text, " {calls:>12}  {:indent$}{depth_mark}{}{}", "", Visible(name), self.remarks(index));
    }

    fn remarks(&self, index: usize) -> String {
        let value = |sample_type| at(self.profile.flat(self.tree, sample_type), index);
        let notes = self.tree.notes.get(index).copied().unwrap_or_default();
        let mut text = String::new();
        if self
            .tree
            .nodes
            .get(index)
            .and_then(|node| self.profile.functions.get(node.function))
            .is_some_and(|f| f.method_id.waits())
        {
            text.push_str("  [waits]");
        }
        let (latency, completed) = (value(SampleType::LATENCY), value(SampleType::COMPLETED));
        if notes.is_async && completed > 0 {
            let each = short_time(self.profile.milliseconds(latency) / completed as f64);
            let awaiting = percent(latency.saturating_sub(value(SampleType::STEPS)).max(0), latency);
            let _ = write!(text, "  [async: {each} a call, {awaiting:.0} % of it awaiting]");
        }
        if notes.is_overflow {
            text.push_str("  [on many paths]");
        }
        text
    }

    /// The callees of a node that are to be shown, those that took longest last.
    fn sorted_callees(&self, caller: Option<usize>) -> Vec<usize> {
        let is_shown = |callee: &usize| {
            let (total, waiting) = (at(&self.total, *callee), at(&self.waiting, *callee));
            let latency = at(self.profile.flat(self.tree, SampleType::LATENCY), *callee);
            [(total, self.all_running), (waiting, self.all_waiting), (latency, self.profile.duration)]
                .iter()
                .any(|(time, of)| percent(*time, *of) >= self.min_percent)
        };
        let mut shown: Vec<usize> = self.callees.of(caller).iter().rev().copied().filter(is_shown).collect();
        shown.sort_by_key(|callee| at(&self.total, *callee).saturating_add(at(&self.waiting, *callee)));
        shown
    }
}

fn at(values: &[i64], index: usize) -> i64 {
    values.get(index).copied().unwrap_or_default()
}
