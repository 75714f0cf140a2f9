//! The views of a profile, as lists of rows to print, draw or write. These are methods, call paths, threads, groups of methods,
//! and a method's callers and callees. Rows are flat, so that each list is also a table.

mod edges;
mod groups;
mod paths;
mod threads;

use std::collections::HashSet;

use serde::Serialize;

pub use self::{
    edges::{EdgeRow, Relation},
    groups::{GroupBy, GroupRow},
    paths::PathRow,
    threads::ThreadRow,
};
use crate::{
    model::{CallTree, Function, Profile, SampleType},
    report::{Row, SortBy},
};

/// The place of a method.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Site<'n> {
    /// The full name of its assembly.
    pub assembly: Option<&'n str>,
    /// The source file of its beginning.
    pub file: Option<&'n str>,
    /// The line of its beginning, from 1.
    pub line: Option<u32>,
}

/// The view to create.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Wanted {
    /// Methods.
    #[default]
    Methods,
    /// Call paths.
    Tree,
    /// The path with the most time.
    HotPath,
    /// The callers and callees of these functions.
    Method(Vec<usize>),
    /// Threads.
    Threads,
    /// Groups of methods.
    Groups(GroupBy),
}

/// Options of a view.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ViewOptions {
    /// The sort order; in trees, among the callees of one caller.
    pub sort: SortBy,
    /// The largest number of rows.
    pub limit: usize,
    /// Paths below this percentage of both running and waiting time are omitted.
    pub min_percent: f64,
    /// Whether recursive calls in trees are folded into the outermost call.
    pub fold_recursion: bool,
    /// Whether each thread, or each group of threads that shared a tree, has its own tree.
    pub by_thread: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self { sort: SortBy::default(), limit: usize::MAX, min_percent: 0.0, fold_recursion: false, by_thread: false }
    }
}

