//! The call trees, from chunks of nodes.

use std::collections::HashMap;

use profile_format::NodeFlags;
use rayon::prelude::*;

use super::{
    functions::{ByFunction, Functions},
    span::Span,
};
use crate::{
    file::{AsyncRecord, Header, NodeChunk, RawNode, Records, Slot, Spent, TreeHeader},
    model::{CallTree, End, Mode, Node, Notes},
    statistics::{BUCKETS, Statistics},
};

/// The variation of a probe's overhead between places, as a part of it: within the call, and in its caller. On one machine, 26 to
/// 31 ns and 31 to 46 ns were measured; code alignment and a method's locals decide. [`beyond`] says what remains of a path's time.
const VARIES_BY: [f64; 2] = [0.25, 0.4];

/// Below this number of histograms, one thread adds up all.
const LEAST_PART: usize = 1 << 14;

/// The result of reading all trees.
pub(super) struct Trees {
    pub(super) list: Vec<CallTree>,
    /// By function.
    pub(super) statistics: ByFunction,
    /// By function: the number of the type of an exception that left it.
    pub(super) exception_types: Vec<u32>,
    /// The clock when the file was written, as far as it is known.
    pub(super) end: i64,
}

impl Trees {
    pub(super) fn read(records: &Records<'_>, span: &Span, functions: &mut Functions<'_>) -> Self {
        let mut builder = Builder { records, places: Vec::new(), trees: Vec::new(), by_address: HashMap::new() };
        let mut all =
            Self { list: Vec::new(), statistics: Vec::new(), exception_types: Vec::new(), end: records.header.end_ticks };
        let (mut latest, mut histograms) = (i64::MIN, Vec::new());
        builder.make_room();
        for chunk in &records.nodes {
            builder.add(chunk, functions, &mut |function, raw| {
                latest = latest.max(raw.time.start);
                all.note(records, function, raw, &mut histograms);
            });
        }
        all.add_histograms(records, &histograms);
        // The program updates the header's clock once a second; later calls show later times.
        let header = &records.header;
        if may_run(header.end) && matches!(header.mode, Mode::Exact | Mode::Trace) {
            all.end = all.end.max(latest);
        }
        for tree in 0..builder.trees.len() {
            builder.close_open_calls(tree, all.end);
        }
        if !span.is_whole() {
            all.statistics = builder.statistics_of(span, &all.statistics);
            builder.take_snapshots(span);
        }
        all.list = builder.trees.into_iter().map(|tree| tree.into_flat(header, functions)).collect();
        all
    }

    /// Collects the values of a node that are kept by function.
    fn note(&mut self, records: &Records<'_>, function: usize, raw: &RawNode, histograms: &mut Vec<(u32, u64)>) {
        if self.statistics.len() <= function {
            self.statistics.resize(function + 1, None);
            self.exception_types.resize(function + 1, 0);
        }
        if raw.exception_type != 0 {
            self.exception_types[function] = raw.exception_type;
        }
        if raw.flags.has(NodeFlags::COUNTED) {
            // The calls that were timed before are too few, and too early, for percentiles.
            let first = records.first_of(raw);
            first.iter().for_each(|first| add_statistics(&mut self.statistics, function, &Statistics::of_first(*first)));
        } else if records.has_statistics(raw.statistics) {
            histograms.push((function as u32, raw.statistics));
        } else if let Some(first) = records.first_of(raw) {
            add_statistics(&mut self.statistics, function, &Statistics::of_first(first));
        }
    }

    /// Adds up histograms, given by function and address. Runs in parallel, since these are most of the bytes to read.
    fn add_histograms(&mut self, records: &Records<'_>, histograms: &[(u32, u64)]) {
        let sum = |part: &[(u32, u64)]| {
            let mut sums = ByFunction::new();
            for (function, address) in part {
                let found = records.statistics_of(*address);
                found.iter().for_each(|found| add_statistics(&mut sums, *function as usize, found));
            }
            sums
        };
        let sums: Vec<ByFunction> = if histograms.len() <= LEAST_PART {
            vec![sum(histograms)]
        } else {
            let part = histograms.len().div_ceil(rayon::current_num_threads().max(1)).max(LEAST_PART);
            histograms.par_chunks(part).map(sum).collect()
        };
        for sums in sums {
            for (function, sum) in sums.into_iter().enumerate() {
                sum.iter().for_each(|sum| add_statistics(&mut self.statistics, function, sum));
            }
        }
    }
}

