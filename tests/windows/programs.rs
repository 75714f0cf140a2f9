//! Instrumented programs on .NET for Windows, run by `ilinst run` and on their own.

use std::{fs, path::Path};

use tests::{Report, ilinst, said, skip_part};

use crate::{Windows, lines, windows};

/// The samples: folder, program, arguments, exit code.
const PROGRAMS: [(&str, &str, &[&str], i32); 10] = [
    ("hello", "hello.exe", &[], 0),
    ("orders", "orders.exe", &[], 3),
    ("endings", "endings.exe", &["return"], 8),
    ("endings", "endings.exe", &["exit"], 42),
    ("bare", "bare.exe", &["paths"], 8),
    ("shapes", "shapes.exe", &[], 21),
    ("odd", "odd.exe", &[], 4),
    ("traces", "traces.exe", &[], 5),
    ("traces", "embedded.exe", &[], 5),
    ("modern", "modern.dll", &[], 7),
];
/// Samples that do not end on .NET 8 under Wine 8, instrumented or not: they throw exceptions.
const ENDLESS: [&str; 3] = ["orders", "shapes", "traces"];

/// Output and exit code are the program's own, and the profile has its calls.
#[test]
#[ignore = "needs Wine"]
fn samples_are_run() {
    let Some(wine) = Windows::new("run") else { return };
    for (name, dotnet) in wine.runtimes() {
        for (sample, program, arguments, expected) in PROGRAMS {
            if name == ".NET 8" && ENDLESS.contains(&sample) {
                skip_part(&format!("{sample} does not end on {name} under Wine, unwoven either"));
                continue;
            }
            if name != ".NET 8" && sample == "modern" {
                skip_part("modern runs on .NET 8 alone");
                continue;
            }
            let context = format!("{program} {} on {name}", arguments.join(" "));
            let program = wine.sample(sample).join(program);
            let mut words = vec![windows(&dotnet), "exec".into(), windows(&program)];
            words.extend(arguments.iter().map(|argument| (*argument).into()));
            let alone = lines(&wine.program(&dotnet).args(&words[1..]).output().expect("Wine starts"));
            assert_eq!(alone.2, Some(expected), "{context}: {}", alone.1);
            let kept = wine.folder.join(format!("kept of {context}"));
            let mut keep = std::ffi::OsString::from("--keep=");
            keep.push(windows(&kept));
            let mut command = wine.ilinst();
            command.args(["run", "--all", "--calls", "none"]).arg(keep).arg("--").args(&words);
            let counts = wine.folder.join(format!("counts of {context}"));
            let output = command.env("ILINST_SAMPLE_COUNTS", windows(&counts)).output();
            let (text, errors, code) = lines(&output.expect("Wine starts"));
            let said = |text: &str| if sample == "traces" { without_lines(text) } else { text.to_owned() };
            assert_eq!((said(&text), code), (said(&alone.0), alone.2), "{context}: {errors}");
            let profile = only_profile(&kept);
            let report = Report::of(&profile).expect("it can be reported");
            assert!(!report.rows.is_empty() && errors.contains("self"), "{context}: {errors}");
            let compared = counts_are_the_same(&counts, &report);
            // The other samples do not count their calls.
            assert_eq!(compared > 5, ["hello", "orders", "modern"].contains(&sample), "{compared} methods of {context}");
            shows_the_same(&wine, &profile, &program);
        }
    }
}

/// A program is found by its file and by its folder; the runtime is found by `PATH`. An instrumented program is not instrumented
/// again.
#[test]
#[ignore = "needs Wine"]
fn a_program_is_found_as_windows_finds_it() {
    let Some(wine) = Windows::new("found") else { return };
    let Some((_, dotnet)) = wine.runtimes().into_iter().next() else { return };
    let program = wine.sample("hello").join("hello.exe");
    let folder = windows(dotnet.parent().expect("it is in a folder"));
    let run = |words: &[&std::ffi::OsStr]| {
        let output = wine.ilinst().args(["run", "-v", "--no-report", "--"]).args(words).env("WINEPATH", &folder).output();
        let (_, errors, code) = lines(&output.expect("Wine starts"));
        assert_eq!(code, Some(0), "{words:?}: {errors}");
        errors
    };
    let first = run(&[&windows(&program)]);
    assert!(first.contains("assembly instrumented"), "{first}");
    for words in [
        &[windows(program.parent().expect("it is in a folder")).as_os_str()][..],
        &["dotnet".as_ref(), &windows(&program)],
        &["dotnet.exe".as_ref(), "hello\\hello.exe".as_ref()],
        &[".\\hello\\HELLO.EXE".as_ref()],
    ] {
        let again = run(words);
        assert!(again.contains("instrumented before"), "{words:?}: {again}");
    }
}

