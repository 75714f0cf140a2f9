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

/// The share of probes in the thread time, in percent, from which on a note says how to reduce it.
const MUCH_OVERHEAD: f64 = 25.0;

/// As the tracker ends the runtime's name.
const NATIVE: &str = "native AOT";
/// Files that are named where names are missing.
const MAX_FILES: usize = 3;

/// The calls that the call trees lack.
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
                "{methods} without a name: the program is native code, which has none. Add --symbols with the folder of \
                 the instrumented assemblies (of a build: obj/.../ilinst), or instrument with --names"
            )
        } else if rewritten.is_empty() {
            format!("{methods} without a name: add --symbols with the folder of the instrumented assemblies")
        } else {
            let files: Vec<String> = rewritten.iter().take(MAX_FILES).map(|name| Visible(name).to_string()).collect();
            let more = if rewritten.len() > MAX_FILES { ", ..." } else { "" };
            format!(
                "{methods} without a name: {}{more} was changed after it was instrumented, as by a trimmer or an \
                 obfuscator. Add --symbols with the folder of the instrumented assemblies (of a build: obj/.../ilinst), or \
                 instrument with --names",
                files.join(", ")
            )
        })
    }

    /// Returns the limits of the numbers as sentences without a full stop, most important first.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let (wall, probes) = (self.sum(SampleType::WALL), self.sum(SampleType::PROBES));
        let cost = self.probe_cost;
        if probes > 0 && percent(probes, wall) >= 0.1 {
            let nanoseconds = |ticks: f64| ticks * 1e9 / self.ticks_per_second as f64;
            let share = percent(probes, wall);
            let advice =
                if share < MUCH_OVERHEAD { "" } else { "; to reduce it, exclude these methods, or use ILINST_MODE=sampled" };
            limits.push(format!(
                "measuring overhead was {share:.1} % of thread time ({:.0} ns a call) and is subtracted; times in rows marked ~ are \
                 unreliable{advice}",
                nanoseconds(cost.inside + cost.outside),
            ));
        }
        if self.is_raw() && cost.inside > 0.0 && self.mode != Mode::Count {
            limits.push("times include the measuring overhead".into());
        }
        if self.has_captured_calls && self.mode != Mode::Count {
            limits.push("times include the cost of recording values (--capture)".into());
        }
        let running = self.running();
        let cpu = self.cpu_ns.filter(|_| self.mode.has_calls());
        if let Some(cpu) = cpu.filter(|cpu| *cpu > 0 && self.milliseconds(running) * 1e6 > MUCH_LONGER * *cpu as f64) {
            let times = self.milliseconds(running) * 1e6 / cpu as f64;
            limits.push(format!(
                "threads show {times:.1} times more running time than CPU time: the machine was busy, or the code waits in calls that \
                 ilinst does not recognise (add them with --calls)"
            ));
        }
        if self.clock == Clock::Program && self.mode != Mode::Count {
            limits.push("times are from the program's own clock (ILINST_CLOCK=program)".into());
        }
        match self.mode {
            Mode::Sampled => limits.push(match self.sum(SampleType::SAMPLES) {
                0 => "times are from a sampler, which takes one sample a millisecond".into(),
                samples => format!("times are from {}, one a millisecond", counted(samples as u64, "sample")),
            }),
            Mode::Cpu | Mode::Wall => {
                let samples = self.sum(SampleType::SAMPLES);
                let period = self.milliseconds(wall) / samples.max(1) as f64;
                let what = if self.mode == Mode::Cpu { "CPU time" } else { "elapsed time" };
                let samples = counted(samples.max(0) as u64, "sample");
                limits.push(format!("times are from {samples} of {what}, one every {period:.1} ms; calls are not counted"));
            }
            Mode::Count => limits.push("only calls were counted (ILINST_MODE=count): there are no times and no callers".into()),
            Mode::Exact | Mode::Trace if self.ticks_per_second < COARSE_CLOCK => {
                limits.push(format!("the clock ticks every {} ns", 1_000_000_000 / self.ticks_per_second));
            }
            Mode::Exact | Mode::Trace => {}
        }
        let Losses { muted, overflow, lost_flow } = self.losses();
        if overflow > 0 {
            limits.push(format!(
                "{} beyond the limit of {} call paths have no callers (ILINST_MAX_NODES sets the limit)",
                counted(overflow, "call"),
                self.max_nodes
            ));
        }
        if muted > 0 {
            let paths = counted(muted, "path");
            limits.push(format!("{paths} called too often to be timed: from then on, calls were only counted (ILINST_AUTOMUTE)"));
        }
        if lost_flow > 0 {
            let paths = counted(lost_flow, "path");
            limits.push(format!("{paths} with steps of async methods that could not be matched to a call (SuppressFlow)"));
        }
        if self.disk_was_full {
            limits.push("the disk was full: the last call paths and their times are missing".into());
        }
        limits.extend(self.missing_names());
        if self.paused > 0 {
            limits.push(format!("nothing was recorded for {:.1} ms, while recording was paused", self.milliseconds(self.paused)));
        }
        limits
    }
}
