//! Ctrl-C, which `script` types at the terminal that Wine uses as a console. No tool can stop a run under Wine at a chosen
//! moment, so a run that completes too early is repeated. Wine may also hang when a process ends. So these tests belong to the
//! full tier.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tests::skip;

use crate::{Windows, copy, files_below, lines, windows};

/// Enough files for a run to be interrupted.
const FILES: usize = 100;
/// The number of attempts to interrupt a run in time.
const ATTEMPTS: usize = 20;
/// The limit for the beginning and the end of a run, many times the normal duration.
const LIMIT: Duration = Duration::from_secs(60);
/// The exit code that a shell sees for `STATUS_CONTROL_C_EXIT`.
const INTERRUPTED: i32 = 0x3A;

/// No output exists, no input is changed, and the next run finds no obstacle.
#[test]
#[ignore = "needs Wine"]
fn ctrl_c_leaves_nothing_half_written() {
    let Some(wine) = Windows::new("interrupted") else { return };
    if Command::new("script").arg("--version").output().is_err() {
        return skip("there is no script to type Ctrl-C");
    }
    let app = wine.folder.join("app");
    let original = tests::sample("orders").join("orders.exe");
    fs::create_dir(&app).expect("a folder can be made");
    for number in 0..FILES {
        fs::copy(&original, app.join(format!("{number}.exe"))).expect("it can be copied");
    }
    let [copied, in_place] = ["copied", "in-place"].map(|name| wine.folder.join(name));
    tests::instrument(&[&app, &"-o", &copied]);
    copy(&app, &in_place);
    tests::instrument(&[&in_place, &"--in-place"]);
    for (arguments, outputs, woven) in [(&["app", "-o", "out\\"][..], "out", copied), (&["app", "--in-place"], "app", in_place)] {
        let (outputs, woven) = (wine.folder.join(outputs), files_below(&woven));
        interrupt(&wine, arguments, &outputs, &woven);
        let output = wine.ilinst().arg("instrument").args(arguments).output().expect("Wine starts");
        assert_eq!(lines(&output).2, Some(0), "{arguments:?}");
        assert!(staging(&outputs).is_none(), "{arguments:?}");
        assert!(files_below(&outputs) == woven, "not what Linux weaves: {arguments:?}");
    }
}

/// Types Ctrl-C at runs until one ends by it. A run that completes before has written all outputs, which are removed again.
fn interrupt(wine: &Windows, arguments: &[&str], outputs: &Path, woven: &[(PathBuf, Vec<u8>)]) {
    let before = files_below(&wine.folder);
    let mut has_hung = false;
    for _ in 0..ATTEMPTS {
        let end = ctrl_c(wine, arguments, outputs);
        // A further command waits until Wine's server has closed the run's files. A folder with an open file cannot be removed.
        wine.run(&[&"--version"]);
        let End::Code(code) = end else {
            assert!(!has_hung, "Wine hangs in about one of 300 runs, and here in two: {arguments:?}");
            has_hung = true;
            staging(outputs).iter().for_each(|folder| fs::remove_dir_all(folder).expect("it can be removed"));
            assert!(files_below(&wine.folder) == before, "written by a run that hung: {arguments:?}");
            continue;
        };
        assert!(matches!(code, 0 | INTERRUPTED), "{arguments:?}: {code}");
        if files_below(&wine.folder) == before {
            assert_eq!(code, INTERRUPTED, "{arguments:?}");
            return;
        }
        assert!(files_below(outputs) == woven, "half-written: {arguments:?}");
        if arguments.contains(&"--in-place") {
            assert!(tests::ilinst().arg("restore").arg(outputs).output().expect("it starts").status.success());
        } else {
            fs::remove_dir_all(outputs).expect("it can be removed");
        }
        assert!(files_below(&wine.folder) == before, "not undone: {arguments:?}");
    }
    panic!("the run is always through before Ctrl-C comes: {arguments:?}");
}

/// The end of a run.
enum End {
    Code(i32),
    /// It was killed: Wine's `ExitProcess` ends the other threads at any point, and may then wait for a lock of one of them.
    HungInWine,
}

/// Starts `ilinst.exe instrument`, and types Ctrl-C when its first temporary file exists.
fn ctrl_c(wine: &Windows, arguments: &[&str], outputs: &Path) -> End {
    let alone = wine.ilinst();
    let exe = windows(&wine.exe).into_string().expect("it is text");
    let words = [&alone.get_program().to_string_lossy(), &*exe, "instrument", "-q"];
    let words = words.iter().chain(arguments).map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    // Without `exec`, Ctrl-C would end the waiting shell: dash waits, while bash is replaced by the program.
    let words = format!("exec {words}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--flush", "--return", "--command", &words, "/dev/null"]).current_dir(&wine.folder);
    tests::take_environment(&mut command, &alone);
    // The process that started the tests may ignore the signal, and children would inherit that.
    let mut command = tests::with_default_signals(&[], &command);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let has_begun = || staging(outputs).is_some_and(|folder| fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()));
    if !wait(&mut running, has_begun) {
        fail(running, "It has neither begun nor ended", arguments);
    }
    // Fails if the run has already ended.
    let _ = running.stdin.as_mut().expect("it was asked for").write_all(b"\x03");
    if wait(&mut running, || false) {
        return End::Code(running.wait().expect("it ends").code().expect("no signal ended it"));
    }
    let all = processes();
    let Some(half_ended) = half_ended_in(&running, &all) else { fail(running, "Ctrl-C does not end it", arguments) };
    assert!(Command::new("kill").args(["-KILL", half_ended]).status().expect("it starts").success());
    running.wait().expect("it ends");
    End::HungInWine
}

/// Waits for a condition, or for the end of the process; returns whether the condition became true.
fn wait(running: &mut Child, is_so: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < LIMIT {
        if is_so() || running.try_wait().expect("it can be asked").is_some() {
            return true;
        }
        thread::sleep(Duration::from_micros(100));
    }
    false
}

/// Fails for a hanging run: closes its terminal, which ends its processes.
fn fail(mut running: Child, why: &str, arguments: &[&str]) -> ! {
    let all = processes();
    running.kill().expect("it can be ended");
    panic!("{why}: {arguments:?}\n{all}");
}

/// Lists all processes: number, parent, state of the main thread, and command.
fn processes() -> String {
    let output = Command::new("ps").args(["-eo", "pid=,ppid=,stat=,args="]).output().expect("it is here");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the child of `script` whose main thread has ended while others have not.
fn half_ended_in<'a>(script: &Child, processes: &'a str) -> Option<&'a str> {
    let script = script.id().to_string();
    processes.lines().find_map(|line| match *line.split_whitespace().collect::<Vec<_>>() {
        [process, parent, state, ..] if parent == script && state.starts_with('Z') => Some(process),
        _ => None,
    })
}

/// Returns the folder of temporary files among outputs.
fn staging(outputs: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(outputs).ok()?.flatten().map(|entry| entry.path());
    entries.find(|path| path.extension().is_some_and(|extension| extension == "tmp"))
}
