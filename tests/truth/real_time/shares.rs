//! How time is split between methods and threads.

use tests::{References, Report};

use super::{hold, is_about, on_each};
use crate::program::Program;

/// In points of percent.
const WITHIN: f64 = 5.0;
/// With probes in what is too short for them by default, and their cost taken out.
const WITHIN_BY_ALL: f64 = 15.0;
/// How much of a thread's CPU time may be off, and what it, or a call, does before and behind its record.
const CPU_WITHIN: f64 = 0.1;
const BESIDE_MS: f64 = 15.0;
/// Beyond so many times a thread's CPU time its time is that of other processes, and says nothing.
const MAX_WALL_BY_CPU: f64 = 1.25;
/// How often a run may be such a one: a machine that is busier fails the test.
const BUSY_TRIES: usize = 10;

/// A part of `Split.cs`, and the methods that it is made of.
type Part = (&'static str, &'static [&'static str]);
/// The program's arguments, and its parts.
type Split = (&'static [&'static str], &'static [Part]);

const REAL: Part = ("Real", &["Split::RealStretch", "Split::Real"]);
const ACCESSORS: Part = ("Accessors", &["Split::Accessors", "Split/Point::get_X", "Split/Point::set_X"]);
const FIB: Part = ("Fib", &["Split::FibStretch", "Split::Fib"]);
const HEAVY: Part = ("Heavy", &["Split::HeavyStretch", "Split::Heavy"]);
const LIGHT: Part = ("Light", &["Split::LightStretch", "Split::Light", "Split::Tiny"]);

const SPLITS: [Split; 2] = [(&[], &[REAL, ACCESSORS, FIB]), (&["tiny"], &[HEAVY, LIGHT])];

#[test]
#[ignore = "needs .NET and Mono"]
fn a_split_between_methods_is_the_programs_own() {
    let Some(program) = Program::make(References::All, "real_time/programs/Split", "real-split", &[]) else { return };
    split(&program, &SPLITS, &["exact", "sampled", "trace"], "stopwatch", WITHIN);
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_split_by_the_processors_clock_is_the_programs_own() {
    let Some(program) = Program::make(References::All, "real_time/programs/Split", "real-split-tsc", &[]) else { return };
    split(&program, &SPLITS, &["exact"], "tsc", WITHIN);
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_split_by_probes_in_all_methods_is_near_the_programs_own() {
    let Some(program) = Program::make(References::All, "real_time/programs/Split", "real-split-all", &["--all"]) else { return };
    split(&program, &SPLITS, &["exact"], "stopwatch", WITHIN_BY_ALL);
    // Methods that take less time than their probes are counted, and the caller that has their time is marked.
    on_each(|runtime, wrong| {
        let report = program.woven(runtime, &[], &[]).report();
        for method in ["Split/Point::get_X", "Split/Point::set_X"] {
            if !report.of_method(method).all(|row| row["selfMs"] == 0.0 && row["counted"].as_f64() > Some(0.0)) {
                wrong.push(format!("{method} is timed"));
            }
        }
        if !report.of_method("Split::Accessors").all(|row| row["mostlyProbe"] == true) {
            wrong.push("Split::Accessors is not marked as mostly probe".to_owned());
        }
    });
}

/// Holds each split against the program's own.
fn split(program: &Program, splits: &[Split], modes: &[&str], clock: &str, within: f64) {
    on_each(|runtime, wrong| {
        for (arguments, parts) in splits {
            let truth = program.original(runtime, arguments);
            let said = shares(parts, |part, _| truth.says(part));
            for mode in modes {
                let settings = [("ILINST_MODE", *mode), ("ILINST_CLOCK", clock)];
                let quiet = (0..BUSY_TRIES).map(|_| program.woven(runtime, arguments, &settings).report()).find(is_quiet);
                let Some(report) = quiet else {
                    wrong.push(format!(
                        "{mode} {clock}: other processes had the processors for a fifth of the time in each of {BUSY_TRIES} runs; \
                         run it on a quiet machine"
                    ));
                    continue;
                };
                let found = shares(parts, |_, methods| own(&report, methods));
                let line = format!("{mode} {clock} {}: the program says {said:.1?}, the report {found:.1?}", parts[0].0);
                println!("{}, {line}", runtime.name);
                if !said.iter().zip(&found).all(|(said, found)| is_about(*found, *said, within)) {
                    wrong.push(line);
                }
            }
        }
    });
}

/// Whether its threads had a processor for nearly all of the time.
fn is_quiet(report: &Report) -> bool {
    let number = |name: &str| report.document[name].as_f64().unwrap_or_default();
    number("runningMs") + number("probesMs") <= MAX_WALL_BY_CPU * number("cpuMs").max(1.0)
}

fn own(report: &Report, methods: &[&str]) -> f64 {
    methods.iter().map(|method| report.sum(method, "selfMs")).sum()
}

/// In percent of all parts.
fn shares(parts: &[Part], of: impl Fn(&str, &[&str]) -> f64) -> Vec<f64> {
    let times: Vec<f64> = parts.iter().map(|(part, methods)| of(part, methods)).collect();
    times.iter().map(|time| time * 100.0 / times.iter().sum::<f64>()).collect()
}

/// A claim about a report: in words, the truth, the report's number, and the error allowed.
type Claim = (&'static str, f64, f64, f64);

#[test]
#[ignore = "needs .NET and Mono"]
fn waiting_is_not_work() {
    let Some(program) = Program::make(References::All, "real_time/programs/Waits", "real-waits", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        let [hot, all, main, joined, slept, cpu] =
            ["Hot", "All", "Main", "Joined", "Slept", "Cpu"].map(|name| run.says(name) / 1e6);
        let ran = all + main;
        let percent = |methods: &[&str]| methods.iter().map(|method| report.sum(method, "selfPercent")).sum::<f64>();
        let workers = percent(&["Waits::First", "Waits::Second", "Waits::Hot", "Waits::Rest", "Waits::Cpu"]);
        let claims: [Claim; 7] = [
            ("milliseconds in Hot", hot, report.sum("Waits::Hot", "selfMs"), hot / 10.0),
            ("Hot's share", hot * 100.0 / ran, percent(&["Waits::Hot"]), WITHIN),
            ("the share of both workers", all * 100.0 / ran, workers, WITHIN),
            ("Main's share", main * 100.0 / ran, percent(&["Waits::Main"]), WITHIN),
            ("milliseconds in Join", joined, waits(&report, "Join"), joined / 10.0),
            ("milliseconds in Sleep", slept, waits(&report, "Sleep"), slept / 10.0),
            // The runtime's own threads have theirs, too.
            ("CPU time", cpu, report.document["cpuMs"].as_f64().unwrap_or_default(), cpu),
        ];
        hold(&claims, wrong);
    });
}

/// Locks, events, tasks, sockets and streams, each of which another thread ends.
#[test]
#[ignore = "needs .NET and Mono"]
fn each_way_to_wait_is_told_apart() {
    let Some(program) = Program::make(References::All, "real_time/programs/Blocked", "real-blocked", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        assert!(!run.record.is_empty());
        for member in run.record.keys() {
            let truth = run.says(member) / 1e6;
            hold(&[(member, truth, waits(&report, member), truth / 10.0 + BESIDE_MS)], wrong);
        }
    });
}

/// Of threads that take as long by the clock.
#[test]
#[ignore = "needs .NET and Mono"]
fn each_thread_has_its_own_cpu_time() {
    let Some(program) = Program::make(References::All, "real_time/programs/Processors", "real-processors", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = Report::with(&run.path, &["--threads"]).unwrap_or_else(|error| panic!("{error}"));
        let threads = report.document["byThread"].as_array().cloned().unwrap_or_default();
        let is_of = |thread: &serde_json::Value, name: &str| {
            thread["name"].as_str().is_some_and(|of| of.starts_with(&format!("{name} (")))
        };
        for name in ["Computes", "Sleeps", "DoesBoth"] {
            let of_thread: Vec<&serde_json::Value> = threads.iter().filter(|thread| is_of(thread, name)).collect();
            let [thread] = &of_thread[..] else {
                wrong.push(format!("{name} is {} threads", of_thread.len()));
                continue;
            };
            let (truth, found) = (run.says(name) / 1e6, thread["cpuMs"].as_f64().unwrap_or(f64::NAN));
            hold(&[(&format!("CPU time of {name}"), truth, found, truth * CPU_WITHIN + BESIDE_MS)], wrong);
        }
    });
}

/// How long was spent in a method that waits, whatever it is a member of, in milliseconds.
fn waits(report: &Report, method: &str) -> f64 {
    let name = |row: &serde_json::Value| row["rawName"].as_str().or(row["name"].as_str()).unwrap_or_default().to_owned();
    let rows = report.rows.iter().filter(|row| row["waits"] == true && name(row).ends_with(method));
    rows.filter_map(|row| row["waitingMs"].as_f64()).sum()
}
