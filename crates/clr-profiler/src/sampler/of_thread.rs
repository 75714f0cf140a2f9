//! The record of a thread whose samples are added up.

use std::time::Duration;

use profile_format::NameKind;

use super::{paths::Paths, threads};
use crate::file;

/// The time between two looks at the samples.
pub(super) const PERIOD: Duration = Duration::from_millis(20);
/// A thread that has run for less than that since its last sample, in ns, ran the signal handler alone.
pub(super) const NOT_RUN: i64 = 20_000;

/// The record of a thread.
pub(super) struct OfThread {
    id: i32,
    pub(super) paths: Paths,
    name: String,
    is_named: bool,
    cpu: i64,
    /// Its last path, while it can be taken for the next sample: the thread has waited since.
    pub(super) last: Option<Vec<u64>>,
    /// How often its path was asked for without one that could be kept.
    pub(super) tries: u32,
    /// Whether it ran when it was asked for its path.
    pub(super) was_running: bool,
}

impl OfThread {
    /// `cpu` is the thread's CPU time in ns when the recording began.
    pub(super) fn new(id: i32, paths: Paths, cpu: i64) -> Self {
        Self { id, paths, name: String::new(), is_named: false, cpu, last: None, tries: 0, was_running: false }
    }

    /// Notes the thread's CPU time, and its name once it stays the same: new threads have that of their creator at first.
    pub(super) fn look(&mut self) {
        threads::cpu_time(self.id).into_iter().for_each(|cpu| self.set_cpu_time(cpu));
        let name = threads::name_of(self.id);
        if name == self.name {
            self.write_name();
        } else if !name.is_empty() {
            self.name = name;
        }
    }

    /// Sets the thread's CPU time, in ns.
    pub(super) fn set_cpu_time(&mut self, cpu: i64) {
        self.paths.add_cpu_time((cpu - self.cpu).max(0));
        self.cpu = self.cpu.max(cpu);
    }

    pub(super) fn write_name(&mut self) {
        if !std::mem::replace(&mut self.is_named, true) {
            let mut about = self.paths.number().to_le_bytes().to_vec();
            about.extend((self.id as u32).to_le_bytes());
            file::write_name(NameKind::Thread, &about, &[&self.name]);
        }
    }
}
