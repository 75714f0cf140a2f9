//! Runs that are asked to end, killed, or not alone. strace stops each run while it has temporary files, so that none completes
//! before.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
};

use tests::{end_of, ilinst, require, said, sample, scratch, until};

use crate::commands::{Tree, is_leftover, quiet, tree};

const FILES: usize = 3;
/// The call that sets the permissions of an output's new temporary file.
const CALL: &str = "fchmod";
/// A delay longer than any test waits, in microseconds. Only the thread that makes the call stops.
const FOR_EVER: &str = "delay_enter=3600000000";

#[test]
#[ignore = "needs strace"]
fn a_run_that_is_asked_to_end_leaves_nothing() {
    let Some(strace) = require("ILINST_STRACE") else { return };
    for name in ["INT", "TERM", "HUP"] {
        for arguments in [&["app", "-o", "out"][..], &["app", "--in-place"]] {
            let folder = app(&format!("faults-asked-{name}"));
            let before = tree(&folder);
            let run = Held::start(&strace, &folder, arguments, FOR_EVER);
            signal(run.tool, name);
            run.assert_ended_by(name);
            assert!(tree(&folder) == before, "{name}, {arguments:?}: {:?}", tree(&folder).keys());
        }
    }
}

/// `nohup` and similar programs.
#[test]
#[ignore = "needs strace"]
fn a_signal_that_is_ignored_stays_so() {
    let Some(strace) = require("ILINST_STRACE") else { return };
    let folder = app("faults-ignored");
    let run =
        Held::start_by(&["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"], &strace, &folder, &["app", "-o", "out"], "signal=STOP");
    run.has_stopped();
    signal(run.tool, "HUP");
    signal(run.tool, "CONT");
    assert_eq!(run.end().code(), Some(0));
}

#[test]
#[ignore = "needs strace"]
fn what_a_killed_run_left_the_next_one_removes() {
    let Some(strace) = require("ILINST_STRACE") else { return };
    let folder = app("faults-killed");
    let killed = |arguments: &[&str]| {
        let run = Held::start(&strace, &folder, arguments, FOR_EVER);
        signal(run.tool, "KILL");
        run.assert_ended_by("KILL");
        assert!(leftovers(&folder) > 0, "{arguments:?}");
    };
    killed(&["app", "-o", "out"]);
    instrument(&folder, &["app", "-o", "out"]);
    assert_eq!(leftovers(&folder), 0);

    killed(&["app", "--in-place"]);
    // The folder has no program, so no companions are copied.
    instrument(&folder, &["app", "-o", "copy"]);
    assert!(!tree(&folder.join("copy")).keys().any(|path| is_leftover(path)));
    ilinst().args(["restore", "app", "-q"]).current_dir(&folder).output().expect("ilinst runs");
    assert_eq!(leftovers(&folder), 0);
}

/// The second run completes while the first one stands still.
#[test]
#[ignore = "needs strace"]
fn runs_at_once_leave_each_others_files_alone() {
    let Some(strace) = require("ILINST_STRACE") else { return };
    let folder = app("faults-two");
    instrument(&folder, &["app", "-o", "expected"]);
    let expected = tree(&folder.join("expected"));
    let first = Held::start(&strace, &folder, &["app", "-o", "out"], "signal=STOP");
    first.has_stopped();
    let held = leftovers(&folder);
    instrument(&folder, &["app", "-o", "out"]);
    assert!(without_leftovers(&folder.join("out")) == expected, "by the second run");
    assert_eq!(leftovers(&folder), held, "the first one's are there still");
    signal(first.tool, "CONT");
    assert_eq!(first.end().code(), Some(0));
    assert!(tree(&folder.join("out")) == expected, "by the first run: {:?}", tree(&folder.join("out")).keys());
}

fn app(name: &str) -> PathBuf {
    let folder = scratch(name);
    fs::create_dir(folder.join("app")).expect("a folder can be made");
    for number in 0..FILES {
        fs::copy(sample("orders").join("orders.exe"), folder.join(format!("app/{number}.exe"))).expect("it can be copied");
    }
    folder
}

/// A run under strace, which injects an effect when a temporary file exists.
struct Held {
    strace: Child,
    /// The process id of the tool.
    tool: u32,
    /// Its start time, in clock ticks since boot.
    started: u64,
    log: PathBuf,
}

