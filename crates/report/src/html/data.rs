//! The data of a page: a profile as columns of numbers, which are the most compact form in JSON.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use names::Visible;
use profile::{
    CallTree, Profile, SampleType, aggregate,
    compare::{Comparison, PathChange},
    counted,
    model::Node,
    rows::{Row, SortBy},
};
use serde::{Serialize, Serializer};

use super::{
    compared::Compared,
    filter::Filter,
    functions::{Functions, Tables},
    lines::File,
};
use crate::{
    compare::{how, mixed},
    limits::{attention, clock, notes},
    text::reason_without_times,
};

/// All data that the script gets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Data {
    pub(crate) title: String,
    runtime: String,
    pid: u32,
    end: String,
    mode: &'static str,
    /// The clock that timed calls; `None` if no probes did.
    clock: Option<&'static str>,
    ticks_per_second: u64,
    cpu_ms: Option<f64>,
    /// A sentence on times that are rough, then commands; empty if they are not.
    attention: Vec<String>,
    /// Notes on the limits of the numbers.
    notes: Vec<String>,
    functions: Tables,
    /// The whole run, then the phases.
    spans: Vec<Span>,
    /// The functions shown in lists; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<BTreeSet<usize>>,
    /// The comparison with a base; `None` without a base.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Compared>,
    /// The source files whose lines were counted; `None` without counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<Vec<File>>,
}

/// The whole run, or a phase.
#[derive(Debug, Serialize)]
struct Span {
    /// The phase's name; empty for the whole run.
    name: String,
    milliseconds: f64,
    threads: u64,
    trees: Vec<Tree>,
    methods: Methods,
}

/// The call paths of a thread, in preorder.
#[derive(Debug, Serialize)]
struct Tree {
    name: String,
    /// By path: its number of callers.
    depth: Vec<usize>,
    function: Vec<usize>,
    /// The own values of each path, by sample type. Times are in ticks; CPU time is in ns. A column of zeros is omitted.
    #[serde(flatten)]
    columns: IndexMap<&'static str, Vec<Amount>>,
}

/// A number, written without a fraction if it is whole.
#[derive(Clone, Copy, Debug)]
struct Amount(f64);

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 { serializer.serialize_i64(self.0 as i64) } else { serializer.serialize_f64(self.0) }
    }
}

/// Measurements of single calls, by method, which cannot be summed from paths.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Methods {
    function: Vec<usize>,
    /// In milliseconds; `None` if not measured.
    first: Vec<Option<f64>>,
    min: Vec<Option<f64>>,
    p50: Vec<Option<f64>>,
    p95: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    average: Vec<f64>,
    awaiting: Vec<Option<f64>>,
    /// Remarks shown beside the method.
    remarks: Vec<Vec<String>>,
}

impl Data {
    pub(crate) fn new(profile: &Profile, phases: &[(String, Profile)], filter: Option<&Filter<'_>>) -> Self {
        let mut functions = Functions::default();
        let mut kept = filter.map(|_| BTreeSet::new());
        let mut span = |name: &str, profile: &Profile| {
            let places = functions.add(profile);
            let is_meant = filter.map(|filter| (filter.is_meant)(profile));
            if let (Some(kept), Some(is_meant)) = (&mut kept, &is_meant) {
                kept.extend(places.iter().zip(is_meant).filter(|(_, is_meant)| **is_meant).map(|(place, _)| *place));
            }
            Span::new(name, profile, &places, is_meant.as_deref())
        };
        let mut spans = vec![span("", profile)];
        spans.extend(phases.iter().map(|(name, phase)| span(name, phase)));
        let mut notes = notes(profile);
        notes.extend(filter.map(|filter| format!("only {}, with callers and callees", filter.text)));
        notes.extend(profile.damage.as_ref().map(|damage| format!("the file is damaged: {damage}")));
        notes.iter_mut().for_each(|note| *note = Visible(&*note).to_string());
        Self {
            title: Visible(&profile.program).to_string(),
            runtime: Visible(&profile.runtime).to_string(),
            pid: profile.pid,
            end: profile.end.to_string(),
            mode: profile.mode.word(),
            clock: clock(profile),
            ticks_per_second: profile.ticks_per_second,
            cpu_ms: profile.cpu_ns.map(|cpu| cpu as f64 / 1e6),
            attention: attention(profile),
            notes,
            functions: functions.tables(),
            spans,
            kept,
            compared: None,
            lines: None,
        }
    }

