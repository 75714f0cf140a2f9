//! `ilinst.exe run --live` and `attach`: the CLR profiler on .NET for Windows records the same as on Linux. Samples are refused.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Read, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tests::{
    ilinst,
    live::{app, calls, calls_of_report, lines_of_values, open_calls, program_of_values, without_times},
    profile_in, said, skip_part,
};

use crate::{Windows, lines, windows};

/// The reason why some programs are not run on .NET 8 under Wine.
const THROWS: &str = "on .NET 8 under Wine, a program that throws an exception does not end, nor without the profiler";
/// The samples, each with the start of method names that differ: only one of both ways records these.
const SAMPLES: [(&str, &str); 5] = [("hello", ""), ("endings", ""), ("odd", ""), ("orders", ""), ("shapes", "Shapes.TailSum")];
/// The samples that throw exceptions.
const THROWING: [&str; 2] = ["orders", "shapes"];

impl Windows {
    /// Returns the words of a command line that runs a program on a runtime.
    fn words(&self, dotnet: &Path, program: &Path, arguments: &[&str]) -> Vec<OsString> {
        let mut words = vec![windows(dotnet), "exec".into(), windows(program)];
        words.extend(arguments.iter().map(OsString::from));
        words
    }

    /// Returns a command of `ilinst.exe run` with options and without its report, and the new folder of its profiles.
    fn recording(&self, options: &[&str], words: &[OsString]) -> (Command, PathBuf) {
        let profiles = self.folder.join("profiles");
        let _ = fs::remove_dir_all(&profiles);
        let mut keep = OsString::from("--keep=");
        keep.push(windows(&profiles));
        let mut command = self.ilinst();
        command.args(["run", "--no-report"]).args(options).arg(keep).arg("--").args(words);
        (command, profiles)
    }

    /// Returns a command's output and exit code.
    fn ended(command: &mut Command) -> (String, String, Option<i32>) {
        lines(&command.stdin(Stdio::null()).output().expect("Wine starts"))
    }

    /// Returns the number of calls of each method in `ilinst.exe run`, by name and parameters. Also returns the program's output
    /// and exit code.
    fn by_run(&self, options: &[&str], words: &[OsString]) -> (BTreeMap<String, i64>, String, Option<i32>) {
        let file = self.folder.join("calls.json");
        let _ = fs::remove_file(&file);
        let file_there = windows(&file).into_string().expect("it is text");
        let (mut command, _) = self.recording(&[&["--quiet", "--limit=0", "--json", &file_there], options].concat(), words);
        let (text, errors, code) = Self::ended(&mut command);
        let report = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {errors}"));
        (calls_of_report(&report), text, code)
    }
}

/// Hooks, and methods instrumented when they are loaded, record the same calls as instrumented files.
#[test]
#[ignore = "needs Wine"]
fn live_and_woven_programs_have_the_same_calls() {
    let Some(wine) = Windows::new("live-same") else { return };
    for (name, dotnet) in wine.runtimes() {
        for (sample, differs) in SAMPLES {
            if name == ".NET 8" && THROWING.contains(&sample) {
                skip_part(&format!("{sample}: {THROWS}"));
                continue;
            }
            let words = wine.words(&dotnet, &wine.sample(sample).join(sample).with_extension("exe"), &[]);
            let told = |mut calls: BTreeMap<String, i64>| {
                // The tracker counts steps of async methods as part of their source method.
                calls.retain(|name, _| (differs.is_empty() || !name.starts_with(differs)) && !name.contains(" [steps]"));
                calls
            };
            let (woven, text, code) = wine.by_run(&["--calls=none"], &words);
            for live in [&["--calls=none", "--live", "--hooks"][..], &["--calls=none", "--live"]] {
                let context = format!("{sample} {live:?} on {name}");
                let (found, text_live, code_live) = wine.by_run(live, &words);
                assert_eq!((text_live, code_live), (text.clone(), code), "{context}");
                assert!(!found.is_empty());
                assert_eq!(told(woven.clone()), told(found), "{context}");
            }
        }
    }
}

