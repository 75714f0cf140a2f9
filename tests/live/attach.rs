//! `ilinst attach`: a program that runs is woven for a while, and goes on as it was.

use super::*;
use ::profile::{
    Profile, SampleType,
    model::{CallTree, Clock, Node},
    rows::SortBy,
};
use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::symlink,
        net::{UnixListener, UnixStream},
    },
    process::Child,
    time::Instant,
};
use tests::{step, until};

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
    begun(command, " instrumented, for ")
}

/// `ilinst attach` under way: it has said so.
pub(super) fn begun(command: &mut Command, said: &str) -> Child {
    // A program inherits ignored signals, here from whatever started the tests.
    let mut command = tests::with_default_signals(&[], command);
    let mut attached = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (errors, mut line) = (attached.stderr.as_mut().expect("a pipe"), String::new());
    BufReader::with_capacity(1, errors).read_line(&mut line).expect("it can be read");
    assert!(line.contains(said), "{line}");
    attached
}

/// Ends it before its time; what it said.
fn let_go(attached: Child, context: &str) -> String {
    let errors = interrupted(attached, context);
    assert!(errors.contains("probes removed"), "{context}: {errors}");
    errors
}

/// Ends it by Ctrl-C; what it said.
pub(super) fn interrupted(attached: Child, context: &str) -> String {
    let status = Command::new("sh").args(["-c", &format!("kill -INT {}", attached.id())]).status();
    assert!(status.expect("sh starts").success());
    let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(0), "{context}: {errors}");
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
        for (name, method, times, other, clock) in
            [("first", "App::Work", 100, "App::Repeat", "tsc"), ("second", "App::Repeat", 1, "App::Work", "stopwatch")]
        {
            let options = ["--all", "--for=1h", "--exact", "--mode=exact", "--clock", clock, "--include", method];
            let outer = Instant::now();
            let attached = attached(&mut attach(&work, child.id(), name, &options));
            let inner = Instant::now();
            step(&mut child);
            let inner = inner.elapsed();
            let errors = let_go(attached, runtime.name);
            let outer = outer.elapsed();
            assert!(errors.contains(&method.replace("::", ".")), "{errors}");
            // Put back, it is no longer counted.
            step(&mut child);
            let profile = profile_in(&work.folder.join(name));
            let calls = calls(&profile);
            assert_eq!((calls.get(method), calls.get(other)), (Some(&times), None), "{}: {calls:?}", runtime.name);
            assert_eq!((profile.pid, open_calls(&profile)), (child.id(), 0), "{}", runtime.name);
            let has_counter = fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" nonstop_tsc"));
            let expected = if clock == "tsc" && has_counter { Clock::Tsc } else { Clock::Stopwatch };
            assert_eq!(profile.clock, expected, "{}", runtime.name);
            // Measured within and around the recording, by another clock.
            let recorded = profile.milliseconds(profile.last_seen);
            let [inner, outer] = [inner, outer].map(|time| time.as_secs_f64() * 1000.0);
            assert!(0.999 * inner <= recorded && recorded <= 1.001 * outer, "{}: {inner}, {recorded}, {outer} ms", runtime.name);
        }
        assert_eq!(ended(child), 500, "{}", runtime.name);
        assert_eq!(fs::read(&app).expect("it is there"), before, "no file is woven");
    }
}

/// A runtime that is still starting refuses a profiler, and has not loaded the program yet. It is held back until it was asked.
#[test]
#[ignore = "needs runtimes"]
fn a_program_can_be_attached_to_while_it_starts() {
    for runtime in runtimes() {
        let work = Work::new("attach-start");
        let Some(app) = work.app() else { return };
        let mut command = runtime.program(&app, &work.folder);
        let child = tests::starting(command.arg("steps").env("DOTNET_DefaultDiagnosticPortSuspend", "1"));
        let process = child.id();
        let resumed = std::thread::spawn(move || resume(process));
        let attached = attached(&mut attach(&work, process, "start", &["--all", "--for=1h", "--include=App::Work"]));
        let was_held = resumed.join().expect("it ends");
        assert!(was_held || runtime.name == ".NET Core 3.1", "{}", runtime.name);
        let mut child = tests::await_ready(child);
        step(&mut child);
        let_go(attached, runtime.name);
        assert_eq!(ended(child), 100, "{}", runtime.name);
        let calls = calls(&profile_in(&work.folder.join("start")));
        assert_eq!(calls, BTreeMap::from([("App::Work".to_owned(), 100)]), "{}", runtime.name);
    }
}

