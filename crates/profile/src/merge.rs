//! Merges the profiles of many processes. Equal paths become one, regardless of process and thread, and all values are added up.
//! The result depends only on the set of inputs, not on their order: sums are of whole numbers, which wrap, and records are
//! sorted.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::{self, Write},
};

use names::MethodId;

use crate::{
    file::{self, MergedHeader, MethodStatistics, NameRecord, PathHead, Timebase, unpacked},
    lines::{LineSum, SourceFile},
    model::{
        CallTree, Clock, End, MethodName, Mode, Module, Notes, ProbeCost, Profile, SampleLosses, SampleType, ThreadName, Unit,
    },
    read::{ProfileFile, sample_types},
    statistics::Statistics,
};

/// The unit ns, with the histograms of a clock of 1 GHz.
const NANOSECONDS: Timebase = Timebase { ticks_per_second: 1_000_000_000, histogram_shift: 5 };

/// A mode mismatch: profiles that cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it was measured in mode {found:?}, others in mode {others:?}: these are not the same numbers")]
pub struct Mismatch {
    found: Mode,
    others: Mode,
}

/// Returns the costs whose means a merged file has.
fn costs(cost: ProbeCost) -> [f64; 5] {
    let ProbeCost { inside, outside, counting, counting_leave, clock_step, clock_read: _ } = cost;
    [inside, outside, counting, counting_leave, clock_step]
}

/// A merge in progress. Its size depends on the distinct paths, not on the number of profiles.
#[derive(Debug, Default)]
pub struct Merge {
    mode: Option<Mode>,
    /// By clock: ticks of .NET's clock are summed without rounding. If there are several clocks in the end, times are converted
    /// to ns.
    parts: BTreeMap<Timebase, Part>,
    lines: LineSum,
}

/// The profiles of one clock.
#[derive(Debug, Default)]
struct Part {
    processes: u64,
    programs: BTreeSet<String>,
    runtimes: BTreeSet<String>,
    paths: BTreeSet<String>,
    end: Option<End>,
    disk_was_full: bool,
    has_captured_calls: bool,
    /// The number of profiles with allocated bytes. If some have none, the sum is not known.
    profiles_with_bytes: usize,
    profiles: usize,
    lacks_allocations: bool,
    paused: i64,
    start_time: Option<u64>,
    max_nodes: u32,
    /// Overhead of probes, and the clock's step, in 1/1000 ns, summed over all processes. The order is that of [`costs`].
    costs: [u64; 5],
    sample_losses: SampleLosses,
    /// `None` once a process does not know it.
    cpu_ns: Option<i64>,
    modules: BTreeSet<Module>,
    names: HashMap<u64, MethodName>,
    exception_types: HashMap<u64, String>,
    /// By phase; the first is the whole run.
    spans: BTreeMap<Option<String>, Span>,
}

/// A phase of all processes, or the whole run.
#[derive(Debug, Default)]
struct Span {
    duration: i64,
    /// By thread name; empty for trees whose threads have no name, or several.
    trees: BTreeMap<String, Tree>,
    /// By method.
    statistics: BTreeMap<u64, Statistics>,
}

#[derive(Debug, Default)]
struct Tree {
    threads: u64,
    lost_calls: u64,
    bad_tokens: u64,
    /// As in [`Merge`]; `None` before the first profile.
    cpu_ns: Option<Option<i64>>,
    places: HashMap<(u32, u64), u32>,
    /// The caller's index, counted from 1, and the method.
    nodes: Vec<(u32, u64)>,
    notes: Vec<Notes>,
    /// The values of each node in turn, in the order of the merged profile's sample types.
    values: Vec<i64>,
}

impl Merge {
    /// The number of profiles without allocated bytes, if others have some. The merged profile then has none.
    pub fn profiles_without_bytes(&self) -> Option<usize> {
        let sum = |number: fn(&Part) -> usize| self.parts.values().map(number).sum::<usize>();
        let with_bytes = sum(|part| part.profiles_with_bytes);
        Some(sum(|part| part.profiles) - with_bytes).filter(|without| *without > 0 && with_bytes > 0)
    }

