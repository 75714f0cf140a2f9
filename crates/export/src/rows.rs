//! Rows for tables: one for each call path of each thread, for the whole run and for each phase. Self values are the path's own,
//! so that any sum over rows is right. This also holds for totals: with recursion, only the outermost call has one.

use chrono::{DateTime, SecondsFormat, Utc};
use profile::{CallTree, Profile, SampleType};

use crate::{
    Error, Export, Measure,
    measure::in_nanoseconds,
    walk::{Step, Walk, cumulative},
};

/// The origin of a profile: facts that its file does not contain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// The name of the run, which tells it from others.
    pub run: String,
    /// The name of the machine.
    pub host: String,
    /// The release of the program.
    pub release: String,
}

impl Origin {
    /// Derives the origin from a profile. Program, host, process and time name the run. The release is the version of the
    /// program's assembly.
    pub fn new(profile: &Profile, host: &str) -> Self {
        let start = started(profile).map_or_else(String::new, |time| time.format("%Y%m%dT%H%M%S%.3f").to_string());
        let assembly = profile.modules.iter().map(|module| module.assembly.as_str());
        let mut programs = assembly.filter(|name| name.split(',').next() == Some(&profile.program));
        let version = programs.next().and_then(|name| name.split("Version=").nth(1)?.split(',').next());
        Self {
            run: format!("{}-{host}-{}-{start}", profile.program, profile.pid),
            host: host.to_owned(),
            release: version.unwrap_or_default().to_owned(),
        }
    }
}

/// Returns the time of the first probe. Returns `None` if it is not a valid time.
pub(crate) fn started(profile: &Profile) -> Option<DateTime<Utc>> {
    /// The number of 100 ns units from the year 1 to 1970.
    const EPOCH: i64 = 621_355_968_000_000_000;
    let units = i64::try_from(profile.start_time).ok()?.checked_sub(EPOCH)?;
    DateTime::from_timestamp_micros(units / 10)
}

/// Returns the time of the first probe in ISO 8601.
pub(crate) fn started_text(profile: &Profile) -> String {
    started(profile).map_or_else(String::new, |time| time.to_rfc3339_opts(SecondsFormat::Micros, true))
}

/// Returns the date of a profile's start in UTC, as used in names of partition folders.
pub fn date(profile: &Profile) -> String {
    started(profile).unwrap_or_default().format("%Y-%m-%d").to_string()
}

/// The metrics of each row.
pub(crate) const METRICS: [&str; 15] = [
    "calls",
    "self_ns",
    "self_uncertainty_ns",
    "total_ns",
    "total_uncertainty_ns",
    "waiting_ns",
    "total_waiting_ns",
    "cpu_ns",
    "exceptions",
    "samples",
    "latency_ns",
    "completed",
    "faulted",
    "bytes",
    "total_bytes",
];

/// A row: a path of a thread.
pub(crate) struct Row<'r> {
    pub(crate) tree: &'r CallTree,
    /// The name of the thread.
    pub(crate) thread: &'r str,
    /// The name of the phase; empty outside of phases.
    pub(crate) phase: &'r str,
    /// The path from the outermost call in, as indexes into the profile's functions.
    pub(crate) path: &'r [usize],
    pub(crate) is_async: bool,
    pub(crate) metrics: [i64; METRICS.len()],
}

impl Row<'_> {
    /// Returns the function at the end of the path.
    pub(crate) fn function(&self) -> usize {
        self.path.last().copied().unwrap_or_default()
    }
}

/// Calls `give` for each row.
pub(crate) fn for_each(export: &Export<'_>, mut give: impl FnMut(&Row<'_>) -> Result<(), Error>) -> Result<(), Error> {
    let profile = export.profile;
    for (index, tree) in profile.trees.iter().enumerate() {
        let mut rest = Metrics::new(profile, tree);
        let thread = tree.thread_names();
        for (phase, of_phase) in export.phases {
            let Some(same) = of_phase.trees.get(index).filter(|same| same.nodes == tree.nodes) else { continue };
            let metrics = Metrics::new(of_phase, same);
            rest.subtract(&metrics);
            metrics.rows(profile, tree, &thread, phase, &mut give)?;
        }
        rest.rows(profile, tree, &thread, "", &mut give)?;
    }
    Ok(())
}