/// Lets a runtime continue that waits for that at its diagnostics port. Returns whether it was waiting.
fn resume(process: u32) -> bool {
    const RESUME: &[u8; 20] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
    let prefix = format!("dotnet-diagnostic-{process}-");
    let port = || {
        let entries = fs::read_dir(std::env::temp_dir()).expect("it can be read").flatten();
        entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains(&prefix))
    };
    let port = until("the port is open", port);
    // By now, attach has most likely been refused. The outcome does not depend on it.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut stream = UnixStream::connect(port).expect("it answers");
    let mut answer = [0; 20];
    stream.write_all(RESUME).and_then(|()| stream.read_exact(&mut answer)).expect("it answers");
    answer[16..18] == [0xFF, 0]
}

/// A new build takes the place of a program's file by renaming. The program goes on with the old file, which is in its memory.
#[test]
#[ignore = "needs runtimes"]
fn a_program_whose_file_was_replaced_is_instrumented_as_it_runs() {
    for runtime in runtimes() {
        let work = Work::new("attach-replaced");
        let Some(app) = work.app() else { return };
        let mut child = stepping(&work, &runtime, &app);
        step(&mut child);
        let new = work.folder.join("new.exe");
        fs::copy(tests::sample("hello").join("hello.exe"), &new).and_then(|_| fs::rename(&new, &app)).expect("it is our own");
        let attached = attached(&mut attach(&work, child.id(), "replaced", &["--all", "--for=1h", "--include=App::Work"]));
        step(&mut child);
        let_go(attached, runtime.name);
        assert_eq!(ended(child), 200, "{}", runtime.name);
        let calls = calls(&profile_in(&work.folder.join("replaced")));
        assert_eq!(calls, BTreeMap::from([("App::Work".to_owned(), 100)]), "{}", runtime.name);
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
        assert!(code == Some(0) && errors.contains("probes removed"), "{}: {errors}", runtime.name);
        assert_eq!(ended(child), 0);
    }
}

#[test]
fn measurements_of_instrumented_programs_are_refused() {
    for (option, why) in [
        ("--mode=sampled", "use --sample"),
        ("--mode=count", "use --sample"),
        ("--mode=trace", "ilinst run --mode trace"),
        ("--clock=program", "ilinst run --clock program"),
    ] {
        let refused = said(&output(ilinst().args(["attach", "1", option])));
        assert!(refused.2 == Some(2) && refused.1.contains(why), "{option}: {refused:?}");
    }
    let refused = said(&output(ilinst().args(["attach", "1", "--sample", "--exact"])));
    assert!(refused.2 == Some(2) && refused.1.contains("cannot be used with"), "{refused:?}");
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
        refused(child.id(), &["--include=Nobody.*"], "has a method that your options select");
        // The next attachment is not disturbed by it.
        let (_, errors, code) = said(&output(&mut attach(&work, child.id(), "some", &["--all", "--for=1ms"])));
        assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
        let process = child.id();
        ended(child);
        refused(process, &[], "there is no such process");
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

        let long = work.folder.join("x".repeat(100));
        fs::create_dir(&long).expect("it can be made");
        let child = tests::waiting(runtime.program(&app, &work.folder).arg("steps").env("TMPDIR", long));
        refused(child.id(), &[], "its TMPDIR is too long");
        ended(child);

        let child = stepping(&work, &runtime, &app);
        let signal = |name: &str| Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
        assert!(signal("STOP").expect("sh starts").success());
        until("a process that is stopped", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it is there");
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')).then_some(())
        });
        refused(child.id(), &[], "is stopped");
        assert!(signal("CONT").expect("sh starts").success());
        ended(child);
    }
}

