//! Every sample on every runtime.

use std::{fs, path::Path};

use profile::rows::SortBy;
use tests::{Runtime, profile_in, said, sample, without_places};

use crate::{Work, has_woven, output};

/// Folder, file, arguments, exit code, and how often some of the methods are called.
type Sample = (&'static str, &'static str, &'static [&'static str], i32, &'static [(&'static str, u64)]);

const SAMPLES: &[Sample] = &[
    ("hello", "hello.exe", &[], 0, &[("Program::Main", 1), ("TestClass::Apply", 3), ("TestClass::Add", 1)]),
    ("orders", "orders.exe", &[], 3, &[("Orders.Program::Main", 1), ("Orders.Money::op_Multiply", 6)]),
    ("endings", "endings.exe", &["return"], 8, &[("Program::Deep", 4)]),
    ("endings", "endings.exe", &["exit"], 42, &[("Program::Deep", 4)]),
    ("endings", "endings.exe", &["throw"], UNHANDLED, &[("Program::Deep", 4)]),
    ("bare", "bare.exe", &[], 8, &[("Program::Fibonacci", 25)]),
    ("bare", "bare.exe", &["paths"], 8, &[("Program::Branch", 4095), ("Program::Last", 1000), ("Program::Left", 2048)]),
    ("shapes", "shapes.exe", &[], 21, &[("Shapes::TailSum", 1_000_007), ("Shapes::Nested", 3)]),
    ("odd", "odd.exe", &[], 4, &[("Odd::Main", 1)]),
    ("traces", "traces.exe", &[], 5, &[("Program::Main", 1)]),
    ("traces", "embedded.exe", &[], 5, &[("Program::Main", 1)]),
    ("modern", "modern.dll", &[], 7, &[]),
];
/// The exit code of an unhandled exception, which differs by runtime.
const UNHANDLED: i32 = -1;

#[test]
#[ignore = "needs .NET and Mono"]
fn every_sample_runs_as_at_home_and_is_counted() {
    for runtime in Runtime::all() {
        let work = Work::on("samples", &runtime);
        for (name, file, arguments, code, calls) in SAMPLES {
            let context = format!("{file} {arguments:?} on {}", runtime.name);
            // It runs on .NET 8 alone.
            if *name == "modern" && runtime.name != ".NET 8" {
                continue;
            }
            println!("{context}");
            let program = sample(name).join(file);
            let mut at_home = runtime.program(&program, &work.folder);
            let before = said(&output(at_home.args(*arguments)));
            let profiles = work.folder.join(format!("{file}-{}", arguments.join("-")));
            let keep = format!("--keep={}", profiles.display());
            let options = ["--no-report", "-q", "--all", "--calls", "none", &keep];
            let after = said(&output(&mut work.run(&options, &at_home)));
            // As tests/run says: the line behind a call is what Mono and .NET Core 3.1 name.
            let cut = |line: &str| line.rsplit_once(':').map_or(line, |(method, _)| method).to_owned();
            let is_exact = *name != "traces" || runtime.name == ".NET 8";
            let text =
                |text: &str| text.lines().map(|line| if is_exact { line.to_owned() } else { cut(line) }).collect::<Vec<_>>();
            assert_eq!(text(&before.0), text(&after.0), "{context}: output");
            assert_eq!(without_places(&before.1), without_places(&after.1), "{context}: errors");
            let same_signal = before.2.is_none().then_some(128 + 6);
            assert_eq!(before.2.or(same_signal), after.2, "{context}: exit code");
            assert!(*code == UNHANDLED || after.2 == Some(*code), "{context}: {after:?}");

            let profile = profile_in(&profiles);
            let rows = profile.rows(SortBy::Name);
            assert!(!rows.is_empty(), "{context}");
            for (method, expected) in *calls {
                let found: u64 = rows.iter().filter(|row| row.raw_name.as_deref() == Some(*method)).map(|row| row.calls).sum();
                assert_eq!(found, *expected, "{context}: {method}");
            }
        }
    }
}

/// The report comes after the program's output, on standard error, and what it shows can be chosen.
#[test]
#[ignore = "needs .NET and Mono"]
fn the_report_is_shown_when_the_program_has_ended() {
    for runtime in Runtime::all() {
        let work = Work::on("report", &runtime);
        let at_home = runtime.program(&sample("orders").join("orders.exe"), &work.folder);
        let run = |options: &[&str]| output(&mut work.run(options, &at_home));
        let first = run(&["--limit", "3"]);
        assert!(has_woven(&first));
        let (_, errors, code) = said(&first);
        assert_eq!(code, Some(3));
        assert!(errors.contains("orders (process ") && errors.contains("methods more; --limit 0 shows all"), "{errors}");
        assert!(errors.contains("Program.cs:"), "names have lines: {errors}");
        let page = work.folder.join("page.html");
        let tree = said(&run(&["--tree", "--html", page.to_str().expect("it is text")])).1;
        assert!(tree.contains("call tree") && !tree.contains(" instrumented ("), "{tree}");
        assert!(fs::read_to_string(&page).expect("it was written").contains("Orders.Program"));
        let left: Vec<_> = fs::read_dir(&work.folder).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 2, "the cache and the page: {left:?}");

        let kept = run(&["--no-report", "--keep"]);
        assert!(said(&kept).1.contains("the profile is "), "{kept:?}");
        assert_eq!(profile_in(&work.folder).program, "orders");
    }
}

/// A page is shown by what the system has for that.
#[test]
#[ignore = "needs Mono"]
fn a_browser_is_started_with_the_page() {
    let Some(mono) = crate::mono() else { return };
    let work = Work::new("open");
    let (tools, told) = (work.folder.join("tools"), work.folder.join("told"));
    fs::create_dir(&tools).expect("a folder can be made");
    // The reader of the pipe waits for its writer.
    let made = std::process::Command::new("mkfifo").arg(&told).status().expect("mkfifo starts");
    assert!(made.success());
    let script = format!("#!/bin/sh\necho \"$1\" > {}\n", told.display());
    let opener = tools.join("xdg-open");
    fs::write(&opener, script).expect("it can be written");
    fs::set_permissions(&opener, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it can be made to run");
    let at_home = mono.program(&sample("hello").join("hello.exe"), &work.folder);
    let mut run = work.run(&["--open", "--html", "page.html", "--no-report", "-q"], &at_home);
    run.env("PATH", std::env::join_paths([&*tools, Path::new("/usr/bin"), Path::new("/bin")]).expect("paths"));
    assert_eq!(output(&mut run).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&told).expect("it is a pipe"), "page.html\n");
    assert!(work.folder.join("page.html").is_file());
}
