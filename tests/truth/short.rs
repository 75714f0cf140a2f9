//! Methods that take less time than a probe: their calls are counted exactly, and their time is part of their callers' time.

use std::collections::BTreeSet;

use tests::{References, Report, Runtime};

use crate::{
    hold, nanoseconds, on_each,
    program::{Program, Run},
};

/// Methods that are short on all of their paths.
const SHORT: [&str; 4] = ["Program::Ten", "Program::Outer", "Program::Interrupted", "Program::Throws"];
/// Methods whose time is not mixed with that of a short callee.
const ALONE: [&str; 3] = ["Program::All", "Program::Thousand", "Program::Inner"];
/// Methods that, together, have their own time and that of the short methods that they call.
const TOGETHER: [&[&str]; 7] = [
    &["Program::Nested", "Program::Loop", "Program::Throwing", "Program::Ten", "Program::Outer", "Program::Throws"],
    &["Program::Changing", "Program::Changes"],
    &["Program::Varying", "Program::Varies"],
    &["Program::VaryingInside", "Program::VariesOutside", "Program::VariesInside"],
    &["Program::Lately", "Program::Late"],
    &["Program::Interrupting", "Program::Interrupted"],
    &["Program::Thousand"],
];

#[test]
#[ignore = "needs .NET and Mono"]
fn short_methods_are_counted_and_their_time_is_in_their_callers() {
    let Some(program) = Program::by_virtual_clock(References::All, "Short", "short", &[]) else { return };
    for options in [&[][..], &["--leave", "return"]] {
        program.weave(options);
        let sees = |runtime: &Runtime| !runtime.is_mono() && options.is_empty();
        on_each(|runtime, wrong| {
            let run = program.woven(runtime, &[], &[("ILINST_COUNT_BELOW", "50")]);
            let (report, sees_exceptions) = (run.report(), sees(runtime));
            check(&run, &report, sees_exceptions, wrong);
            for method in SHORT {
                let rows = report.of_method(method);
                let timed: Vec<_> =
                    rows.filter(|row| row["selfMs"] != 0.0 || 2 * count(&row["counted"]) < count(&row["calls"])).collect();
                if !timed.is_empty() {
                    wrong.push(format!("{method} is timed: {timed:?}"));
                }
            }
            for method in ["Program::Changes", "Program::Varies"] {
                let row = report.of_method(method).next().expect("it has a row");
                let (calls, counted) = (count(&row["calls"]), count(&row["counted"]));
                // Half of its calls are short; they are counted but for the first. The others count until calls are timed again.
                if !(calls / 3..calls / 2 + (1 << 14) + 1024).contains(&counted) {
                    wrong.push(format!("{counted} of {calls} calls of {method} are counted only"));
                }
            }
            // The time of calls before a method was short stays its own. Some calls of a callee count while it is slow already.
            for method in ["Program::Varies", "Program::VariesOutside", "Program::VariesInside"] {
                let (own, truth) = (nanoseconds(report.sum(method, "selfMs")), run.record[method][1]);
                if !(0.75 * truth..1.1 * truth).contains(&own) {
                    wrong.push(format!("{method} has {own} ns of {truth}"));
                }
            }
            // The average is that of timed calls: the first calls, and those from when the method was found to be slow.
            let late = report.of_method("Program::Late").next().expect("it has a row");
            let average = nanoseconds(late["averageMs"].as_f64().unwrap_or_default());
            if !(1700.0..2000.0).contains(&average) {
                wrong.push(format!("a call of Program::Late takes {average} ns"));
            }
            let limits = report.document["limits"].to_string();
            if !limits.contains("their time is in their callers") {
                wrong.push(limits);
            }
        });
        // Each call is timed.
        on_each(|runtime, wrong| {
            let run = program.woven(runtime, &[], &[("ILINST_COUNT_BELOW", "0")]);
            let (report, sees_exceptions) = (run.report(), sees(runtime));
            check(&run, &report, sees_exceptions, wrong);
            for (method, record) in &run.record {
                hold(&format!("{method} alone"), record[1], nanoseconds(report.sum(method, "selfMs")), wrong);
                hold(&format!("{method} with callees"), record[2], nanoseconds(report.sum(method, "totalMs")), wrong);
            }
        });
    }
}

fn count(value: &serde_json::Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn check(run: &Run, report: &Report, sees_exceptions: bool, wrong: &mut Vec<String>) {
    let found: BTreeSet<&String> = run.record.keys().collect();
    assert_eq!(found.len(), 20, "{found:?}");
    for (method, record) in &run.record {
        hold(&format!("calls of {method}"), record[0], report.calls(method) as f64, wrong);
    }
    let own = |method: &&str| nanoseconds(report.sum(method, "selfMs"));
    for method in ALONE {
        hold(&format!("{method} alone"), run.record[method][1], own(&method), wrong);
    }
    for methods in TOGETHER {
        let truth: f64 = methods.iter().map(|method| run.record[*method][1]).sum();
        hold(&format!("{methods:?} together"), truth, methods.iter().map(own).sum(), wrong);
    }
    for method in [
        "Program::All",
        "Program::Loop",
        "Program::Nested",
        "Program::Changing",
        "Program::Varying",
        "Program::VaryingInside",
        "Program::Lately",
        "Program::Interrupting",
        "Program::Throwing",
    ] {
        hold(&format!("{method} with callees"), run.record[method][2], nanoseconds(report.sum(method, "totalMs")), wrong);
    }
    // Mono does not tell a leave probe that an exception passes.
    if sees_exceptions {
        let thrown = report.sum("Program::Throws", "exceptions");
        hold("exceptions of Program::Throws", run.record["Program::Throws"][0] / 400.0, thrown, wrong);
    }
}