/// A view of a profile. In JSON, it is an object with one list, or with two.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum View<'n> {
    /// Methods.
    Methods(MethodRows<'n>),
    /// Call paths, each followed by those that it calls.
    Tree(Vec<PathRow<'n>>),
    /// A path, from the outermost caller on.
    HotPath(Vec<PathRow<'n>>),
    /// Methods with their callers and callees.
    Method {
        /// The selected methods.
        methods: Vec<Row<'n>>,
        /// Their callers, then their callees.
        edges: Vec<EdgeRow<'n>>,
    },
    /// Threads.
    #[serde(rename = "byThread")]
    Threads(Vec<ThreadRow>),
    /// Groups of methods.
    Groups(Vec<GroupRow>),
    /// Assemblies.
    Assemblies(Vec<GroupRow>),
}

/// Methods; as JSON the list of all of them.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(transparent)]
pub struct MethodRows<'n> {
    /// The first ones, in the order asked for.
    pub all: Vec<Row<'n>>,
    /// Async methods that have completed, those first whose calls took most in all, from start to completion.
    #[serde(skip)]
    pub of_async: Vec<Row<'n>>,
    /// How many of these there would be without a limit.
    #[serde(skip)]
    pub async_count: usize,
}

impl Profile {
    /// Returns a view, and the number of its rows without a limit. `is_kept` selects functions; threads and groups count these
    /// alone. `names` are [`display_names`](Self::display_names).
    pub fn view<'n>(
        &'n self,
        wanted: &Wanted,
        options: &ViewOptions,
        names: &'n [String],
        is_kept: &dyn Fn(usize) -> bool,
    ) -> (View<'n>, usize) {
        let (sort, limit) = (options.sort, options.limit);
        let mut count = 0;
        let view = match wanted {
            Wanted::Methods => {
                let mut rows = self.rows(sort);
                rows.retain(|row| is_kept(row.function));
                let mut of_async: Vec<Row<'n>> = rows.iter().filter(|row| row.latency_ms.is_some()).cloned().collect();
                let all_calls = |row: &Row<'_>| row.latency_ms.unwrap_or_default() * row.calls as f64;
                of_async.sort_by(|one, other| all_calls(other).total_cmp(&all_calls(one)));
                let mut async_count = 0;
                let of_async = cut(of_async, limit, &mut async_count);
                View::Methods(MethodRows { all: cut(rows, limit, &mut count), of_async, async_count })
            }
            Wanted::Tree => View::Tree(cut(self.tree_rows(options, names, is_kept), limit, &mut count)),
            Wanted::HotPath => {
                let rows = self.kept_paths(&self.merged_tree(), names, &self.kept(is_kept));
                View::HotPath(cut(Self::hot_path(&rows, sort), limit, &mut count))
            }
            Wanted::Method(functions) => {
                let asked: HashSet<usize> = functions.iter().copied().collect();
                let mut methods = self.rows(sort);
                methods.retain(|row| asked.contains(&row.function));
                let left_out = methods.len().saturating_sub(limit);
                methods.truncate(limit);
                let functions: Vec<usize> = methods.iter().map(|row| row.function).collect();
                let mut edges = self.edges(&functions, sort, names);
                edges.retain(|edge| edge.function.is_none_or(is_kept));
                let edges = cut(edges, limit, &mut count);
                count += left_out;
                View::Method { edges, methods }
            }
            Wanted::Threads => View::Threads(cut(self.thread_rows(is_kept), limit, &mut count)),
            Wanted::Groups(by @ GroupBy::Assembly) => View::Assemblies(cut(self.groups(*by, sort, is_kept), limit, &mut count)),
            Wanted::Groups(by) => View::Groups(cut(self.groups(*by, sort, is_kept), limit, &mut count)),
        };
        (view, count)
    }

    /// Returns the call tree, or one for each thread, in reading order.
    fn tree_rows<'n>(&'n self, options: &ViewOptions, names: &'n [String], is_kept: &dyn Fn(usize) -> bool) -> Vec<PathRow<'n>> {
        let (waiting, duration) = (self.sum(SampleType::WAITING), self.duration);
        let (waiting, duration) = (self.milliseconds(waiting), self.milliseconds(duration));
        let is_shown = |row: &PathRow<'n>| {
            let shares = [(row.waiting_ms, waiting), (row.latency_ms.unwrap_or_default(), duration)];
            row.total_percent >= options.min_percent
                || shares.iter().any(|(time, of)| time * 100.0 / of.max(f64::MIN_POSITIVE) >= options.min_percent)
        };
        let kept = self.kept(is_kept);
        let one_tree = |tree: &CallTree| {
            let folded = options.fold_recursion.then(|| tree.folded(&self.recursive()));
            let rows = self.kept_paths(folded.as_ref().unwrap_or(tree), names, &kept);
            Self::in_tree_order(&rows, options.sort, is_shown)
        };
        if !options.by_thread {
            return one_tree(&self.merged_tree());
        }
        let mut all: Vec<PathRow<'n>> = Vec::new();
        for tree in &self.trees {
            let before = all.len();
            all.extend(one_tree(tree).into_iter().map(|row| PathRow {
                id: row.id + before,
                caller: row.caller.map(|caller| caller + before),
                tree: Some(tree.number),
                ..row
            }));
        }
        all
    }

    /// Returns the place of a function; empty without a function.
    fn site<'n>(&'n self, function: Option<&'n Function>) -> Site<'n> {
        let module = function.and_then(|function| self.module_of(function));
        Site {
            assembly: module.map(|module| module.assembly.as_str()),
            file: function.and_then(Function::file),
            line: function.and_then(Function::line),
        }
    }

    /// Returns for each function whether it is selected.
    fn kept(&self, is_kept: &dyn Fn(usize) -> bool) -> Vec<bool> {
        (0..self.functions.len()).map(is_kept).collect()
    }

    /// Returns the paths of a tree to selected functions, and the paths below. `id` is the index in the list.
    fn kept_paths<'n>(&'n self, tree: &CallTree, names: &'n [String], by_function: &[bool]) -> Vec<PathRow<'n>> {
        let rows = self.paths(tree, names);
        if !by_function.contains(&false) {
            return rows;
        }
        let mut kept = around(rows, |row| &mut row.caller, |row| by_function.get(row.function) == Some(&true));
        kept.iter_mut().enumerate().for_each(|(id, row)| row.id = id);
        kept
    }
}

/// Returns the selected paths, the paths to them, and the paths below. Callers are indexes into the list, and precede their
/// callees.
pub(crate) fn around<T>(paths: Vec<T>, caller_of: fn(&mut T) -> &mut Option<usize>, is_meant: impl Fn(&T) -> bool) -> Vec<T> {
    let mut paths = paths;
    let callers: Vec<Option<usize>> = paths.iter_mut().map(|path| *caller_of(path)).collect();
    let mut is_kept: Vec<bool> = Vec::with_capacity(paths.len());
    for (path, caller) in paths.iter().zip(&callers) {
        let is_below = caller.is_some_and(|caller| is_kept[caller]);
        is_kept.push(is_below || is_meant(path));
    }
    for (place, caller) in callers.iter().enumerate().rev() {
        let leads = is_kept[place];
        caller.iter().for_each(|caller| is_kept[*caller] |= leads);
    }
    let mut places: Vec<usize> = Vec::with_capacity(paths.len());
    let mut kept = Vec::new();
    for (mut path, is_kept) in paths.into_iter().zip(is_kept) {
        places.push(kept.len());
        let caller = caller_of(&mut path);
        *caller = caller.and_then(|caller| places.get(caller).copied());
        kept.extend(is_kept.then_some(path));
    }
    kept
}

/// Returns the first rows; stores the number of all rows in `count`.
fn cut<T>(mut rows: Vec<T>, limit: usize, count: &mut usize) -> Vec<T> {
    *count = rows.len();
    rows.truncate(limit);
    rows
}
