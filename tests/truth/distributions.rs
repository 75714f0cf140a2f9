//! How the times of single calls are distributed, of all of a run and of its phases; the first call is apart.

use tests::{References, Report};

use crate::{hold, nanoseconds, on_each, program::Program};

/// A tick is a nanosecond; the finest buckets of a histogram are of so many.
const FINEST: u64 = 32;

#[test]
#[ignore = "needs .NET and Mono"]
fn histograms_are_the_programs_own_by_phase_too() {
    let Some(program) = Program::by_virtual_clock(References::All, "Latencies", "latencies", &[]) else { return };
    on_each(|runtime, wrong| {
        for mode in ["exact", "trace"] {
            let run = program.woven(runtime, &[], &[("ILINST_MODE", mode)]);
            let mut of_run = Vec::new();
            let times = |phase: &str, method: &str| run.record[&format!("{phase}.{method}")].clone();
            for phase in ["short", "long"] {
                let report = run.report_with(&["--phase", phase]);
                // Spend is called by Work and by Other.
                for (method, of) in [("Program::Spend", "Work"), ("Program::Request", "Request")] {
                    let truth = times(phase, of);
                    hold(&format!("{phase}: calls of {method}"), truth.len() as f64, report.calls(method) as f64, &mut of_run);
                    let is_told = report.of_method(method).any(|row| !row["firstMs"].is_null());
                    hold(&format!("{phase}: first calls of {method}"), 0.0, f64::from(is_told), &mut of_run);
                    holds_percentiles(&report, method, &truth, &mut of_run);
                    // Of a part of the run there are buckets alone.
                    for (column, percent) in [("minMs", 0), ("maxMs", 100)] {
                        holds_bucket(&report, method, column, percentile(&truth, percent), &mut of_run);
                    }
                }
                let all: f64 = times(phase, "Work").iter().sum();
                hold(&format!("{phase}: Spend"), all, nanoseconds(report.sum("Program::Spend", "selfMs")), &mut of_run);
                let requests = times(phase, "Request");
                let mean = requests.iter().sum::<f64>() / requests.len() as f64;
                let found = report.sum("Program::Request", "latencyMs");
                hold(&format!("{phase}: mean latency"), mean.round(), nanoseconds(found), &mut of_run);
            }
            let report = run.report();
            for (method, of) in [("Program::Spend", "Work"), ("Program::Request", "Request")] {
                let truth = [times("short", of), times("long", of)].concat();
                holds_percentiles(&report, method, &truth, &mut of_run);
                hold(&format!("first {of}"), times("first", of)[0], nanoseconds(report.sum(method, "firstMs")), &mut of_run);
                hold(&format!("shortest {of}"), percentile(&truth, 0), nanoseconds(report.sum(method, "minMs")), &mut of_run);
                hold(&format!("longest {of}"), percentile(&truth, 100), nanoseconds(report.sum(method, "maxMs")), &mut of_run);
            }
            let once = |column: &str| report.of_method("Program::Once").filter_map(|row| row[column].as_f64()).next();
            hold("what is called once", 123_456_789.0, once("firstMs").map_or(f64::NAN, nanoseconds), &mut of_run);
            hold("other calls of what is called once", 0.0, f64::from(once("p50Ms").is_some()), &mut of_run);
            wrong.extend(of_run.iter().map(|wrong| format!("{mode}: {wrong}")));
        }
    });
}

/// Holds the percentiles of a method against the times of its calls.
pub(crate) fn holds_percentiles(report: &Report, method: &str, times: &[f64], wrong: &mut Vec<String>) {
    for (column, percent) in [("p50Ms", 50), ("p95Ms", 95), ("p99Ms", 99)] {
        holds_bucket(report, method, column, percentile(times, percent), wrong);
    }
}

/// The time that so many percent of all times do not exceed.
fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(times.len() * percent).div_ceil(100).max(1) - 1]
}

/// All that a histogram knows of a time is which bucket it is in: four to a power of two.
fn holds_bucket(report: &Report, method: &str, column: &str, truth: f64, wrong: &mut Vec<String>) {
    let units = truth as u64 / FINEST;
    let step = if units < 4 { 1 } else { 1 << (units.ilog2() - 2) };
    let (from, to) = ((units / step * step * FINEST) as f64, ((units / step + 1) * step * FINEST) as f64);
    let found = nanoseconds(report.sum(method, column));
    if !(from..to).contains(&found) {
        wrong.push(format!("{column} of {method}: {truth} in truth, from {from} to {to}; the report says {found}"));
    }
}
