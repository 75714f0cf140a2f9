//! `pause`, `resume`, `mark`, `reset` and `snapshot` of a program under hooks, or that is attached to: what it does then is
//! counted, or not.

use std::{cell::Cell, process::Child};

use super::{
    attach::{attach, attached},
    values::calls_of,
    *,
};
use tests::{live::calls_of_report, step};

/// The size of the array that App.Repeat allocates at each step.
const ARRAY: i64 = 1024;

/// Tells a program, which waits for its first step, all there is to tell; gives its profile, which is alone in the folder.
/// If the profile has bytes, they are those of the same steps.
fn tell(child: &mut Child, folder: &Path, has_bytes: bool, context: &str) -> PathBuf {
    let file = fs::read_dir(folder).expect("it is there").flatten().next().expect("there is a profile").path();
    let run = |command: &str, more: &[&str]| {
        let (_, errors, code) = said(&output(ilinst().arg(command).arg(&file).args(more)));
        assert_eq!(code, Some(0), "{context}, {command}: {errors}");
    };
    step(child);
    // To compile a method, the runtime may allocate on the thread that calls it.
    let first = Cell::new(bytes(&file, &[]).map_or(0, |bytes| bytes - ARRAY));
    assert!((0..ARRAY).contains(&first.get()), "{context}: {first:?}");
    let worked = |options: &[&str]| {
        let worked = worked(&file, options);
        let expected = worked / 100 * ARRAY + if options.is_empty() { first.get() } else { 0 };
        assert_eq!(bytes(&file, options), has_bytes.then_some(expected), "{context} {options:?}");
        worked
    };
    assert_eq!(worked(&[]), 100, "{context}");
    run("mark", &["first"]);
    step(child);
    step(child);
    run("mark", &["second"]);
    step(child);
    run("pause", &[]);
    step(child);
    assert_eq!(worked(&["--phase=second"]), 100, "paused: {context}");
    run("resume", &[]);
    step(child);
    assert_eq!((worked(&["--phase=first"]), worked(&["--phase=second"]), worked(&[])), (200, 200, 500), "{context}");
    run("reset", &[]);
    first.set(0);
    step(child);
    assert_eq!(worked(&[]), 100, "reset: {context}");
    let copy = folder.with_file_name("copy.ilprof");
    run("snapshot", &["-o", &copy.display().to_string()]);
    assert_eq!(self::worked(&copy, &[]), 100, "copied: {context}");
    drop(child.stdin.take());
    file
}

/// A report of a profile as JSON.
fn report(profile: &Path, options: &[&str]) -> Vec<u8> {
    let output = output(ilinst().args(["report", "--json", "--limit=0"]).args(options).arg(profile));
    assert!(output.status.success(), "{:?}", said(&output));
    output.stdout
}

/// The bytes that App.Repeat allocated; `None` if none were counted.
fn bytes(profile: &Path, options: &[&str]) -> Option<i64> {
    let report: serde_json::Value = serde_json::from_slice(&report(profile, options)).expect("it is JSON");
    let methods = report["methods"].as_array().expect("there are methods");
    let repeat = methods.iter().find(|method| method["name"] == "App.Repeat");
    repeat.and_then(|repeat| repeat["selfBytes"].as_i64())
}

/// How often it did, as a report has it.
fn worked(profile: &Path, options: &[&str]) -> i64 {
    let calls = calls_of_report(&report(profile, options));
    let of_work = calls.iter().find(|(name, _)| name.starts_with("App.Work("));
    of_work.map_or(0, |(_, calls)| *calls)
}

/// It has done all seven steps, and the profile has what came behind the reset.
fn has_ended(child: Child, file: &Path, context: &str) {
    let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
    assert_eq!((text.as_str(), code), ("work 700\n", Some(42)), "{context}: {errors}");
    assert_eq!(open_calls(&profile_in(file.parent().expect("a folder"))), 0, "{context}");
    assert_eq!(worked(file, &[]), 100, "{context}");
}

#[test]
#[ignore = "needs runtimes"]
fn a_program_under_hooks_does_what_it_is_told() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, capture) in tests::in_turn(&runtimes, &[&[][..], &["--capture=args,return"]]) {
        let work = Work::new("commands");
        let Some(app) = work.app() else { return };
        let context = format!("{} {capture:?}", runtime.name);
        let mut child = tests::waiting(&mut work.live(runtime, &[&["--all"], capture].concat(), &app, &["steps"]));
        let file = tell(&mut child, &work.profiles(runtime), false, &context);
        has_ended(child, &file, &context);
        if !capture.is_empty() {
            let kept = |options: &[&str]| calls_of(&file, &[options, &["--method=App.Work"]].concat())["count"].as_i64();
            let all = [kept(&["--phase=first"]), kept(&["--phase=second"]), kept(&[])];
            assert_eq!(all, [Some(200), Some(200), Some(100)], "{context}");
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_program_that_is_attached_to_does_what_it_is_told() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, options) in tests::in_turn(&runtimes, &[&[][..], &["--allocations"]]) {
        let work = Work::new("commands-attached");
        let Some(app) = work.app() else { return };
        let context = format!("attached, {} {options:?}", runtime.name);
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("steps"));
        let attached = attached(&mut attach(&work, child.id(), "attached", &[&["--all", "--for=1h"], options].concat()));
        let file = tell(&mut child, &work.folder.join("attached"), !options.is_empty(), &context);
        let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{context}: {errors}");
        has_ended(child, &file, &context);
    }
}
