//! The summary above each report.

use std::fmt::Write;

use names::Visible;
use profile::{End, Profile, SampleType, counted, coverage::totals, model::Mode};

use super::bar::size;
use crate::limits::{attention, clock, notes};

/// Returns the summary of the run, its losses, and the limits of its numbers.
pub fn head(profile: &Profile) -> String {
    let milliseconds = profile.milliseconds(profile.duration);
    let has_calls = !profile.has_lines_alone();
    let threads = if has_calls { format!(", {}", counted(profile.threads(), "thread")) } else { String::new() };
    let (program, runtime, pid) = (Visible(&profile.program), Visible(&profile.runtime), profile.pid);
    let paused = if profile.is_paused { ", paused" } else { "" };
    let end = match (profile.processes, profile.end) {
        (..=1, end) => end.to_string(),
        (_, End::Clean) => "all ended cleanly".into(),
        (_, End::UnhandledException) => "some ended by an unhandled exception".into(),
        (_, End::Running | End::Unknown) => "some were cut off, or run still".into(),
    };
    let process = if profile.processes > 1 { counted(profile.processes, "process") } else { format!("process {pid}") };
    let mut text = format!("{program} ({process}) on {runtime}: {milliseconds:.1} ms{threads}, {end}{paused}\n");
    for (index, line) in attention(profile).iter().enumerate() {
        let _ = writeln!(text, "{}{line}", if index == 0 { "ATTENTION: " } else { "  " });
    }
    if profile.mode != Mode::Count && has_calls {
        let time = |sample_type| profile.milliseconds(profile.sum(sample_type));
        let (running, waiting) = (profile.milliseconds(profile.running()), time(SampleType::WAITING));
        let _ = write!(text, "threads: {running:.1} ms running");
        if profile.has(SampleType::WAITING) {
            let _ = write!(text, ", {waiting:.1} ms waiting");
        }
        if let Some(cpu) = profile.cpu_ns {
            let _ = write!(text, "; {:.1} ms of CPU time", cpu as f64 / 1e6);
        }
        if let Some(clock) = clock(profile) {
            let _ = write!(text, "; clock: {clock}");
        }
        text.push('\n');
    }
    if profile.has(SampleType::ALLOCATED) {
        let bytes = profile.sum(SampleType::ALLOCATED).max(0) as u64;
        let _ = writeln!(text, "allocated: {} ({bytes} bytes) in recorded calls", size(bytes));
    }
    if !profile.lines.is_empty() {
        let all = totals(&profile.lines);
        let _ = writeln!(text, "lines: {} of {} ran, {:.1} % (--lines)", all.covered, all.lines, all.percent());
    }
    if profile.events > 0 {
        let _ = writeln!(text, "events: {}", profile.events);
    }
    if !profile.phases.is_empty() {
        let _ = writeln!(text, "phases: {} (--phase)", Visible(profile.phases.join(", ")));
    }
    if let Some(damage) = &profile.damage {
        let _ = writeln!(
            text,
            "warning ILI0007: the profile is damaged, and the report shows only the part that could be read: {damage}"
        );
    }
    if profile.lost_calls() > 0 {
        let lost = counted(profile.lost_calls(), "call");
        let _ = writeln!(
            text,
            "warning ILI0021: {lost} not recorded, because memory or disk space ran out; see ILINST_OUTPUT and ILINST_MAX_NODES"
        );
    }
    if profile.bad_tokens() > 0 {
        let bad = counted(profile.bad_tokens(), "probe");
        let _ = writeln!(text, "warning ILI0022: {bad} ignored, whose calls were not open on their thread; please report this");
    }
    for note in notes(profile) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}