    /// Adds a profile, and the file that it was read from.
    ///
    /// # Errors
    /// If its mode differs from the earlier ones; the merge is then unchanged.
    pub fn add(&mut self, bytes: &[u8], profile: &Profile) -> Result<(), Mismatch> {
        // Events belong to a single process, and are not merged.
        let mode = self.agree(if profile.mode == Mode::Trace { Mode::Exact } else { profile.mode })?;
        let from = Timebase { ticks_per_second: profile.ticks_per_second, histogram_shift: profile.histogram_shift };
        // Each process calibrates the processor's counter: there would be as many clocks as processes.
        let clock = if profile.clock == Clock::Tsc { NANOSECONDS } else { from };
        self.parts.entry(clock).or_default().add(bytes, profile, mode, Conversion { from, to: clock });
        self.add_lines(&profile.lines);
        Ok(())
    }

    /// Adds lines alone.
    pub fn add_lines(&mut self, files: &[SourceFile]) {
        files.iter().for_each(|file| self.lines.add(file));
    }

    /// Adds another merge.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn absorb(&mut self, other: Self) -> Result<(), Mismatch> {
        let Some(mode) = other.mode else { return Ok(()) };
        self.agree(mode)?;
        for (clock, part) in other.parts {
            match self.parts.get_mut(&clock) {
                Some(own) => own.absorb(&part, mode, Conversion { from: clock, to: clock }),
                None => drop(self.parts.insert(clock, part)),
            }
        }
        self.add_lines(&other.lines.files());
        Ok(())
    }

    fn agree(&mut self, mode: Mode) -> Result<Mode, Mismatch> {
        match self.mode {
            Some(others) if others != mode => Err(Mismatch { found: mode, others }),
            _ => Ok(*self.mode.insert(mode)),
        }
    }

    /// Writes the merged profile.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mode = self.mode.unwrap_or(Mode::Exact);
        if let (1, Some((clock, part))) = (self.parts.len(), self.parts.first_key_value()) {
            return part.write(*clock, mode, &self.lines, out);
        }
        let mut all = Part::default();
        for (clock, part) in &self.parts {
            all.absorb(part, mode, Conversion { from: *clock, to: NANOSECONDS });
        }
        all.write(NANOSECONDS, mode, &self.lines, out)
    }
}

impl Part {
    fn add(&mut self, bytes: &[u8], profile: &Profile, mode: Mode, clock: Conversion) {
        let is_first = self.processes == 0;
        self.processes = self.processes.wrapping_add(profile.processes);
        self.programs.insert(profile.program.clone());
        self.runtimes.insert(profile.runtime.clone());
        self.paths.insert(profile.path.clone());
        self.end = self.end.max(Some(profile.end));
        self.disk_was_full |= profile.disk_was_full;
        self.has_captured_calls |= profile.has_captured_calls;
        self.profiles += 1;
        self.profiles_with_bytes += usize::from(profile.has(SampleType::ALLOCATED));
        self.lacks_allocations |= profile.lacks_allocations;
        self.max_nodes = self.max_nodes.max(profile.max_nodes);
        self.start_time = Some(self.start_time.map_or(profile.start_time, |time| time.min(profile.start_time)));
        self.paused = self.paused.wrapping_add(clock.ticks(profile.paused));
        self.sample_losses = self.sample_losses.and(profile.sample_losses);
        for (sum, ticks) in self.costs.iter_mut().zip(costs(profile.probe_cost)) {
            let cost = (ticks * 1e12 / profile.ticks_per_second as f64).round() as u64;
            *sum = sum.wrapping_add(cost.wrapping_mul(profile.processes));
        }
        self.cpu_ns = if is_first { profile.cpu_ns } else { both(self.cpu_ns, profile.cpu_ns) };
        self.modules.extend(profile.modules.iter().cloned());
        for (index, function) in profile.functions.iter().enumerate() {
            let id = merged_id(function.method_id);
            if let Some(name) = &function.name {
                least(&mut self.names, id, name);
            }
            if let Some(Some(name)) = profile.exception_types.get(index) {
                least(&mut self.exception_types, id, name);
            }
        }
        self.add_span(None, profile, mode, clock);
        let bytes = unpacked(bytes).ok();
        let file = bytes.as_deref().and_then(|bytes| ProfileFile::read(bytes).ok());
        for name in &profile.phases {
            if let Some(phase) = file.as_ref().and_then(|file| file.phase(name)) {
                self.add_span(Some(name), &phase, mode, clock);
            }
        }
    }