/// A program's own host, which the SDK puts beside its library, runs from the copy with the files beside it.
#[test]
#[ignore = "needs Wine"]
fn a_native_host_is_run_from_the_copy() {
    let Some(wine) = Windows::new("host") else { return };
    let folder = wine.folder.join("app");
    fs::create_dir(&folder).expect("a folder can be made");
    for (from, to) in [("hello.exe", "program.dll"), ("hello.runtimeconfig.json", "program.runtimeconfig.json")] {
        fs::copy(tests::sample("hello").join(from), folder.join(to)).expect("it can be copied");
    }
    let source = tests::root().join("tests/windows/host.c");
    let mut compiler = std::process::Command::new("x86_64-w64-mingw32-gcc");
    match compiler.arg("-municode").arg("-o").arg(folder.join("program.exe")).arg(source).status() {
        Ok(status) => assert!(status.success(), "the host cannot be built"),
        Err(_) => return tests::skip("there is no compiler for Windows"),
    }
    for (name, dotnet) in wine.runtimes() {
        let root = windows(dotnet.parent().expect("it is in a folder"));
        let alone = wine.program(&folder.join("program.exe")).env("DOTNET_ROOT", &root).output();
        let alone = lines(&alone.expect("Wine starts"));
        assert_eq!(alone.2, Some(0), "{name}: {}", alone.1);
        for host in ["app\\program.exe", "app\\Program"] {
            let output = wine.ilinst().args(["run", "--", host]).env("DOTNET_ROOT", &root).output();
            let (text, errors, code) = lines(&output.expect("Wine starts"));
            assert_eq!((&text, code), (&alone.0, alone.2), "{host} on {name}: {errors}");
            assert!(errors.contains("Program.Main"), "{host} on {name}: {errors}");
        }
    }
}

/// In place: restored when the program has ended.
#[test]
#[ignore = "needs Wine"]
fn what_ran_at_home_is_put_back() {
    let Some(wine) = Windows::new("home") else { return };
    let Some((_, dotnet)) = wine.runtimes().into_iter().next() else { return };
    let folder = wine.sample("hello");
    let before = crate::files_below(&folder);
    let mut command = wine.ilinst();
    command.args(["run", "--in-place", "--"]).arg(windows(&dotnet)).arg("exec").arg(windows(&folder.join("hello.exe")));
    let (_, errors, code) = lines(&command.output().expect("Wine starts"));
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("Main"), "{errors}");
    assert!(crate::files_below(&folder) == before, "it is not what it was");
}

/// Removes line numbers from stack traces: .NET Core 3.1 may name the line behind a call.
fn without_lines(text: &str) -> String {
    text.lines().map(|line| line.rsplit_once(':').map_or(line, |(method, _)| method)).collect::<Vec<_>>().join("\n")
}

/// Checks a program's own counts against the report, for each source method that is no state machine. Steps count as further
/// calls of a state machine. Returns the number of methods compared.
fn counts_are_the_same(counts: &Path, report: &Report) -> usize {
    let text = fs::read_to_string(counts).unwrap_or_default();
    let counted: Vec<(&str, &str, u64)> = text
        .lines()
        .filter_map(|line| {
            let (method, count) = line.split_once('\t')?;
            let (name, token) = method.split_once(' ')?;
            Some((name, token, count.trim().parse().ok()?))
        })
        .collect();
    let has_steps = |name: &str| {
        let (type_name, method) = name.split_once("::").expect("a method has a type");
        counted.iter().any(|(other, ..)| other.starts_with(&format!("{type_name}/<{method}>d__")))
    };
    let written = |name: &str| !name.contains('<') && !name.starts_with("Count") && !has_steps(name);
    let plain: Vec<_> = counted.iter().filter(|(name, ..)| written(name)).collect();
    for (name, token, count) in &plain {
        let rows = report.of_method(name).filter(|row| row["token"] == *token);
        assert_eq!(rows.filter_map(|row| row["calls"].as_u64()).sum::<u64>(), *count, "{name} {token}");
    }
    plain.len()
}

fn only_profile(folder: &Path) -> std::path::PathBuf {
    let paths: Vec<_> = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path()).collect();
    let [profile] = &paths[..] else { panic!("not one profile: {paths:?}") };
    profile.clone()
}

/// Checks that a report is the same on both systems. On Windows, names come from the PDBs of the run program; on Linux, from the
/// same program instrumented there.
fn shows_the_same(wine: &Windows, profile: &Path, program: &Path) {
    let woven = profile.with_extension("woven");
    tests::instrument(&[&program.parent().expect("it is in a folder"), &"-o", &woven, &"--all", &"--calls", &"none"]);
    let (here, errors, code) =
        said(&ilinst().arg("report").arg(profile).arg("--symbols").arg(woven).output().expect("it starts"));
    assert_eq!(code, Some(0), "{errors}");
    let (there, errors, code) = lines(&wine.ilinst().arg("report").arg(windows(profile)).output().expect("Wine starts"));
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(here, there);
}
