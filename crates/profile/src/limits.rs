//! The limits of a profile's numbers.

use std::collections::BTreeSet;

use identity::Visible;

use crate::{
    model::{Clock, End, Mode, Profile, SampleType},
    report::percent,
    text::counted,
};

/// The least frequency in Hz of a clock that can time a short call.
const COARSE_CLOCK: u64 = 20_000_000;

/// The factor from which on a time counts as much longer than the CPU time.
const MUCH_LONGER: f64 = 1.3;

/// As the tracker ends the runtime's name.
const NATIVE: &str = "native AOT";
/// Files that are named where names are missing.
const MAX_FILES: usize = 3;

/// What the call trees do not hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// The number of paths that were called too often to be timed, and that were only counted from then on.
    pub muted: u64,
    /// The number of calls beyond the limit of paths, which are recorded by method only.
    pub overflow: u64,
    /// The number of paths on which steps of async methods could not be matched to a call.
    pub lost_flow: u64,
}

impl Profile {
    /// Returns the losses of the call trees.
    pub fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for tree in &self.trees {
            for (notes, calls) in tree.notes.iter().zip(self.flat(tree, SampleType::CALLS)) {
                losses.muted += u64::from(notes.is_muted);
                losses.lost_flow += u64::from(notes.lost_flow);
                losses.overflow = losses.overflow.saturating_add(if notes.is_overflow { (*calls).max(0) as u64 } else { 0 });
            }
        }
        losses
    }

    /// How many methods have no name, why, and where names are to be had: half a sentence. None if all have one.
    pub fn missing_names(&self) -> Option<String> {
        let mut unnamed =
            self.functions.iter().filter(|function| function.name.is_none() && function.source.is_none()).peekable();
        unnamed.peek()?;
        let ended = !matches!(self.end, End::Unknown | End::Running);
        let (mut count, mut rewritten) = (0, BTreeSet::new());
        for function in unnamed {
            count += 1;
            // The program had the module at hand, and time to name its methods.
            rewritten.extend(self.module_of(function).filter(|_| ended).map(|module| module.name.as_str()));
        }
        let methods = counted(count, "method");
        let is_native = self.runtime.ends_with(NATIVE);
        Some(if is_native {
            format!(
                "the names of {methods} are not known: the program is native code, which has none. Add --symbols with the folder of \
                 the instrumented assemblies (of a build: obj/.../ilinst), or instrument with --names"
            )
        } else if rewritten.is_empty() {
            format!("the names of {methods} are not known (--symbols)")
        } else {
            let files: Vec<String> = rewritten.iter().take(MAX_FILES).map(|name| Visible(name).to_string()).collect();
            let more = if rewritten.len() > MAX_FILES { ", ..." } else { "" };
            format!(
                "the names of {methods} are not known: {}{more} was changed after it was instrumented, as by a trimmer or an \
                 obfuscator. Add --symbols with the folder of the instrumented assemblies (of a build: obj/.../ilinst), or \
                 instrument with --names",
                files.join(", ")
            )
        })
    }

    /// What the numbers cannot tell: half sentences, most important first.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let (wall, probes) = (self.sum(SampleType::WALL), self.sum(SampleType::PROBES));
        let cost = self.probe_cost;
        if probes > 0 && percent(probes, wall) >= 0.1 {
            let nanoseconds = |ticks: f64| ticks * 1e9 / self.ticks_per_second as f64;
            let (inside, outside) = (nanoseconds(cost.inside), nanoseconds(cost.outside));
            limits.push(format!(
                "probes took {:.1} % of thread time ({inside:.0} + {outside:.0} ns a call): that is taken out, and rows with ~ were \
                 mostly that",
                percent(probes, wall)
            ));
        }
        if self.is_raw() && cost.inside > 0.0 && self.mode != Mode::Count {
            limits.push("times include what the probes took".into());
        }
        if self.has_captured_calls && self.mode != Mode::Count {
            limits.push("times include what capturing took (--capture)".into());
        }
        let running = self.running();
        if let Some(cpu) = self.cpu_ns.filter(|cpu| *cpu > 0 && self.milliseconds(running) * 1e6 > MUCH_LONGER * *cpu as f64) {
            let times = self.milliseconds(running) * 1e6 / cpu as f64;
            limits.push(format!(
                "threads ran {times:.1} times as long as their CPU time: other programs had the processor, or calls wait that are \
                 not known to"
            ));
        }
        if self.clock == Clock::Program && self.mode != Mode::Count {
            limits.push("times are by the program's own clock (ILINST_CLOCK=program)".into());
        }
        match self.mode {
            Mode::Sampled => limits.push(match self.sum(SampleType::SAMPLES) {
                0 => "times are a sampler's, which looks once a millisecond".into(),
                samples => format!("times are of {}, one a millisecond", counted(samples as u64, "sample")),
            }),
            Mode::Count => limits.push("calls were counted, and no more: there are no times and no callers".into()),
            Mode::Exact | Mode::Trace if self.ticks_per_second < COARSE_CLOCK => {
                limits.push(format!("the clock ticks every {} ns", 1_000_000_000 / self.ticks_per_second));
            }
            Mode::Exact | Mode::Trace => {}
        }
        let Losses { muted, overflow, lost_flow } = self.losses();
        if overflow > 0 {
            limits.push(format!(
                "{} beyond the limit of {} call paths stand under their methods alone (ILINST_MAX_NODES)",
                counted(overflow, "call"),
                self.max_nodes
            ));
        }
        if muted > 0 {
            let paths = counted(muted, "path");
            limits.push(format!("{paths} called too often to be timed were only counted from then on (ILINST_AUTOMUTE)"));
        }
        if lost_flow > 0 {
            limits
                .push(format!("on {} steps of async methods did not know their call (SuppressFlow)", counted(lost_flow, "path")));
        }
        if self.disk_was_full {
            limits.push("the disk was full: the call paths that came last, and their time, are not in the file".into());
        }
        limits.extend(self.missing_names());
        if self.paused > 0 {
            limits.push(format!("nothing was recorded for {:.1} ms, while it was paused", self.milliseconds(self.paused)));
        }
        limits
    }
}