/// Adds statistics to those of a function.
fn add_statistics(sums: &mut ByFunction, function: usize, statistics: &Statistics) {
    if sums.len() <= function {
        sums.resize(function + 1, None);
    }
    match &mut sums[function] {
        Some(sum) => sum.add(statistics),
        none => *none = Some(Box::new(statistics.clone())),
    }
}

/// The trees under construction.
struct Builder<'r, 'a> {
    records: &'r Records<'a>,
    /// By chunk: the tree, and for each slot the node, counted from 1; 0 for slots without a node.
    places: Vec<(usize, Vec<u32>)>,
    trees: Vec<Tree>,
    /// The number of a tree, by its address.
    by_address: HashMap<u64, usize>,
}

/// A call tree.
#[derive(Default)]
struct Tree {
    number: u64,
    header: TreeHeader,
    /// The number of slots in its chunks.
    slots: usize,
    nodes: Vec<Node>,
    notes: Vec<Notes>,
    sums: Vec<Sums>,
    /// Allocated bytes by node; empty if they were not counted.
    bytes: Vec<Spent>,
    /// Async records by node, of the few nodes that have one.
    of_async: HashMap<usize, AsyncRecord>,
}

/// The values of a node.
#[derive(Clone, Copy, Default)]
struct Sums {
    time: Spent,
    calls: i64,
    leaves: i64,
    open: i64,
    exceptions: i64,
    cpu: i64,
}

impl Builder<'_, '_> {
    /// Reserves as many nodes as the chunks have slots: a growing list would be copied and end up half empty.
    fn make_room(&mut self) {
        for chunk in &self.records.nodes {
            let number = *self.by_address.entry(chunk.tree).or_insert_with(|| {
                self.trees.push(Tree { number: chunk.tree_number, ..Tree::default() });
                self.trees.len() - 1
            });
            if let Some(tree) = self.trees.get_mut(number) {
                tree.slots += chunk.slots.count();
                tree.header = chunk.header.unwrap_or(tree.header);
            }
        }
        for tree in &mut self.trees {
            tree.nodes.reserve_exact(tree.slots);
            tree.notes.reserve_exact(tree.slots);
            tree.sums.reserve_exact(tree.slots);
        }
    }

    fn add(&mut self, chunk: &NodeChunk<'_>, functions: &mut Functions<'_>, note: &mut impl FnMut(usize, &RawNode)) {
        let Some(number) = self.by_address.get(&chunk.tree).copied() else { return };
        self.places.push((number, Vec::with_capacity(chunk.slots.count())));
        for slot in (0..chunk.slots.count()).map(|index| chunk.slot(index)) {
            let Slot::Node(raw) = slot else {
                self.places.last_mut().into_iter().for_each(|(_, places)| places.push(0));
                continue;
            };
            // A caller is always older than its callee; anything else is damage, and could form a cycle. Overflow nodes stand for
            // calls on many paths, and have no caller.
            let is_overflow = raw.flags.has(NodeFlags::OVERFLOW);
            let caller = if is_overflow { None } else { self.node_at(raw.caller).filter(|(tree, _)| *tree == number) };
            let record = match self.records.node_slot(raw.async_record) {
                Some(Slot::Async(record)) => Some(record),
                _ => None,
            };
            let function = functions.index_of(raw.method_id);
            note(function, &raw);
            let Some(tree) = self.trees.get_mut(number) else { return };
            tree.nodes.push(Node { function, caller: caller.map(|(_, node)| node) });
            let notes = Notes::from_flags(raw.flags);
            tree.notes.push(Notes { is_async: notes.is_async || raw.async_record != 0, ..notes });
            tree.sums.push(Sums {
                // `detached` is negative while a step interrupts an open call.
                time: Spent { total: raw.time.total.max(0), ..raw.time },
                calls: raw.calls.try_into().unwrap_or(i64::MAX),
                leaves: raw.leaves.try_into().unwrap_or(i64::MAX),
                open: 0,
                exceptions: raw.exceptions.into(),
                cpu: raw.cpu_ns.max(0),
            });
            if self.records.header.has_allocations {
                tree.bytes.push(Spent { total: raw.bytes.total.max(0), ..raw.bytes });
            }
            tree.of_async.extend(record.map(|record| (tree.nodes.len() - 1, record)));
            let node = tree.nodes.len() as u32;
            self.places.last_mut().into_iter().for_each(|(_, places)| places.push(node));
        }
    }

