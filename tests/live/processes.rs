//! A program among others, as `tests/run/processes.rs` has it: children that it forks, its limits, the rights to its profile.

use std::{
    fs::OpenOptions,
    os::unix::fs::{FileExt as _, FileTypeExt as _, PermissionsExt as _},
};

use super::{
    attach::{attach, attached},
    *,
};
use profile::rows::SortBy;
use tests::step;

/// A program of the tests of woven ones.
fn program(work: &Work, name: &str) -> Option<PathBuf> {
    let program = work.folder.join(format!("{name}.exe"));
    compile(&root().join("tests/run/lifetime").join(format!("{name}.cs")), &program, References::All, &[])?;
    Some(program)
}

#[test]
#[ignore = "needs runtimes"]
fn a_forked_child_leaves_the_profile_to_its_parent() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, options) in tests::in_turn(&runtimes, &[&[][..], &["--capture=args,return"], &["--rewrite"]]) {
        println!("{options:?} on {}", runtime.name);
        let work = Work::new("forks");
        let Some(forks) = program(&work, "forks") else { return };
        let mut command = work.live(runtime, &[&["--all", "--calls=none"], options].concat(), &forks, &[]);
        // .NET compiles anew what is called often: by a thread that a child has not, recorded or not.
        command.env("DOTNET_TieredCompilation", "0").env("COMPlus_TieredCompilation", "0");
        let (text, errors, code) = said(&output(&mut command));
        assert_eq!((text.as_str(), code), ("", Some(9)), "{errors}");
        let profile = profile_in(&work.profiles(runtime));
        let expected = [
            ("Forks::Add", 450_003),
            ("Forks::Child", 1),
            ("Forks::Fork", 6),
            ("Forks::Main", 1),
            ("Forks::Repeat", 9),
            ("Forks::Run", 3),
            ("Forks::Work", 450_003),
        ];
        assert_eq!(calls(&profile), expected.map(|(name, calls)| (name.to_owned(), calls)).into());
        assert_eq!((open_calls(&profile), profile.end), (0, profile::End::Clean));
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_limit_that_is_set_while_it_runs_ends_no_program() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, options) in tests::in_turn(&runtimes, &[&[][..], &["--rewrite"]]) {
        let work = Work::new("limits");
        let Some(limits) = program(&work, "limits") else { return };
        let mut command = work.live(runtime, &[&["--all"], options].concat(), &limits, &["300000"]);
        let (text, errors, code) = said(&output(&mut command));
        assert_eq!((text.as_str(), code), ("", Some(9)), "{options:?} on {}: {errors}", runtime.name);
        // Calls for which there is no room are counted as lost.
        let profile = profile_in(&work.profiles(runtime));
        let rows = profile.rows(SortBy::Name);
        let of = |name: &str| rows.iter().find(|row| row.raw_name.as_deref() == Some(name)).map_or(0, |row| row.calls);
        assert!(of("Limits::Branch") > 100, "{} on {}", of("Limits::Branch"), runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn nobody_else_may_write_to_a_profile_nor_read_values() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, (options, expected)) in tests::in_turn(&runtimes, &[(&[][..], 0o644), (&["--capture=args"], 0o600)]) {
        let work = Work::new("modes");
        let Some(app) = work.app() else { return };
        let command = work.live(runtime, &[&["--all"], options].concat(), &app, &["once"]);
        let shell = ["sh", "-c", "umask 0; exec \"$@\"", "sh"].map(std::ffi::OsStr::new);
        let (_, errors, code) = said(&output(&mut tests::with_default_signals(&shell, &command)));
        assert_eq!(code, Some(42), "{errors}");
        let path = fs::read_dir(work.profiles(runtime)).expect("it is there").flatten().next().expect("a profile").path();
        let mode = fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{options:?} on {}", runtime.name);
    }
}

/// Two processes that run at once, with one path for their profiles, and one after them.
#[test]
#[ignore = "needs runtimes"]
fn processes_with_one_path_have_a_profile_each() {
    for runtime in runtimes() {
        let work = Work::new("path");
        let Some(app) = work.app() else { return };
        let folder = work.folder.join("profiles");
        let start = |argument: &str| {
            let program = runtime.program(&app, &work.folder);
            let mut command = ilinst();
            command
                .args(["run", "--live", "--hooks", "--all", "--no-report", "--"])
                .arg(program.get_program())
                .args(program.get_args());
            command.arg(argument).current_dir(&work.folder).env("ILINST_OUTPUT", folder.join("one.ilprof"));
            command.env("ILINST_CACHE", work.folder.join("cache")).env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
            command.env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD");
            command
        };
        let read =
            |name: &str| profile::Profile::parse(&fs::read(folder.join(name)).expect("it is there")).expect("a profile").pid;
        let mut both = [(); 2].map(|()| tests::waiting(&mut start("steps")));
        assert_ne!(read("one.ilprof"), read("one-2.ilprof"));
        for child in &mut both {
            drop(child.stdin.take());
        }
        for child in both {
            assert_eq!(said(&child.wait_with_output().expect("it ends")).2, Some(42));
        }
        let before = ["one.ilprof", "one-2.ilprof"].map(read);
        assert_eq!(said(&output(&mut start("once"))).2, Some(42));
        let after = ["one.ilprof", "one-2.ilprof"].map(read);
        assert!(after[0] != before[0] && after[1] == before[1], "{before:?} {after:?} on {}", runtime.name);
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 2);
    }
}