    /// Collects the data of a comparison: the names of both sides, and the compared profiles.
    pub(crate) fn compared(comparison: &Comparison, names: [&str; 2], base: &[Profile], new: &[Profile]) -> Self {
        let mut functions = Functions::default();
        functions.add_compared(comparison);
        let newest = new.last().or(base.last());
        let title = newest.map(|profile| profile.program.as_str()).unwrap_or_default();
        let span = Span {
            name: String::new(),
            milliseconds: comparison.program.get("elapsed").map_or(0.0, |change| change.new),
            threads: 0,
            trees: vec![Tree::compared(&comparison.paths(base, new))],
            methods: Methods::default(),
        };
        Self {
            title: Visible(title).to_string(),
            runtime: newest.map(|profile| Visible(&profile.runtime).to_string()).unwrap_or_default(),
            pid: 0,
            end: String::new(),
            mode: "",
            clock: None,
            ticks_per_second: 1_000_000_000,
            cpu_ms: None,
            attention: Vec::new(),
            notes: [how(comparison)].into_iter().chain(mixed(comparison)).collect(),
            functions: functions.tables(),
            spans: vec![span],
            kept: None,
            compared: Some(Compared::new(comparison, names)),
            lines: None,
        }
    }
}

impl Span {
    fn new(name: &str, profile: &Profile, places: &[usize], is_meant: Option<&[bool]>) -> Self {
        let mut trees: Vec<Tree> = profile.trees.iter().map(|tree| Tree::new(profile, tree, places, is_meant)).collect();
        trees.retain(|tree| !tree.depth.is_empty());
        Self {
            name: Visible(name).to_string(),
            milliseconds: profile.milliseconds(profile.duration),
            threads: profile.threads(),
            trees,
            methods: Methods::new(profile, places),
        }
    }
}