    /// Returns the tree and the node at this address, if they were read.
    fn node_at(&self, address: u64) -> Option<(usize, usize)> {
        let (chunk, slot) = self.records.slot_of(address)?;
        let (tree, places) = self.places.get(chunk)?;
        Some((*tree, (*places.get(slot)? as usize).checked_sub(1)?))
    }

    /// Extends calls that ran when the file was written to the end: from the current node up, through the steps of async
    /// methods that interrupted others.
    fn close_open_calls(&mut self, number: usize, end: i64) {
        let Some(tree) = self.trees.get(number) else { return };
        let (mut address, mut frame_address) = (tree.header.current, tree.header.frame);
        let first = self.records.header.start_ticks;
        // Times end at the run's end. The bytes of a thread are known up to its last probe.
        let ends = [end, tree.header.bytes];
        // The time, and bytes, by which the step just passed interrupts the next call.
        let mut interrupted = [0; 2];
        // A longer chain is a cycle.
        for _ in 0..2 * tree.slots + 2 {
            let Some((_, index)) = self.node_at(address).filter(|(owner, _)| *owner == number) else { return };
            let Some(Slot::Node(raw)) = self.records.node_slot(address) else { return };
            let caller = self.node_at(raw.caller).filter(|(owner, _)| *owner == number).map(|(_, caller)| caller);
            let starts_of_caller = caller
                .and_then(|caller| {
                    let tree = self.trees.get(number)?;
                    let bytes = tree.bytes.get(caller).map_or(i64::MIN, |bytes| bytes.start);
                    Some([tree.sums.get(caller)?.time.start.max(first), bytes])
                })
                .unwrap_or([first, i64::MIN]);
            let frame = match self.records.node_slot(frame_address) {
                Some(Slot::Frame(frame)) if frame.node == address => Some(frame),
                _ => None,
            };
            let Some(tree) = self.trees.get_mut(number) else { return };
            let Some(sums) = tree.sums.get_mut(index) else { return };
            let is_open = sums.calls > sums.leaves || frame.is_some();
            let mut spent: Vec<&mut Spent> = [Some(&mut sums.time), tree.bytes.get_mut(index)].into_iter().flatten().collect();
            for (spent, interrupted) in spent.iter_mut().zip(&mut interrupted) {
                let by = std::mem::take(interrupted);
                if is_open {
                    spent.total = spent.total.saturating_sub(by);
                    spent.detached = spent.detached.saturating_sub(by);
                }
            }
            if let Some(frame) = frame {
                // The first step of a call is part of that call.
                if frame.previous != address {
                    let starts = [frame.start.max(first), frame.bytes_start];
                    let all = spent.iter_mut().zip(&mut interrupted);
                    for (((spent, interrupted), start), end) in all.zip(starts).zip(ends) {
                        let spent_here = end.saturating_sub(start).max(0);
                        spent.total = spent.total.saturating_add(spent_here);
                        if frame.previous != raw.caller {
                            spent.detached = spent.detached.saturating_add(spent_here);
                            *interrupted = spent_here;
                        }
                    }
                }
                (address, frame_address) = (frame.previous, frame.below);
                continue;
            }
            // As many leaves as calls: the call was about to return to its caller.
            if sums.calls > sums.leaves {
                sums.open += 1;
                if !self.records.header.mode.has_samples() {
                    for ((spent, start_of_caller), end) in spent.iter_mut().zip(starts_of_caller).zip(ends) {
                        // A call cannot start before its caller; an earlier start was being changed.
                        let start = spent.start.max(start_of_caller);
                        spent.total = spent.total.saturating_add(end.saturating_sub(start).max(0));
                    }
                }
            }
            address = raw.caller;
        }
    }