/// A device or a pipe stays as it is, and nothing is made beside it.
#[test]
#[ignore = "needs runtimes"]
fn only_files_are_profiles() {
    for runtime in runtimes() {
        let work = Work::new("devices");
        let Some(app) = work.app() else { return };
        let pipe = work.folder.join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("it starts").success());
        for place in [&pipe, Path::new("/dev/full")] {
            let program = runtime.program(&app, &work.folder);
            let mut command = ilinst();
            command
                .args(["run", "--live", "--hooks", "--all", "--no-report", "--"])
                .arg(program.get_program())
                .args(program.get_args());
            command
                .arg("once")
                .current_dir(&work.folder)
                .env("ILINST_OUTPUT", place)
                .env("ILINST_CACHE", work.folder.join("cache"));
            command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1").env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD");
            let (text, errors, code) = said(&output(&mut command));
            let alone = said(&output(runtime.program(&app, &work.folder).arg("once")));
            assert_eq!((text, code), (alone.0, alone.2), "{errors}");
            let expected = format!("{}: it is there, and no regular file", place.display());
            assert!(errors.contains("ILI0031") && errors.contains(&expected), "{errors}");
            let kind = fs::symlink_metadata(place).expect("it is there").file_type();
            assert!(kind.is_fifo() || kind.is_char_device());
            let name = format!("{}-2.ilprof", place.file_name().expect("it has a name").display());
            assert!(!place.with_file_name(name).exists());
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn counts_in_the_file_are_looked_at_before_they_are_used() {
    const PAUSES_AT: u64 = 8192;
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, count) in tests::in_turn(&runtimes, &[-1_i64, i64::MIN, i64::MAX, 2001, 1 << 40]) {
        println!("{count} on {}", runtime.name);
        let work = Work::new("counts");
        let Some(app) = work.app() else { return };
        let mut child = tests::waiting(&mut work.live(runtime, &["--all"], &app, &["steps"]));
        let path = fs::read_dir(work.profiles(runtime)).expect("it is there").flatten().next().expect("a profile").path();
        let file = OpenOptions::new().write(true).open(&path).expect("it can be opened");
        let command = |name: &str, more: &[&str]| {
            file.write_all_at(&count.to_le_bytes(), PAUSES_AT).expect("it can be written");
            let (_, errors, code) = said(&output(ilinst().arg(name).arg(&path).args(more)));
            assert_eq!(code, Some(0), "{name}: {errors}");
        };
        command("pause", &[]);
        command("resume", &[]);
        // How much is in use of the chunks of names, of nodes, and of what comes behind.
        for at in (1..4).map(|block| block * profile_format::header::BLOCK as u64) {
            file.write_all_at(&count.to_le_bytes(), at + 32).expect("it can be written");
        }
        command("mark", &["phase"]);
        step(&mut child);
        drop(child.stdin.take());
        let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
        assert_eq!((text.as_str(), code), ("work 100\n", Some(42)), "{errors}");
    }
}

/// For as long as a command waits for its answer, the program is stopped. It is told nothing later.
#[test]
#[ignore = "needs runtimes"]
fn a_command_that_was_given_up_is_never_carried_out() {
    let Some(runtime) = Runtime::find(".NET 8") else { return };
    let work = Work::new("given-up");
    let Some(app) = work.app() else { return };
    let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("steps"));
    let recording = attached(&mut attach(&work, child.id(), "attached", &["--all", "--for=1h"]));
    let path = fs::read_dir(work.folder.join("attached")).expect("it is there").flatten().next().expect("a profile").path();
    let signal = |name: &str| {
        let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
        assert!(status.expect("it starts").success());
    };
    let run = |name: &str, more: &[&str]| said(&output(ilinst().arg(name).arg(&path).args(more)));
    signal("STOP");
    let (_, errors, code) = run("pause", &["--timeout=1s"]);
    signal("CONT");
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("error ILI0023:") && errors.contains("the command was withdrawn"), "{errors}");
    // The answer shows that it has looked.
    assert_eq!(run("mark", &["next"]).2, Some(0));
    step(&mut child);
    drop(child.stdin.take());
    assert_eq!(said(&child.wait_with_output().expect("it ends")).2, Some(42));
    assert_eq!(said(&recording.wait_with_output().expect("it ends")).2, Some(0));
    assert_eq!(calls(&profile_in(&work.folder.join("attached")))["App::Work"], 100);
}
