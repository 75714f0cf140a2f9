//! The limits of a profile's numbers.

use std::collections::BTreeSet;

use names::Visible;
use profile::{
    End, Profile, SampleType,
    aggregate::percent,
    counted,
    model::{Clock, Mode, ProbeCost, SampleLosses},
};

/// The largest step in ns of a clock that can time a short call. A measured step includes a reading of the clock.
const FINE_STEP: f64 = 50.0;
const FINE_MEASURED_STEP: f64 = 4000.0;

/// The factor from which on a time counts as much longer than the CPU time.
const MUCH_LONGER: f64 = 1.3;

/// The share of probes in the thread time, in percent, from which on reports begin with how to reduce it.
const MUCH_OVERHEAD: f64 = 30.0;
/// The share of samples in percent from which on a note says that they came late.
const MUCH_LATE: f64 = 3.0;
/// The number of methods that the banner proposes to exclude.
const PROPOSED: usize = 3;

/// The runtime that keeps running the optimized code of runtime-async methods after they are instrumented.
const REUSES_CODE: &str = ".NET 10.";
/// The remark on that.
const RECOMPILES_FEW: &str = ", and calls may be missing, as .NET 10 keeps running their optimized code";

/// As the tracker ends the runtime's name.
const NATIVE: &str = "native AOT";
/// Files that are named where names are missing.
const MAX_FILES: usize = 3;

/// The calls that the call trees lack.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// The number of calls beyond the limit of paths, which are recorded by method only.
    pub overflow: u64,
    /// The number of paths on which steps of async methods could not be matched to a call.
    pub lost_flow: u64,
}

/// Returns the losses of the call trees.
pub fn losses(profile: &Profile) -> Losses {
    let mut losses = Losses::default();
    for tree in &profile.trees {
        for (notes, calls) in tree.notes.iter().zip(profile.flat(tree, SampleType::CALLS)) {
            losses.lost_flow += u64::from(notes.lost_flow);
            losses.overflow = losses.overflow.saturating_add(if notes.is_overflow { (*calls).max(0) as u64 } else { 0 });
        }
    }
    losses
}

/// How many methods have no name, why, and where names are to be had: half a sentence. None if all have one.
pub fn missing_names(profile: &Profile) -> Option<String> {
    let mut unnamed = profile.functions.iter().filter(|function| function.name.is_none() && function.source.is_none()).peekable();
    unnamed.peek()?;
    let ended = !matches!(profile.end, End::Unknown | End::Running);
    let (mut count, mut rewritten) = (0, BTreeSet::new());
    for function in unnamed {
        count += 1;
        // The program had the module at hand, and time to name its methods.
        rewritten.extend(profile.module_of(function).filter(|_| ended).map(|module| module.name.as_str()));
    }
    let methods = counted(count, "method");
    let is_native = profile.runtime.ends_with(NATIVE);
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

/// Returns the overhead of a call, as words.
fn overhead_of_calls(profile: &Profile) -> String {
    let ns = |ticks: f64| ticks * 1e9 / profile.ticks_per_second as f64;
    let timed = ns(profile.probe_cost.inside + profile.probe_cost.outside);
    let ProbeCost { counting, counting_leave, .. } = profile.probe_cost;
    let counted = [counting, counting + counting_leave].map(|cost| format!("{:.0}", ns(cost)));
    // The live profiler does not measure the counting of runtime-async methods.
    match counting > 0.0 && profile.sum(SampleType::COUNTED) > 0 {
        true if counted[0] != counted[1] => {
            format!("{timed:.0} ns for a timed call, {} to {} ns for a counted one", counted[0], counted[1])
        }
        true => format!("{timed:.0} ns for a timed call, {} ns for a counted one", counted[0]),
        false => format!("{timed:.0} ns a call"),
    }
}

/// Returns the command that excludes the methods with most overhead; `None` if there are none.
fn excluding(profile: &Profile) -> Option<String> {
    let [calls, counted_only] = [SampleType::CALLS, SampleType::COUNTED].map(|of| profile.flat_by_function(of));
    let ProbeCost { inside, outside, counting, .. } = profile.probe_cost;
    let overhead = |index: usize| {
        let [calls, counted_only] = [&calls, &counted_only].map(|values| values.get(index).copied().unwrap_or_default() as f64);
        (calls - counted_only) * (inside + outside) + counted_only * counting
    };
    let all: f64 = (0..profile.functions.len()).map(overhead).sum();
    let functions = profile.functions.iter().enumerate().filter(|(_, function)| !function.method_id.waits());
    let mut costly: Vec<(f64, String)> =
        functions.filter_map(|(index, function)| Some((overhead(index), function.raw_name()?))).collect();
    costly.sort_by(|(one, name), (other, other_name)| other.total_cmp(one).then_with(|| name.cmp(other_name)));
    costly.truncate(PROPOSED);
    let share: f64 = costly.iter().map(|(cost, _)| cost).sum::<f64>() * 100.0 / all.max(1.0);
    if costly.is_empty() || share < 1.0 {
        return None;
    }
    let options: Vec<String> = costly.iter().map(|(_, name)| format!("--exclude '{}'", Visible(name))).collect();
    Some(format!("ilinst run {} -- COMMAND  # {share:.0} % less overhead", options.join(" ")))
}

/// Returns the banner of a profile whose times are rough: a sentence, then commands that measure with less overhead. Empty for other
/// profiles.
pub(crate) fn attention(profile: &Profile) -> Vec<String> {
    let share = percent(profile.sum(SampleType::PROBES), profile.sum(SampleType::WALL));
    if share < MUCH_OVERHEAD {
        return Vec::new();
    }
    let overhead = overhead_of_calls(profile);
    let sentence =
        format!("measuring overhead was {share:.0} % of thread time ({overhead}): times are rough. Measure with less:");
    let sampling = "ilinst run --sample -- COMMAND  # on Linux, without probes".into();
    [sentence, sampling].into_iter().chain(excluding(profile)).collect()
}

/// Returns the name of the clock that timed calls; `None` if no probes did.
pub(crate) fn clock(profile: &Profile) -> Option<&'static str> {
    // Only probes count the ends of calls: call paths of other tools have none.
    let is_timed = matches!(profile.mode, Mode::Exact | Mode::Trace) && profile.has(SampleType::LEAVES);
    is_timed.then(|| profile.clock.word())
}

