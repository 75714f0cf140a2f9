//! System calls that fail, one after another, and runs that end at each of them. strace injects the faults: the tool contains no
//! code for them.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, ExitStatus},
};

use tests::{ilinst, in_parallel, is_full, require, root, scratch};

use crate::commands::{Prepared, prepared, quiet};

/// A fault at a system call, and the allowed result.
#[derive(Clone, Copy)]
enum Fault {
    /// The call fails: all or nothing is written.
    Fails(&'static str),
    /// The call fails, and the tool uses another way.
    IsAvoided(&'static str),
    /// The call fails, so that a temporary file may stay until the next run.
    Leaves(&'static str),
    /// The run is asked to end: all or nothing is written.
    Asked,
    /// The run is killed: each file is in its old or new state.
    Killed,
}
use Fault::{Asked, Fails, IsAvoided, Killed, Leaves};

/// The system calls that a run makes for its files.
const CALLS: &[(&str, &[Fault])] = &[
    ("openat", &[Fails("EMFILE"), Asked, Killed]),
    ("statx", &[Killed]),
    ("read", &[Fails("EIO"), Asked, Killed]),
    ("getdents64", &[Leaves("EIO"), Killed]),
    ("mkdir", &[Fails("ENOSPC"), Asked, Killed]),
    ("flock", &[IsAvoided("ENOLCK"), Asked, Killed]),
    ("fchmod", &[Fails("EPERM"), Asked, Killed]),
    ("write", &[Fails("ENOSPC"), Fails("EIO"), Asked, Killed]),
    ("copy_file_range", &[Fails("ENOSPC"), Asked, Killed]),
    ("fsync", &[Fails("EIO")]),
    ("ftruncate", &[Fails("EIO")]),
    ("link,linkat", &[IsAvoided("EPERM"), IsAvoided("EXDEV"), Asked, Killed]),
    ("rename,renameat,renameat2", &[Fails("EIO"), IsAvoided("EXDEV"), Asked, Killed]),
    ("unlink,unlinkat", &[Leaves("EIO"), Asked, Killed]),
    ("rmdir", &[Leaves("EIO"), Asked, Killed]),
    ("mmap", &[Leaves("ENOMEM"), Killed]),
    ("brk", &[Leaves("ENOMEM")]),
    ("clone3", &[Leaves("EAGAIN"), Killed]),
];

/// If this variable is set, every call is made to fail, and the table in the documentation is rewritten.
const ALL: &str = "ILINST_FAULTS";

#[test]
#[ignore = "needs strace"]
fn faults_at_every_call_lose_nothing_and_leave_nothing() {
    let Some(strace) = require("ILINST_STRACE") else { return };
    let all = env::var_os(ALL).is_some();
    let folder = scratch("faults-inject");
    let commands = prepared(&folder.join("prepared"));
    let faults: Vec<_> = CALLS.iter().flat_map(|(calls, faults)| faults.iter().map(|fault| (*calls, *fault))).collect();
    let tried: Vec<_> = commands.iter().flat_map(|command| faults.iter().map(move |fault| (command, *fault))).collect();
    let counts = in_parallel(&tried, |worker, (command, (calls, fault))| {
        let folder = folder.join(worker.to_string());
        let injection = Injection { strace: &strace, command, calls, fault: *fault, folder: &folder };
        // In every run: the calls numbered with powers of 64 (of two in the full tier), and the last.
        let next = |number: usize| if all { number + 1 } else { number * if is_full() { 2 } else { 64 } };
        let numbers = std::iter::successors(Some(1), |number| Some(next(*number)));
        let count = numbers.take_while(|number| injection.is_made(*number)).count();
        count + usize::from(!all && count > 0 && injection.is_made(injection.calls()))
    });
    println!("{} faults", counts.iter().sum::<usize>());
    let sent = |is_it: fn(Fault) -> bool| -> usize {
        tried.iter().zip(&counts).filter(|((_, (_, fault)), _)| is_it(*fault)).map(|(_, count)| count).sum()
    };
    let signals = [sent(|fault| matches!(fault, Asked)), sent(|fault| matches!(fault, Killed))];
    assert!(signals.iter().all(|sent| *sent >= commands.len()), "SIGINT and SIGKILL were sent {signals:?} times");
    if all {
        write_table(&commands, &tried.iter().map(|(_, fault)| *fault).zip(counts).collect::<Vec<_>>());
    }
}

struct Injection<'a> {
    strace: &'a Path,
    command: &'a Prepared,
    calls: &'a str,
    fault: Fault,
    folder: &'a Path,
}

impl Injection<'_> {
    /// Runs the command with a fault at the call of this number in each traced thread. Returns whether there is such a call.
    fn is_made(&self, number: usize) -> bool {
        let work = self.folder.join("work");
        self.command.lay(&work);
        let log = self.folder.join("log");
        let effect = match self.fault {
            Fails(error) | IsAvoided(error) | Leaves(error) => format!("error={error}"),
            Asked => "signal=INT".to_owned(),
            Killed => "signal=KILL".to_owned(),
        };
        // No system has all of these calls: `?` makes each optional.
        let calls = self.calls.split(',').map(|call| format!("?{call}")).collect::<Vec<_>>().join(",");
        let mut command = Command::new(self.strace);
        // With seccomp, strace stops the program at fewer calls, but cannot send signals. strace fails if a thread receives a
        // signal while the program ends. The thread that handles SIGINT does. So with SIGINT, only the main thread is traced.
        let followed: &[&str] = match self.fault {
            Asked => &[],
            Killed => &["-f"],
            Fails(_) | IsAvoided(_) | Leaves(_) => &["-f", "--seccomp-bpf"],
        };
        command.args(followed);
        command.arg("-o").arg(&log).args(["-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={calls}:{effect}:when={number}")]).arg(ilinst().get_program());
        command.args(self.command.writer.arguments).current_dir(&work);
        let status = quiet(&mut command).status().expect("strace starts");
        let log = fs::read_to_string(log).unwrap_or_default();
        let is_made = match self.fault {
            Fails(_) | IsAvoided(_) | Leaves(_) => log.contains("(INJECTED)"),
            Asked => log.contains("--- SIGINT"),
            Killed => log.contains("+++ killed by SIGKILL"),
        };
        if is_made {
            self.check(&work, status, &format!("{} {effect} at {number}", self.calls));
        } else {
            assert_eq!(status.code(), Some(self.command.writer.done), "{}", self.calls);
        }
        is_made
    }

