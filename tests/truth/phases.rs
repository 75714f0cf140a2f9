//! Phases, pauses, and what is dropped, with calls that are open meanwhile.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::{References, Report};

use crate::{hold, nanoseconds, on_each, program::Program, waits::waits_of};

const PHASES: [&str; 4] = ["one", "two", "three", "four"];
const METHODS: [&str; 7] = ["Spans", "Work", "Across", "Pausing", "Ends", "Begins", "Waits"];
const WAIT: &str = "WaitHandle::WaitOne";

#[test]
#[ignore = "needs .NET and Mono"]
fn calls_that_are_open_are_split_between_phases() {
    let Some(program) = Program::by_virtual_clock(References::All, "Phases", "phases", &[]) else { return };
    on_each(|runtime, wrong| {
        for (mode, arguments) in [("exact", &[][..]), ("exact", &["reset"]), ("trace", &["reset"])] {
            let mut run = program.woven(runtime, arguments, &[("ILINST_MODE", mode)]);
            let paused = run.record.remove("Paused").expect("it pauses")[1];
            let mut whole: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            for (name, record) in &run.record {
                let (_, method) = name.split_once('.').expect("a phase and a method");
                let sum = whole.entry(method).or_default();
                sum.resize(3, 0.0);
                sum.iter_mut().zip(record).for_each(|(sum, number)| *sum += number);
            }
            let mut of_run = Vec::new();
            let report = run.report();
            check("all", &report, |method| whole.get(method).cloned(), &mut of_run);
            let found = nanoseconds(report.document["pausedMs"].as_f64().unwrap_or(f64::NAN));
            // How much of a part of the run was paused is not told.
            hold("paused", if arguments.is_empty() { paused } else { 0.0 }, found, &mut of_run);
            for phase in PHASES {
                let truth = |method: &str| run.record.get(&format!("{phase}.{method}")).cloned();
                check(phase, &run.report_with(&["--phase", phase]), truth, &mut of_run);
            }
            wrong.extend(of_run.iter().map(|wrong| format!("{mode} {arguments:?}: {wrong}")));
        }
    });
}

fn check(phase: &str, report: &Report, truth: impl Fn(&str) -> Option<Vec<f64>>, wrong: &mut Vec<String>) {
    let truth = |method: &str| {
        let mut record = truth(method).unwrap_or_default();
        record.resize(3, 0.0);
        record
    };
    for method in METHODS {
        let method = format!("Program::{method}");
        let record = truth(&method);
        hold(&format!("{phase}: calls of {method}"), record[0], report.calls(&method) as f64, wrong);
        hold(&format!("{phase}: {method} alone"), record[1], nanoseconds(report.sum(&method, "selfMs")), wrong);
    }
    let rows: Vec<&Value> = waits_of(report, WAIT).collect();
    let sum = |column: &str| rows.iter().filter_map(|row| row[column].as_f64()).sum::<f64>();
    hold(&format!("{phase}: calls of {WAIT}"), truth(WAIT)[0], sum("calls"), wrong);
    hold(&format!("{phase}: waiting"), truth(WAIT)[2], nanoseconds(sum("waitingMs")), wrong);
    let waiting = nanoseconds(report.document["waitingMs"].as_f64().unwrap_or(f64::NAN));
    hold(&format!("{phase}: all waiting"), truth(WAIT)[2], waiting, wrong);
}