/// Returns sentences on samples that are missing or late.
fn sample_losses(profile: &Profile) -> Vec<String> {
    let SampleLosses { lost, late, unsampled_threads } = profile.sample_losses;
    let mut losses = Vec::new();
    if lost > 0 {
        losses
            .push(format!("not recorded: {}, as a thread's buffer was full; a lower --frequency helps", counted(lost, "sample")));
    }
    if unsampled_threads > 0 {
        losses.push(format!(
            "samples of {} are missing, all or some: they block SIGRTMIN, or lack a timer (raise ulimit -i) or memory",
            counted(unsampled_threads, "thread")
        ));
    }
    let share = percent(late.try_into().unwrap_or(i64::MAX), profile.sum(SampleType::SAMPLES));
    if share >= MUCH_LATE {
        losses.push(format!(
            "{share:.0} % of the samples came late, as the machine or the kernel was busy: some count in methods that ran later. Perf events avoid \
             this (sysctl kernel.perf_event_paranoid=2; in a container, a seccomp profile with perf_event_open)"
        ));
    }
    losses
}

/// Returns the limits of the numbers as sentences without a full stop, most important first. Those of rough times are followed by
/// commands.
pub fn limits(profile: &Profile) -> Vec<String> {
    [attention(profile), notes(profile)].concat()
}

