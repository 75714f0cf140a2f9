//! Async methods: one call is one logical call.

use std::collections::BTreeMap;

use profile::{Profile, SampleType};

use crate::{on_each, program::Program, shares::hold};

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
];
/// What each may take longer than the program says, or less, as processors are busy.
const WITHIN_MS: f64 = 40.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn async_calls_are_as_written() {
    let Some(program) = Program::make("Async", "async", &["--all"]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        for (name, record) in &run.record {
            let &[calls, microseconds] = &record[..] else { panic!("{name}: {record:?}") };
            let method = format!("Async::{name}");
            let latency = report.sum(&method, "latencyMs");
            hold(&[(&format!("calls of {name}"), calls, report.calls(&method) as f64, 0.0)], wrong);
            hold(&[(&format!("latency of {name}"), microseconds / 1e3, latency, WITHIN_MS)], wrong);
        }
        let calls = calls(&run.profile());
        for (caller, callee, count) in CALLS {
            let found = calls.get(&((*caller).to_owned(), (*callee).to_owned())).copied().unwrap_or_default();
            hold(&[(&format!("{caller} calls {callee}"), *count as f64, found as f64, 0.0)], wrong);
        }
        for (caller, callee) in calls.keys() {
            // A completion runs what comes next, and does not call it.
            if CALLS.iter().any(|(known, of, _)| callee == known && caller == of) {
                wrong.push(format!("{caller} calls {callee}"));
            }
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