impl Tree {
    fn new(profile: &Profile, tree: &CallTree, places: &[usize], is_meant: Option<&[bool]>) -> Self {
        let is_wanted = is_meant.map(|is_meant| {
            // Callers come before their callees.
            let mut is_wanted = Vec::with_capacity(tree.nodes.len());
            for Node { function, caller } in &tree.nodes {
                let is_below = caller.is_some_and(|caller| is_wanted.get(caller) == Some(&true));
                is_wanted.push(is_below || is_meant.get(*function) == Some(&true));
            }
            is_wanted
        });
        let flat = |sample_type| profile.flat(tree, sample_type);
        let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default();
        let [wall, waiting, probes] = [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(flat);
        let [calls, exceptions, cpu] = [SampleType::CALLS, SampleType::EXCEPTIONS, SampleType::CPU].map(flat);
        let [bytes, counted, error] = [SampleType::ALLOCATED, SampleType::COUNTED, SampleType::UNCERTAINTY].map(flat);
        let running = |index| aggregate::running(at(wall, index), at(waiting, index), at(probes, index));
        let is_wanted = |index: usize| is_wanted.as_ref().is_none_or(|is_wanted| is_wanted.get(index) == Some(&true));
        let has = |index| is_wanted(index) && tree.values.iter().any(|values| at(values, index) != 0);
        let amounts = |index| {
            let values = [calls, counted, error, waiting, exceptions, cpu, bytes].map(|values| at(values, index));
            let [calls, counted, error, waiting, exceptions, cpu, bytes] = values;
            [calls, counted, running(index), error, waiting, exceptions, cpu, bytes].map(|value| Amount(value as f64))
        };
        let names = ["calls", "counted", "self", "error", "waiting", "exceptions", "cpu", "bytes"];
        let mut columns = Self::preorder(tree, &tree.thread_names(), names, has, amounts);
        columns.function.iter_mut().for_each(|function| *function = places.get(*function).copied().unwrap_or_default());
        columns
    }

    /// Returns a tree in preorder with these values of each path. Omits paths without values, which are most paths of a phase.
    fn preorder<const N: usize>(
        tree: &CallTree,
        name: &str,
        names: [&'static str; N],
        has: impl Fn(usize) -> bool,
        amounts: impl Fn(usize) -> [Amount; N],
    ) -> Self {
        let mut is_kept: Vec<bool> = (0..tree.nodes.len()).map(has).collect();
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            if let (true, Some(caller)) = (is_kept[index], node.caller.and_then(|caller| is_kept.get_mut(caller))) {
                *caller = true;
            }
        }
        let (mut depths, mut functions, mut values) = (Vec::new(), Vec::new(), [const { Vec::new() }; N]);
        let callees = tree.callees();
        let mut next: Vec<(usize, usize)> = callees.called_by(None).iter().rev().map(|index| (*index, 0)).collect();
        while let Some((index, depth)) = next.pop() {
            let Some(node) = tree.nodes.get(index).filter(|_| is_kept[index]) else { continue };
            depths.push(depth);
            functions.push(node.function);
            values.iter_mut().zip(amounts(index)).for_each(|(column, amount)| column.push(amount));
            next.extend(callees.called_by(Some(index)).iter().rev().map(|callee| (*callee, depth + 1)));
        }
        let columns = names.into_iter().zip(values).filter(|(_, values)| values.iter().any(|value| value.0 != 0.0));
        Self { name: Visible(name).to_string(), depth: depths, function: functions, columns: columns.collect() }
    }

    /// Collects the call paths of both sides, in ns.
    fn compared(paths: &[PathChange]) -> Self {
        let nodes = paths.iter().map(|path| Node { function: path.method, caller: path.caller }).collect();
        let tree = CallTree { nodes, ..CallTree::default() };
        let names = ["callsBase", "calls", "selfBase", "self", "waitingBase", "waiting", "cpuBase", "cpu", "bytesBase", "bytes"];
        let amounts = |index: usize| {
            let path = paths.get(index).copied().unwrap_or_default();
            let [self_ns, waiting_ns, cpu_ns] =
                [path.self_ms, path.self_waiting_ms, path.cpu_ms].map(|side| side.map(|ms| (ms * 1e6).round()));
            // Values are means over runs.
            let calls = path.calls.map(|calls| (calls * 1e3).round() / 1e3);
            let [c, s, w, p, b] = [calls, self_ns, waiting_ns, cpu_ns, path.self_bytes.map(f64::round)];
            [c[0], c[1], s[0], s[1], w[0], w[1], p[0], p[1], b[0], b[1]].map(Amount)
        };
        Self::preorder(&tree, "all threads", names, |_| true, amounts)
    }
}

impl Methods {
    fn new(profile: &Profile, places: &[usize]) -> Self {
        let rows = profile.rows(SortBy::SelfTime);
        let times = |of: fn(&Row<'_>) -> Option<f64>| rows.iter().map(|row| of(row).map(rounded)).collect();
        Self {
            function: rows.iter().map(|row| places.get(row.function).copied().unwrap_or_default()).collect(),
            first: times(|row| row.first_ms),
            min: times(|row| row.min_ms),
            p50: times(|row| row.p50_ms),
            p95: times(|row| row.p95_ms),
            p99: times(|row| row.p99_ms),
            max: times(|row| row.max_ms),
            average: rows.iter().map(|row| rounded(row.average_ms)).collect(),
            awaiting: times(|row| row.awaiting_ms),
            remarks: rows.iter().map(remarks).collect(),
        }
    }
}

/// Rounds to a billionth of a second.
fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1e6).round() / 1e6
}

fn remarks(row: &Row<'_>) -> Vec<String> {
    let partly_counted = format!("{} of {} counted only", row.counted, counted(row.calls, "call"));
    let mut remarks = Vec::new();
    let mut say = |is_so: bool, text: &str| remarks.extend(is_so.then(|| text.to_owned()));
    say(row.waits, "waits");
    say(row.is_async, "async");
    say(row.open > 0, "still running");
    say(row.pending.is_some_and(|pending| pending > 0), "not complete");
    say(row.is_counted(), reason_without_times(row));
    say(row.counted > 0 && !row.is_counted(), &partly_counted);
    say(row.mostly_probe, "~ mostly measuring overhead");
    remarks.extend(row.exception_type.map(|kind| format!("exceptions: {}", Visible(kind))));
    remarks
}
