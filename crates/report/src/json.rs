//! A profile as JSON for scripts.

use profile::{
    Profile, SampleType,
    coverage::{Totals, totals},
};
use serde::Serialize;

use crate::{limits::limits, views::View};

/// The document that `ilinst report --json` prints. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'p, 'n> {
    program: &'p str,
    runtime: &'p str,
    path: &'p str,
    pid: u32,
    processes: u64,
    end: String,
    mode: &'static str,
    clock: &'static str,
    milliseconds: f64,
    paused_ms: f64,
    threads: u64,
    /// Running time, waiting time and overhead together.
    thread_ms: f64,
    running_ms: f64,
    waiting_ms: f64,
    probes_ms: f64,
    cpu_ms: Option<f64>,
    lost_calls: u64,
    max_nodes: u32,
    bad_tokens: u64,
    events: u64,
    phases: &'p [String],
    /// The lines of source; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Totals>,
    /// Notes on the limits of the numbers.
    limits: Vec<String>,
    damage: Option<String>,
    #[serde(flatten)]
    view: &'p View<'n>,
}

/// Returns the profile with a view of it, as a serializable document.
pub fn document<'p, 'n>(profile: &'p Profile, view: &'p View<'n>) -> Document<'p, 'n> {
    Document {
        program: &profile.program,
        runtime: &profile.runtime,
        path: &profile.path,
        pid: profile.pid,
        processes: profile.processes,
        end: profile.end.to_string(),
        mode: profile.mode.word(),
        clock: profile.clock.word(),
        milliseconds: profile.milliseconds(profile.duration),
        paused_ms: profile.milliseconds(profile.paused),
        threads: profile.threads(),
        thread_ms: profile.milliseconds(profile.sum(SampleType::WALL)),
        running_ms: profile.milliseconds(profile.running()),
        waiting_ms: profile.milliseconds(profile.sum(SampleType::WAITING)),
        probes_ms: profile.milliseconds(profile.sum(SampleType::PROBES)),
        cpu_ms: profile.cpu_ns.map(|cpu| cpu as f64 / 1e6),
        lost_calls: profile.lost_calls(),
        max_nodes: profile.max_nodes,
        bad_tokens: profile.bad_tokens(),
        events: profile.events,
        phases: &profile.phases,
        lines: (!profile.lines.is_empty()).then(|| totals(&profile.lines)),
        limits: limits(profile),
        damage: profile.damage.as_ref().map(ToString::to_string),
        view,
    }
}
