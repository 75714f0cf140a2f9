//! Exceptions: which methods they left.

use tests::{References, Runtime};

use crate::{hold, on, on_each, program::Program};

#[test]
#[ignore = "needs .NET and Mono"]
fn exceptions_are_told_of_each_method_they_leave() {
    let Some(program) = Program::make(References::All, "programs/Exceptions", "exceptions", &[]) else { return };
    for leave in ["finally", "return"] {
        program.weave(&["--leave", leave]);
        on_each(|runtime, wrong| {
            // Mono tells nobody of exceptions: they are seen where they skip a probe, and not of which type they are.
            let is_seen = leave == "return" || !runtime.is_mono();
            let run = program.woven(runtime, &[], &[]);
            let report = run.report();
            let caught = if is_seen { run.says("Caught") } else { 0.0 };
            for method in ["Exceptions::Inner", "Exceptions::Middle", "Exceptions::Outer"] {
                hold(method, caught, report.sum(method, "exceptions"), wrong);
                let seen = report.of_method(method).filter_map(|row| row["exceptionType"].as_str()).next();
                let thrown = (!runtime.is_mono()).then_some("System.InvalidOperationException");
                if seen != thrown {
                    wrong.push(format!("{method} was left by {seen:?}"));
                }
            }
            hold("Main", 0.0, report.sum("Exceptions::Main", "exceptions"), wrong);
        });
    }
}

/// Code that has no probes catches them: a leave probe tells all the same.
#[test]
#[ignore = "needs .NET"]
fn exceptions_are_told_whoever_catches_them() {
    let Some(program) = Program::make(References::All, "programs/Swallowed", "swallowed", &[]) else { return };
    for leave in ["finally", "return"] {
        program.weave(&["--leave", leave, "--exclude", "Library*"]);
        // Mono tells nobody of exceptions.
        on(&Runtime::modern(), |runtime, wrong| {
            let run = program.woven(runtime, &[], &[]);
            let report = run.report();
            for (method, record) in &run.record {
                // Without a try block nothing runs where an exception leaves a thread's last call.
                if leave == "return" && ["InTaskItself", "OnThreadItself", "Fails"].iter().any(|last| method.ends_with(last)) {
                    continue;
                }
                hold(&format!("--leave {leave}: {method}"), record[0], report.sum(method, "exceptions"), wrong);
            }
        });
    }
}