#[test]
#[ignore = "needs Mono"]
fn mono_is_recognised() {
    let work = Work::new("attach-mono");
    let (Some(mono), Some(app)) = (Runtime::find("Mono"), work.app()) else { return };
    let child = stepping(&work, &mono, &app);
    let (_, errors, code) = said(&output(&mut attach(&work, child.id(), "none", &["--sample"])));
    assert!(code == Some(3) && errors.contains("it runs Mono") && errors.contains("ilinst run --sample -- mono"), "{errors}");
    ended(child);
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

/// This process's port, as a runtime would name it, with another end.
#[cfg(target_os = "linux")]
fn port(folder: &Path, end: &str) -> PathBuf {
    port_of(std::process::id(), folder, end)
}

#[cfg(target_os = "linux")]
fn port_of(process: u32, folder: &Path, end: &str) -> PathBuf {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there");
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    let started = fields.split_whitespace().nth(19).expect("it started");
    folder.join(format!("dotnet-diagnostic-{process}-{started}-{end}"))
}

/// `ilinst attach` to this process, whose temporary folder is another.
fn attach_to_this(work: &Work) -> Child {
    let mut command = attach(work, std::process::id(), "none", &["--all", "--for=1h"]);
    command.env("TMPDIR", &work.folder);
    let mut command = tests::with_default_signals(&[], &command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// A request, up to what the runtime is asked.
fn request(port: &UnixListener) -> UnixStream {
    let (mut stream, _) = port.accept().expect("it is asked");
    let mut header = [0; 20];
    stream.read_exact(&mut header).expect("a header");
    assert_eq!((&header[..14], &header[16..18]), (&b"DOTNET_IPC_V1\0"[..], &[3, 1][..]));
    stream
}

/// Sends a signal, which ends it at once; what it said.
fn ended_by(child: Child, signal: &str, number: i32) -> String {
    let status = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
    assert!(status.expect("sh starts").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.signal(), Some(number), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whoever asks a program that never answers is let go by a signal, and leaves nothing behind.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_it_while_the_program_does_not_answer() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let work = Work::new(&format!("attach-silent-{signal}"));
        let silent = UnixListener::bind(port(&work.folder, "socket")).expect("it can be made");
        let child = attach_to_this(&work);
        let stream = request(&silent);
        ended_by(child, signal, number);
        drop(stream);
        let left: Vec<_> = fs::read_dir(&work.folder).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("ilinst-")), "{left:?}");
    }
}

/// A program that starts just now has no port yet: the port is waited for, and no setting is blamed.
#[cfg(target_os = "linux")]
#[test]
fn a_port_that_is_not_there_yet_is_waited_for() {
    // The number of clock_nanosleep: the tool waits before it looks again.
    const WAITS: &str = if cfg!(target_arch = "aarch64") { "115 " } else { "230 " };
    let work = Work::new("attach-early");
    // A mapped file of this name shows that a runtime is loaded.
    let runtime = work.folder.join("libcoreclr.so");
    fs::copy("/bin/sleep", &runtime).expect("it can be copied");
    let mut starting = Command::new(&runtime).arg("1000").env("TMPDIR", &work.folder).spawn().expect("it starts");
    let mut command = attach(&work, starting.id(), "none", &["--all", "--for=1h"]);
    let mut command = tests::with_default_signals(&[], command.env("TMPDIR", &work.folder));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let call = format!("/proc/{}/syscall", child.id());
    until("a look for the port", || {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it has given up");
        fs::read_to_string(&call).expect("it runs").starts_with(WAITS).then_some(())
    });
    let late = UnixListener::bind(port_of(starting.id(), &work.folder, "socket")).expect("it can be made");
    let stream = request(&late);
    ended_by(child, "INT", 2);
    drop(stream);
    starting.kill().and_then(|()| starting.wait()).expect("it runs");
}

/// A runtime that has loaded the profiler, of which nothing is heard then, as it is stopped: the first signal has methods put
/// back, and the second ends it at once.
#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_does_not_wait_for_the_program() {
    let work = Work::new("attach-stopped");
    let silent = UnixListener::bind(port(&work.folder, "socket")).expect("it can be made");
    let mut child = attach_to_this(&work);
    let mut stream = request(&silent);
    stream.write_all(b"DOTNET_IPC_V1\0\x18\0\xFF\0\0\0\0\0\0\0").expect("it is read");
    let status = until("a folder for the profiler", || {
        let folders = fs::read_dir(&work.folder).expect("it is there").flatten().map(|entry| entry.path());
        folders.into_iter().find(|path| path.to_string_lossy().contains("ilinst-run-"))
    });
    fs::write(status.join(std::process::id().to_string()), "woven 3").expect("it can be written");
    let (errors, mut line) = (child.stderr.as_mut().expect("a pipe"), String::new());
    BufReader::with_capacity(1, errors).read_line(&mut line).expect("it can be read");
    assert!(line.contains("3 methods instrumented"), "{line}");
    let interrupt = || Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().expect("sh starts");
    assert!(interrupt().success());
    until("the word that it is to end", || status.join("stop").exists().then_some(()));
    ended_by(child, "INT", 2);
}

