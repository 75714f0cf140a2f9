//! `pause`, `resume`, `mark`, `reset` and `snapshot` of a program under hooks, or attached to: what it does then is counted, or not.

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

/// Tells a program, which waits for its first step, all there is to tell; its profile is in the folder.
fn tell(child: &mut Child, folder: &Path, copy: &Path, context: &str) {
    let file = fs::read_dir(folder).expect("it is there").flatten().next().expect("there is a profile").path();
    let run = |arguments: &[&str]| {
        let (text, errors, code) = said(&output(ilinst().args(arguments).arg(&file)));
        assert_eq!(code, Some(0), "{context}, {arguments:?}: {errors}");
        text
    };
    let worked = |options: &[&str]| worked(&file, options);
    step(child);
    assert_eq!(worked(&[]), 100, "{context}");
    run(&["pause"]);
    step(child);
    assert_eq!(worked(&[]), 100, "paused: {context}");
    run(&["resume"]);
    step(child);
    assert_eq!(worked(&[]), 200, "resumed: {context}");
    let mark = |name: &str| {
        let (_, errors, code) = said(&output(ilinst().arg("mark").arg(&file).arg(name)));
        assert_eq!(code, Some(0), "{context}: {errors}");
    };
    mark("first");
    step(child);
    step(child);
    mark("second");
    step(child);
    assert_eq!((worked(&["--phase=first"]), worked(&["--phase=second"]), worked(&[])), (200, 100, 500), "{context}");
    run(&["reset"]);
    step(child);
    assert_eq!(worked(&[]), 100, "reset: {context}");
    let (_, errors, code) = said(&output(ilinst().arg("snapshot").arg(&file).arg("-o").arg(copy)));
    assert!(code == Some(0) && copy.is_file(), "{context}: {errors}");
}

/// How often it did, as a report has it.
fn worked(profile: &Path, options: &[&str]) -> i64 {
    let (text, errors, code) = said(&output(ilinst().args(["report", "--json", "--limit=0"]).args(options).arg(profile)));
    assert_eq!(code, Some(0), "{errors}");
    let calls = calls_of_report(text.as_bytes());
    let of_work = calls.iter().find(|(name, _)| name.starts_with("App.Work("));
    of_work.map_or(0, |(_, calls)| *calls)
}

/// It has done all seven steps, and the profile has what came behind the reset.
fn has_ended(child: Child, folder: &Path, context: &str) {
    let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
    assert_eq!((text.as_str(), code), ("work 700\n", Some(42)), "{context}: {errors}");
    assert_eq!(open_calls(&profile_in(folder)), 0, "{context}");
    let file = fs::read_dir(folder).expect("it is there").flatten().next().expect("there is a profile").path();
    assert_eq!(worked(&file, &[]), 100, "{context}");
}

#[test]
#[ignore = "needs runtimes"]
fn a_program_under_hooks_does_what_it_is_told() {
    for runtime in runtimes() {
        for capture in [&[][..], &["--capture=args,return"]] {
            let work = Work::new("commands");
            let Some(app) = work.app() else { return };
            let mut child = tests::waiting(&mut work.live(&runtime, &[&["--all"], capture].concat(), &app, &["steps"]));
            let (folder, context) = (work.profiles(&runtime), format!("{} {capture:?}", runtime.name));
            tell(&mut child, &folder, &work.folder.join("copy.ilprof"), &context);
            drop(child.stdin.take());
            has_ended(child, &folder, &context);
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_program_that_is_attached_to_does_what_it_is_told() {
    for runtime in runtimes() {
        let work = Work::new("commands-attached");
        let Some(app) = work.app() else { return };
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("steps"));
        let folder = work.folder.join("attached");
        let mut command = ilinst();
        command.args(["attach", &child.id().to_string(), "--all", "--for=1h"]).arg(format!("--keep={}", folder.display()));
        let mut attached = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let errors = BufReader::with_capacity(1, attached.stderr.as_mut().expect("a pipe"));
        { errors }.read_line(&mut line).expect("it can be read");
        assert!(line.contains("methods woven"), "{line}");
        let context = format!("attached, {}", runtime.name);
        tell(&mut child, &folder, &work.folder.join("copy.ilprof"), &context);
        drop(child.stdin.take());
        let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{context}: {errors}");
        has_ended(child, &folder, &context);
    }
}
