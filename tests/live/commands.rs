//! `pause`, `resume`, `mark`, `reset` and `snapshot` of a program under hooks, or that is attached to: what it does then is
//! counted, or not.

use std::process::Child;

use super::{
    attach::{attach, attached},
    values::calls_of,
    *,
};
use tests::{live::calls_of_report, step};

/// Tells a program, which waits for its first step, all there is to tell; gives its profile, which is alone in the folder.
fn tell(child: &mut Child, folder: &Path, context: &str) -> PathBuf {
    let file = fs::read_dir(folder).expect("it is there").flatten().next().expect("there is a profile").path();
    let run = |command: &str, more: &[&str]| {
        let (_, errors, code) = said(&output(ilinst().arg(command).arg(&file).args(more)));
        assert_eq!(code, Some(0), "{context}, {command}: {errors}");
    };
    let worked = |options: &[&str]| worked(&file, options);
    step(child);
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
    step(child);
    assert_eq!(worked(&[]), 100, "reset: {context}");
    let copy = folder.with_file_name("copy.ilprof");
    run("snapshot", &["-o", &copy.display().to_string()]);
    assert_eq!(self::worked(&copy, &[]), 100, "copied: {context}");
    drop(child.stdin.take());
    file
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
        let file = tell(&mut child, &work.profiles(runtime), &context);
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
    for runtime in runtimes() {
        let work = Work::new("commands-attached");
        let Some(app) = work.app() else { return };
        let context = format!("attached, {}", runtime.name);
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("steps"));
        let attached = attached(&mut attach(&work, child.id(), "attached", &["--all", "--for=1h"]));
        let file = tell(&mut child, &work.folder.join("attached"), &context);
        let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{context}: {errors}");
        has_ended(child, &file, &context);
    }
}