/// In a folder where anybody may put files, the youngest is not the process's for that.
#[cfg(target_os = "linux")]
#[test]
fn what_others_plant_is_not_asked() {
    let work = Work::new("attach-planted");
    let real = UnixListener::bind(port(&work.folder, "socket")).expect("it can be made");
    let planted = UnixListener::bind(work.folder.join("planted")).expect("it can be made");
    planted.set_nonblocking(true).expect("it does not wait");
    symlink(work.folder.join("planted"), port(&work.folder, "x")).expect("a link can be made");
    fs::write(port(&work.folder, "y"), "").expect("it can be written");
    let others = UnixListener::bind(port(&work.folder, "z")).expect("it can be made");
    others.set_nonblocking(true).expect("it does not wait");
    if let Err(error) = std::os::unix::fs::chown(port(&work.folder, "z"), Some(65534), None) {
        tests::skip_part(&format!("a socket of another user: {error}"));
        fs::remove_file(port(&work.folder, "z")).expect("it is there");
    }
    let child = attach_to_this(&work);
    let stream = request(&real);
    for other in [&planted, &others] {
        assert_eq!(other.accept().map(drop).unwrap_err().kind(), io::ErrorKind::WouldBlock, "it was asked");
    }
    ended_by(child, "INT", 2);
    drop((stream, real));

    // Without one of the process's own it is said what is there.
    fs::remove_file(port(&work.folder, "socket")).expect("it is there");
    let (_, errors, code) = said(&attach_to_this(&work).wait_with_output().expect("it ends"));
    assert!(code == Some(3) && errors.contains("is no socket of its user, and is not used"), "{errors}");
}

/// Returns the names of the files that a process has open.
fn open_files(process: u32) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{process}/fd")).expect("it runs").flatten();
    links.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned())).collect()
}

/// An attachment leaves nothing behind but the profiler, which can be asked again whoever else asks it for nonsense.
#[test]
#[ignore = "needs runtimes"]
fn nothing_is_left_of_an_attachment() {
    for runtime in runtimes() {
        let work = Work::new("attach-left");
        let Some(app) = work.app() else { return };
        let temporary = work.folder.join("t");
        fs::create_dir(&temporary).expect("it can be made");
        let mut command = runtime.program(&app, &work.folder);
        let mut child = tests::waiting(command.arg("steps").env("TMPDIR", &temporary));
        let mut none = attach(&work, child.id(), "none", &["--include=Nobody.*"]);
        assert_eq!(said(&output(none.env("TMPDIR", &temporary))).2, Some(3));
        for time in ["first", "second", "third"] {
            let mut again = attach(&work, child.id(), time, &["--all", "--for=1h", "--include=App::Work"]);
            let attached = attached(again.env("TMPDIR", &temporary));
            step(&mut child);
            let_go(attached, runtime.name);
            let calls = calls(&profile_in(&work.folder.join(time)));
            assert_eq!(calls.get("App::Work"), Some(&100), "{}, {time}: {calls:?}", runtime.name);
            let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).expect("it runs");
            assert!(!maps.contains(".ilprof"), "{}, {time}: {maps}", runtime.name);
            let open = open_files(child.id());
            assert!(!open.iter().any(|file| file.contains(".ilprof")), "{}, {time}: {open:?}", runtime.name);
            let left: Vec<_> = fs::read_dir(&temporary).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
            assert!(!left.iter().any(|name| name.to_string_lossy().contains("ilinst")), "{}, {time}: {left:?}", runtime.name);
            let pipes: Vec<u32> = open.iter().filter_map(|file| live::pipe_of(file)).collect();
            let [number] = pipes[..] else { panic!("{}, {time}: {open:?}", runtime.name) };
            let pipe = format!("/proc/{}/fd/{number}", child.id());
            let nonsense = fs::OpenOptions::new().write(true).open(pipe).and_then(|mut pipe| pipe.write_all(b"GET / HTTP/1.1"));
            nonsense.expect("there is room");
        }
        assert_eq!(ended(child), 300, "{}", runtime.name);
    }
}