/// Returns the limits of the numbers without those of the banner.
pub(crate) fn notes(profile: &Profile) -> Vec<String> {
    let mut limits = Vec::new();
    let (wall, probes) = (profile.sum(SampleType::WALL), profile.sum(SampleType::PROBES));
    let cost = profile.probe_cost;
    let share = percent(probes, wall);
    if (0.1..MUCH_OVERHEAD).contains(&share) {
        limits.push(format!(
            "measuring overhead was {share:.1} % of thread time ({}) and is subtracted; times in rows marked ~ are unreliable",
            overhead_of_calls(profile)
        ));
    }
    if profile.is_raw() && cost.inside > 0.0 && profile.mode != Mode::Count {
        limits.push("times include the measuring overhead".into());
    }
    if profile.has_captured_calls && profile.mode != Mode::Count {
        limits.push("times include the cost of recording values (--capture)".into());
    }
    if profile.has(SampleType::ALLOCATED) {
        limits.push(
            "each probe also read the bytes that its thread had allocated (--allocations), which is part of the measuring overhead"
                .into(),
        );
    }
    if profile.lacks_allocations {
        limits.push(
            "allocated bytes were not counted (--allocations): this runtime cannot count those of a thread; .NET Core 2.1, .NET \
             Framework 4.8 and Mono 6 can"
                .into(),
        );
    }
    let running = profile.running();
    let cpu = profile.cpu_ns.filter(|_| profile.mode.has_calls());
    if let Some(cpu) = cpu.filter(|cpu| *cpu > 0 && profile.milliseconds(running) * 1e6 > MUCH_LONGER * *cpu as f64) {
        let times = profile.milliseconds(running) * 1e6 / cpu as f64;
        limits.push(format!(
            "threads show {times:.1} times more running time than CPU time: the machine was busy, or the code waits in calls that \
             ilinst does not recognise (add them with --calls)"
        ));
    }
    if profile.clock == Clock::Program && profile.mode != Mode::Count {
        limits.push("times are from the program's own clock (ILINST_CLOCK=program)".into());
    }
    match profile.mode {
        Mode::Sampled => limits.push(match profile.sum(SampleType::SAMPLES) {
            0 => "times are from a sampler, which takes one sample a millisecond".into(),
            samples => format!("times are from {}, one a millisecond", counted(samples as u64, "sample")),
        }),
        Mode::Cpu | Mode::Wall => {
            let samples = profile.sum(SampleType::SAMPLES);
            let period = profile.milliseconds(wall) / samples.max(1) as f64;
            let what = if profile.mode == Mode::Cpu { "CPU time" } else { "elapsed time" };
            let samples = counted(samples.max(0) as u64, "sample");
            limits.push(format!("times are from {samples} of {what}, one every {period:.1} ms; calls are not counted"));
            limits.extend(sample_losses(profile));
        }
        Mode::Count => limits.push("only calls were counted (ILINST_MODE=count): there are no times and no callers".into()),
        Mode::Exact | Mode::Trace => {
            let ns = |ticks: f64| ticks * 1e9 / profile.ticks_per_second as f64;
            let (step, measured) = (ns(1.0), ns(profile.probe_cost.clock_step));
            if step > FINE_STEP || measured >= FINE_MEASURED_STEP {
                limits.push(format!("the clock ticks every {:.0} ns", step.max(measured)));
            }
        }
    }
    let Losses { overflow, lost_flow } = losses(profile);
    if overflow > 0 {
        limits.push(format!(
            "{} beyond the limit of {} call paths have no callers (ILINST_MAX_NODES sets the limit)",
            counted(overflow, "call"),
            profile.max_nodes
        ));
    }
    let suspended = profile.runtime_async_functions();
    if !suspended.is_empty() {
        let missing = if profile.runtime.starts_with(REUSES_CODE) { RECOMPILES_FEW } else { "" };
        limits.push(format!(
            "calls of {} are counted, but not timed{missing}; ilinst run --live -- COMMAND times them",
            counted(suspended.len() as u64, "runtime-async method")
        ));
    }
    let calls = profile.flat_by_function(SampleType::COUNTED);
    let counted_only = calls.iter().enumerate().filter(|(function, calls)| **calls > 0 && !suspended.contains(function)).count();
    if counted_only > 0 {
        limits.push(format!(
            "calls of {} are only counted, as they took less than ILINST_COUNT_BELOW (by default twice the time of their probes); \
             their time is in their callers (ilinst run --exact, or ILINST_COUNT_BELOW=0, times each call)",
            counted(counted_only as u64, "method")
        ));
    }
    if lost_flow > 0 {
        let paths = counted(lost_flow, "path");
        limits.push(format!("{paths} with steps of async methods that could not be matched to a call (SuppressFlow)"));
    }
    if profile.disk_was_full {
        limits.push("the disk was full: the last call paths and their times are missing".into());
    }
    limits.extend(missing_names(profile));
    if profile.paused > 0 {
        limits
            .push(format!("nothing was recorded for {:.1} ms, while recording was paused", profile.milliseconds(profile.paused)));
    }
    limits
}
