//! A program among others: children that it forks, its limits, the rights to its profile, and many with one path.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use profile::End;
use profile_format::header::BLOCK;
use tests::{Runtime, ilinst, said, scratch, step, until, waiting};

use crate::lifetime::{Program, calls, counts, profiles, read};

const MODES: [&str; 4] = ["exact", "sampled", "count", "trace"];

/// The parent's calls are recorded, to the last one, and no call of its children, which work in the same methods.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_forked_child_leaves_the_profile_to_its_parent() {
    let Some(program) = Program::new("forks", "forks") else { return };
    let [times, threads, children] = [50_000, 3, 5];
    let works = (1 + threads + children) * times + threads;
    let expected = [
        ("Forks::Add", works),
        ("Forks::Child", 1),
        ("Forks::Fork", 1 + children),
        ("Forks::Main", 1),
        ("Forks::Repeat", 1 + threads + children),
        ("Forks::Run", threads),
        ("Forks::Work", works),
    ];
    for runtime in Runtime::all() {
        for (mode, clock) in MODES.map(|mode| (mode, "")).into_iter().chain([("exact", "tsc")]) {
            println!("{mode} {clock} on {}", runtime.name);
            let work = scratch("processes-forks-work");
            let mut command = program.command(&runtime, &work);
            command.env("ILINST_MODE", mode).env("ILINST_CLOCK", clock);
            // .NET compiles anew what is called often: by a thread that a child has not, woven or not.
            command.env("DOTNET_TieredCompilation", "0").env("COMPlus_TieredCompilation", "0");
            assert_eq!(said(&command.output().expect("it starts")), (String::new(), String::new(), Some(9)));
            let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
            let profile = read(path);
            assert_eq!((calls(&profile), profile.end, profile.bad_tokens()), (counts(&expected), End::Clean, 0));
        }
    }
}

/// Calls for which the file has no room stay in memory, and nothing else changes.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_limit_that_is_set_while_it_runs_ends_no_program() {
    let Some(program) = Program::new("limits", "limits") else { return };
    for runtime in Runtime::all() {
        for (write, limit) in [("", "0"), ("", "300000"), ("end", "0"), ("end", "300000")] {
            println!("{write} {limit} on {}", runtime.name);
            let work = scratch("processes-limits-work");
            let mut command = program.command(&runtime, &work);
            command.arg(limit).env("ILINST_WRITE", write).env("ILINST_LOG", "log");
            assert_eq!(said(&command.output().expect("it starts")), (String::new(), String::new(), Some(9)));
            let paths = profiles(&work);
            // At the end it is written whole or not at all.
            assert_eq!(paths.len(), usize::from(write.is_empty()));
            for path in paths {
                let profile = read(&path);
                assert!(calls(&profile).get("Limits::Branch").is_some_and(|calls| *calls > 100), "{:?}", calls(&profile));
            }
            let left = fs::read_dir(&work).expect("it is there").flatten().filter(|file| file.file_name() != "log");
            assert_eq!(left.count(), usize::from(write.is_empty()), "nothing else is left");
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o777
}

/// A command that is run without a mask for the modes of files.
fn without_mask(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().expect("it has a folder"));
    tests::take_environment(&mut shell, command);
    shell
}

