//! Async methods: one call is one logical call.

use std::collections::BTreeMap;

use profile::{Profile, SampleType};
use tests::{References, Report, Runtime};

use super::{hold, on, on_each};
use crate::program::{Program, Run};

/// What calls what, and how often, as `Async.cs` has it. Those below `Timed` are called by a delegate, some through a lambda.
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
/// What each may take longer than the program says, or less, as processors are busy.
const WITHIN_MS: f64 = 40.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn async_calls_are_as_written() {
    let Some(program) = Program::make(References::All, "real_time/programs/Async", "real-async", &["--all"]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        latencies(&run, &report, "Async", wrong);
        let calls = calls(&run.profile());
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

#[test]
#[ignore = "needs .NET"]
fn later_kinds_of_async_calls_are_as_written() {
    let Some(program) = Program::make(References::Core, "real_time/programs/AsyncNewer", "real-async-newer", &[]) else { return };
    let runtimes: Vec<Runtime> = Runtime::all().into_iter().filter(|runtime| !runtime.is_mono()).collect();
    on(&runtimes, |runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        latencies(&run, &run.report(), "AsyncNewer", wrong);
        let calls = calls(&run.profile());
        for (caller, count) in [("Value", 3), ("Own", 2), ("Items", 5)] {
            let found = calls.get(&(caller.to_owned(), "Step".to_owned())).copied().unwrap_or_default();
            hold(&[(&format!("{caller} calls Step"), f64::from(count), found as f64, 0.0)], wrong);
        }
    });
}

/// Holds calls and latencies against what the program said of each method.
fn latencies(run: &Run, report: &Report, type_name: &str, wrong: &mut Vec<String>) {
    for (name, record) in &run.record {
        let &[calls, microseconds] = &record[..] else { panic!("{name}: {record:?}") };
        let method = format!("{type_name}::{name}");
        let latency = report.sum(&method, "latencyMs") * calls;
        hold(&[(&format!("calls of {name}"), calls, report.calls(&method) as f64, 0.0)], wrong);
        hold(&[(&format!("latency of {name}"), microseconds / 1e3, latency, WITHIN_MS)], wrong);
    }
}

/// Callers and callees by their methods' names, as a person wrote them.
fn calls(profile: &Profile) -> BTreeMap<(String, String), i64> {
    let mut calls = BTreeMap::new();
    for tree in &profile.trees {
        for (node, count) in tree.nodes.iter().zip(profile.flat(tree, SampleType::CALLS)) {
            let Some(caller) = node.caller else { continue };
            let names = (name(profile, tree.nodes[caller].function), name(profile, node.function));
            *calls.entry(names).or_default() += *count;
        }
    }
    calls
}

fn name(profile: &Profile, function: usize) -> String {
    let raw = profile.functions[function].raw_name().unwrap_or_default();
    raw.rsplit("::").next().unwrap_or_default().to_owned()
}
