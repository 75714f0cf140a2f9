//! `pause`, `resume`, `mark`, `reset` and `snapshot` of a program under hooks: what it does then is counted, or not.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Child,
};

use super::*;
use tests::live::calls_of_report;

/// Has the program work a hundred times.
fn step(child: &mut Child) {
    child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("a pipe");
    BufReader::with_capacity(1, output).read_line(&mut line).expect("it can be read");
    assert_eq!(line, "done\n");
}

#[test]
#[ignore = "needs runtimes"]
fn a_program_under_hooks_does_what_it_is_told() {
    for runtime in runtimes() {
        for capture in [&[][..], &["--capture=args,return"]] {
            let work = Work::new("commands");
            let Some(app) = work.app() else { return };
            let mut child = tests::waiting(&mut work.live(&runtime, &[&["--all"], capture].concat(), &app, &["steps"]));
            let folder = work.profiles(&runtime);
            let file = fs::read_dir(&folder).expect("it is there").flatten().next().expect("there is a profile").path();
            let context = format!("{} {capture:?}", runtime.name);
            let run = |arguments: &[&str]| {
                let (text, errors, code) = said(&output(ilinst().args(arguments).arg(&file)));
                assert_eq!(code, Some(0), "{context}, {arguments:?}: {errors}");
                text
            };
            let worked = |options: &[&str]| {
                let report = run(&[&["report", "--json", "--limit=0"], options].concat());
                let calls = calls_of_report(report.as_bytes());
                let of_work = calls.iter().find(|(name, _)| name.starts_with("App.Work("));
                of_work.map_or(0, |(_, calls)| *calls)
            };
            step(&mut child);
            assert_eq!(worked(&[]), 100, "{context}");
            run(&["pause"]);
            step(&mut child);
            assert_eq!(worked(&[]), 100, "paused: {context}");
            run(&["resume"]);
            step(&mut child);
            assert_eq!(worked(&[]), 200, "resumed: {context}");
            let mark = |name: &str| {
                let (_, errors, code) = said(&output(ilinst().arg("mark").arg(&file).arg(name)));
                assert_eq!(code, Some(0), "{context}: {errors}");
            };
            mark("first");
            step(&mut child);
            step(&mut child);
            mark("second");
            step(&mut child);
            assert_eq!((worked(&["--phase=first"]), worked(&["--phase=second"]), worked(&[])), (200, 100, 500), "{context}");
            run(&["reset"]);
            step(&mut child);
            assert_eq!(worked(&[]), 100, "reset: {context}");
            let copy = work.folder.join("copy.ilprof");
            let (_, errors, code) = said(&output(ilinst().arg("snapshot").arg(&file).arg("-o").arg(&copy)));
            assert!(code == Some(0) && copy.is_file(), "{context}: {errors}");
            drop(child.stdin.take());
            let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
            assert_eq!((text.as_str(), code), ("work 700\n", Some(42)), "{context}: {errors}");
            let profile = profile_in(&folder);
            assert_eq!(open_calls(&profile), 0, "{context}");
            assert_eq!(worked(&[]), 100, "{context}");
        }
    }
}