#[test]
#[ignore = "needs .NET and Mono"]
fn nobody_else_may_write_to_a_profile_nor_read_values() {
    let Some(program) = Program::new("modes", "program") else { return };
    let captured = program.folder.join("captured").join("program.exe");
    tests::instrument(&[&program.original, &"-o", &captured, &"--all", &"--capture=args", &"-q"]);
    for runtime in Runtime::all() {
        for write in ["", "end"] {
            for (woven, expected) in [(&program.woven, 0o644), (&captured, 0o600)] {
                let work = scratch("processes-modes-work");
                let mut command = runtime.program(woven, &work);
                command.arg("none").env("ILINST_OUTPUT", "made/one.ilprof").env("ILINST_WRITE", write).env("ILINST_LOG", "log");
                let output = without_mask(&command).output().expect("it starts");
                assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{}", runtime.name);
                let profile = work.join("made/one.ilprof");
                let modes = [&profile, &work.join("made"), &work.join("log")].map(|path| mode(path));
                assert_eq!(modes, [expected, 0o755, 0o644], "{write} on {}: {}", runtime.name, woven.display());
                // So is a copy.
                let copy = work.join("copy.ilprof");
                let mut command = ilinst();
                command.current_dir(&work).arg("snapshot").arg(&profile).arg("-o").arg(&copy);
                assert_eq!(said(&without_mask(&command).output().expect("it starts")).2, Some(0));
                assert_eq!(mode(&copy) & 0o077 == 0, expected == 0o600);
            }
        }
    }
}

/// A program that works when it is told to, and whose file may be written to meanwhile.
fn live(name: &str) -> Option<Program> {
    Program::of(name, &tests::root().join("tests/run/live.cs"))
}

/// Where the count of pauses is in the file.
const PAUSES_AT: u64 = 8192;

#[test]
#[ignore = "needs .NET and Mono"]
fn counts_in_the_file_are_looked_at_before_they_are_used() {
    let Some(program) = live("counts") else { return };
    for (runtime, count) in tests::in_turn(&Runtime::all(), &[-1_i64, i64::MIN, i64::MAX, 2001, 1 << 40]) {
        println!("{count} on {}", runtime.name);
        let work = scratch("processes-counts-work");
        let mut child = waiting(&mut program.command(runtime, &work));
        let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
        let file = OpenOptions::new().read(true).write(true).open(path).expect("it can be opened");
        let command = |name: &str, more: &[&str]| {
            file.write_all_at(&count.to_le_bytes(), PAUSES_AT).expect("it can be written");
            let done =
                said(&ilinst().arg(name).arg(child.id().to_string()).args(more).current_dir(&work).output().expect("it starts"));
            assert_eq!(done.2, Some(0), "{name}: {}", done.1);
        };
        command("pause", &[]);
        command("resume", &[]);
        // Sizes of chunks, and how much of them is in use.
        for at in (1..4).map(|block| block * BLOCK as u64) {
            file.write_all_at(&(count as i32).to_le_bytes(), at + 4).expect("it can be written");
            file.write_all_at(&count.to_le_bytes(), at + 32).expect("it can be written");
        }
        command("mark", &["phase"]);
        step(&mut child);
        drop(child.stdin.take());
        assert_eq!(said(&child.wait_with_output().expect("it ends")), (String::new(), String::new(), Some(0)));
    }
}

fn signal(process: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(process.id().to_string()).status();
    assert!(status.expect("it starts").success());
}

/// For as long as a command waits for its answer, the program is stopped. It is told nothing later.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_command_that_was_given_up_is_never_carried_out() {
    let Some(program) = live("given-up") else { return };
    let check = |runtime: &Runtime| {
        let work = scratch(&format!("processes-given-up-{}", runtime.name.replace(' ', "-")));
        let mut child = waiting(&mut program.command(runtime, &work));
        let pid = child.id().to_string();
        let run = |arguments: &[&str]| said(&ilinst().current_dir(&work).args(arguments).output().expect("it starts"));
        step(&mut child);
        let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
        until("its names are written", || calls(&read(path)).contains_key("Live::Rest").then_some(()));
        signal(&child, "STOP");
        let (_, errors, code) = run(&["pause", &pid, "--timeout=1s"]);
        signal(&child, "CONT");
        assert_eq!(code, Some(3), "{errors}");
        assert!(errors.contains("error ILI0023:") && errors.contains("the command was withdrawn"), "{errors}");
        // The answer shows that it has looked.
        assert_eq!(run(&["mark", &pid, "next"]).2, Some(0));
        step(&mut child);
        drop(child.stdin.take());
        assert_eq!(said(&child.wait_with_output().expect("it ends")).2, Some(0));
        assert_eq!(calls(&read(path))["Live::Rest"], 2 * 100, "{}", runtime.name);
    };
    std::thread::scope(|scope| {
        let check = &check;
        let running: Vec<_> = Runtime::all().into_iter().map(|runtime| scope.spawn(move || check(&runtime))).collect();
        running.into_iter().for_each(|each| each.join().expect("it is as expected"));
    });
}

