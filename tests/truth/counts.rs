//! Calls, by however many methods, threads and paths: none is lost, none is made up.

use tests::{References, Runtime, in_turn};

use crate::{hold, on_each, program::Program};

const FAN_OUT: [&str; 5] = ["1", "16", "256", "2000", "100000"];

/// A caller calls so many others in turn, each three times.
#[test]
#[ignore = "needs .NET and Mono"]
fn callees_are_counted_however_many() {
    let Some(program) = Program::make(References::All, "programs/FanOut", "fan-out", &[]) else { return };
    let mut wrong = Vec::new();
    for (runtime, callees) in in_turn(&Runtime::all(), &FAN_OUT) {
        println!("{callees} on {}", runtime.name);
        let run = program.original(runtime, &[callees]);
        let report = run.report();
        let counts: Vec<f64> = report.rows.iter().filter_map(|row| row["calls"].as_f64()).collect();
        let thrice = counts.iter().filter(|calls| **calls == 3.0).count();
        hold("callees", callees.parse().expect("it is a number"), thrice as f64, &mut wrong);
        hold("calls with the caller's", run.says("Calls") + 1.0, counts.iter().sum(), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs .NET and Mono"]
fn calls_of_short_threads_are_counted() {
    let Some(program) = Program::make(References::All, "programs/Threads", "threads", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        let calls = |method: &str| report.calls(method) as f64;
        let threads = report.document["threads"].as_f64().unwrap_or_default();
        hold("Short", run.says("Short"), calls("Threads::Short"), wrong);
        hold("Step", run.says("Step"), calls("Threads::Step"), wrong);
        hold("threads", run.says("Short") + 1.0, threads, wrong);
    });
}

#[test]
#[ignore = "needs .NET and Mono"]
fn past_the_limit_no_call_vanishes() {
    let Some(program) = Program::make(References::All, "programs/Paths", "paths", &["--all"]) else { return };
    on_each(|runtime, wrong| {
        for limit in ["1", "1000", "20000"] {
            let run = program.woven(runtime, &[], &[("ILINST_MAX_NODES", limit)]);
            let report = run.report();
            for method in ["A", "B", "Step"] {
                hold(method, run.says(method), report.calls(&format!("Paths::{method}")) as f64, wrong);
            }
            hold("lost calls", 0.0, report.lost_calls as f64, wrong);
            // Nor does time go to another: what calls itself has no more than there is.
            let most = report.rows.iter().filter_map(|row| row["totalPercent"].as_f64()).fold(0.0, f64::max);
            if most > 101.0 {
                wrong.push(format!("with at most {limit} paths a row has {most} %"));
            }
        }
    });
}
