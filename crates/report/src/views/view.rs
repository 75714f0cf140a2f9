//! A view of a profile.

use std::collections::HashSet;

use profile::{
    CallTree, Profile, SampleType,
    aggregate::around,
    rows::{Row, SortBy},
};
use serde::Serialize;

use super::{
    edges::{EdgeRow, edges},
    groups::{GroupBy, GroupRow, groups},
    lines::{FileRow, SourceRow, UncoveredRow, files, source, uncovered},
    paths::{PathRow, hot_path, in_tree_order, paths},
    threads::{ThreadRow, threads},
};

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
    /// Source files.
    Files {
        /// The folder that paths are shown relative to.
        folder: String,
    },
    /// Lines of source that never ran.
    Uncovered {
        /// The folder that paths are shown relative to.
        folder: String,
    },
    /// The lines of a source file.
    Source {
        /// The file: an index into the profile's files with lines.
        file: usize,
        /// Its text; `None` if it is not at hand.
        text: Option<String>,
    },
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
    /// Source files.
    Files(Vec<FileRow<'n>>),
    /// Lines of source that never ran.
    Uncovered(Vec<UncoveredRow<'n>>),
    /// The lines of a source file.
    Source(Vec<SourceRow>),
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

/// Returns a view of a profile, and the number of its rows without a limit. `is_kept` selects functions; threads and groups count these
/// alone. `names` are [`display_names`](Profile::display_names).
pub fn view<'n>(
    profile: &'n Profile,
    wanted: &Wanted,
    options: &ViewOptions,
    names: &'n [String],
    is_kept: &dyn Fn(usize) -> bool,
) -> (View<'n>, usize) {
    let (sort, limit) = (options.sort, options.limit);
    let mut count = 0;
    let view = match wanted {
        Wanted::Methods => {
            let mut rows = profile.rows(sort);
            rows.retain(|row| is_kept(row.function));
            let mut of_async: Vec<Row<'n>> = rows.iter().filter(|row| row.latency_ms.is_some()).cloned().collect();
            let all_calls = |row: &Row<'_>| row.latency_ms.unwrap_or_default() * row.calls as f64;
            of_async.sort_by(|one, other| all_calls(other).total_cmp(&all_calls(one)));
            let mut async_count = 0;
            let of_async = cut(of_async, limit, &mut async_count);
            View::Methods(MethodRows { all: cut(rows, limit, &mut count), of_async, async_count })
        }
        Wanted::Tree => View::Tree(cut(tree_rows(profile, options, names, is_kept), limit, &mut count)),
        Wanted::HotPath => {
            let rows = kept_paths(profile, &profile.merged_tree(), names, &kept(profile, is_kept));
            View::HotPath(cut(hot_path(&rows, sort), limit, &mut count))
        }
        Wanted::Method(functions) => {
            let asked: HashSet<usize> = functions.iter().copied().collect();
            let mut methods = profile.rows(sort);
            methods.retain(|row| asked.contains(&row.function));
            let left_out = methods.len().saturating_sub(limit);
            methods.truncate(limit);
            let functions: Vec<usize> = methods.iter().map(|row| row.function).collect();
            let mut edges = edges(profile, &functions, sort, names);
            edges.retain(|edge| edge.function.is_none_or(is_kept));
            let edges = cut(edges, limit, &mut count);
            count += left_out;
            View::Method { edges, methods }
        }
        Wanted::Threads => View::Threads(cut(threads(profile, is_kept), limit, &mut count)),
        Wanted::Groups(by @ GroupBy::Assembly) => View::Assemblies(cut(groups(profile, *by, sort, is_kept), limit, &mut count)),
        Wanted::Groups(by) => View::Groups(cut(groups(profile, *by, sort, is_kept), limit, &mut count)),
        Wanted::Files { folder } => View::Files(cut(files(&profile.lines, folder), limit, &mut count)),
        Wanted::Uncovered { folder } => View::Uncovered(cut(uncovered(&profile.lines, folder), limit, &mut count)),
        Wanted::Source { file, text } => {
            let rows = profile.lines.get(*file).map(|file| source(file, text.as_deref())).unwrap_or_default();
            View::Source(cut(rows, limit, &mut count))
        }
    };
    (view, count)
}

/// Returns the call tree, or one for each thread, in reading order.
fn tree_rows<'n>(
    profile: &'n Profile,
    options: &ViewOptions,
    names: &'n [String],
    is_kept: &dyn Fn(usize) -> bool,
) -> Vec<PathRow<'n>> {
    let (waiting, duration) = (profile.sum(SampleType::WAITING), profile.duration);
    let (waiting, duration) = (profile.milliseconds(waiting), profile.milliseconds(duration));
    let is_shown = |row: &PathRow<'n>| {
        let shares = [(row.waiting_ms, waiting), (row.latency_ms.unwrap_or_default(), duration)];
        row.total_percent >= options.min_percent
            || shares.iter().any(|(time, of)| time * 100.0 / of.max(f64::MIN_POSITIVE) >= options.min_percent)
    };
    let kept = kept(profile, is_kept);
    let one_tree = |tree: &CallTree| {
        let folded = options.fold_recursion.then(|| tree.folded(&profile.recursive()));
        let rows = kept_paths(profile, folded.as_ref().unwrap_or(tree), names, &kept);
        in_tree_order(&rows, options.sort, is_shown)
    };
    if !options.by_thread {
        return one_tree(&profile.merged_tree());
    }
    let mut all: Vec<PathRow<'n>> = Vec::new();
    for tree in &profile.trees {
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

/// Returns for each function whether it is selected.
fn kept(profile: &Profile, is_kept: &dyn Fn(usize) -> bool) -> Vec<bool> {
    (0..profile.functions.len()).map(is_kept).collect()
}

/// Returns the paths of a tree to selected functions, and the paths below. `id` is the index in the list.
fn kept_paths<'n>(profile: &'n Profile, tree: &CallTree, names: &'n [String], by_function: &[bool]) -> Vec<PathRow<'n>> {
    let rows = paths(profile, tree, names);
    if !by_function.contains(&false) {
        return rows;
    }
    let mut kept = around(rows, |row| &mut row.caller, |row| by_function.get(row.function) == Some(&true));
    kept.iter_mut().enumerate().for_each(|(id, row)| row.id = id);
    kept
}

/// Returns the first rows; stores the number of all rows in `count`.
fn cut<T>(mut rows: Vec<T>, limit: usize, count: &mut usize) -> Vec<T> {
    *count = rows.len();
    rows.truncate(limit);
    rows
}