/// Ten processes that run at once, and have one path for their profiles: each has a file of its own. The next one after them
/// replaces the one of that name.
#[test]
#[ignore = "needs .NET and Mono"]
fn processes_with_one_path_have_a_profile_each() {
    let Some(program) = live("ten") else { return };
    for runtime in Runtime::all() {
        for write in ["", "end"] {
            println!("{write} on {}", runtime.name);
            let work = scratch("processes-ten-work");
            let start = || {
                let mut command = program.command(&runtime, &work);
                command.env("ILINST_OUTPUT", "one.ilprof").env("ILINST_WRITE", write);
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
            };
            let end = |children: Vec<Child>| {
                let mut running = children;
                // All of them have made their calls before the first one ends.
                for child in &mut running {
                    let mut ready = [0; 6];
                    child.stdout.as_mut().expect("a pipe").read_exact(&mut ready).expect("it says that it is ready");
                    child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
                }
                let ids: BTreeSet<u32> = running.iter().map(Child::id).collect();
                let ended: Vec<Output> = running.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
                ended.iter().for_each(|output| assert_eq!(said(output).2, Some(0), "{:?}", said(output)));
                ids
            };
            let of = |path: &Path| {
                let profile = read(path);
                assert_eq!((profile.end, calls(&profile)["Live::Rest"]), (End::Clean, 100), "{}", path.display());
                profile.pid
            };
            let ids = end((0..10).map(|_| start()).collect());
            let found = profiles(&work);
            assert_eq!(found.iter().map(|path| of(path)).collect::<BTreeSet<u32>>(), ids, "{found:?}");
            assert_eq!(found.len(), 10);
            let names: BTreeSet<PathBuf> = found.into_iter().collect();
            let expected =
                (1..=10).map(|number| work.join(if number == 1 { "one.ilprof".into() } else { format!("one-{number}.ilprof") }));
            assert_eq!(names, expected.collect());
            let last = end(vec![start()]);
            assert_eq!(last, BTreeSet::from([of(&work.join("one.ilprof"))]));
            assert_eq!(profiles(&work).len(), 10, "it is replaced");
        }
    }
}

/// A value without a meaning is an error that the user sees; the program runs as it would.
#[test]
#[ignore = "needs .NET and Mono"]
fn values_that_are_not_known_are_errors() {
    let Some(program) = Program::new("values", "program") else { return };
    let known = BTreeMap::from([
        ("ILINST_MODE", "exact, sampled, count and trace"),
        ("ILINST_CLOCK", "tsc, stopwatch and program"),
        ("ILINST_START", "paused"),
        ("ILINST_WRITE", "end"),
    ]);
    for runtime in Runtime::all() {
        for (name, values) in &known {
            let work = scratch("processes-values-work");
            let output = program.command(&runtime, &work).arg("none").env(name, "Nonesuch").output().expect("it starts");
            let expected = format!("ilinst: error: nothing is recorded: {name} is 'Nonesuch'; the known values are: {values}\n");
            assert_eq!(said(&output), (String::new(), expected, Some(9)), "{}", runtime.name);
            assert!(profiles(&work).is_empty());
            // An empty one is none, and each that is named is known.
            for value in values.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and").chain([""]) {
                let output = program.command(&runtime, &work).arg("none").env(name, value).output().expect("it starts");
                assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{name}={value} on {}", runtime.name);
            }
            assert!(!profiles(&work).is_empty());
        }
    }
}
