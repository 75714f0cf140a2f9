//! Call paths on both sides, for a differential flame graph.

use std::collections::HashMap;

use serde::Serialize;

use super::{comparison::Comparison, counted::as_counted};
use crate::{
    aggregate::{around, running},
    model::{Profile, SampleType},
};

/// A call path with both sides. Values are means over each side's runs, since means add up along paths. Times are in
/// milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathChange {
    /// Its method: an index into the comparison's methods.
    pub method: usize,
    /// The index of its caller, which comes before it.
    pub caller: Option<usize>,
    /// Its own running time, in the base and in the new runs.
    pub self_ms: [f64; 2],
    /// Running time in it and its callees.
    pub total_ms: [f64; 2],
    /// Its own waiting time.
    pub self_waiting_ms: [f64; 2],
    /// Its own CPU time, if a sampler measured it.
    pub cpu_ms: [f64; 2],
    /// Its number of calls.
    pub calls: [f64; 2],
    /// Bytes that it alone allocated, if they were counted.
    pub self_bytes: [f64; 2],
}

impl Comparison {
    /// Returns the call paths of the compared profiles: callers before their callees.
    pub fn paths(&self, base: &[Profile], new: &[Profile]) -> Vec<PathChange> {
        let mut paths: Vec<PathChange> = Vec::new();
        let mut places: HashMap<(Option<usize>, usize), usize> = HashMap::new();
        let sides = base.iter().map(|profile| (0, base.len(), profile)).chain(new.iter().map(|profile| (1, new.len(), profile)));
        for (((side, runs, profile), method_of), counted) in sides.zip(&self.method_of).zip(&self.counted) {
            let profile = as_counted(profile, counted);
            let weight = 1.0 / runs as f64;
            let tree = profile.merged_tree();
            // The merged path of each node.
            let mut mapped: Vec<Option<usize>> = Vec::with_capacity(tree.nodes.len());
            let flat = |sample_type| profile.flat(&tree, sample_type);
            let [wall, waiting, probes] = [SampleType::WALL, SampleType::WAITING, SampleType::PROBES].map(flat);
            let [all, all_waiting, all_probes] = [SampleType::WALL, SampleType::WAITING, SampleType::PROBES]
                .map(|sample_type| profile.cumulative(&tree, sample_type));
            let [calls, cpu, bytes] = [SampleType::CALLS, SampleType::CPU, SampleType::ALLOCATED].map(flat);
            for (index, node) in tree.nodes.iter().enumerate() {
                let at = |values: &[i64]| values.get(index).copied().unwrap_or_default();
                let caller = node.caller.and_then(|caller| mapped.get(caller).copied().flatten());
                let method =
                    method_of.get(node.function).copied().filter(|method| *method < self.methods.len() + self.others.len());
                let place = method.map(|method| {
                    *places.entry((caller, method)).or_insert_with(|| {
                        paths.push(PathChange { method, caller, ..PathChange::default() });
                        paths.len() - 1
                    })
                });
                if let Some(path) = place.and_then(|place| paths.get_mut(place)) {
                    let ms = |ticks| profile.milliseconds(ticks) * weight;
                    path.self_ms[side] += ms(running(at(wall), at(waiting), at(probes)).max(0));
                    path.total_ms[side] += ms(running(at(&all), at(&all_waiting), at(&all_probes)).max(0));
                    path.self_waiting_ms[side] += ms(at(waiting));
                    if profile.mode.has_samples() {
                        path.cpu_ms[side] += at(cpu) as f64 / 1e6 * weight;
                    }
                    path.calls[side] += at(calls) as f64 * weight;
                    path.self_bytes[side] += at(bytes) as f64 * weight;
                }
                mapped.push(place);
            }
        }
        if self.others.is_empty() {
            return paths;
        }
        around(paths, |path| &mut path.caller, |path| path.method < self.methods.len())
    }
}
