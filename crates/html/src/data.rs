//! What a page has of a profile: columns of numbers, as JSON has them shortest.

use identity::Visible;
use profile::{
    CallTree, Profile, SampleType,
    report::{Row, SortBy},
};
use serde::Serialize;

use crate::functions::{Functions, Tables};

/// All that the script is given.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Data {
    pub(crate) title: String,
    runtime: String,
    pid: u32,
    end: String,
    mode: String,
    ticks_per_second: u64,
    cpu_ms: Option<f64>,
    /// What the numbers cannot tell.
    notes: Vec<String>,
    functions: Tables,
    /// The whole, then the phases.
    spans: Vec<Span>,
}

/// What was recorded between two moments.
#[derive(Debug, Serialize)]
struct Span {
    /// A phase's name; empty for the whole.
    name: String,
    milliseconds: f64,
    threads: u64,
    trees: Vec<Tree>,
    methods: Methods,
}

/// A thread's calls: the paths in preorder, with what is each path's own.
#[derive(Debug, Default, Serialize)]
struct Tree {
    name: String,
    /// By path: how many callers it has.
    depth: Vec<usize>,
    function: Vec<usize>,
    calls: Vec<i64>,
    /// Running, in ticks.
    #[serde(rename = "self")]
    own: Vec<i64>,
    /// What follows is not there where it is 0 everywhere. Waiting, in ticks.
    #[serde(skip_serializing_if = "is_nothing")]
    waiting: Vec<i64>,
    #[serde(skip_serializing_if = "is_nothing")]
    exceptions: Vec<i64>,
    /// In ns.
    #[serde(skip_serializing_if = "is_nothing")]
    cpu: Vec<i64>,
}

fn is_nothing(values: &[i64]) -> bool {
    values.iter().all(|value| *value == 0)
}

/// What is known of single calls, by method: it cannot be added up from paths.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Methods {
    function: Vec<usize>,
    /// In milliseconds; none if it was not measured.
    first: Vec<Option<f64>>,
    min: Vec<Option<f64>>,
    p50: Vec<Option<f64>>,
    p95: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    average: Vec<f64>,
    awaiting: Vec<Option<f64>>,
    /// What is said of it beside.
    remarks: Vec<Vec<String>>,
}

impl Data {
    pub(crate) fn of(profile: &Profile, phases: &[(String, Profile)]) -> Self {
        let mut functions = Functions::default();
        let mut spans = vec![Span::of("", profile, &mut functions)];
        spans.extend(phases.iter().map(|(name, phase)| Span::of(name, phase, &mut functions)));
        let mut notes = profile.limits();
        notes.extend(profile.damage.as_ref().map(|damage| format!("the file is damaged: {damage}")));
        notes.iter_mut().for_each(|note| *note = Visible(&*note).to_string());
        Self {
            title: Visible(&profile.program).to_string(),
            runtime: Visible(&profile.runtime).to_string(),
            pid: profile.pid,
            end: profile.end.to_string(),
            mode: format!("{:?}", profile.mode).to_lowercase(),
            ticks_per_second: profile.ticks_per_second,
            cpu_ms: profile.cpu_ns.map(|cpu| cpu as f64 / 1e6),
            notes,
            functions: functions.tables(),
            spans,
        }
    }
}

impl Span {
    fn of(name: &str, profile: &Profile, functions: &mut Functions) -> Self {
        let places = functions.add(profile);
        let mut trees: Vec<Tree> = profile.trees.iter().map(|tree| Tree::of(profile, tree, &places)).collect();
        trees.retain(|tree| !tree.depth.is_empty());
        Self {
            name: Visible(name).to_string(),
            milliseconds: profile.milliseconds(profile.duration),
            threads: profile.threads(),
            trees,
            methods: Methods::of(profile, &places),
        }
    }
}

impl Tree {
    fn of(profile: &Profile, tree: &CallTree, places: &[usize]) -> Self {
        let flat = |sample_type| profile.flat(tree, sample_type);
        let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default();
        let [wall, waiting, probes] = [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(flat);
        let [calls, exceptions, cpu] = [SampleType::CALLS, SampleType::EXCEPTIONS, SampleType::CPU].map(flat);
        let running = |index| at(wall, index).saturating_sub(at(waiting, index)).saturating_sub(at(probes, index));
        // Of a phase, most paths may have nothing.
        let mut is_kept: Vec<bool> =
            (0..tree.nodes.len()).map(|index| tree.values.iter().any(|values| at(values, index) != 0)).collect();
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            if let (true, Some(caller)) = (is_kept[index], node.caller.and_then(|caller| is_kept.get_mut(caller))) {
                *caller = true;
            }
        }
        let mut columns = Self { name: Visible(tree.thread_names()).to_string(), ..Self::default() };
        let callees = tree.callees();
        let mut next: Vec<(usize, usize)> = callees.of(None).iter().rev().map(|index| (*index, 0)).collect();
        while let Some((index, depth)) = next.pop() {
            let Some(node) = tree.nodes.get(index).filter(|_| is_kept[index]) else { continue };
            columns.depth.push(depth);
            columns.function.push(places.get(node.function).copied().unwrap_or_default());
            columns.calls.push(at(calls, index));
            columns.own.push(running(index));
            columns.waiting.push(at(waiting, index));
            columns.exceptions.push(at(exceptions, index));
            columns.cpu.push(at(cpu, index));
            next.extend(callees.of(Some(index)).iter().rev().map(|callee| (*callee, depth + 1)));
        }
        columns
    }
}

impl Methods {
    fn of(profile: &Profile, places: &[usize]) -> Self {
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

/// To a billionth of a second.
fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1e6).round() / 1e6
}

fn remarks(row: &Row<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut say = |holds: bool, text: &str| remarks.extend(holds.then(|| text.to_owned()));
    say(row.waits, "waits");
    say(row.is_async, "async");
    say(row.open > 0, "still running");
    say(row.pending.is_some_and(|pending| pending > 0), "not complete");
    say(row.muted, "counted only, after a while");
    say(row.mostly_probe, "~ mostly what the probes took");
    remarks.extend(row.exception_type.map(|kind| format!("exceptions: {}", Visible(kind))));
    remarks
}