    fn add_span(&mut self, phase: Option<&String>, profile: &Profile, mode: Mode, clock: Conversion) {
        let kinds = sample_types(mode, true);
        let span = self.spans.entry(phase.cloned()).or_default();
        span.duration = span.duration.wrapping_add(clock.ticks(profile.duration));
        for (function, statistics) in profile.functions.iter().zip(&profile.statistics) {
            statistics
                .iter()
                .for_each(|statistics| span.add_statistics(merged_id(function.method_id), clock.statistics(statistics)));
        }
        for tree in &profile.trees {
            let name = tree.names.first().filter(|first| tree.names.iter().all(|other| other.name == first.name));
            let name = name.map(|thread| thread.name.clone()).unwrap_or_default();
            span.trees.entry(name).or_default().add(profile, tree, kinds, clock);
        }
    }

    fn absorb(&mut self, other: &Self, mode: Mode, clock: Conversion) {
        self.cpu_ns = if self.processes == 0 { other.cpu_ns } else { both(self.cpu_ns, other.cpu_ns) };
        self.processes = self.processes.wrapping_add(other.processes);
        self.programs.extend(other.programs.iter().cloned());
        self.runtimes.extend(other.runtimes.iter().cloned());
        self.paths.extend(other.paths.iter().cloned());
        self.end = self.end.max(other.end);
        self.disk_was_full |= other.disk_was_full;
        self.has_captured_calls |= other.has_captured_calls;
        self.profiles += other.profiles;
        self.profiles_with_bytes += other.profiles_with_bytes;
        self.lacks_allocations |= other.lacks_allocations;
        self.max_nodes = self.max_nodes.max(other.max_nodes);
        self.start_time = self.start_time.into_iter().chain(other.start_time).min();
        self.paused = self.paused.wrapping_add(clock.ticks(other.paused));
        self.sample_losses = self.sample_losses.and(other.sample_losses);
        self.costs.iter_mut().zip(other.costs).for_each(|(sum, cost)| *sum = sum.wrapping_add(cost));
        self.modules.extend(other.modules.iter().cloned());
        other.names.iter().for_each(|(id, name)| least(&mut self.names, *id, name));
        other.exception_types.iter().for_each(|(id, name)| least(&mut self.exception_types, *id, name));
        let kinds = sample_types(mode, true);
        for (phase, span) in &other.spans {
            let own = self.spans.entry(phase.clone()).or_default();
            for (id, statistics) in &span.statistics {
                own.add_statistics(*id, clock.statistics(statistics));
            }
            own.duration = own.duration.wrapping_add(clock.ticks(span.duration));
            for (name, tree) in &span.trees {
                own.trees.entry(name.clone()).or_default().absorb(tree, kinds, clock);
            }
        }
    }

