//! `ilinst attach`: a program that runs is woven for a while, and goes on as it was.

use super::*;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixListener,
    process::Child,
};
use tests::step;

/// A program that works a hundred times for each line.
fn stepping(work: &Work, runtime: &Runtime, app: &Path) -> Child {
    tests::waiting(runtime.program(app, &work.folder).arg("steps"))
}

/// How it ended; how often it worked.
fn ended(mut child: Child) -> i64 {
    drop(child.stdin.take());
    let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(42), "{errors}");
    text.trim().strip_prefix("work ").and_then(|number| number.parse().ok()).expect("a number")
}

/// `ilinst attach`, with more options; the profile is kept in a folder of that name.
pub(super) fn attach(work: &Work, process: u32, name: &str, options: &[&str]) -> Command {
    let mut command = ilinst();
    command.args(["attach", &process.to_string()]).arg(format!("--keep={}", work.folder.join(name).display())).args(options);
    command.current_dir(&work.folder);
    command
}

/// The same under way: the program's methods are woven.
pub(super) fn attached(command: &mut Command) -> Child {
    // A program inherits ignored signals, here from whatever started the tests.
    let mut command = tests::with_default_signals(&[], command);
    let mut attached = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (errors, mut line) = (attached.stderr.as_mut().expect("a pipe"), String::new());
    BufReader::with_capacity(1, errors).read_line(&mut line).expect("it can be read");
    assert!(line.contains("methods woven"), "{line}");
    attached
}

/// Ends it before its time; what it said.
fn let_go(attached: Child, context: &str) -> String {
    let status = Command::new("sh").args(["-c", &format!("kill -INT {}", attached.id())]).status();
    assert!(status.expect("sh starts").success());
    let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
    assert!(code == Some(0) && errors.contains("what they were"), "{context}: {errors}");
    errors
}

#[test]
#[ignore = "needs runtimes"]
fn a_running_program_is_woven_and_put_back() {
    for runtime in runtimes() {
        let work = Work::new("attach");
        let Some(app) = work.app() else { return };
        let mut child = stepping(&work, &runtime, &app);
        let before = fs::read(&app).expect("it is there");
        step(&mut child);
        // It can be had again, and is counted anew.
        for (name, method, times, other) in
            [("first", "App::Work", 100, "App::Repeat"), ("second", "App::Repeat", 1, "App::Work")]
        {
            let attached = attached(&mut attach(&work, child.id(), name, &["--all", "--for=1h", "--include", method]));
            step(&mut child);
            let errors = let_go(attached, runtime.name);
            assert!(errors.contains(&method.replace("::", ".")), "{errors}");
            // Put back, it is no longer counted.
            step(&mut child);
            let profile = profile_in(&work.folder.join(name));
            let calls = calls(&profile);
            assert_eq!((calls.get(method), calls.get(other)), (Some(&times), None), "{}: {calls:?}", runtime.name);
            assert_eq!((profile.pid, open_calls(&profile)), (child.id(), 0), "{}", runtime.name);
        }
        assert_eq!(ended(child), 500, "{}", runtime.name);
        assert_eq!(fs::read(&app).expect("it is there"), before, "no file is woven");
    }
}

/// Without a signal it ends when its time is over.
#[test]
#[ignore = "needs runtimes"]
fn it_ends_after_its_time() {
    for runtime in runtimes() {
        let work = Work::new("attach-time");
        let Some(app) = work.app() else { return };
        let child = stepping(&work, &runtime, &app);
        let (_, errors, code) = said(&output(&mut attach(&work, child.id(), "timed", &["--all", "--for=1ms"])));
        assert!(code == Some(0) && errors.contains("what they were"), "{}: {errors}", runtime.name);
        assert_eq!(ended(child), 0);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn what_cannot_be_attached_to_is_said() {
    for runtime in runtimes() {
        let work = Work::new("attach-refused");
        let Some(app) = work.app() else { return };
        let refused = |process: u32, options: &[&str], why: &str| {
            let (_, errors, code) = said(&output(&mut attach(&work, process, "none", options)));
            assert!(code == Some(3) && errors.contains("ILI0031") && errors.contains(why), "{}: {errors}", runtime.name);
        };
        let child = stepping(&work, &runtime, &app);
        refused(child.id(), &["--include=Nobody.*"], "has a method that is chosen");
        // That is no harm to who comes behind.
        let (_, errors, code) = said(&output(&mut attach(&work, child.id(), "some", &["--all", "--for=1ms"])));
        assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
        let process = child.id();
        ended(child);
        refused(process, &[], "there is none");
        refused(std::process::id(), &[], "runs no .NET");
        // Nor does it where another, which was killed, had its number.
        let left = work.folder.join(format!("dotnet-diagnostic-{}-1-socket", std::process::id()));
        drop(UnixListener::bind(&left).expect("it can be made"));
        let (_, errors, code) = said(&output(attach(&work, std::process::id(), "none", &[]).env("TMPDIR", &work.folder)));
        assert!(left.exists() && code == Some(3) && errors.contains("runs no .NET"), "{}: {errors}", runtime.name);

        let mut silent = runtime.program(&app, &work.folder);
        let variable = if runtime.name == ".NET Core 3.1" { "COMPlus_EnableDiagnostics" } else { "DOTNET_EnableDiagnostics" };
        let child = tests::waiting(silent.arg("steps").env(variable, "0"));
        refused(child.id(), &[], "EnableDiagnostics=0");
        ended(child);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_signal_ends_it_early() {
    for runtime in runtimes() {
        let work = Work::new("attach-signal");
        let Some(app) = work.app() else { return };
        let mut child = stepping(&work, &runtime, &app);
        let_go(attached(&mut attach(&work, child.id(), "ended", &["--all", "--for=1h"])), runtime.name);
        // It goes on alone.
        step(&mut child);
        assert_eq!(ended(child), 100);
    }
}

/// Exceptions, recursion and threads are counted as by who has known them from the beginning.
#[test]
#[ignore = "needs runtimes"]
fn calls_are_counted_exactly() {
    for runtime in runtimes() {
        let work = Work::new("attach-exact");
        let Some(app) = work.app() else { return };
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("rounds"));
        let attached = attached(&mut attach(&work, child.id(), "rounds", &["--all", "--for=1h"]));
        // Now it does what it does once for each line.
        child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
        let worked = ended(child);
        let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
        let calls = calls(&profile_in(&work.folder.join("rounds")));
        let of = |name: &str| calls.get(name).copied();
        let known = [("App::Work", worked), ("App::Repeat", 16), ("App::First", 10), ("App::Third", 10)];
        for (method, times) in known {
            assert_eq!(of(method), Some(times), "{method} on {}", runtime.name);
        }
    }
}
