//! Reports for people: a table of methods, a tree of calls.

use std::{collections::HashMap, fmt::Write};

use identity::{MethodId, source_name};
use indexmap::IndexMap;
use serde::Serialize;

use crate::{
    aggregate::{CallTree, by_method, merge},
    format::{MethodName, Profile},
};

/// How many levels of the call tree are indented; deeper ones say their depth instead, since recursion has no end of them.
const INDENTED_LEVELS: usize = 40;

/// What a table can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortBy {
    /// Time in the method alone.
    #[default]
    SelfTime,
    /// Time with callees.
    Total,
    /// Number of calls.
    Calls,
    /// Name.
    Name,
}

/// A method in the table. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its name as a person would say it.
    pub name: String,
    /// Its name in metadata: `Namespace.Type::Method`; none if the program could not tell it.
    pub raw_name: Option<String>,
    /// Its token in its module.
    pub token: String,
    /// The full name of its assembly.
    pub assembly: Option<String>,
    /// Its module's version identifier, in hex.
    pub mvid: Option<String>,
    /// How often it was entered.
    pub calls: u64,
    /// How often it was left.
    pub leaves: u64,
    /// How many calls were open when the profile was written.
    pub open: u64,
    /// Time in it alone.
    pub self_ms: f64,
    /// Time in it and its callees.
    pub total_ms: f64,
    /// Total time by calls.
    pub average_ms: f64,
    /// Its own time, in percent of the run.
    pub self_percent: f64,
    /// Its total time, in percent of the run.
    pub total_percent: f64,
}

impl Profile {
    /// A row for each method that was called.
    pub fn rows(&self, sort: SortBy) -> Vec<Row> {
        let names = self.display_names();
        let wall = self.wall_ticks().max(1) as f64;
        let mut rows: Vec<Row> = by_method(&self.trees)
            .into_iter()
            .map(|(id, totals)| {
                let module = self.modules.iter().find(|module| module.key == MethodId(id).module_key());
                Row {
                    name: names.get(&id).cloned().unwrap_or_else(|| self.fallback_name(id)),
                    raw_name: self.methods.get(&id).map(|name| format!("{}::{}", name.type_name, name.method)),
                    token: token(id),
                    assembly: module.map(|module| module.assembly.clone()),
                    mvid: module.map(|module| module.mvid.iter().map(|byte| format!("{byte:02x}")).collect()),
                    calls: totals.calls,
                    leaves: totals.leaves,
                    open: totals.open,
                    self_ms: self.milliseconds(totals.self_ticks),
                    total_ms: self.milliseconds(totals.total_ticks),
                    average_ms: self.milliseconds(totals.total_ticks) / totals.calls.max(1) as f64,
                    self_percent: totals.self_ticks as f64 * 100.0 / wall,
                    total_percent: totals.total_ticks as f64 * 100.0 / wall,
                }
            })
            .collect();
        rows.sort_by(|one, other| {
            let order = match sort {
                SortBy::SelfTime => other.self_ms.total_cmp(&one.self_ms),
                SortBy::Total => other.total_ms.total_cmp(&one.total_ms),
                SortBy::Calls => other.calls.cmp(&one.calls),
                SortBy::Name => std::cmp::Ordering::Equal,
            };
            order.then_with(|| one.name.cmp(&other.name))
        });
        rows
    }

    /// The names of all methods; where two have the same, their tokens tell them apart, or else their assemblies.
    fn display_names(&self) -> IndexMap<u64, String> {
        let name_of = |(id, name): (&u64, &MethodName)| {
            let source = source_name(&name.type_name, &name.method);
            (*id, source.map_or_else(|| format!("{}::{}", name.type_name, name.method), |source| source.to_string()))
        };
        let mut names = self.methods.iter().map(name_of).collect();
        tell_apart(&mut names, |id| format!(" ({})", token(id)));
        tell_apart(&mut names, |id| {
            let module = self.modules.iter().find(|module| module.key == MethodId(id).module_key());
            let assembly = module.and_then(|module| module.assembly.split(',').next());
            format!(" in {}", assembly.map_or_else(|| format!("{:010x}", MethodId(id).module_key()), str::to_owned))
        });
        names
    }

    /// The name of a method whose name the program could not tell.
    fn fallback_name(&self, id: u64) -> String {
        format!("{:010x}!{}", MethodId(id).module_key(), token(id))
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
                row.name,
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
        let names = self.display_names();
        let tree = merge(&self.trees);
        let printer =
            TreePrinter { profile: self, names, own: tree.self_ticks(), callees: tree.callees(), tree: &tree, min_percent };
        printer.print()
    }
}

/// Adds a mark to names that are not alone.
fn tell_apart(names: &mut IndexMap<u64, String>, mark: impl Fn(u64) -> String) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in names.values() {
        *counts.entry(name.clone()).or_default() += 1;
    }
    for (id, name) in names {
        if counts.get(name.as_str()).is_some_and(|count| *count > 1) {
            name.push_str(&mark(*id));
        }
    }
}

/// `0x06000012`
fn token(id: u64) -> String {
    format!("0x{:08x}", MethodId(id).token())
}

struct TreePrinter<'p> {
    profile: &'p Profile,
    names: IndexMap<u64, String>,
    own: Vec<u64>,
    callees: Vec<Vec<usize>>,
    tree: &'p CallTree,
    min_percent: f64,
}

impl TreePrinter<'_> {
    fn print(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{:>7} {:>12} {:>12} {:>12}  call tree", "total %", "total ms", "self ms", "calls");
        // A stack of our own: recursion in the program makes paths as deep as it likes.
        let mut stack: Vec<(usize, usize)> = self.sorted_callees(0).into_iter().rev().map(|index| (index, 0)).collect();
        while let Some((index, depth)) = stack.pop() {
            let (Some(node), Some(own)) = (self.tree.nodes.get(index), self.own.get(index)) else { continue };
            let name = self.names.get(&node.method_id).cloned().unwrap_or_else(|| self.profile.fallback_name(node.method_id));
            let depth_mark = if depth > INDENTED_LEVELS { format!("[{depth}] ") } else { String::new() };
            let _ = writeln!(
                text,
                "{:>7.2} {:>12.3} {:>12.3} {:>12}  {:indent$}{depth_mark}{name}",
                self.percent(node.total),
                self.profile.milliseconds(node.total),
                self.profile.milliseconds(*own),
                node.calls,
                "",
                indent = depth.min(INDENTED_LEVELS) * 2
            );
            stack.extend(self.sorted_callees(index).into_iter().rev().map(|callee| (callee, depth + 1)));
        }
        text
    }

    fn sorted_callees(&self, index: usize) -> Vec<usize> {
        let total = |index: &usize| self.tree.nodes.get(*index).map_or(0, |node| node.total);
        let mut callees = self.callees.get(index).cloned().unwrap_or_default();
        callees.retain(|callee| self.percent(total(callee)) >= self.min_percent);
        callees.sort_by_key(|callee| std::cmp::Reverse(total(callee)));
        callees
    }

    fn percent(&self, ticks: u64) -> f64 {
        ticks as f64 * 100.0 / self.profile.wall_ticks().max(1) as f64
    }
}