/// Modules come and go while methods of others are woven and put back, and those that can go are skipped.
#[test]
#[ignore = "needs runtimes"]
fn a_program_that_unloads_goes_on() {
    let least = if tests::is_full() { 200 } else { 10 };
    for runtime in runtimes() {
        let work = Work::new("attach-unloading");
        let Some(app) = work.app() else { return };
        let copy = work.folder.join("plug-in.exe");
        fs::copy(&app, &copy).expect("it can be copied");
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("unloading").arg(&copy));
        let process = child.id();
        let sockets = || open_files(process).iter().filter(|file| file.starts_with("socket:")).count();
        let (before, mut was_skipped) = (sockets(), false);
        // A plug-in is not loaded at each time.
        for time in 0.. {
            if time >= least && was_skipped {
                break;
            }
            let _ = fs::remove_dir_all(work.folder.join("unloading"));
            let mut command = attach(&work, child.id(), "unloading", &["--all", "--for=1ms", "--no-report"]);
            let (_, errors, code) = said(&output(&mut command));
            let is_running = child.try_wait().expect("it can be asked").is_none();
            assert!(code == Some(0) && is_running, "{time} on {}: {errors}", runtime.name);
            was_skipped |= errors.contains("plug-in.exe: it can be unloaded");
        }
        until("a program without profiles and sockets of attachments", || {
            let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("it runs");
            let pipes = open_files(process).iter().filter_map(|file| live::pipe_of(file)).count();
            (!maps.contains(".ilprof") && sockets() <= before && pipes == 1).then_some(())
        });
        assert!(ended(child) > 0);
    }
}

/// Steps of async methods are no calls of theirs.
#[test]
#[ignore = "needs runtimes"]
fn async_calls_and_their_steps_are_told_apart() {
    for runtime in runtimes() {
        let work = Work::new("attach-async");
        let Some(app) = work.app() else { return };
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("awaits"));
        let attached = attached(&mut attach(&work, child.id(), "async", &["--all", "--for=1h", "--include=App::Twice"]));
        step(&mut child);
        let errors = let_go(attached, runtime.name);
        assert!(errors.contains("App.Twice [steps]"), "{}: {errors}", runtime.name);
        let calls = calls(&profile_in(&work.folder.join("async")));
        let steps: i64 = calls.iter().filter(|(name, _)| name.ends_with("::MoveNext")).map(|(_, calls)| calls).sum();
        assert_eq!((calls.get("App::Twice"), steps), (Some(&5), 15), "{}: {calls:?}", runtime.name);
        assert_eq!(ended(child), 5);
    }
}

/// Native probes do not follow these methods: they are counted, and not timed. .NET 10 reports that calls can be missing.
#[test]
#[ignore = "needs .NET 10"]
fn methods_that_the_runtime_suspends_are_counted() {
    for runtime in Runtime::suspending() {
        let work = Work::new("attach-suspended");
        let Some(program) = work.by_sdk_10("suspended") else { return };
        let mut command = runtime.program(&program, &work.folder);
        let mut child = tests::waiting(command.env("DOTNET_RuntimeAsync", "1"));
        let attached = attached(&mut attach(&work, child.id(), "suspended", &["--all", "--for=1h"]));
        step(&mut child);
        let errors = let_go(attached, runtime.name);
        let are_missing = errors.contains("suspended.exe: calls of 2 runtime-async methods in optimized code");
        assert_eq!(are_missing, runtime.name == ".NET 10", "{}: {errors}", runtime.name);
        let profile = profile_in(&work.folder.join("suspended"));
        let mut calls = calls(&profile);
        // Its calls that wait are below it, and so may be its first part, which is compiled anew in its loop.
        calls.remove("Suspended::Main");
        let expected = [("Suspended::One", 20), ("Suspended::Plain", 20), ("Suspended::Sum", 5)];
        assert_eq!(calls, expected.map(|(name, calls)| (name.to_owned(), calls)).into(), "{}", runtime.name);
        assert_eq!(open_calls(&profile), 0, "{}", runtime.name);
        let rows = profile.rows(SortBy::Name);
        let counted: Vec<_> = rows.iter().filter(|row| row.is_runtime_async && row.is_counted()).collect();
        assert_eq!(
            counted.iter().map(|row| &*row.name).collect::<Vec<_>>(),
            ["Suspended.One", "Suspended.Sum"],
            "{}",
            runtime.name
        );
        assert!(counted.iter().all(|row| row.total_ms == 0.0), "{}: {counted:?}", runtime.name);
        assert_eq!(ended(child), 20);
    }
}

