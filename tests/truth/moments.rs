//! First calls apart from others, and exceptions.

use crate::{in_time_on_each, on_each, program::Program, shares::hold};

/// Both have the process to share: what other processes take of the time is in them.
const TIMES: f64 = 3.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn the_first_call_is_told_apart() {
    let Some(program) = Program::make("Once", "once", &[]) else { return };
    in_time_on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        let (first, others) = (run.says("First") / 1e6, run.says("Others") / 1e6);
        hold(
            &[
                ("the first call", first, report.sum("Once::Use", "firstMs"), first / 5.0),
                ("the median of the others", others, report.sum("Once::Use", "p50Ms"), others * (TIMES - 1.0)),
                ("calls", 2000.0, report.calls("Once::Use") as f64, 0.0),
            ],
            wrong,
        );
        // The JIT's part is in the first call alone.
        if report.sum("Once::Use", "p95Ms") > first / 2.0 {
            wrong.push(format!("the first call is among the others: p95 {}", report.sum("Once::Use", "p95Ms")));
        }
    });
}

#[test]
#[ignore = "needs .NET and Mono"]
fn exceptions_are_told_of_each_method_they_leave() {
    let Some(program) = Program::make("Once", "exceptions", &[]) else { return };
    let Some(without_finally) = Program::make("Once", "exceptions-return", &["--leave", "return"]) else { return };
    on_each(|runtime, wrong| {
        // Mono tells nobody of exceptions: they are seen where they skip a probe, and not of which type they are.
        for (program, is_seen) in [(&program, !runtime.is_mono()), (&without_finally, true)] {
            let run = program.woven(runtime, &[], &[]);
            let report = run.report();
            let caught = if is_seen { run.says("Caught") } else { 0.0 };
            for method in ["Once::Inner", "Once::Middle", "Once::Outer"] {
                hold(&[(method, caught, report.sum(method, "exceptions"), 0.0)], wrong);
                let seen = report.of_method(method).filter_map(|row| row["exceptionType"].as_str()).next();
                let thrown = (!runtime.is_mono()).then_some("System.InvalidOperationException");
                if seen != thrown {
                    wrong.push(format!("{method} was left by {seen:?}"));
                }
            }
            hold(&[("Main", 0.0, report.sum("Once::Main", "exceptions"), 0.0)], wrong);
        }
    });
}
