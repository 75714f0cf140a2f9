//! The table of functions, independent of its output format: a row is the sum of a function's paths.

use crate::{
    aggregate::{percent, running},
    model::{Notes, Profile, SampleType},
};
pub use crate::{
    metric::{Metric, MetricUnit, Ranked, SortBy, rank},
    row::Row,
};

impl Ranked for Row<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn metric(&self, metric: Metric) -> Option<f64> {
        metric.value(self)
    }

    /// Returns the value to sort by. A running time below its possible error counts as at least half of the error, because it may be
    /// anything from 0 to the error.
    fn key(&self, sort: SortBy) -> f64 {
        let error = match sort {
            SortBy::SelfTime if !self.is_counted() => self.self_uncertainty_ms,
            SortBy::Total if !self.is_counted() => self.total_uncertainty_ms,
            _ => 0.0,
        };
        let value = sort.metric().and_then(|metric| self.metric(metric)).unwrap_or_default();
        if value < error { value.max(error / 2.0) } else { value }
    }
}

impl Profile {
    /// Returns a row for each function.
    pub fn rows(&self, sort: SortBy) -> Vec<Row<'_>> {
        let sums = Sums::new(self);
        let names = self.display_names();
        let rows = names.into_iter().enumerate().map(|(index, name)| self.row(index, name, &sums));
        let mut rows: Vec<Row<'_>> =
            rows.filter(|row| row.calls > 0 || row.self_bytes > Some(0) || row.total_ms > 0.0 || row.waiting_ms > 0.0).collect();
        rank(&mut rows, sort);
        rows
    }

    fn row(&self, index: usize, name: String, sums: &Sums) -> Row<'_> {
        let Some(function) = self.functions.get(index) else { return Row::default() };
        let at = |values: &[i64]| values.get(index).copied().unwrap_or_default().max(0);
        let module = self.module_of(function);
        let notes = sums.notes.get(index).copied().unwrap_or_default();
        let (calls, own, total, waiting) = (at(&sums.calls), at(&sums.own), at(&sums.total), at(&sums.waiting));
        let (own_probes, probes) = (at(&sums.own_probes), at(&sums.probes));
        let elapsed = total.saturating_add(waiting);
        let counted = at(&sums.counted);
        let timed = calls.saturating_sub(counted);
        let statistics = self.statistics.get(index).and_then(Option::as_deref);
        // A call's time includes its own probe's overhead, and that of its callees' probes, which grows with it.
        let inside = if notes.is_async || self.is_raw() { 0.0 } else { self.probe_cost.inside };
        let (measured, known) = (elapsed.saturating_add(probes) as f64 - inside * timed as f64, elapsed as f64);
        let share = if measured > 0.0 && !notes.is_async { (known / measured).clamp(0.0, 1.0) } else { 1.0 };
        let corrected = |ticks: i64| self.milliseconds(((ticks as f64 - inside).max(0.0) * share) as i64);
        let others = statistics.filter(|statistics| statistics.count > 0);
        let percentile = |percent: u32| others.and_then(|all| all.percentile(percent, self.histogram_shift)).map(corrected);
        let (completed, latency, steps) = (at(&sums.completed), at(&sums.latency), at(&sums.steps));
        let is_followed = notes.is_async && self.has(SampleType::COMPLETED);
        let has = |ticks: i64| is_followed.then(|| self.milliseconds(ticks));
        let latency_ms = has(latency).filter(|_| completed > 0).map(|latency| latency / completed as f64);
        let has_bytes = !notes.is_runtime_async || timed > 0;
        let exception_type = self.exception_types.get(index).and_then(Option::as_deref);
        Row {
            function: index,
            name,
            raw_name: function.raw_name(),
            namespace: function.namespace(),
            type_name: function.type_name(),
            parameters: function.parameters(),
            file: function.file(),
            line: function.line(),
            token: function.token(),
            assembly: module.map(|module| module.assembly.as_str()),
            mvid: module.map(|module| hex::encode(module.mvid)),
            calls: calls as u64,
            leaves: at(&sums.leaves) as u64,
            open: at(&sums.open) as u64,
            self_ms: self.milliseconds(own),
            self_uncertainty_ms: self.milliseconds(at(&sums.own_uncertainty)),
            total_ms: self.milliseconds(total),
            total_uncertainty_ms: self.milliseconds(at(&sums.uncertainty)),
            waiting_ms: self.milliseconds(waiting),
            average_ms: latency_ms.unwrap_or_else(|| self.milliseconds(elapsed) / timed.max(1) as f64),
            self_percent: percent(own, sums.running),
            total_percent: percent(total, sums.running),
            first_ms: statistics.filter(|all| all.first > 0 || all.count > 0 && !self.is_part).map(|all| corrected(all.first)),
            min_ms: others.map(|all| corrected(all.min)),
            p50_ms: percentile(50),
            p95_ms: percentile(95),
            p99_ms: percentile(99),
            max_ms: others.map(|all| corrected(all.max)),
            waits: function.method_id.waits(),
            is_async: notes.is_async || notes.is_runtime_async,
            latency_ms,
            latency_p95_ms: percentile(95).filter(|_| notes.is_async),
            steps_ms: has(steps),
            awaiting_ms: has(latency.saturating_sub(steps).max(0)),
            faulted: is_followed.then(|| at(&sums.faulted) as u64),
            pending: (is_followed && !notes.lost_flow && !self.is_part).then(|| calls.saturating_sub(completed).max(0) as u64),
            exceptions: at(&sums.exceptions) as u64,
            exception_type: exception_type.filter(|_| at(&sums.exceptions) > 0),
            cpu_ms: self.has(SampleType::CPU).then(|| at(&sums.cpu) as f64 / 1e6).filter(|cpu| *cpu > 0.0),
            samples: self.mode.has_samples().then(|| at(&sums.samples) as u64),
            self_bytes: sums.own_bytes.get(index).filter(|_| has_bytes).map(|bytes| (*bytes).max(0) as u64),
            total_bytes: sums.bytes.get(index).filter(|_| has_bytes).map(|bytes| (*bytes).max(0) as u64),
            mostly_probe: own_probes > own,
            counted: counted as u64,
            is_runtime_async: notes.is_runtime_async,
        }
    }

    /// Keeps the overhead of probes within the times, which then have no error of its subtraction.
    pub fn keep_probes(&mut self) {
        for dropped in [SampleType::PROBES, SampleType::UNCERTAINTY] {
            if let Some(place) = self.sample_types.iter().position(|measured| *measured == dropped) {
                self.sample_types.remove(place);
                for tree in self.trees.iter_mut().filter(|tree| place < tree.values.len()) {
                    tree.values.remove(place);
                }
            }
        }
    }
}