/// Calls that wait have rows, and so has the JIT compiler, which compiles the instrumented methods at their first calls.
#[test]
#[ignore = "needs runtimes"]
fn waits_and_the_compiler_are_told_apart() {
    const SLEEP: &str = "System.Threading.Thread::Sleep";
    for runtime in runtimes() {
        let work = Work::new("attach-waits");
        let Some(app) = work.app() else { return };
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("sleeps"));
        for (name, options, sleeps) in
            [("waits", &["--exact"][..], Some(2)), ("bytes", &["--allocations"], Some(2)), ("none", &["--calls=none"], None)]
        {
            let of_all = ["--all", "--for=1h", "--include=App::Nap", "--include=App::Disturbed", "--include=App::Work"];
            let attached = attached(&mut attach(&work, child.id(), name, &[&of_all, options].concat()));
            step(&mut child);
            let_go(attached, runtime.name);
            let context = format!("{}, {name}", runtime.name);
            let profile = profile_in(&work.folder.join(name));
            let mut expected = BTreeMap::from(["App::Nap", "App::Disturbed", "App::Work"].map(|name| (name.to_owned(), 1)));
            expected.extend(sleeps.map(|calls| (SLEEP.to_owned(), calls)));
            assert_eq!((calls(&profile), open_calls(&profile)), (expected, 0), "{context}");
            let waited = profile.milliseconds(profile.sum(SampleType::WAITING));
            assert!(if sleeps.is_some() { waited >= 49.0 } else { waited == 0.0 }, "{context}: {waited} ms");
            let has_callees = |node: &Node| profile.functions[node.function].raw_name().as_deref() == Some(SLEEP);
            let is_below_a_wait =
                |tree: &CallTree, node: &Node| node.caller.is_some_and(|caller| has_callees(&tree.nodes[caller]));
            let below = profile.trees.iter().flat_map(|tree| tree.nodes.iter().map(move |node| is_below_a_wait(tree, node)));
            assert_eq!(below.filter(|below| *below).count(), 0, "{context}: the exception has ended the call that waited");
            let file = fs::read_dir(work.folder.join(name)).expect("it is there").flatten().next().expect("a profile").path();
            let with_compiler = Profile::parse(&fs::read(file).expect("it can be read")).expect("it is one");
            assert!(with_compiler.display_names().iter().any(|name| name == tests::JIT), "{context}");
        }
        drop(child.stdin.take());
        assert_eq!(said(&child.wait_with_output().expect("it ends")).2, Some(42), "{}", runtime.name);
    }
}

/// Whoever attaches may be killed: then nobody waits for the methods, and they are put back.
#[test]
#[ignore = "needs runtimes"]
fn a_profiler_that_nobody_waits_for_puts_methods_back() {
    for runtime in runtimes() {
        let work = Work::new("attach-killed");
        let Some(app) = work.app() else { return };
        let mut child = stepping(&work, &runtime, &app);
        let temporary = work.folder.join("t");
        fs::create_dir(&temporary).expect("it can be made");
        let mut first = attach(&work, child.id(), "first", &["--all", "--for=100h"]);
        let mut killed = attached(first.env("TMPDIR", &temporary));
        killed.kill().expect("it runs");
        killed.wait().expect("it ends");
        fs::remove_dir_all(&temporary).expect("nobody needs it");
        // The profiler would else be busy for days.
        until("the pipe of a profiler that is done", || {
            open_files(child.id()).iter().any(|file| live::pipe_of(file).is_some()).then_some(())
        });
        step(&mut child);
        let (_, errors, code) = said(&output(&mut attach(&work, child.id(), "second", &["--all", "--for=1ms"])));
        assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
        assert_eq!(ended(child), 100, "{}", runtime.name);
    }
}
