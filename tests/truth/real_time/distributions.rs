//! How the times of single calls are distributed, of all of a run and of its phases.

use tests::{References, Report};

use super::{hold, on_each};
use crate::program::Program;

const COLUMNS: [&str; 5] = ["minMs", "p50Ms", "p95Ms", "p99Ms", "maxMs"];
/// The error that a histogram states, with the part of a call that only its caller sees.
const WITHIN: f64 = 0.14;
const BESIDE_MS: f64 = 2.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn histograms_are_the_programs_own_by_phase_too() {
    let Some(program) = Program::make(References::All, "real_time/programs/Latencies", "real-latencies", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        for (name, record) in &run.record {
            let (phase, method) = name.split_once('.').expect("a phase and a method");
            let options = if phase == "all" { vec![] } else { vec!["--phase", phase] };
            let report = Report::with(&run.path, &options).unwrap_or_else(|error| panic!("{error}"));
            let (calls, times) = record.split_first().expect("it is a record");
            let method = format!("Latencies::{method}");
            // The first call is in no phase.
            let calls = calls + f64::from(phase == "all");
            hold(&[(&format!("calls, {name}"), calls, report.calls(&method) as f64, 0.0)], wrong);
            for (column, microseconds) in COLUMNS.iter().zip(times) {
                let truth = microseconds / 1e3;
                let claim = format!("{column}, {name}");
                hold(&[(&claim, truth, report.sum(&method, column), truth * WITHIN + BESIDE_MS)], wrong);
            }
            let has_first = report.of_method(&method).any(|row| !row["firstMs"].is_null());
            if has_first != (phase == "all") {
                wrong.push(format!("whether {name} has the first call: {has_first}"));
            }
            if phase != "all" && method.ends_with("Request") {
                let (latency, p50) = (report.sum(&method, "latencyMs"), times[1] / 1e3);
                // One in ten takes three times as long.
                hold(&[(&format!("the mean latency, {name}"), p50 * 1.2, latency, p50 * 0.3 + BESIDE_MS)], wrong);
                hold(&[(&format!("pending, {name}"), 0.0, report.sum(&method, "pending"), 0.0)], wrong);
            }
        }
    });
}
