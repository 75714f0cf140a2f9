//! How time is split between methods and threads.

use tests::{Report, skip_part};

use crate::{
    in_time_on_each,
    program::{Program, Run, is_about},
};

/// In points of percent.
const WITHIN: f64 = 5.0;
/// Shares that the program measures in one run and the report in another, while other tests have a processor too.
const WITHIN_OF_RUNS: f64 = 15.0;
/// Where calls of some ns are measured: what a probe costs is known to some ns too, and is a multiple of that.
const WITHIN_OF_TINY: f64 = 45.0;
/// Beyond so many times a thread's CPU time its time is that of other processes, and says nothing.
const MAX_WALL_BY_CPU: f64 = 1.25;

/// The parts of `Split.cs`, and the methods that each is made of.
type Parts = &'static [(&'static str, &'static [&'static str])];

/// What the program is started with, how far off shares may be, and its parts.
type Split = (&'static [&'static str], f64, Parts);

const SPLITS: [Split; 2] = [
    (
        &[],
        WITHIN_OF_TINY,
        &[
            ("Real", &["Split::RealStretch", "Split::Real"]),
            ("Accessors", &["Split::Accessors", "Split/Point::get_X", "Split/Point::set_X"]),
            ("Fib", &["Split::FibStretch", "Split::Fib"]),
        ],
    ),
    (
        &["tiny"],
        WITHIN_OF_RUNS,
        &[
            ("Heavy", &["Split::HeavyStretch", "Split::Heavy"]),
            ("Light", &["Split::LightStretch", "Split::Light", "Split::Tiny"]),
        ],
    ),
];

#[test]
#[ignore = "needs .NET and Mono"]
fn a_split_between_methods_is_the_programs_own() {
    let Some(program) = Program::make("Split", "split", &[]) else { return };
    split(&program, &SPLITS, &["exact", "sampled", "trace"], "stopwatch");
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_split_by_the_processors_clock_is_the_programs_own() {
    let Some(program) = Program::make("Split", "split-tsc", &[]) else { return };
    // What a probe with this clock takes is known too badly for calls of some ns.
    split(&program, &SPLITS[1..], &["exact"], "tsc");
}

/// Holds each split against the program's own.
fn split(program: &Program, splits: &[Split], modes: &[&str], clock: &str) {
    in_time_on_each(|runtime, wrong| {
        for (arguments, within, parts) in splits.iter().copied() {
            for mode in modes {
                let truth = program.original(runtime, arguments);
                let run = program.woven(runtime, arguments, &[("ILINST_MODE", mode), ("ILINST_CLOCK", clock)]);
                let report = run.report();
                let number = |name: &str| report.document[name].as_f64().unwrap_or_default();
                let wall_by_cpu = (number("runningMs") + number("probesMs")) / number("cpuMs").max(1.0);
                let (said, found) = (shares(parts, |part, _| truth.says(part)), shares(parts, |_, methods| own(&run, methods)));
                let line = format!("{mode} {clock} {}: the program says {said:.1?}, the report {found:.1?}", parts[0].0);
                println!("{}, {line}, {wall_by_cpu:.2} times its CPU time", runtime.name);
                if wall_by_cpu > MAX_WALL_BY_CPU {
                    skip_part(&format!("{}, {mode}: the machine is too busy for shares of time", runtime.name));
                } else if !said.iter().zip(&found).all(|(said, found)| is_about(*found, *said, within)) {
                    wrong.push(line);
                }
            }
        }
    });
}

fn own(run: &Run, methods: &[&str]) -> f64 {
    let report = run.report();
    methods.iter().map(|method| report.sum(method, "selfMs")).sum()
}

/// In percent of all parts.
fn shares(parts: Parts, of: impl Fn(&str, &[&str]) -> f64) -> Vec<f64> {
    let times: Vec<f64> = parts.iter().map(|(part, methods)| of(part, methods)).collect();
    times.iter().map(|time| time * 100.0 / times.iter().sum::<f64>()).collect()
}

/// What is asked of a report: in words, the truth, what it says, and how far off that may be.
type Claim = (&'static str, f64, f64, f64);

#[test]
#[ignore = "needs .NET and Mono"]
fn waiting_is_not_work() {
    let Some(program) = Program::make("Waits", "waits", &[]) else { return };
    in_time_on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        let (hot, joined) = (run.says("Hot") * 100.0 / run.says("All"), run.says("Joined") / 1e6);
        let percent = |method: &str| report.sum(method, "selfPercent");
        let waited = |method: &str| waits(&report, method);
        let claims: [Claim; 6] = [
            ("Hot's share", hot, percent("Waits::Hot"), 2.0 * WITHIN),
            ("the share of both workers", 100.0, percent("Waits::Hot") + percent("Waits::Rest"), 2.0 * WITHIN),
            ("Main's share", 0.0, percent("Waits::Main"), WITHIN),
            ("milliseconds in Join", joined, waited("Join"), joined / 5.0),
            ("milliseconds in Sleep", run.says("Slept") / 1e6, waited("Sleep"), 40.0),
            // Beside two workers there may be other processes, but the threads' CPU time is theirs alone.
            ("CPU time", run.says("All") / 1e6, report.document["cpuMs"].as_f64().unwrap_or_default(), run.says("All") / 1e6),
        ];
        hold(&claims, wrong);
    });
}

pub(crate) fn hold(claims: &[(&str, f64, f64, f64)], wrong: &mut Vec<String>) {
    for (what, truth, found, within) in claims {
        if !is_about(*found, *truth, *within) {
            wrong.push(format!("{what}: {truth:.1} in truth, the report says {found:.1}"));
        }
    }
}

/// How long was spent in a method that waits, whatever it is a member of, in milliseconds.
fn waits(report: &Report, method: &str) -> f64 {
    let name = |row: &serde_json::Value| row["rawName"].as_str().or(row["name"].as_str()).unwrap_or_default().to_owned();
    let rows = report.rows.iter().filter(|row| row["waits"] == true && name(row).ends_with(method));
    rows.filter_map(|row| row["waitingMs"].as_f64()).sum()
}
