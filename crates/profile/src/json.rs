//! A profile as JSON for scripts.

use serde::Serialize;

use crate::{
    model::{Profile, SampleType},
    views::View,
};

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
    mode: String,
    clock: String,
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
    /// Notes on the limits of the numbers.
    limits: Vec<String>,
    damage: Option<String>,
    #[serde(flatten)]
    view: &'p View<'n>,
}

impl Profile {
    /// Returns the profile with a view of it, as a serializable document.
    pub fn document<'p, 'n>(&'p self, view: &'p View<'n>) -> Document<'p, 'n> {
        Document {
            program: &self.program,
            runtime: &self.runtime,
            path: &self.path,
            pid: self.pid,
            processes: self.processes,
            end: self.end.to_string(),
            mode: format!("{:?}", self.mode).to_lowercase(),
            clock: format!("{:?}", self.clock).to_lowercase(),
            milliseconds: self.milliseconds(self.duration),
            paused_ms: self.milliseconds(self.paused),
            threads: self.threads(),
            thread_ms: self.milliseconds(self.sum(SampleType::WALL)),
            running_ms: self.milliseconds(self.running()),
            waiting_ms: self.milliseconds(self.sum(SampleType::WAITING)),
            probes_ms: self.milliseconds(self.sum(SampleType::PROBES)),
            cpu_ms: self.cpu_ns.map(|cpu| cpu as f64 / 1e6),
            lost_calls: self.lost_calls(),
            max_nodes: self.max_nodes,
            bad_tokens: self.bad_tokens(),
            events: self.events,
            phases: &self.phases,
            limits: self.limits(),
            damage: self.damage.as_ref().map(ToString::to_string),
            view,
        }
    }
}