/// The metrics of each node of a tree.
struct Metrics {
    calls: Vec<i64>,
    own: Vec<i64>,
    uncertainty: Vec<i64>,
    waiting: Vec<i64>,
    bytes: Vec<i64>,
    /// Metrics that are not known by phase.
    others: [Vec<i64>; 6],
}

impl Metrics {
    fn new(profile: &Profile, tree: &CallTree) -> Self {
        let [calls, own, waiting, cpu, exceptions, samples, bytes] = [
            Measure::Calls,
            Measure::SelfTime,
            Measure::Waiting,
            Measure::Cpu,
            Measure::Exceptions,
            Measure::Samples,
            Measure::Bytes,
        ]
        .map(|measure| measure.values(profile, tree));
        let [latency, completed, faulted] =
            [SampleType::LATENCY, SampleType::COMPLETED, SampleType::FAULTED].map(|one| in_nanoseconds(profile, tree, one));
        let uncertainty = in_nanoseconds(profile, tree, SampleType::UNCERTAINTY);
        Self { calls, own, uncertainty, waiting, bytes, others: [cpu, exceptions, samples, latency, completed, faulted] }
    }

    fn subtract(&mut self, part: &Self) {
        let lists = [
            (&mut self.calls, &part.calls),
            (&mut self.own, &part.own),
            (&mut self.uncertainty, &part.uncertainty),
            (&mut self.waiting, &part.waiting),
            (&mut self.bytes, &part.bytes),
        ];
        for (values, part) in lists {
            for (value, part) in values.iter_mut().zip(part) {
                *value = value.saturating_sub(*part).max(0);
            }
        }
    }

    fn rows(
        &self,
        profile: &Profile,
        tree: &CallTree,
        thread: &str,
        phase: &str,
        give: &mut impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let [totals, total_uncertainty, total_waiting, total_bytes] =
            [&self.own, &self.uncertainty, &self.waiting, &self.bytes].map(|values| cumulative(tree, values));
        let at = |values: &[i64], node: usize| values.get(node).copied().unwrap_or_default();
        // The number of times each function is on the current path.
        let mut on_path = vec![0_u32; profile.functions.len()];
        let mut path: Vec<usize> = Vec::new();
        for step in Walk::over(tree) {
            let (Step::Enter(node) | Step::Leave(node)) = step;
            let Some(function) = tree.nodes.get(node).map(|node| node.function) else { continue };
            let Some(above) = on_path.get_mut(function) else { continue };
            if matches!(step, Step::Leave(_)) {
                *above -= 1;
                path.pop();
                continue;
            }
            let outermost = i64::from(*above == 0);
            *above += 1;
            path.push(function);
            let [cpu, exceptions, samples, latency, completed, faulted] = self.others.each_ref().map(|values| at(values, node));
            let metrics = [
                at(&self.calls, node),
                at(&self.own, node),
                at(&self.uncertainty, node),
                outermost * at(&totals, node),
                outermost * at(&total_uncertainty, node),
                at(&self.waiting, node),
                outermost * at(&total_waiting, node),
                cpu,
                exceptions,
                samples,
                latency,
                completed,
                faulted,
                at(&self.bytes, node),
                outermost * at(&total_bytes, node),
            ];
            // Phases and the rest add up to the whole but for rounded errors, which make no row.
            if METRICS.iter().zip(metrics).any(|(name, metric)| metric != 0 && !name.ends_with("_uncertainty_ns")) {
                let is_async = tree.notes.get(node).is_some_and(|notes| notes.is_async);
                give(&Row { tree, thread, phase, path: &path, is_async, metrics })?;
            }
        }
        Ok(())
    }
}