    fn write(&self, clock: Timebase, mode: Mode, lines: &LineSum, out: &mut impl Write) -> io::Result<()> {
        // The mean over processes in ticks, from the sum in 1/1000 ns.
        let [probe_inside, probe_outside, counting, counting_leave, clock_step] =
            self.costs.map(|sum| sum as f64 / self.processes.max(1) as f64 * clock.ticks_per_second as f64 / 1e12);
        let whole = self.spans.get(&None);
        let has_allocations = self.profiles > 0 && self.profiles_with_bytes == self.profiles && mode != Mode::Count;
        let header = MergedHeader {
            program: &summary(&self.programs),
            runtime: &summary(&self.runtimes),
            path: &summary(&self.paths),
            processes: self.processes,
            end: self.end.unwrap_or(End::Unknown),
            mode,
            disk_was_full: self.disk_was_full,
            has_captured_calls: self.has_captured_calls,
            has_allocations,
            lacks_allocations: self.lacks_allocations,
            duration: whole.map_or(0, |span| span.duration),
            paused: self.paused,
            start_time: self.start_time.unwrap_or_default(),
            max_nodes: self.max_nodes,
            probe_inside,
            probe_outside,
            counting,
            counting_leave,
            clock_step,
            sample_losses: self.sample_losses,
            clock,
            cpu_ns: self.cpu_ns,
        };
        header.write(out)?;
        self.write_names(out)?;
        file::write_lines(out, &lines.files())?;
        let mut number = 0;
        let (values, written) = (sample_types(mode, true).len(), sample_types(mode, has_allocations).len());
        for (phase, span) in self.spans.values().enumerate() {
            for tree in span.trees.values() {
                number += 1;
                tree.write(number, phase as u32, span.duration, (values, written), out)?;
            }
        }
        let numbers: HashMap<&str, u32> = self.numbered_exceptions().map(|(number, name)| (name, number)).collect();
        for (phase, (name, span)) in self.spans.iter().enumerate() {
            let phase = phase as u32;
            // Types of exceptions are known for the whole run only.
            let of_exceptions = self.exception_types.keys().filter(|_| name.is_none());
            let ids: BTreeSet<u64> = span.statistics.keys().chain(of_exceptions).copied().collect();
            let all = ids.into_iter().map(|method_id| {
                let exception_type = self.exception_types.get(&method_id).and_then(|name| numbers.get(name.as_str()));
                let exception_type = exception_type.copied().unwrap_or_default();
                MethodStatistics { phase, method_id, exception_type, statistics: span.statistics.get(&method_id).cloned() }
            });
            file::write_statistics(out, phase, &all.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn write_names(&self, out: &mut impl Write) -> io::Result<()> {
        let mut methods: Vec<(&u64, &MethodName)> = self.names.iter().collect();
        methods.sort_unstable_by_key(|(id, _)| **id);
        let names = self.spans.values().flat_map(|span| span.trees.keys());
        let threads: Vec<ThreadName> = names.map(|name| ThreadName { managed_id: 0, name: name.clone() }).collect();
        let phases = self.spans.keys().enumerate().filter_map(|(number, name)| Some((number as u32, name.as_deref()?)));
        let records = self.modules.iter().map(NameRecord::Module);
        let records = records.chain(methods.into_iter().map(|(id, name)| NameRecord::Method(*id, name)));
        let records = records.chain(self.numbered_exceptions().map(|(number, name)| NameRecord::ExceptionType(number, name)));
        let threads = threads.iter().zip(1..).map(|(name, tree)| NameRecord::Thread(tree, name));
        file::write_names(out, records.chain(threads).chain(phases.map(|(number, name)| NameRecord::Phase(number, name))))
    }

    /// Returns the types of exceptions, each once, with a number.
    fn numbered_exceptions(&self) -> impl Iterator<Item = (u32, &str)> {
        let types: BTreeSet<&str> = self.exception_types.values().map(String::as_str).collect();
        (1..).zip(types)
    }
}

impl Span {
    fn add_statistics(&mut self, id: u64, statistics: Statistics) {
        match self.statistics.get_mut(&id) {
            Some(sum) => sum.add(&statistics),
            None => drop(self.statistics.insert(id, statistics)),
        }
    }
}

/// Runs may differ in whether a method leaves its bytes to its callers. When a profile is read, they are given to them.
fn merged_id(id: MethodId) -> u64 {
    id.with_own_bytes(true).0
}

impl Tree {
    fn add(&mut self, profile: &Profile, tree: &CallTree, kinds: &[SampleType], clock: Conversion) {
        self.count(tree.threads, tree.lost_calls, tree.bad_tokens, tree.cpu_ns);
        let lists: Vec<&[i64]> = kinds.iter().map(|kind| profile.flat(tree, *kind)).collect();
        // The merged node of each node, counted from 1.
        let mut mapped: Vec<u32> = Vec::with_capacity(tree.nodes.len());
        for (index, node) in tree.nodes.iter().enumerate() {
            let caller = node.caller.and_then(|caller| mapped.get(caller).copied()).unwrap_or_default();
            let id = profile.functions.get(node.function).map_or(0, |function| merged_id(function.method_id));
            let notes = tree.notes.get(index).copied().unwrap_or_default();
            let place = self.place(caller, id, notes, kinds.len());
            let sums = self.values.iter_mut().skip(place as usize * kinds.len());
            for ((sum, list), kind) in sums.zip(&lists).zip(kinds) {
                *sum = sum.wrapping_add(clock.value(*kind, list.get(index).copied().unwrap_or_default()));
            }
            mapped.push(place + 1);
        }
    }

    fn absorb(&mut self, other: &Self, kinds: &[SampleType], clock: Conversion) {
        let values = kinds.len();
        self.count(other.threads, other.lost_calls, other.bad_tokens, other.cpu_ns.flatten());
        let mut mapped: Vec<u32> = Vec::with_capacity(other.nodes.len());
        for (((caller, id), notes), of_node) in other.nodes.iter().zip(&other.notes).zip(other.values.chunks_exact(values)) {
            let caller = (*caller as usize).checked_sub(1).and_then(|caller| mapped.get(caller).copied()).unwrap_or_default();
            let place = self.place(caller, *id, *notes, values);
            let sums = self.values.iter_mut().skip(place as usize * values);
            for ((sum, value), kind) in sums.zip(of_node).zip(kinds) {
                *sum = sum.wrapping_add(clock.value(*kind, *value));
            }
            mapped.push(place + 1);
        }
    }

    fn count(&mut self, threads: u64, lost_calls: u64, bad_tokens: u64, cpu_ns: Option<i64>) {
        self.threads = self.threads.wrapping_add(threads);
        self.lost_calls = self.lost_calls.wrapping_add(lost_calls);
        self.bad_tokens = self.bad_tokens.wrapping_add(bad_tokens);
        self.cpu_ns = Some(self.cpu_ns.map_or(cpu_ns, |own| both(own, cpu_ns)));
    }

    /// Returns the index of a path, which is added if it is new.
    fn place(&mut self, caller: u32, id: u64, notes: Notes, values: usize) -> u32 {
        let place = *self.places.entry((caller, id)).or_insert_with(|| {
            self.nodes.push((caller, id));
            self.notes.push(Notes::default());
            self.values.resize(self.values.len() + values, 0);
            self.nodes.len() as u32 - 1
        });
        if let Some(own) = self.notes.get_mut(place as usize) {
            *own = own.or(notes);
        }
        place
    }

    /// Writes the tree in a canonical order: by depth, and callees by their methods' ids. Of the values of each node, the first
    /// are written.
    fn write(
        &self,
        number: u64,
        phase: u32,
        duration: i64,
        (values, written): (usize, usize),
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let node = |place: u32| self.nodes.get(place as usize).copied().unwrap_or_default();
        // The sort puts callees of one caller side by side.
        order.sort_unstable_by_key(|place| node(*place));
        let callees = |caller: u32| {
            let start = order.partition_point(|place| node(*place).0 < caller);
            order.iter().skip(start).take_while(move |place| node(**place).0 == caller)
        };
        let mut sorted: Vec<(u32, Option<u32>)> = Vec::with_capacity(self.nodes.len());
        let mut stack: Vec<(u32, Option<u32>)> = callees(0).map(|place| (*place, None)).collect();
        stack.reverse();
        while let Some((place, caller)) = stack.pop() {
            let own = sorted.len() as u32;
            sorted.push((place, caller));
            let first = stack.len();
            stack.extend(callees(place + 1).map(|callee| (*callee, Some(own))));
            stack.get_mut(first..).into_iter().for_each(<[_]>::reverse);
        }
        let (threads, lost_calls, bad_tokens) = (self.threads, self.lost_calls, self.bad_tokens);
        let head = PathHead { tree: number, threads, lost_calls, bad_tokens, cpu_ns: self.cpu_ns.flatten(), duration, phase };
        let paths = sorted.iter().map(|(place, caller)| {
            let start = *place as usize * values;
            let of_node = self.values.get(start..start + written).unwrap_or_default();
            (node(*place).1, *caller, self.notes.get(*place as usize).copied().unwrap_or_default(), of_node)
        });
        file::write_paths(out, &head, written, paths)
    }
}

/// A conversion between the ticks of two clocks.
#[derive(Clone, Copy)]
struct Conversion {
    from: Timebase,
    to: Timebase,
}

impl Conversion {
    /// Converts ticks, rounded to nearest.
    fn ticks(self, ticks: i64) -> i64 {
        let (from, to) = (self.from.ticks_per_second, self.to.ticks_per_second);
        if from == to {
            return ticks;
        }
        let (from, to) = (i128::from(from), i128::from(to));
        let converted = i128::from(ticks).saturating_mul(to).saturating_mul(2).saturating_add(from).div_euclid(from * 2);
        converted.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    fn value(self, kind: SampleType, value: i64) -> i64 {
        if kind.unit == Unit::Ticks { self.ticks(value) } else { value }
    }

    fn statistics(self, of: &Statistics) -> Statistics {
        if self.from == self.to {
            return of.clone();
        }
        of.rescaled(self.from.histogram_shift, self.to.histogram_shift, |ticks| self.ticks(ticks))
    }
}

/// Keeps the least of several values.
fn least<T: Clone + Ord>(map: &mut HashMap<u64, T>, id: u64, value: &T) {
    match map.get_mut(&id) {
        Some(own) if *own <= *value => {}
        Some(own) => own.clone_from(value),
        None => drop(map.insert(id, value.clone())),
    }
}

/// Returns the sum, if both are known.
fn both(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    Some(one?.wrapping_add(other?))
}

/// Returns one of several names, and the number of further ones.
fn summary(names: &BTreeSet<String>) -> String {
    let first = names.first().map_or("", String::as_str);
    match names.len() {
        0 | 1 => first.to_owned(),
        many => format!("{first} and {} more", many - 1),
    }
}