    /// Adds the weighted snapshots of phases.
    fn take_snapshots(&mut self, span: &Span) {
        for tree in &mut self.trees {
            for sums in &mut tree.sums {
                let Sums { time, calls, leaves, open, exceptions, cpu } = sums;
                *time = time.times(span.end_weight);
                for value in [calls, leaves, open, exceptions, cpu] {
                    *value = value.saturating_mul(span.end_weight);
                }
            }
            tree.bytes.iter_mut().for_each(|bytes| *bytes = bytes.times(span.end_weight));
            tree.of_async.values_mut().for_each(|record| *record = record.times(span.end_weight));
        }
        for (phase, weight) in self.records.phases.iter().zip(&span.weights).filter(|(_, weight)| **weight != 0) {
            for entry in phase.entries() {
                let Some((tree, node)) = self.node_at(entry.node) else { continue };
                let Some(tree) = self.trees.get_mut(tree) else { continue };
                if let Some(bytes) = tree.bytes.get_mut(node) {
                    bytes.total = bytes.total.saturating_add(entry.bytes.saturating_mul(*weight));
                    bytes.detached = bytes.detached.saturating_add(entry.detached_bytes.saturating_mul(*weight));
                }
                let Some(sums) = tree.sums.get_mut(node) else { continue };
                for (sum, value) in [
                    (&mut sums.calls, entry.calls),
                    (&mut sums.leaves, entry.calls),
                    (&mut sums.time.total, entry.total),
                    (&mut sums.time.detached, entry.detached),
                ] {
                    *sum = sum.saturating_add(value.saturating_mul(*weight));
                }
            }
        }
        for (details, weight) in self.records.details_of(&span.weights) {
            let Some((tree, node)) = self.node_at(details.node) else { continue };
            let Some(tree) = self.trees.get_mut(tree) else { continue };
            let Some(sums) = tree.sums.get_mut(node) else { continue };
            for (sum, value) in [
                (&mut sums.exceptions, details.exceptions),
                (&mut sums.cpu, details.cpu_ns),
                (&mut sums.time.start, details.samples),
            ] {
                *sum = sum.saturating_add(value.saturating_mul(weight));
            }
            if let Some(record) = tree.of_async.get_mut(&node) {
                *record = record.plus(details.of_async.times(weight));
            }
        }
    }

