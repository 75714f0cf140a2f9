//! Async methods: one call is one logical call.

use tests::{References, Report};

use super::{hold, on_each};
use crate::program::{Program, Run};

/// Callers, callees and counts, as `Async.cs` has them. Calls below `Timed` are called by a delegate, some through a lambda.
const CALLS: &[(&str, &str, i64)] = &[
    ("Handler", "Db", 1),
    ("Handler", "Cpu", 1),
    ("Other", "Db", 4),
    ("Other", "Cpu", 2),
    ("All", "Other", 2),
    ("InTask", "Cpu", 2),
    ("Many", "One", 50),
    ("Synchronous", "Nothing", 100),
    ("Awaits", "OnCompleted", 3),
    ("Awaits", "Cpu", 3),
    ("OnCompleted", "Cpu", 3),
];
/// The error allowed for a latency, as processors are busy.
const WITHIN_MS: f64 = 40.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn async_calls_are_as_written() {
    let Some(program) = Program::make(References::All, "real_time/programs/Async", "real-async", &["--all"]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        latencies(&run, &report, wrong);
        let calls = run.calls();
        for (caller, callee, count) in CALLS {
            let found = calls.get(&((*caller).to_owned(), (*callee).to_owned())).copied().unwrap_or_default();
            hold(&[(&format!("{caller} calls {callee}"), *count as f64, found as f64, 0.0)], wrong);
        }
        // A completion runs what comes next, and does not call it.
        for (caller, callee) in calls.keys().filter(|(caller, callee)| CALLS.iter().any(|(a, b, _)| callee == a && caller == b)) {
            wrong.push(format!("{caller} calls {callee}"));
        }
        hold(
            &[
                ("faults", 1.0, report.sum("Async::Faulted", "faulted"), 0.0),
                ("cancelled", 1.0, report.sum("Async::Cancelled", "faulted"), 0.0),
                ("faults of what went well", 0.0, report.sum("Async::Handler", "faulted"), 0.0),
                // Computing is running, waiting for others is not.
                ("running time of Handler", 30.0, report.sum("Async::Handler", "totalMs"), 25.0),
                ("calls without a context", 1.0, report.calls("Async::Unseen") as f64, 0.0),
            ],
            wrong,
        );
    });
}

/// Holds calls and latencies against what the program said of each method.
fn latencies(run: &Run, report: &Report, wrong: &mut Vec<String>) {
    for (name, record) in &run.record {
        let &[calls, microseconds] = &record[..] else { panic!("{name}: {record:?}") };
        let method = format!("Async::{name}");
        let latency = report.sum(&method, "latencyMs") * calls;
        hold(&[(&format!("calls of {name}"), calls, report.calls(&method) as f64, 0.0)], wrong);
        hold(&[(&format!("latency of {name}"), microseconds / 1e3, latency, WITHIN_MS)], wrong);
    }
}
