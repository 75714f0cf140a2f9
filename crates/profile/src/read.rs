//! Builds the model from a file's records: addresses become indexes, and open calls are extended to the end.

mod merged;
mod trees;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use names::MethodId;

use self::{merged::Merged, trees::Trees};
use crate::{
    error::Error,
    format::{Names, PhaseKind, Records, set_running},
    model::{CallTree, End, Function, Mode, Node, Notes, ProbeCost, Profile, SampleType},
    statistics::Statistics,
};

impl Profile {
    /// Reads a profile, from the last reset on.
    ///
    /// # Errors
    /// If the header is missing, or states an unknown version or mode. Later defects go into [`damage`](Self::damage).
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let records = Records::read(bytes)?;
        let span = Span::since_reset(&records);
        Ok(Self::from_records(records, &span, 0))
    }

    /// Reads a phase of a profile: from the mark with this name to the next mark, or to the end. If several marks have the name,
    /// adds up their phases. Returns `None` if no mark has it. Values that two snapshots cannot show, such as pending calls, are
    /// missing.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_phase(bytes: &[u8], name: &str) -> Result<Option<Self>, Error> {
        let records = Records::read(bytes)?;
        if records.header.is_merged {
            let number = records.names.phases.iter().find(|(_, phase)| *phase == name).map(|(number, _)| *number);
            return Ok(number.map(|number| Self::from_records(records, &Span::default(), number)));
        }
        let span = Span::of_phase(&records, name);
        Ok(span.map(|span| Self::from_records(records, &span, 0)))
    }

    /// Marks a file as a copy that was taken while the program ran.
    pub fn set_running(bytes: &mut [u8]) {
        set_running(bytes);
    }

    /// Builds the profile of a span; in a merged file, of the phase with this number.
    fn from_records(mut records: Records<'_>, span: &Span, merged_phase: u32) -> Self {
        let names = std::mem::take(&mut records.names);
        let mut functions = Functions::new(&names);
        let is_whole = span.is_whole() && merged_phase == 0;
        let sample_types = sample_types(records.header.version, records.header.mode);
        let mut trees = if records.header.is_merged {
            let merged = Merged::read(&records, merged_phase, sample_types.len(), &mut functions);
            let Merged { list, statistics, exception_types, duration } = merged;
            let end = if merged_phase == 0 { records.header.end_ticks } else { duration };
            Trees { list, statistics, exception_types, end }
        } else {
            Trees::read(&records, span, &mut functions)
        };
        trees.list.extend(counted(&records, span, &mut functions));
        for tree in &mut trees.list {
            tree.names = names.threads.get(&tree.number).cloned().unwrap_or_default();
        }
        let name = |number: &u32| names.exception_types.get(number).cloned().filter(|_| is_whole);
        let exception_types = trees.exception_types.iter().map(name).collect();
        let marks = records.phases.iter().filter(|phase| phase.kind == PhaseKind::Mark);
        let mut marks: Vec<(i64, &str)> = marks.map(|phase| (phase.clock, phase.name.as_str())).collect();
        marks.sort_by_key(|(clock, _)| *clock);
        let mut phases: Vec<String> = Vec::new();
        for (_, name) in marks {
            if !phases.iter().any(|known| known == name) {
                phases.push(name.to_owned());
            }
        }
        phases.extend(names.phases.values().cloned());
        let header = records.header;
        let since_start = |clock: i64| clock.saturating_sub(header.start_ticks);
        Self {
            trees: trees.list,
            functions: functions.list,
            modules: names.modules,
            statistics: trees.statistics,
            histogram_shift: header.histogram_shift,
            exception_types,
            phases,
            parts: span.parts.iter().map(|(from, to)| (since_start(*from), to.map(since_start))).collect(),
            events: records.events,
            damage: records.damage,
            sample_types,
            is_part: !is_whole,
            duration: if merged_phase == 0 { span.ticks(header.start_ticks, trees.end) } else { trees.end },
            paused: if is_whole { header.paused_ticks } else { 0 },
            is_paused: header.is_paused,
            disk_was_full: header.disk_was_full,
            has_captured_calls: header.has_captured_calls,
            cpu_ns: header.cpu_ns.filter(|_| is_whole),
            probe_cost: ProbeCost {
                inside: header.probe_inside,
                outside: header.probe_outside,
                clock_read: header.clock_read,
                counting: header.counting,
            },
            program: header.program,
            runtime: header.runtime,
            path: header.path,
            pid: header.pid,
            processes: header.processes,
            end: header.end,
            last_seen: header.end_ticks.saturating_sub(header.start_ticks).max(0),
            mode: header.mode,
            clock: header.clock,
            ticks_per_second: header.ticks_per_second,
            start_time: header.start_time,
            max_nodes: header.max_nodes,
        }
    }
}

/// Returns the sample types, in the order of the lists that [`Trees`] creates.
pub(crate) fn sample_types(version: u32, mode: Mode) -> Vec<SampleType> {
    use SampleType as S;
    match mode {
        Mode::Count => vec![S::CALLS],
        _ if version == 1 => trees::TIMED.to_vec(),
        _ => [&trees::TIMED[..], &trees::MORE].concat(),
    }
}

