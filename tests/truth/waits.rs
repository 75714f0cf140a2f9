//! Waiting is not work: each way to wait, and threads that wait for one another.

use serde_json::Value;
use tests::{References, Report};

use crate::{hold, nanoseconds, on_each, program::Program};

/// Locks, events, tasks, sockets and streams, most of which another thread ends.
#[test]
#[ignore = "needs .NET and Mono"]
fn each_way_to_wait_is_told_apart() {
    let Some(program) = Program::by_virtual_clock(References::All, "Waits", "waits", &[]) else { return };
    on_each(|runtime, wrong| {
        for mode in ["exact", "trace"] {
            let mut record = program.woven(runtime, &[], &[("ILINST_MODE", mode)]);
            let report = record.report();
            let running = record.record.remove("Running").expect("it works too")[1];
            let mut waiting = 0.0;
            for (member, record) in &record.record {
                let &[calls, truth] = &record[..] else { panic!("{member}: {record:?}") };
                let rows: Vec<&Value> = waits_of(&report, member).collect();
                let sum = |column: &str| rows.iter().filter_map(|row| row[column].as_f64()).sum::<f64>();
                hold(&format!("calls of {member}"), calls, sum("calls"), wrong);
                hold(&format!("waiting in {member}"), truth, nanoseconds(sum("waitingMs")), wrong);
                hold(&format!("running in {member}"), 0.0, nanoseconds(sum("totalMs")), wrong);
                waiting += truth;
            }
            let number = |name: &str| nanoseconds(report.document[name].as_f64().unwrap_or(f64::NAN));
            hold("all waiting", waiting, number("waitingMs"), wrong);
            hold("all running", running, number("runningMs"), wrong);
            hold("waiting in All", waiting, nanoseconds(report.sum("Program::All", "waitingMs")), wrong);
            hold("running in All alone", 0.0, nanoseconds(report.sum("Program::All", "selfMs")), wrong);
            hold("running in Work", running, nanoseconds(report.sum("Program::Work", "selfMs")), wrong);
        }
    });
}

#[test]
#[ignore = "needs .NET and Mono"]
fn each_thread_has_its_own_running_and_waiting() {
    let Some(program) = Program::by_virtual_clock(References::All, "Workers", "workers", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let (report, by_thread) = (run.report(), run.report_with(&["--threads"]));
        let threads = by_thread.document["byThread"].as_array().cloned().unwrap_or_default();
        let name = |thread: &Value| thread["name"].as_str().unwrap_or_default().to_owned();
        for (what, record) in &run.record {
            if let Some(thread) = what.strip_prefix("thread.") {
                let is_it = |row: &&Value| match thread {
                    "" => !["First", "Second"].iter().any(|other| name(row).starts_with(other)),
                    _ => name(row).starts_with(&format!("{thread} (")),
                };
                let found: Vec<&Value> = threads.iter().filter(is_it).collect();
                let [row] = &found[..] else { panic!("{what}: {threads:?}") };
                for (column, truth) in ["runningMs", "waitingMs"].iter().zip(record) {
                    hold(&format!("{column} of {what}"), *truth, nanoseconds(row[column].as_f64().unwrap_or(f64::NAN)), wrong);
                }
                assert!(row["cpuMs"].is_null(), "CPU time is by another clock: {row}");
            } else {
                hold(&format!("calls of {what}"), record[0], report.calls(what) as f64, wrong);
                hold(&format!("{what} alone"), record[1], nanoseconds(report.sum(what, "selfMs")), wrong);
            }
        }
    });
}

/// The rows of a method that waits, by the end of its name.
pub(crate) fn waits_of<'r>(report: &'r Report, member: &'r str) -> impl Iterator<Item = &'r Value> {
    let is_it = move |row: &&Value| row["waits"] == true && row["rawName"].as_str().is_some_and(|name| name.ends_with(member));
    report.rows.iter().filter(is_it)
}
