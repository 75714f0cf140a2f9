//! Builds the model from a file's records: addresses become indexes, and open calls are extended to the end.

mod functions;
mod merged;
mod span;
mod trees;

use std::fmt;

use self::{functions::Functions, merged::Merged, span::Span, trees::Trees};
use crate::{
    error::Error,
    file::{PhaseKind, Records, set_running, unpacked},
    lines,
    model::{CallTree, Mode, Node, Notes, ProbeCost, Profile, SampleType},
};

/// The records of a file, which become a profile of the whole run or of a phase.
pub struct ProfileFile<'a>(Records<'a>);

impl fmt::Debug for ProfileFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProfileFile").field(&self.0.header.program).finish()
    }
}

impl<'a> ProfileFile<'a> {
    /// Reads a file that is [unpacked].
    ///
    /// # Errors
    /// If the header is missing, or states an unknown version or mode. Later defects go into [`Profile::damage`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        Records::read(bytes).map(Self)
    }

    /// Returns the profile of the run, from the last reset on. Lines are counted over the whole run.
    pub fn profile(&self) -> Profile {
        let profile = Profile::from_records(&self.0, &Span::since_reset(&self.0), 0);
        Profile { lines: lines::merge(self.0.lines.iter().cloned()), ..profile }
    }

    /// Returns a phase: from the mark with this name to the next mark, or to the end. If several marks have the name, adds up
    /// their phases. Returns `None` if no mark has it. Values that two snapshots cannot show, such as pending calls and the counts of
    /// lines, are missing.
    pub fn phase(&self, name: &str) -> Option<Profile> {
        let records = &self.0;
        if records.header.is_merged {
            let (number, _) = records.names.phases.iter().find(|(_, phase)| *phase == name)?;
            return Some(Profile::from_records(records, &Span::default(), *number));
        }
        let span = Span::of_phase(records, name)?;
        Some(Profile::from_records(records, &span, 0))
    }
}

impl Profile {
    /// Reads the profile of a run, from the last reset on.
    ///
    /// # Errors
    /// As [`ProfileFile::read`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        ProfileFile::read(&unpacked(bytes)?).map(|file| file.profile())
    }

    /// Reads a phase, as [`ProfileFile::phase`] does.
    ///
    /// # Errors
    /// As [`ProfileFile::read`].
    pub fn parse_phase(bytes: &[u8], name: &str) -> Result<Option<Self>, Error> {
        ProfileFile::read(&unpacked(bytes)?).map(|file| file.phase(name))
    }

    /// Marks a file as a copy that was taken while the program ran.
    pub fn set_running(bytes: &mut [u8]) {
        set_running(bytes);
    }

    /// Builds the profile of a span; in a merged file, of the phase with this number.
    fn from_records(records: &Records<'_>, span: &Span, merged_phase: u32) -> Self {
        let (header, names) = (&records.header, &records.names);
        let mut functions = Functions::new(names);
        let is_whole = span.is_whole() && merged_phase == 0;
        let sample_types = sample_types(header.mode);
        let mut trees = if header.is_merged {
            let merged = Merged::read(records, merged_phase, sample_types.len(), &mut functions);
            let Merged { list, statistics, exception_types, duration } = merged;
            let end = if merged_phase == 0 { header.end_ticks } else { duration };
            Trees { list, statistics, exception_types, end }
        } else {
            Trees::read(records, span, &mut functions)
        };
        trees.list.extend(counted(records, span, &mut functions));
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
        let since_start = |clock: i64| clock.saturating_sub(header.start_ticks);
        Self {
            trees: trees.list,
            functions: functions.list,
            modules: names.modules.clone(),
            statistics: trees.statistics,
            histogram_shift: header.histogram_shift,
            exception_types,
            phases,
            parts: span.parts.iter().map(|(from, to)| (since_start(*from), to.map(since_start))).collect(),
            events: records.events,
            damage: records.damage.clone(),
            sample_types: sample_types.to_vec(),
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
                counting_leave: header.counting_leave,
                clock_step: header.clock_step,
            },
            sample_losses: header.sample_losses,
            program: header.program.clone(),
            runtime: header.runtime.clone(),
            path: header.path.clone(),
            pid: header.pid,
            processes: header.processes,
            end: header.end,
            last_seen: header.end_ticks.saturating_sub(header.start_ticks).max(0),
            mode: header.mode,
            clock: header.clock,
            ticks_per_second: header.ticks_per_second,
            start_time: header.start_time,
            max_nodes: header.max_nodes,
            lines: Vec::new(),
        }
    }
}

/// Returns the sample types, in the order of the lists that [`Trees`] creates.
pub(crate) fn sample_types(mode: Mode) -> &'static [SampleType] {
    match mode {
        Mode::Count => &[SampleType::CALLS],
        _ => &SampleType::ALL,
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
        phase.entries().for_each(|entry| add(entry.node, entry.calls.saturating_mul(*weight)));
    }
    Some(CallTree {
        nodes: calls.keys().map(|id| Node { function: functions.index_of(*id), caller: None }).collect(),
        notes: vec![Notes::default(); calls.len()],
        values: vec![calls.values().copied().collect()],
        ..CallTree::default()
    })
}
