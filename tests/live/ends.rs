//! However a program ends, its profile is there, and its end is its own.

use super::*;
use std::process::Child;

/// A program that waits, when it has said so.
fn waiting(work: &Work, runtime: &Runtime, app: &Path) -> Child {
    let command = work.live(runtime, &["--all"], app, &["wait"]);
    let mut command = tests::with_default_signals(&[], &command);
    tests::waiting(&mut command)
}

fn signal(process: u32, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status();
    assert!(status.expect("sh starts").success());
}

/// The program's process, by the name of its profile.
fn process(work: &Work, runtime: &Runtime) -> u32 {
    profile_in(&work.profiles(runtime)).pid
}

#[test]
#[ignore = "needs runtimes"]
fn a_killed_program_leaves_its_profile() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, (name, code)) in tests::in_turn(&runtimes, &[("KILL", 137), ("TERM", 143)]) {
        let work = Work::new(&format!("signal-{name}"));
        let Some(app) = work.app() else { return };
        let mut child = waiting(&work, runtime, &app);
        // A signal to end comes by way of the launcher, as from a shell or a service manager.
        signal(if name == "TERM" { child.id() } else { process(&work, runtime) }, name);
        // Its input stays open until then.
        let _input = child.stdin.take();
        let ended = said(&child.wait_with_output().expect("it ends"));
        assert_eq!(ended.2, Some(code), "{name}: {}", ended.1);
        let profile = profile_in(&work.profiles(runtime));
        let calls = calls(&profile);
        assert_eq!((calls["App::Work"], calls["App::Repeat"], calls["App::Wait"]), (1000, 1, 1));
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_running_program_can_be_read() {
    for runtime in runtimes() {
        let work = Work::new("running");
        let Some(app) = work.app() else { return };
        let mut child = waiting(&work, &runtime, &app);
        let profile = profile_in(&work.profiles(&runtime));
        assert_eq!((calls(&profile)["App::Work"], open_calls(&profile)), (1000, 2));
        drop(child.stdin.take());
        let ended = said(&child.wait_with_output().expect("it ends"));
        assert_eq!((ended.0.as_str(), ended.2), ("work 1000\n", Some(42)), "{}", ended.1);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn the_end_is_the_programs_own() {
    for runtime in runtimes() {
        let work = Work::new("end");
        let Some(app) = work.app() else { return };
        for (way, end) in
            [("once", profile::End::Clean), ("unhandled", profile::End::UnhandledException), ("failfast", profile::End::Unknown)]
        {
            let _ = fs::remove_dir_all(work.profiles(&runtime));
            work.recorded(&runtime, &[], &app, &[way]);
            assert_eq!(profile_in(&work.profiles(&runtime)).end, end, "{way} on {}", runtime.name);
        }
    }
}