/// Arguments of the program, and the resulting number of calls of methods.
type Way<'w> = (&'w [&'w str], &'w [(&'w str, i64)]);

#[test]
#[ignore = "needs Wine"]
fn hooks_count_each_call() {
    each_call_is_counted("hooks", &["--live", "--hooks"]);
}

#[test]
#[ignore = "needs Wine"]
fn hooks_that_keep_values_count_each_call() {
    each_call_is_counted("values", &["--live", "--hooks", "--capture=args,return,this"]);
}

#[test]
#[ignore = "needs Wine"]
fn methods_that_are_woven_when_loaded_count_each_call() {
    each_call_is_counted("rewritten", &["--live"]);
}

/// Checks threads, registers, depth, allocation and collection, and exceptions: the program runs as usual, and each call is
/// counted.
fn each_call_is_counted(name: &str, options: &[&str]) {
    let Some(wine) = Windows::new(&format!("live-{name}")) else { return };
    let Some(app) = app(&wine.folder) else { return };
    let own = windows(&app).into_string().expect("it is text");
    let ways: [Way<'_>; 6] = [
        (&["threads", "200", "100"], &[("App::Work", 20_000), ("App::Repeat", 200), ("App::Threads", 1)]),
        (&["deep", "1000"], &[("App::Deep", 1001), ("App::Work", 1001)]),
        (&["registers"], &[("App::Many", 80_000), ("App::MakePair", 80_000), ("App::MakeFloat", 80_000)]),
        (&["dynamic"], &[("App::Work", 100)]),
        (&["collectible", &own], &[("App::Work", 200), ("App::Load", 20)]),
        (&["exceptions"], &[("App::First", 10), ("App::Second", 10), ("App::Fourth", 6), ("App::Throws", 6)]),
    ];
    for (name, dotnet) in wine.runtimes() {
        for (arguments, expected) in ways {
            if name == ".NET 8" && arguments == ["exceptions"] {
                skip_part(THROWS);
                continue;
            }
            let words = wine.words(&dotnet, &app, arguments);
            let alone = Windows::ended(wine.program(&dotnet).args(&words[1..]));
            let context = format!("{arguments:?} {options:?} on {name}");
            let (mut command, profiles) = wine.recording(&[options, &["--all"]].concat(), &words);
            let (text, errors, code) = Windows::ended(&mut command);
            assert_eq!((&text, code), (&alone.0, alone.2), "{context}: {errors}");
            let profile = profile_in(&profiles);
            assert_eq!(open_calls(&profile), 0, "{context}");
            let calls = calls(&profile);
            for (method, times) in expected {
                assert_eq!(calls.get(*method), Some(times), "{method} of {context}");
            }
        }
    }
}

/// As on Linux, except that the runtime states the location of each result.
#[test]
#[ignore = "needs Wine"]
fn calls_are_shown_with_exact_types_and_values() {
    let Some(wine) = Windows::new("live-exact-values") else { return };
    let Some(program) = program_of_values(&wine.folder) else { return };
    for (name, dotnet) in wine.runtimes() {
        let (mut mode, mut expected) = ("calls", lines_of_values());
        if name == ".NET 8" {
            skip_part(THROWS);
            mode = "calls-that-return";
            let lines: Vec<&str> = expected.lines().collect();
            let thrown = lines.iter().position(|line| line.contains(".Throws(")).expect("one throws");
            let others = [&lines[..thrown], &lines[thrown + 2..]].concat();
            expected = others.join("\n").replace("\"calls\"", &format!("\"{mode}\"")) + "\n";
        }
        let words = wine.words(&dotnet, &program, &[mode]);
        let (mut command, profiles) = wine.recording(&["--live", "--hooks", "--all", "--capture=args,return,this"], &words);
        let (_, errors, code) = Windows::ended(&mut command);
        assert_eq!(code, Some(0), "{name}: {errors}");
        let profile = fs::read_dir(&profiles).expect("there are profiles").flatten().next().expect("there is one").path();
        let (text, errors, _) =
            said(&ilinst().args(["report", "--calls", "--limit=0"]).arg(profile).output().expect("it starts"));
        let shown = without_times(&text).join("\n") + "\n";
        assert_eq!(shown, expected, "{name}: {errors}");
    }
}

/// A missing or invalid library is reported; the program ends as usual.
#[test]
#[ignore = "needs Wine"]
fn a_profiler_that_does_not_begin_is_not_silent() {
    let Some(wine) = Windows::new("live-loading") else { return };
    let Some(app) = app(&wine.folder) else { return };
    let Some((name, dotnet)) = wine.runtimes().into_iter().next() else { return };
    let tool = wine.folder.join("ilinst.exe");
    for file in ["ilinst.exe", "bcryptprimitives.dll"] {
        fs::copy(wine.exe.with_file_name(file), wine.folder.join(file)).expect("it can be copied");
    }
    let live = || {
        let mut command = wine.program(&tool);
        Windows::ended(command.args(["run", "--live", "--"]).args(wine.words(&dotnet, &app, &["once"])))
    };
    let (text, errors, code) = live();
    assert!(errors.contains("is missing beside ilinst") && text.is_empty() && code == Some(3), "{name}: {errors}");
    fs::write(tool.with_file_name("ilinst_clr_profiler.dll"), "no library").expect("it can be written");
    let (text, errors, code) = live();
    assert!(errors.contains("ILI0031") && errors.contains("no runtime loaded the profiler"), "{name}: {errors}");
    assert_eq!((text.as_str(), code), ("work 0\n", Some(42)), "{name}");
}

/// Returns the first line from a pipe, and reads no byte beyond it.
fn first_line(pipe: &mut impl Read) -> String {
    let mut line = String::new();
    BufReader::with_capacity(1, pipe).read_line(&mut line).expect("it can be read");
    line.trim_end().to_owned()
}

/// By the runtime's pipe: an attachment that ends while the program runs, and one whose program ends.
#[test]
#[ignore = "needs Wine"]
fn a_running_program_is_attached_to() {
    let Some(wine) = Windows::new("live-attach") else { return };
    let Some(app) = app(&wine.folder) else { return };
    let number = wine.folder.join("number");
    // A profiler that stays loaded has a pipe of its own, which `ilinst` finds in the system's list of pipes.
    skip_part("a second attachment to a program: Wine lists no pipes");
    for (name, dotnet) in wine.runtimes() {
        let mode = if name == ".NET 8" { "rounds-that-return" } else { "rounds" };
        let start = || {
            let mut command = wine.program(&dotnet);
            command.args(&wine.words(&dotnet, &app, &[mode])[1..]).env("APP_PROCESS", windows(&number));
            let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Wine starts");
            assert_eq!(first_line(program.stdout.as_mut().expect("a pipe")), "ready", "{name}");
            (program, fs::read_to_string(&number).expect("it was written"))
        };
        let attach = |process: &str, options: &[&str]| {
            let mut command = wine.ilinst();
            command.args(["attach", process, "--all"]).args(options);
            command
        };
        // The program does one step for each line, and ends.
        let end = |mut program: Child| {
            program.stdin.take().expect("a pipe").write_all(b"go\n").expect("it reads");
            let (text, _, code) = lines(&program.wait_with_output().expect("it ends"));
            assert_eq!(code, Some(42), "{name}");
            text.trim().strip_prefix("work ").and_then(|number| number.parse::<i64>().ok())
        };

        let (program, process) = start();
        let (_, errors, code) = Windows::ended(&mut attach(&process, &["--for=300ms"]));
        assert!(code == Some(0) && errors.contains("probes removed"), "{name}: {errors}");
        assert_ne!(end(program), None, "{name}");

        let (program, process) = start();
        let profiles = wine.folder.join(name);
        let mut keep = OsString::from("--keep=");
        keep.push(windows(&profiles));
        let mut attached = attach(&process, &["--for=1h"]);
        let attached = attached.arg(keep).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut attached = attached.expect("Wine starts");
        let line = first_line(attached.stderr.as_mut().expect("a pipe"));
        assert!(line.contains(" instrumented, for "), "{name}: {line}");
        let worked = end(program);
        let (_, errors, code) = lines(&attached.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{name}: {errors}");
        let calls = calls(&profile_in(&profiles));
        for (method, times) in [("App::Work", worked), ("App::Repeat", Some(16))] {
            assert_eq!(calls.get(method).copied(), times, "{method} on {name}");
        }
        let refused = Windows::ended(&mut attach(&process, &["--for=300ms"]));
        assert!(refused.2 == Some(3) && refused.1.contains("ILI0031"), "{name}: {}", refused.1);
        assert!(refused.1.contains("there is no such process"), "{name}: {}", refused.1);
    }
}

/// There is no sampler for Windows: the error names another way, and no program runs.
#[test]
#[ignore = "needs Wine"]
fn samples_are_refused() {
    let Some(wine) = Windows::new("live-sample") else { return };
    wine.sample("hello");
    let words = ["--sample needs Linux", "--live", "dotnet-trace"];
    wine.refuses(&[&"run", &"--sample", &"--", &"hello\\hello.exe"], 2, &words);
    wine.refuses(&[&"attach", &"--sample", &"1"], 2, &words);
}
