//! Async methods: one call is one logical call, from its start to its completion; and iterators.

use std::{collections::BTreeSet, fs};

use tests::{References, Report, Runtime};

use crate::{
    distributions::holds_percentiles,
    hold, nanoseconds, on, on_each,
    program::{Program, Run},
};

/// Callers, callees and counts, as `Async.cs` has them.
const CALLS: &[(&str, &str, i64)] = &[
    ("All", "Handler", 1),
    ("All", "Concurrent", 1),
    ("All", "Many", 1),
    ("Handler", "Db", 1),
    ("Db", "Cpu", 10),
    ("Other", "Db", 4),
    ("Other", "Cpu", 2),
    ("Concurrent", "Other", 2),
    ("Parallel", "InTask", 1),
    ("InTask", "Cpu", 2),
    ("Many", "One", 50),
    ("Synchronous", "Nothing", 100),
    ("Void", "Cpu", 2),
    ("Awaits", "OnCompleted", 3),
    ("Awaits", "Cpu", 3),
    ("OnCompleted", "Cpu", 3),
    ("Numbers", "Cpu", 18),
];

/// The setting by which .NET 10 suspends methods itself.
const SWITCH: (&str, &str) = ("DOTNET_RuntimeAsync", "1");

#[test]
#[ignore = "needs .NET and Mono"]
fn async_calls_are_as_written() {
    let Some(program) = Program::by_virtual_clock(References::All, "Async", "async", &[]) else { return };
    // Of the compiler's methods too, some of which are between a method and its first step.
    for options in [&[][..], &["--all"]] {
        program.weave(options);
        on_each(|runtime, wrong| {
            for mode in ["exact", "trace", "sampled"] {
                let run = program.woven(runtime, &[], &[("ILINST_MODE", mode)]);
                let report = run.report();
                let mut of_run = Vec::new();
                times(&run, &report, !options.is_empty(), &mut of_run);
                called(&run, CALLS, &mut of_run);
                faults(&report, &mut of_run);
                wrong.extend(of_run.iter().map(|wrong| format!("{mode} {options:?}: {wrong}")));
            }
        });
    }
}

/// The runtime suspends methods, and resumes them on other threads: what is told of them is the same.
#[test]
#[ignore = "needs .NET"]
fn calls_that_the_runtime_suspends_are_as_written() {
    let Some(program) = Program::by_virtual_clock(References::RuntimeAsync, "Async", "runtime-async", &[]) else { return };
    for options in [&[][..], &["--leave", "return"]] {
        program.weave(options);
        on(&Runtime::suspending(), |runtime, wrong| {
            for mode in ["exact", "trace", "sampled"] {
                let run = program.woven(runtime, &[], &[("ILINST_MODE", mode), SWITCH]);
                let report = run.report();
                let mut of_run = Vec::new();
                times(&run, &report, false, &mut of_run);
                let calls: Vec<_> = CALLS
                    .iter()
                    .filter(|(caller, callee, _)| ![caller, callee].iter().any(|name| ["Awaits", "OnCompleted"].contains(name)))
                    .copied()
                    .collect();
                called(&run, &calls, &mut of_run);
                faults(&report, &mut of_run);
                wrong.extend(of_run.iter().map(|wrong| format!("{mode} {options:?}: {wrong}")));
            }
        });
    }
}

/// Exceptions pass methods that the runtime suspends before they await, behind that, and on other threads; stack traces are the
/// same as without probes.
#[test]
#[ignore = "needs .NET"]
fn exceptions_of_what_the_runtime_suspends_are_as_thrown() {
    let Some(program) = Program::make(References::RuntimeAsync, "programs/Failures", "runtime-async-failures", &[]) else {
        return;
    };
    for options in [&[][..], &["--leave", "return"]] {
        program.weave(options);
        on(&Runtime::suspending(), |runtime, wrong| {
            let original = program.original_with(runtime, &[], &[SWITCH]);
            let run = program.woven(runtime, &[], &[SWITCH]);
            let report = run.report();
            for (what, record) in &run.record {
                if let Some(depth) = what.strip_prefix("frames.") {
                    // The preview that is in .NET 10 goes by each method with a handler apart.
                    if runtime.name != ".NET 10" {
                        hold(&format!("frames {depth}"), original.record[what][0], record[0], wrong);
                    }
                    continue;
                }
                hold(&format!("calls of {what}"), record[0], report.calls(what) as f64, wrong);
                hold(&format!("exceptions of {what}"), record[1], report.sum(what, "exceptions"), wrong);
                hold(&format!("failures of {what}"), record[1], report.sum(what, "faulted"), wrong);
            }
        });
    }
}

/// Resuming a deep chain finds each of its paths once.
#[test]
#[ignore = "needs .NET and Mono"]
fn an_async_chain_costs_as_much_as_it_has_calls() {
    let Some(program) = Program::make(References::All, "programs/Deep", "deep-async", &[]) else { return };
    let log = program.folder().join("log");
    on_each(|runtime, wrong| {
        for depth in ["500", "2000"] {
            let _ = fs::remove_file(&log);
            let run = program.woven(runtime, &[depth], &[("ILINST_LOG", &log.to_string_lossy())]);
            let depth = run.says("Deep");
            hold("calls", depth, run.report().calls("Program::Level") as f64, wrong);
            let log = fs::read_to_string(&log).expect("there is a log");
            let looks = log.lines().find_map(|line| line.split_once("looked at ")?.1.split(' ').next()?.parse::<f64>().ok());
            let looks = looks.unwrap_or_else(|| panic!("{log}"));
            if looks > 3.0 * depth {
                wrong.push(format!("{looks} nodes were looked at for a chain of {depth}"));
            }
        }
    });
}