    /// The statistics of a part of the run, of those of all of it. A path's first call is of the part in which it began; one that
    /// began on another thread, of the part in which it was completed.
    fn statistics_of(&self, span: &Span, whole: &ByFunction) -> ByFunction {
        let elsewhere = |tree: &Tree, node: usize| {
            let record = tree.of_async.get(&node).filter(|_| tree.sums.get(node).is_some_and(|sums| sums.calls == 0));
            record.map_or(0, |record| record.completed)
        };
        let ended = self.trees.iter().map(|tree| {
            let sums = tree.sums.iter().enumerate();
            sums.map(|(node, sums)| span.end_weight * (sums.calls + elsewhere(tree, node)).signum()).collect()
        });
        let mut began: Vec<Vec<i64>> = ended.collect();
        for (phase, weight) in self.records.phases.iter().zip(&span.weights).filter(|(_, weight)| **weight != 0) {
            for entry in phase.entries() {
                let node = self.node_at(entry.node).and_then(|(tree, node)| began.get_mut(tree)?.get_mut(node));
                node.into_iter().for_each(|began| *began = began.saturating_add(weight * entry.calls.signum()));
            }
        }
        for (details, weight) in self.records.details_of(&span.weights) {
            let Some((number, node)) = self.node_at(details.node) else { continue };
            let is_elsewhere = self.trees.get(number).is_some_and(|tree| elsewhere(tree, node) > 0);
            let began = began.get_mut(number).and_then(|began| began.get_mut(node)).filter(|_| is_elsewhere);
            began.into_iter().for_each(|began| *began = began.saturating_add(weight * details.of_async.completed.signum()));
        }
        let mut sums: HashMap<usize, (i64, [i64; BUCKETS])> = HashMap::new();
        for (chunk, (tree, places)) in self.records.nodes.iter().zip(&self.places) {
            for (slot, place) in places.iter().enumerate() {
                let Some(node) = (*place as usize).checked_sub(1) else { continue };
                let began = began.get(*tree).and_then(|began| began.get(node)).copied().unwrap_or_default();
                let (Slot::Node(raw), Some(function)) = (chunk.slot(slot), self.function_of(*tree, node)) else { continue };
                if let Some(first) = self.records.first_of(&raw).filter(|_| began > 0) {
                    let of_function = sums.entry(function).or_insert((0, [0; BUCKETS]));
                    of_function.0 = of_function.0.max(first);
                }
            }
        }
        for (function, whole) in whole.iter().enumerate() {
            let Some(whole) = whole.as_ref().filter(|whole| span.end_weight > 0 && whole.count > 0) else { continue };
            let of_function = sums.entry(function).or_insert((0, [0; BUCKETS]));
            let buckets = of_function.1.iter_mut().zip(&whole.buckets);
            buckets.for_each(|(sum, calls)| *sum = i64::try_from(*calls).unwrap_or(i64::MAX));
        }
        for (details, weight) in self.records.details_of(&span.weights) {
            let place = self.node_at(details.node);
            let Some(function) = place.and_then(|(tree, node)| self.function_of(tree, node)) else { continue };
            let (_, sums) = sums.entry(function).or_insert((0, [0; BUCKETS]));
            for (bucket, calls) in details.buckets() {
                let sum = sums.get_mut(bucket);
                sum.into_iter().for_each(|sum| *sum = sum.saturating_add(calls.saturating_mul(weight)));
            }
        }
        let mut part = ByFunction::new();
        for (function, (first, buckets)) in sums {
            if let Some(Some(whole)) = whole.get(function) {
                let buckets = buckets.map(|calls| calls.max(0) as u64);
                let of_part = whole.of_part(first, buckets, self.records.header.histogram_shift);
                add_statistics(&mut part, function, &of_part);
            }
        }
        part
    }

    fn function_of(&self, tree: usize, node: usize) -> Option<usize> {
        Some(self.trees.get(tree)?.nodes.get(node)?.function)
    }
}

impl Spent {
    /// Multiplies all values; the factor may be negative.
    fn times(self, times: i64) -> Self {
        let [start, total, detached] = [self.start, self.total, self.detached].map(|value| value.saturating_mul(times));
        Self { start, total, detached }
    }

    /// Returns the part of the total that is part of the caller's total.
    fn of_caller(self) -> i64 {
        self.total.saturating_sub(self.detached)
    }
}

impl Sums {
    /// Returns the number of calls that were timed. `leaves` of a counted path are those that ended and were timed.
    fn timed(&self, notes: Notes) -> i64 {
        if notes.is_counted {
            // A phase does not say how many of its calls were timed.
            self.leaves.clamp(0, self.calls.max(0))
        } else if notes.was_counted {
            self.leaves.saturating_add(self.open).clamp(0, self.calls.max(0))
        } else {
            self.calls
        }
    }

    /// Returns the number of calls whose time is part of the caller's.
    fn counted(&self, notes: Notes) -> i64 {
        if notes.is_counted { self.calls } else { self.calls.saturating_sub(self.timed(notes)).max(0) }
    }

    /// Returns the number of calls that ended.
    fn leaves(&self, notes: Notes) -> i64 {
        if notes.is_counted || notes.was_counted { self.calls.saturating_sub(self.open) } else { self.leaves }
    }
}

/// Returns the part of a path's time that is its own: `excess` is the time beyond its overhead, which is known to `unsure`. Up to half
/// of `unsure` it counts as overhead, and from `unsure` on it is the path's own. In between the part grows evenly: a small change of the
/// overhead must not move the path from nothing to a tenth of the program.
fn beyond(excess: f64, unsure: f64) -> f64 {
    excess.min(2.0 * excess - unsure).max(0.0)
}

