//! Ctrl-C, which `script` types at the terminal that Wine takes for a console.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use tests::skip;

use crate::{Windows, copy, files_below, lines, windows};

/// Enough files that a run is seen while it lasts.
const FILES: usize = 100;
/// So often it is tried to be in time.
const ATTEMPTS: usize = 20;
/// What a shell sees of `STATUS_CONTROL_C_EXIT`.
const INTERRUPTED: i32 = 0x3A;

/// No output is there, no input is changed, and the next run finds nothing in its way.
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

/// Types Ctrl-C at a run until one ends by it. One that is through before has written all: that is undone.
fn interrupt(wine: &Windows, arguments: &[&str], outputs: &Path, woven: &[(PathBuf, Vec<u8>)]) {
    let before = files_below(&wine.folder);
    for _ in 0..ATTEMPTS {
        let status = ctrl_c(wine, arguments, outputs);
        assert!(matches!(status.code(), Some(0 | INTERRUPTED)), "{arguments:?}: {status}");
        // By then Wine's server has seen its end, and closed its files. A folder cannot be removed there while one in it is open.
        wine.run(&[&"--version"]);
        if files_below(&wine.folder) == before {
            assert_eq!(status.code(), Some(INTERRUPTED), "{arguments:?}");
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

/// Starts `ilinst.exe instrument`, and types Ctrl-C when its first temporary file is there.
fn ctrl_c(wine: &Windows, arguments: &[&str], outputs: &Path) -> ExitStatus {
    let alone = wine.ilinst();
    let exe = windows(&wine.exe).into_string().expect("it is text");
    let words = [&alone.get_program().to_string_lossy(), &*exe, "instrument", "-q"];
    let words = words.iter().chain(arguments).map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    // Ctrl-C would end a shell that waits, as dash does where bash takes the program's place.
    let words = format!("exec {words}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--flush", "--return", "--command", &words, "/dev/null"]).current_dir(&wine.folder);
    for (name, value) in alone.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Who started the tests may ignore it, and what is started then would too.
    let mut command = tests::with_default_signals(&[], &command);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let has_begun = || staging(outputs).is_some_and(|folder| fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()));
    while !has_begun() && running.try_wait().expect("it can be asked").is_none() {
        thread::sleep(Duration::from_micros(100));
    }
    // Nobody reads it any more if it has ended.
    let _ = running.stdin.as_mut().expect("it was asked for").write_all(b"\x03");
    running.wait().expect("it ends")
}

/// The folder of temporary files among outputs.
fn staging(outputs: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(outputs).ok()?.flatten().map(|entry| entry.path());
    entries.find(|path| path.extension().is_some_and(|extension| extension == "tmp"))
}