#[test]
#[ignore = "needs .NET"]
fn later_kinds_of_async_calls_are_as_written() {
    // Mono's library has no async iterators.
    let Some(program) = Program::by_virtual_clock(References::Core, "AsyncNewer", "async-newer", &[]) else { return };
    let runtimes: Vec<Runtime> = Runtime::all().into_iter().filter(|runtime| !runtime.is_mono()).collect();
    on(&runtimes, |runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        times(&run, &report, false, wrong);
        called(&run, &[("Value", "Cpu", 3), ("Own", "Cpu", 2), ("Items", "Cpu", 20), ("Endless", "Cpu", 8)], wrong);
        let limits = report.document["limits"].as_array().expect("it lists them");
        wrong.extend(limits.iter().filter(|limit| limit.to_string().contains("SuppressFlow")).map(ToString::to_string));
    });
}

/// Counts have no callers to add compiler-generated methods to: the state machines' members are left out.
#[test]
#[ignore = "needs .NET"]
fn counts_are_of_the_methods_that_other_modes_show() {
    let Some(program) = Program::by_virtual_clock(References::Core, "AsyncNewer", "async-counts", &["--all"]) else { return };
    let runtimes: Vec<Runtime> = Runtime::all().into_iter().filter(|runtime| !runtime.is_mono()).collect();
    on(&runtimes, |runtime, wrong| {
        let [exact, counted] = ["exact", "count"].map(|mode| {
            let report = program.woven(runtime, &[], &[("ILINST_MODE", mode)]).report();
            let names = report.rows.iter().filter_map(|row| row["name"].as_str());
            names.map(str::to_owned).collect::<BTreeSet<_>>()
        });
        if !counted.contains("Program.Endless") {
            wrong.push(format!("Program.Endless is not among {counted:?}"));
        }
        wrong.extend(counted.difference(&exact).map(|name| format!("{name} is counted, and not timed")));
    });
}

/// Holds what a report says of each method against what the program does. With `--all` what makes an iterator has a probe, too.
fn times(run: &Run, report: &Report, has_all: bool, wrong: &mut Vec<String>) {
    for (what, record) in &run.record {
        if let Some(method) = what.strip_prefix("of.") {
            // As each is on its own path, all but one of these calls are no first ones.
            if let [only] = record[..]
                && report.document["mode"] != "sampled"
            {
                hold(&format!("first latency of {method}"), only, nanoseconds(report.sum(method, "firstMs")), wrong);
            }
            if record.len() > 1 && report.of_method(method).count() == 1 && method == "Program::One" {
                hold(&format!("the first latency of {method}"), record[0], nanoseconds(report.sum(method, "firstMs")), wrong);
                holds_percentiles(report, method, &record[1..], wrong);
            }
            continue;
        }
        if let Some(iterator) = what.strip_prefix("iterator.") {
            let calls = record[0] + if has_all { record[2] } else { 0.0 };
            hold(&format!("calls of {iterator}"), calls, report.calls(iterator) as f64, wrong);
            if report.document["mode"] != "sampled" {
                hold(&format!("time in {iterator}"), record[1], nanoseconds(report.sum(iterator, "totalMs")), wrong);
            }
            continue;
        }
        let &[calls, latency, steps, own, total] = &record[..] else { panic!("{what}: {record:?}") };
        let sum = |column: &str| nanoseconds(report.sum(what, column));
        hold(&format!("calls of {what}"), calls, report.calls(what) as f64, wrong);
        hold(&format!("latency of {what}"), latency, (report.sum(what, "latencyMs") * calls * 1e6).round(), wrong);
        if report.document["mode"] == "sampled" {
            continue;
        }
        for (column, truth) in
            [("stepsMs", steps), ("awaitingMs", (latency - steps).max(0.0)), ("selfMs", own), ("totalMs", total)]
        {
            hold(&format!("{column} of {what}"), truth, sum(column), wrong);
        }
        hold(&format!("pending calls of {what}"), 0.0, report.sum(what, "pending"), wrong);
    }
}

/// Holds callers and callees, by their methods' names as a person wrote them. A completion runs what comes next, and does not
/// call it.
fn called(run: &Run, expected: &[(&str, &str, i64)], wrong: &mut Vec<String>) {
    let calls = run.calls();
    for (caller, callee, count) in expected {
        let found = calls.get(&((*caller).to_owned(), (*callee).to_owned())).copied().unwrap_or_default();
        hold(&format!("{caller} calls {callee}"), *count as f64, found as f64, wrong);
    }
    for (caller, callee) in calls.keys().filter(|(caller, callee)| expected.iter().any(|(a, b, _)| callee == a && caller == b)) {
        wrong.push(format!("{caller} calls {callee}"));
    }
}

fn faults(report: &Report, wrong: &mut Vec<String>) {
    hold("faults", 1.0, report.sum("Program::Faulted", "faulted"), wrong);
    hold("cancelled", 1.0, report.sum("Program::Cancelled", "faulted"), wrong);
    hold("faults of what went well", 0.0, report.sum("Program::Handler", "faulted"), wrong);
    hold("pending", 1.0, report.sum("Program::Never", "pending"), wrong);
    if report.document["mode"] != "sampled" {
        hold("time of what is pending", 1e6, nanoseconds(report.sum("Program::Never", "totalMs")), wrong);
    }
    hold("calls without a context", 1.0, report.calls("Program::Unseen") as f64, wrong);
}
