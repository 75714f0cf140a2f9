//! Groups of methods: types, namespaces and assemblies.

use std::collections::HashMap;

use profile::{
    Profile, SampleType,
    aggregate::{percent, running},
    model::Function,
    rows::{Metric, Ranked, SortBy, rank},
};
use serde::Serialize;

/// The kind of groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupBy {
    /// Their types.
    Type,
    /// The namespaces of their types.
    Namespace,
    /// Their assemblies.
    Assembly,
}

/// A group of methods. Times are in milliseconds, and have the meaning of those in [`Row`](profile::rows::Row).
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupRow {
    /// The name of the type, namespace or assembly.
    pub name: String,
    /// The number of its methods that were called.
    pub methods: u64,
    /// Number of times that these were entered.
    pub calls: i64,
    /// Number of calls that were counted, but not timed: their time is part of their callers'.
    pub counted: i64,
    /// Running time in these methods alone.
    pub self_ms: f64,
    /// Possible error of `self_ms`.
    pub self_uncertainty_ms: f64,
    /// Running time in these methods and all their callees.
    pub total_ms: f64,
    /// Possible error of `total_ms`.
    pub total_uncertainty_ms: f64,
    /// `self_ms` in percent of the profile's running time.
    pub self_percent: f64,
    /// `total_ms` in percent of the profile's running time.
    pub total_percent: f64,
    /// Waiting time in these methods and all their callees.
    pub waiting_ms: f64,
    /// Running and waiting time per call.
    pub average_ms: f64,
    /// Number of exceptions that left these methods.
    pub exceptions: i64,
    /// CPU time in these methods alone; `None` without a sampler.
    pub cpu_ms: Option<f64>,
    /// Bytes that these methods alone allocated; `None` if they were not counted.
    pub self_bytes: Option<u64>,
    /// Bytes that these methods and all their callees allocated.
    pub total_bytes: Option<u64>,
    /// The file that the assembly was loaded from. `None` for other groups, and if the program did not record it.
    pub path: Option<String>,
}

impl GroupRow {
    /// Returns whether none of its methods' own time is known, as all of it is part of their callers'.
    pub fn is_counted(&self) -> bool {
        self.counted > 0 && self.counted >= self.calls
    }
}

/// Returns groups of methods. Averages are over all calls. Metrics of single calls (p95, max) sort groups by self time.
/// `is_kept` selects functions.
pub fn groups(profile: &Profile, by: GroupBy, sort: SortBy, is_kept: impl Fn(usize) -> bool) -> Vec<GroupRow> {
    use SampleType as S;
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut rows: Vec<GroupRow> = Vec::new();
    let group_of: Vec<Option<usize>> = profile
        .functions
        .iter()
        .enumerate()
        .map(|(index, function)| {
            let name = is_kept(index).then(|| group_name(profile, function, by))?;
            Some(*numbers.entry(name).or_insert_with_key(|name| {
                let module = profile.module_of(function);
                let path = module.map(|module| module.path.clone()).filter(|path| by == GroupBy::Assembly && !path.is_empty());
                rows.push(GroupRow { name: name.clone(), path, ..GroupRow::default() });
                rows.len() - 1
            }))
        })
        .collect();
    let flat = |what| profile.flat_by_function(what);
    let (calls, counted, exceptions) = (flat(S::CALLS), flat(S::COUNTED), flat(S::EXCEPTIONS));
    let (cpu, samples) = (flat(S::CPU), flat(S::SAMPLES));
    let (wall, waiting, probes, uncertainty) = (flat(S::WALL), flat(S::WAITING), flat(S::PROBES), flat(S::UNCERTAINTY));
    let (bytes, counts_bytes) = (flat(S::ALLOCATED), profile.has(S::ALLOCATED));
    let (mut own, is_sampled) = (vec![0_i64; rows.len()], profile.mode.has_samples());
    for (function, group) in group_of.iter().enumerate() {
        let Some((group, row)) = group.and_then(|group| Some((group, rows.get_mut(group)?))) else { continue };
        let at = |values: &[i64]| values.get(function).copied().unwrap_or_default();
        row.methods += u64::from(at(&calls) > 0 || at(&samples) > 0);
        row.calls = row.calls.saturating_add(at(&calls));
        row.counted = row.counted.saturating_add(at(&counted));
        row.exceptions = row.exceptions.saturating_add(at(&exceptions));
        if is_sampled {
            *row.cpu_ms.get_or_insert_default() += at(&cpu) as f64 / 1e6;
        }
        if counts_bytes {
            let sum = row.self_bytes.get_or_insert_default();
            *sum = sum.saturating_add(at(&bytes).max(0) as u64);
        }
        row.self_uncertainty_ms += profile.milliseconds(at(&uncertainty));
        own[group] = own[group].saturating_add(running(at(&wall), at(&waiting), at(&probes)));
    }
    let totals = profile.cumulatives_by([S::WALL, S::WAITING, S::PROBES, S::UNCERTAINTY, S::ALLOCATED], &group_of, rows.len());
    let all = profile.running();
    for (group, row) in rows.iter_mut().enumerate() {
        let [wall, waiting, probes, uncertainty, bytes] =
            totals.each_ref().map(|sums| sums.get(group).copied().unwrap_or_default());
        let (own, total) = (own[group].max(0), running(wall, waiting, probes).max(0));
        (row.self_ms, row.total_ms) = (profile.milliseconds(own), profile.milliseconds(total));
        row.total_uncertainty_ms = profile.milliseconds(uncertainty);
        (row.self_percent, row.total_percent) = (percent(own, all), percent(total, all));
        row.waiting_ms = profile.milliseconds(waiting);
        row.total_bytes = counts_bytes.then_some(bytes.max(0) as u64);
        row.average_ms = (row.total_ms + row.waiting_ms) / row.calls.max(1) as f64;
    }
    rows.retain(|row| row.methods > 0 || row.total_ms > 0.0 || row.waiting_ms > 0.0);
    rank(&mut rows, sort);
    rows
}

fn group_name(profile: &Profile, function: &Function, by: GroupBy) -> String {
    let module = profile.module_of(function);
    match by {
        GroupBy::Type => match function.type_name() {
            None => "(not known)".into(),
            Some(none) if none.is_empty() => "(none)".into(),
            Some(name) => name,
        },
        GroupBy::Namespace => match function.namespace() {
            None => "(not known)".into(),
            Some("") => "(none)".into(),
            Some(namespace) => namespace.into(),
        },
        GroupBy::Assembly => module.map_or_else(|| "(not known)".into(), |module| module.assembly.clone()),
    }
}

impl Ranked for GroupRow {
    fn name(&self) -> &str {
        &self.name
    }

    fn metric(&self, metric: Metric) -> Option<f64> {
        Some(match metric {
            Metric::SelfTime | Metric::P95 | Metric::Max => self.self_ms,
            Metric::Total => self.total_ms,
            Metric::Waiting => self.waiting_ms,
            Metric::Calls => self.calls as f64,
            Metric::Average => self.average_ms,
            Metric::Exceptions => self.exceptions as f64,
            Metric::Cpu => self.cpu_ms?,
            Metric::Bytes => self.self_bytes? as f64,
            Metric::TotalBytes => self.total_bytes? as f64,
        })
    }
}
