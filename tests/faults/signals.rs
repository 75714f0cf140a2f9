//! Runs that are asked to end, killed, or not alone.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::Duration,
};

use tests::{ilinst, said, sample, scratch};

use crate::commands::{Tree, is_leftover, quiet, tree};

/// Enough files that a run is seen while it lasts.
const FILES: usize = 60;

#[test]
fn a_run_that_is_asked_to_end_leaves_nothing() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        for arguments in [&["app", "-o", "out"][..], &["app", "--in-place"]] {
            let folder = app(&format!("faults-asked-{name}"));
            let before = tree(&folder);
            let status = asked_to_end(&folder, arguments, name);
            assert_eq!(status.signal(), Some(number), "{arguments:?}");
            assert!(tree(&folder) == before, "{name}, {arguments:?}: {:?}", tree(&folder).keys());
        }
    }
}

/// `nohup` and the like.
#[test]
fn a_signal_that_is_ignored_stays_so() {
    let folder = app("faults-ignored");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(ilinst().get_program());
    let mut run = started(&mut command, &folder, &["app", "-o", "out"]);
    signal(&run, "HUP");
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
}

#[test]
fn what_a_killed_run_left_the_next_one_removes() {
    let folder = app("faults-killed");
    caught(&folder, &["app", "-o", "out"], |run| signal(run, "KILL")).wait().expect("it ends");
    assert!(leftovers(&folder) > 0);
    instrument(&folder, &["app", "-o", "out"]);
    assert_eq!(leftovers(&folder), 0);

    caught(&folder, &["app", "--in-place"], |run| signal(run, "KILL")).wait().expect("it ends");
    assert!(leftovers(&folder) > 0);
    // No file of a program, so nothing to be copied.
    instrument(&folder, &["app", "-o", "copy"]);
    assert!(!tree(&folder.join("copy")).keys().any(|path| is_leftover(path)));
    ilinst().args(["restore", "app", "-q"]).current_dir(&folder).output().expect("ilinst runs");
    assert_eq!(leftovers(&folder), 0);
}

/// The second run is through while the first one stands still.
#[test]
fn runs_at_once_leave_each_others_files_alone() {
    let folder = app("faults-two");
    instrument(&folder, &["app", "-o", "expected"]);
    let expected = tree(&folder.join("expected"));
    let mut first = caught(&folder, &["app", "-o", "out"], |run| signal(run, "STOP"));
    let held = leftovers(&folder);
    instrument(&folder, &["app", "-o", "out"]);
    assert!(without_leftovers(&folder.join("out")) == expected, "by the second run");
    assert_eq!(leftovers(&folder), held, "the first one's are there still");
    signal(&first, "CONT");
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
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

fn started(command: &mut Command, folder: &Path, arguments: &[&str]) -> Child {
    let mut run = quiet(command.arg("instrument").args(arguments).current_dir(folder)).spawn().expect("it starts");
    while leftovers(folder) == 0 && run.try_wait().expect("it is a child").is_none() {
        thread::sleep(Duration::from_micros(100));
    }
    run
}

/// A run that something is done to while it has temporary files; tried again as long as it is too fast.
fn caught(folder: &Path, arguments: &[&str], act: impl Fn(&Child)) -> Child {
    let before = tree(folder);
    for _ in 0..50 {
        // Who started the tests may ignore signals, and what is started then would too.
        let mut command = Command::new("env");
        let mut run = started(command.arg("--default-signal").arg(ilinst().get_program()), folder, arguments);
        act(&run);
        thread::sleep(Duration::from_millis(20));
        let is_through = run.try_wait().expect("it is a child").is_some_and(|status| status.code().is_some());
        if !is_through {
            return run;
        }
        let _ = fs::remove_dir_all(folder.join("out"));
        restore_tree(folder, &before);
    }
    panic!("the run is always through before it can be caught")
}

/// How a run ends that gets a signal; tried again as long as it is through before the signal comes.
fn asked_to_end(folder: &Path, arguments: &[&str], name: &str) -> ExitStatus {
    let before = tree(folder);
    for _ in 0..20 {
        let status = caught(folder, arguments, |run| signal(run, name)).wait().expect("it ends");
        if status.code() != Some(0) {
            return status;
        }
        let _ = fs::remove_dir_all(folder.join("out"));
        restore_tree(folder, &before);
    }
    panic!("the run goes on in spite of SIG{name}")
}

fn restore_tree(folder: &Path, before: &Tree) {
    let _ = fs::remove_dir_all(folder.join("app/.ilinst-originals"));
    for path in tree(folder).keys().filter(|path| !before.contains_key(*path)) {
        let _ = fs::remove_file(folder.join(path));
    }
    for (path, content) in before {
        content.iter().for_each(|content| fs::write(folder.join(path), content).expect("it can be written"));
    }
}

fn signal(run: &Child, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", run.id())]).status();
    assert!(status.expect("sh starts").success());
}

fn instrument(folder: &Path, arguments: &[&str]) {
    let output = ilinst().arg("instrument").args(arguments).arg("-q").current_dir(folder).output().expect("ilinst runs");
    assert_eq!(said(&output), (String::new(), String::new(), Some(0)));
}

fn leftovers(folder: &Path) -> usize {
    // Not what is in the files: this is asked all the time.
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = [folder.join("app"), folder.join("out")];
    folders.into_iter().flat_map(below).filter(|entry| is_leftover(Path::new(&entry.file_name()))).count()
}

fn without_leftovers(folder: &Path) -> Tree {
    let mut tree = tree(folder);
    tree.retain(|path, _| !is_leftover(path));
    tree
}
