//! The part of a run that a profile is of.

use crate::file::{PhaseKind, Records};

/// A part of a run, as a weighted sum of the snapshots and of the final state.
#[derive(Default)]
pub(super) struct Span {
    /// By snapshot.
    pub(super) weights: Vec<i64>,
    pub(super) end_weight: i64,
    /// The sum of the snapshots' clocks, with these weights.
    clock: i64,
    /// The clock at the beginning and end of each part; empty for the whole run.
    pub(super) parts: Vec<(i64, Option<i64>)>,
}

impl Span {
    pub(super) fn since_reset(records: &Records<'_>) -> Self {
        let resets = records.phases.iter().enumerate().filter(|(_, phase)| phase.kind == PhaseKind::Reset);
        Self::between(records, resets.max_by_key(|(_, phase)| phase.clock).map(|(reset, _)| (reset, None)))
    }

    pub(super) fn of_phase(records: &Records<'_>, name: &str) -> Option<Self> {
        let mut order: Vec<usize> = (0..records.phases.len()).collect();
        order.sort_by_key(|index| records.phases.get(*index).map(|phase| phase.clock));
        let is_start =
            |index: &usize| records.phases.get(*index).is_some_and(|phase| phase.kind == PhaseKind::Mark && phase.name == name);
        let spans = order.iter().enumerate().filter(|(_, index)| is_start(index));
        let spans: Vec<_> = spans.map(|(place, index)| (*index, order.get(place + 1).copied())).collect();
        (!spans.is_empty()).then(|| Self::between(records, spans))
    }

    /// Creates a span of parts, each from one snapshot to another, or to the end.
    fn between(records: &Records<'_>, spans: impl IntoIterator<Item = (usize, Option<usize>)>) -> Self {
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
    pub(super) fn is_whole(&self) -> bool {
        self.end_weight == 1 && self.weights.iter().all(|weight| *weight == 0)
    }

    /// Returns its duration.
    pub(super) fn ticks(&self, start: i64, end: i64) -> i64 {
        let ticks = if self.is_whole() {
            end.saturating_sub(start)
        } else {
            end.saturating_mul(self.end_weight).saturating_add(self.clock)
        };
        ticks.max(0)
    }
}