/// Sums for each function; lists are by function.
struct Sums {
    calls: Vec<i64>,
    leaves: Vec<i64>,
    open: Vec<i64>,
    /// Running time: self, and with callees.
    own: Vec<i64>,
    total: Vec<i64>,
    /// With callees.
    waiting: Vec<i64>,
    own_probes: Vec<i64>,
    probes: Vec<i64>,
    own_uncertainty: Vec<i64>,
    /// With callees.
    uncertainty: Vec<i64>,
    exceptions: Vec<i64>,
    latency: Vec<i64>,
    completed: Vec<i64>,
    faulted: Vec<i64>,
    steps: Vec<i64>,
    cpu: Vec<i64>,
    samples: Vec<i64>,
    /// Allocated bytes; empty if they were not counted.
    own_bytes: Vec<i64>,
    /// With callees.
    bytes: Vec<i64>,
    /// Calls that were not timed.
    counted: Vec<i64>,
    notes: Vec<Notes>,
    /// The running time of the whole profile.
    running: i64,
}

impl Sums {
    fn new(profile: &Profile) -> Self {
        use SampleType as S;
        let flat = |sample_type| profile.flat_by_function(sample_type);
        let (wall, waiting, own_probes) = (flat(S::WALL), flat(S::WAITING), flat(S::PROBES));
        let [all, all_waiting, probes, uncertainty] =
            profile.cumulatives_by_function([S::WALL, S::WAITING, S::PROBES, S::UNCERTAINTY]);
        let less = |wall: &[i64], waiting: &[i64], probes: &[i64]| -> Vec<i64> {
            let values = wall.iter().zip(waiting).zip(probes);
            values.map(|((wall, waiting), probes)| running(*wall, *waiting, *probes)).collect()
        };
        let counts_bytes = profile.has(S::ALLOCATED);
        let mut notes = vec![Notes::default(); profile.functions.len()];
        for tree in &profile.trees {
            for (node, of_node) in tree.nodes.iter().zip(&tree.notes) {
                notes.get_mut(node.function).into_iter().for_each(|notes| *notes = notes.or(*of_node));
            }
        }
        Self {
            counted: flat(S::COUNTED),
            calls: flat(S::CALLS),
            leaves: flat(S::LEAVES),
            open: flat(S::OPEN),
            own: less(&wall, &waiting, &own_probes),
            total: less(&all, &all_waiting, &probes),
            waiting: all_waiting,
            uncertainty,
            own_uncertainty: flat(S::UNCERTAINTY),
            own_probes,
            probes,
            exceptions: flat(S::EXCEPTIONS),
            latency: flat(S::LATENCY),
            completed: flat(S::COMPLETED),
            faulted: flat(S::FAULTED),
            steps: flat(S::STEPS),
            cpu: flat(S::CPU),
            samples: flat(S::SAMPLES),
            own_bytes: if counts_bytes { flat(S::ALLOCATED) } else { Vec::new() },
            bytes: if counts_bytes { profile.cumulative_by_function(S::ALLOCATED) } else { Vec::new() },
            notes,
            running: profile.running(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_below_their_error_are_sorted_as_half_of_it() {
        let row = |name: &str, self_ms, self_uncertainty_ms, counted| Row {
            name: name.to_owned(),
            calls: 1,
            counted,
            self_ms,
            self_uncertainty_ms,
            ..Row::default()
        };
        let mut rows =
            [row("counted", 0.0, 90.0, 1), row("exact", 20.0, 1.0, 0), row("bound", 0.5, 52.0, 0), row("near", 45.0, 52.0, 0)];
        rank(&mut rows, SortBy::SelfTime);
        assert_eq!(rows.map(|row| row.name), ["near", "bound", "exact", "counted"]);
    }
}