/// Returns the calls of mode count, which has no paths, as a tree of nodes without callers.
fn counted(records: &Records<'_>, span: &Span, functions: &mut Functions<'_>) -> Option<CallTree> {
    if records.header.mode != Mode::Count || records.header.is_merged {
        return None;
    }
    let mut calls: indexmap::IndexMap<u64, i64> = indexmap::IndexMap::new();
    let mut add = |id: u64, count: i64| {
        let sum = calls.entry(id).or_default();
        *sum = sum.saturating_add(count);
    };
    for (id, count) in &records.counters {
        add(*id, i64::try_from(*count).unwrap_or(i64::MAX).saturating_mul(span.end_weight));
    }
    for (phase, weight) in records.phases.iter().zip(&span.weights).filter(|(_, weight)| **weight != 0) {
        phase.entries().for_each(|entry| add(entry.place, entry.calls.saturating_mul(*weight)));
    }
    Some(CallTree {
        nodes: calls.keys().map(|id| Node { function: functions.index_of(*id), caller: None }).collect(),
        notes: vec![Notes::default(); calls.len()],
        values: vec![calls.values().copied().collect()],
        ..CallTree::default()
    })
}

/// A part of a run, as a weighted sum of the snapshots and of the final state.
#[derive(Default)]
struct Span {
    /// By snapshot.
    weights: Vec<i64>,
    end_weight: i64,
    /// The sum of the snapshots' clocks, with these weights.
    clock: i64,
    /// The clock at the beginning and end of each part; empty for the whole run.
    parts: Vec<(i64, Option<i64>)>,
}

impl Span {
    fn since_reset(records: &Records<'_>) -> Self {
        let resets = records.phases.iter().enumerate().filter(|(_, phase)| phase.kind == PhaseKind::Reset);
        Self::of(records, resets.max_by_key(|(_, phase)| phase.clock).map(|(reset, _)| (reset, None)))
    }

    fn of_phase(records: &Records<'_>, name: &str) -> Option<Self> {
        let mut order: Vec<usize> = (0..records.phases.len()).collect();
        order.sort_by_key(|index| records.phases.get(*index).map(|phase| phase.clock));
        let is_start =
            |index: &usize| records.phases.get(*index).is_some_and(|phase| phase.kind == PhaseKind::Mark && phase.name == name);
        let spans = order.iter().enumerate().filter(|(_, index)| is_start(index));
        let spans: Vec<_> = spans.map(|(place, index)| (*index, order.get(place + 1).copied())).collect();
        (!spans.is_empty()).then(|| Self::of(records, spans))
    }

    /// Creates a span of parts, each from one snapshot to another, or to the end.
    fn of(records: &Records<'_>, spans: impl IntoIterator<Item = (usize, Option<usize>)>) -> Self {
        let mut span = Self { weights: vec![0; records.phases.len()], end_weight: 0, clock: 0, parts: Vec::new() };
        let clock = |index: usize| records.phases.get(index).map_or(0, |phase| phase.clock);
        let mut is_empty = true;
        for (from, to) in spans {
            is_empty = false;
            span.weights[from] -= 1;
            span.clock = span.clock.saturating_sub(clock(from));
            span.parts.push((clock(from), to.map(clock)));
            match to {
                None => span.end_weight = 1,
                Some(to) => {
                    span.weights[to] += 1;
                    span.clock = span.clock.saturating_add(clock(to));
                }
            }
        }
        if is_empty {
            span.end_weight = 1;
        }
        span
    }

    /// Returns whether the span is the whole run.
    fn is_whole(&self) -> bool {
        self.end_weight == 1 && self.weights.iter().all(|weight| *weight == 0)
    }

    /// Returns its duration.
    fn ticks(&self, start: i64, end: i64) -> i64 {
        let ticks = if self.is_whole() {
            end.saturating_sub(start)
        } else {
            end.saturating_mul(self.end_weight).saturating_add(self.clock)
        };
        ticks.max(0)
    }
}

/// The functions found so far.
struct Functions<'n> {
    list: Vec<Function>,
    by_id: HashMap<u64, usize, RandomState>,
    names: &'n Names,
    modules: HashMap<u64, usize>,
}

impl<'n> Functions<'n> {
    fn new(names: &'n Names) -> Self {
        // The first one wins where several modules have the same key.
        let modules = names.modules.iter().enumerate().rev().map(|(index, module)| (module.key, index)).collect();
        Self { list: Vec::new(), by_id: HashMap::default(), names, modules }
    }

    fn index_of(&mut self, method_id: u64) -> usize {
        *self.by_id.entry(method_id).or_insert_with(|| {
            let (id, name) = (MethodId(method_id), self.names.methods.get(&method_id).cloned());
            let module = self.modules.get(&id.module_key()).copied();
            self.list.push(Function { method_id: id, name, source: None, module });
            self.list.len() - 1
        })
    }
}

/// Statistics by function, under construction.
type ByFunction = Vec<Option<Box<Statistics>>>;

/// Returns whether the program may have continued after the file was read.
fn may_run(end: End) -> bool {
    matches!(end, End::Unknown | End::Running)
}