impl Tree {
    /// Returns the time of each path that is part of its caller's. Of a path that is only counted, that is the time of its callees.
    fn net_times(&self) -> Vec<i64> {
        let mut net: Vec<i64> = self.sums.iter().map(|sums| sums.time.of_caller()).collect();
        if self.notes.iter().any(|notes| notes.is_counted) {
            let mut of_callees = vec![0_i64; net.len()];
            for (index, node) in self.nodes.iter().enumerate().rev() {
                if self.notes.get(index).is_some_and(|notes| notes.is_counted) {
                    net[index] = of_callees[index];
                }
                if let Some(sum) = node.caller.and_then(|caller| of_callees.get_mut(caller)) {
                    *sum = sum.saturating_add(net[index]);
                }
            }
        }
        net
    }

    /// Returns the bytes of each path itself, without those of its callees. Some methods leave their bytes to their callers; a path
    /// without a caller keeps them.
    fn own_bytes(&self, functions: &Functions<'_>) -> Vec<i64> {
        let mut own: Vec<i64> = self.bytes.iter().map(|bytes| bytes.total).collect();
        for (node, bytes) in self.nodes.iter().zip(&self.bytes) {
            let of_caller = node.caller.and_then(|caller| own.get_mut(caller));
            of_caller.into_iter().for_each(|own| *own = own.saturating_sub(bytes.of_caller()));
        }
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if functions.list.get(node.function).is_none_or(|function| function.method_id.has_own_bytes()) {
                continue;
            }
            let Some(caller) = node.caller.filter(|caller| *caller < index) else { continue };
            let bytes = own.get_mut(index).map(std::mem::take).unwrap_or_default();
            own.get_mut(caller).into_iter().for_each(|own| *own = own.saturating_add(bytes));
        }
        own
    }

    /// Subtracts the time of callees from that of their callers, and splits off waiting time and overhead.
    fn into_flat(self, header: &Header, functions: &Functions<'_>) -> CallTree {
        let net = self.net_times();
        let mut wall: Vec<i64> = self.sums.iter().map(|sums| sums.time.total).collect();
        let mut probes = vec![0.0; self.nodes.len()];
        let mut unsure = probes.clone();
        // Other programs that delayed the program's threads also delayed their probes.
        let [inside, outside, counting, counting_leave] =
            [header.probe_inside, header.probe_outside, header.counting, header.counting_leave]
                .map(|cost| cost * self.header.stretch());
        let mut has_callees = vec![false; self.nodes.len()];
        // From callees to callers: a counted path passes the overhead of its callees on.
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let (Some(sums), Some(notes)) = (self.sums.get(index), self.notes.get(index)) else { continue };
            // A step has a probe of its own.
            let timed = sums.timed(*notes) as f64;
            let counted = sums.calls as f64 - timed;
            let steps = self.of_async.get(&index).map_or(0, |record| record.steps) as f64;
            probes[index] += inside * (timed + steps) + outside * steps;
            unsure[index] += VARIES_BY[0] * inside * (timed + steps);
            if notes.is_counted {
                wall[index] = 0;
            }
            let Some(caller) = node.caller.filter(|caller| *caller < probes.len()) else { continue };
            let of_counted = counted * if has_callees[index] { counting + counting_leave } else { counting };
            // The compiler is no callee: a counted path that only it lies below has no leave probe.
            has_callees[caller] |= !functions.is_jit(node.function);
            probes[caller] += outside * timed + of_counted;
            unsure[caller] += VARIES_BY[1] * (outside * timed + of_counted);
            if notes.is_counted {
                probes[caller] += std::mem::take(&mut probes[index]);
                unsure[caller] += std::mem::take(&mut unsure[index]);
            }
            if !header.mode.has_samples() {
                wall[caller] = wall[caller].saturating_sub(net[index]);
            }
        }
        self.limit_jit(&mut wall, functions);
        let list = |value: fn(&Sums) -> i64| {
            // Most values are 0 in most trees; the zeroed memory is then not touched.
            if self.sums.iter().all(|sums| value(sums) == 0) {
                return vec![0; self.sums.len()];
            }
            self.sums.iter().map(value).collect::<Vec<i64>>()
        };
        let of_async = |value: fn(&AsyncRecord) -> i64| {
            let mut list = vec![0; self.nodes.len()];
            for (index, record) in &self.of_async {
                list.get_mut(*index).into_iter().for_each(|of_node| *of_node = value(record));
            }
            list
        };
        let counted: Vec<i64> = self.sums.iter().zip(&self.notes).map(|(sums, notes)| sums.counted(*notes)).collect();
        let leaves = self.sums.iter().zip(&self.notes).map(|(sums, notes)| sums.leaves(*notes)).collect();
        let mut values = vec![list(|sums| sums.calls), leaves, list(|sums| sums.open)];
        let waits = |node: &Node| functions.list.get(node.function).is_some_and(|function| function.method_id.waits());
        let waiting: Vec<i64> = if header.mode == Mode::Wall {
            // A sampled thread waits while it does not run.
            let ticks = |ns: i64| (i128::from(ns) * i128::from(header.ticks_per_second) / 1_000_000_000) as i64;
            self.sums.iter().zip(&wall).map(|(sums, wall)| wall.saturating_sub(ticks(sums.cpu)).max(0)).collect()
        } else {
            self.nodes.iter().zip(&wall).map(|(node, wall)| if waits(node) { *wall } else { 0 }).collect()
        };
        let probes = self.overhead(&wall, &waiting, probes, &unsure);
        values.extend([wall, waiting, probes]);
        values.extend([
            list(|sums| sums.exceptions),
            of_async(|record| record.latency.max(0)),
            of_async(|record| record.completed.max(0)),
            of_async(|record| record.faulted.max(0)),
            self.sums.iter().zip(&self.notes).map(|(sums, notes)| if notes.is_async { sums.time.total } else { 0 }).collect(),
            list(|sums| sums.cpu),
            if header.mode.has_samples() { list(|sums| sums.time.start.max(0)) } else { vec![0; self.nodes.len()] },
            counted,
            unsure.iter().map(|ticks| *ticks as i64).collect(),
        ]);
        values.extend(header.has_allocations.then(|| self.own_bytes(functions)));
        let TreeHeader { threads, lost_calls, bad_tokens, cpu_ns, .. } = self.header;
        let Self { number, nodes, notes, .. } = self;
        CallTree { number, names: Vec::new(), cpu_ns, threads, lost_calls, bad_tokens, nodes, notes, values }
    }

    /// Leaves the JIT compiler's time in the callees of a path as far as it does not fit into the path itself. It is read apart from
    /// calls, so it can lie in callees that ran meanwhile.
    fn limit_jit(&self, wall: &mut [i64], functions: &Functions<'_>) {
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| functions.is_jit(node.function)) {
            let Some(caller) = node.caller.filter(|caller| *caller < wall.len()) else { continue };
            let excess = wall[caller].saturating_neg().clamp(0, wall[index].max(0));
            wall[index] -= excess;
            wall[caller] += excess;
        }
    }

    /// Returns the overhead within each node's own time, from the overhead that its probes have on average.
    fn overhead(&self, wall: &[i64], waiting: &[i64], mut probes: Vec<f64>, unsure: &[f64]) -> Vec<i64> {
        let mut own = vec![0; wall.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let (wall, waiting) = (wall[index], waiting[index]);
            let ran = wall.saturating_sub(waiting).max(0) as f64;
            let taken = ran - beyond(ran - probes[index], unsure[index]);
            let left = (probes[index] - taken).max(0.0);
            own[index] = taken as i64;
            // The split of a probe's overhead between call and caller varies: the excess moves to the caller.
            if let Some(of_caller) = node.caller.and_then(|caller| probes.get_mut(caller)).filter(|_| waiting == 0) {
                *of_caller += left;
            }
        }
        own
    }
}

/// Returns whether the program may have continued after the file was read.
fn may_run(end: End) -> bool {
    matches!(end, End::Unknown | End::Running)
}
