//! How time is split between methods: nested, recursive, short ones, and those that an exception leaves.

use tests::{References, Report};

use crate::{
    hold, nanoseconds, on_each,
    program::{Program, Run},
};

/// A method that is too short to be instrumented by default, and the method that has its time then.
const SHORT: [(&str, &str); 3] = [
    ("Program/Point::get_X", "Program::Accessors"),
    ("Program/Point::set_X", "Program::Accessors"),
    ("Program::Tiny", "Program::Light"),
];

#[test]
#[ignore = "needs .NET and Mono"]
fn a_split_between_methods_is_the_programs_own() {
    let Some(program) = Program::by_virtual_clock(References::All, "Split", "split", &[]) else { return };
    let weavings: [(&[&str], &[&str]); 4] = [
        (&[], &["exact", "trace"]),
        (&["--all"], &["exact", "trace"]),
        (&["--leave", "return"], &["exact"]),
        (&["--all", "--leave", "return"], &["exact"]),
    ];
    for (options, modes) in weavings {
        program.weave(options);
        on_each(|runtime, wrong| {
            for mode in modes {
                let run = program.woven(runtime, &[], &[("ILINST_MODE", mode)]);
                let mut of_run = Vec::new();
                check(&run, &run.report(), options.contains(&"--all"), &mut of_run);
                wrong.extend(of_run.iter().map(|wrong| format!("{mode} {options:?}: {wrong}")));
            }
        });
    }
}

fn check(run: &Run, report: &Report, has_all: bool, wrong: &mut Vec<String>) {
    assert_eq!(report.document["clock"], "program");
    let mut all = 0.0;
    for (method, record) in &run.record {
        let &[calls, mut own, total, ..] = &record[..] else { panic!("{method}: {record:?}") };
        all += own;
        let short = SHORT.iter().filter(|_| !has_all);
        if short.clone().any(|(short, _)| short == method) {
            hold(&format!("rows of {method}"), 0.0, report.of_method(method).count() as f64, wrong);
            continue;
        }
        own += short.filter(|(_, of)| of == method).map(|(short, _)| run.record[*short][1]).sum::<f64>();
        hold(&format!("calls of {method}"), calls, report.calls(method) as f64, wrong);
        hold(&format!("{method} alone"), own, nanoseconds(report.sum(method, "selfMs")), wrong);
        hold(&format!("{method} with callees"), total, nanoseconds(report.sum(method, "totalMs")), wrong);
        hold(&format!("waiting in {method}"), 0.0, nanoseconds(report.sum(method, "waitingMs")), wrong);
        let mostly_probe = report.of_method(method).filter(|row| row["mostlyProbe"] == true).count();
        hold(&format!("whether {method} was mostly probe"), 0.0, mostly_probe as f64, wrong);
    }
    let number = |name: &str| nanoseconds(report.document[name].as_f64().unwrap_or(f64::NAN));
    for (name, truth) in [("milliseconds", all), ("threadMs", all), ("runningMs", all), ("waitingMs", 0.0), ("probesMs", 0.0)] {
        hold(name, truth, number(name), wrong);
    }
    assert!(report.document["cpuMs"].is_null(), "CPU time is by another clock: {}", report.document["cpuMs"]);
}