    /// Returns the largest number of such calls by a thread in the run before.
    fn calls(&self) -> usize {
        let log = fs::read_to_string(self.folder.join("log")).expect("a run was logged");
        let calls = log.lines().filter(|line| !line.contains("resumed>") && !line.contains("---") && !line.contains("+++"));
        let mut counts = BTreeMap::<u32, usize>::new();
        // A line begins with its thread, unless only the main thread is traced.
        let thread = |line: &str| line.split(' ').next().and_then(|word| word.parse::<u32>().ok()).unwrap_or_default();
        calls.for_each(|line| *counts.entry(thread(line)).or_default() += 1);
        counts.into_values().max().unwrap_or_default()
    }

    fn check(&self, work: &Path, status: ExitStatus, fault: &str) {
        let writer = self.command.writer;
        // A fault before the tool's first line is reported by the loader.
        let failed = [Some(writer.failed), Some(127)];
        match self.fault {
            Fails(_) | Asked => {
                let asked = matches!(self.fault, Asked) && status.signal() == Some(2);
                let is_right = status.code() == Some(writer.done) || failed.contains(&status.code()) || asked;
                assert!(is_right, "{}, {fault}: {status}", writer.name);
                self.command.check(work, status, fault);
            }
            // Restoring consists of renames, and continues after an interruption.
            IsAvoided(_) if writer.is_stepwise => self.command.check(work, status, fault),
            IsAvoided(_) => {
                assert_eq!(status.code(), Some(writer.done), "{}, {fault}", writer.name);
                self.command.check(work, status, fault);
            }
            // An empty folder of originals stays.
            Leaves(_) if writer.is_stepwise && self.calls == "rmdir" => {}
            Leaves(_) | Killed => self.command.check_killed(work, fault),
        }
    }
}

/// Writes the number of faults for each command into the documentation.
fn write_table(commands: &[Prepared], counts: &[((&str, Fault), usize)]) {
    type Kind = (&'static str, fn(Fault) -> bool);
    let kinds: [Kind; 3] = [
        ("calls that fail", |fault| matches!(fault, Fails(_) | IsAvoided(_) | Leaves(_))),
        ("SIGINT", |fault| matches!(fault, Asked)),
        ("SIGKILL", |fault| matches!(fault, Killed)),
    ];
    let mut table = String::from("| command |");
    kinds.iter().for_each(|(name, _)| write!(table, " {name} |").expect("it is memory"));
    table.push_str("\n|---|---|---|---|\n");
    for (command, counts) in commands.iter().zip(counts.chunks(counts.len() / commands.len())) {
        write!(table, "| {} |", command.writer.name).expect("it is memory");
        for (_, is_of_it) in &kinds {
            let sum: usize = counts.iter().filter(|((_, fault), _)| is_of_it(*fault)).map(|(_, count)| count).sum();
            write!(table, " {sum} |").expect("it is memory");
        }
        table.push('\n');
    }
    let path = root().join("docs/reliability.md");
    let text = fs::read_to_string(&path).expect("it is there");
    let (before, rest) = text.split_once("<!-- faults -->\n").expect("it has a place for the table");
    let (_, after) = rest.split_once("<!-- end of faults -->\n").expect("its place ends");
    fs::write(&path, format!("{before}<!-- faults -->\n{table}<!-- end of faults -->\n{after}")).expect("it can be written");
}