impl Held {
    fn start(strace: &Path, folder: &Path, arguments: &[&str], effect: &str) -> Self {
        // A program inherits ignored signals, here from the process that started the tests.
        Self::start_by(&["env", "--default-signal"], strace, folder, arguments, effect)
    }

    /// Starts the run by a further command.
    fn start_by(starter: &[&str], strace: &Path, folder: &Path, arguments: &[&str], effect: &str) -> Self {
        let log = folder.with_extension("log");
        let _ = fs::remove_file(&log);
        let mut command = Command::new(strace);
        command.arg("-f").arg("-o").arg(&log).args(["-e", &format!("trace={CALL}")]);
        command.args(["-e", &format!("inject={CALL}:{effect}:when=1")]).args(starter).arg(ilinst().get_program());
        // With a single thread, that thread makes the call.
        command.arg("instrument").args(arguments).args(["--threads", "1"]).current_dir(folder);
        let mut strace = quiet(&mut command).spawn().expect("strace starts");
        let children = format!("/proc/{0}/task/{0}/children", strace.id());
        let tool = until("a temporary file", || {
            assert_eq!(strace.try_wait().expect("it is a child"), None, "it ended");
            let first = fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse().ok()?;
            (leftovers(folder) > 0).then_some(first)
        });
        Self { strace, tool, started: started(tool).expect("it is stopped"), log }
    }

    /// Waits until the whole process is stopped.
    fn has_stopped(&self) {
        until("the run stands still", || fs::read_to_string(&self.log).ok()?.contains("--- stopped by SIGSTOP").then_some(()));
    }

    /// Waits until a signal has ended all threads of the process, because the last one closes its files. The thread that strace
    /// delays dies only after strace has ended.
    fn assert_ended_by(mut self, name: &str) {
        until(&format!("its end by SIG{name}"), || {
            // Asked before the log is read: the log of a strace that has ended is complete.
            let has_ended = self.strace.try_wait().expect("it is a child").is_some();
            let log = fs::read_to_string(&self.log).ok()?;
            let is_killed = log.contains(&format!("+++ killed by SIG{name}"));
            assert!(is_killed || !has_ended && !log.contains("+++ exited"), "{name}: {log}");
            is_killed.then_some(())
        });
        self.strace.kill().and_then(|()| self.strace.wait()).expect("it is a child");
        until("the end of its last thread", || (!self.lives()).then_some(()));
    }

    /// Returns whether a thread of the tool is alive. Another process may have its id by now.
    fn lives(&self) -> bool {
        let mut threads = fs::read_dir(format!("/proc/{}/task", self.tool)).into_iter().flatten().flatten();
        let is_alive = |thread: fs::DirEntry| state(&thread.path()).is_some_and(|state| !matches!(state, 'Z' | 'X'));
        started(self.tool) == Some(self.started) && threads.any(is_alive)
    }

    /// Returns the exit status: strace ends as the tool did.
    fn end(mut self) -> ExitStatus {
        end_of(&mut self.strace, "the run")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

/// Returns the fields of a process or thread that follow its name: see `proc_pid_stat(5)`.
fn fields(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    Some(text.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

fn state(folder: &Path) -> Option<char> {
    fields(folder)?.first()?.chars().next()
}

/// Returns the start time of a process, in clock ticks since boot.
fn started(process: u32) -> Option<u64> {
    fields(Path::new(&format!("/proc/{process}")))?.get(19)?.parse().ok()
}

fn signal(process: u32, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status();
    assert!(status.expect("sh starts").success());
}

fn instrument(folder: &Path, arguments: &[&str]) {
    let output = ilinst().arg("instrument").args(arguments).arg("-q").current_dir(folder).output().expect("ilinst runs");
    assert_eq!(said(&output), (String::new(), String::new(), Some(0)));
}

fn leftovers(folder: &Path) -> usize {
    // Lists names only, since this is polled.
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = [folder.join("app"), folder.join("out")];
    folders.into_iter().flat_map(below).filter(|entry| is_leftover(Path::new(&entry.file_name()))).count()
}

fn without_leftovers(folder: &Path) -> Tree {
    let mut tree = tree(folder);
    tree.retain(|path, _| !is_leftover(path));
    tree
}
