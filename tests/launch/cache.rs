//! What was woven is woven once, whoever asks, and is what it was, or made anew.

use std::{fs, process::Stdio};

use tests::{ilinst, said, sample};

use crate::{App, Work, has_woven, mono, output};

#[test]
#[ignore = "needs Mono"]
fn a_second_run_weaves_nothing() {
    let Some(app) = App::on_mono("second") else { return };
    let work = &app.work;
    let run = |options: &[&str]| {
        // In its folder, where it keeps profiles.
        let mut at_home = app.at_home(&["echo"]);
        let output = output(&mut work.run(options, at_home.current_dir(app.home())));
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        has_woven(&output)
    };
    assert!(run(&["--no-report"]));
    let entries = work.entries();
    assert_eq!(entries.len(), 1);
    let made = fs::metadata(entries[0].join("made.json")).and_then(|file| file.modified()).expect("it is there");
    // A profile in the program's folder is none of its files.
    assert!(!run(&["--no-report", "--keep"]));
    assert!(!run(&["--no-report"]));
    assert_eq!(work.entries(), entries);
    let again = fs::metadata(entries[0].join("made.json")).and_then(|file| file.modified()).expect("it is there");
    assert_eq!(made, again, "nothing was written");

    assert!(run(&["--no-report", "--leave", "return"]), "other options");
    assert!(!run(&["--no-report"]) && !run(&["--no-report", "--leave", "return"]));
    fs::write(app.path.with_file_name("data.txt"), "other").expect("it can be written");
    assert!(run(&["--no-report"]), "another input");
    assert_eq!(work.entries().len(), 3);
    for number in 0..4 {
        fs::write(app.path.with_file_name("data.txt"), number.to_string()).expect("it can be written");
        assert!(run(&["--no-report"]));
    }
    assert_eq!(work.entries().len(), 4, "the latest of a program are kept");
}

#[test]
#[ignore = "needs Mono"]
fn runs_side_by_side_weave_once() {
    let Some(mono) = mono() else { return };
    let work = Work::new("parallel");
    let at_home = mono.program(&sample("orders").join("orders.exe"), &work.folder);
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let mut run = work.run(&["--no-report"], &at_home);
            run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    let outputs: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().expect("it ends")).collect();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(output.stdout, outputs[0].stdout);
    }
    assert_eq!(outputs.iter().filter(|output| has_woven(output)).count(), 1);
    assert_eq!(work.entries().len(), 1);
}

/// Cut short, changed, gone, unfinished: made anew, and never run.
#[test]
#[ignore = "needs Mono"]
fn a_damaged_entry_is_made_anew() {
    let Some(mono) = mono() else { return };
    let work = Work::new("damaged");
    let at_home = mono.program(&sample("hello").join("hello.exe"), &work.folder);
    let run = || {
        let output = output(&mut work.run(&["--no-report"], &at_home));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        has_woven(&output)
    };
    assert!(run());
    let entry = work.entries().remove(0);
    let program = entry.join("program/hello.exe");
    let whole = fs::read(&program).expect("it is there");
    let damages: [&dyn Fn(); 5] = [
        &|| fs::write(&program, &whole[..100]).expect("it can be written"),
        &|| fs::write(&program, [&whole[..whole.len() - 1], b"x"].concat()).expect("it can be written"),
        &|| fs::remove_file(entry.join("program/Ilinst.Tracker.dll")).expect("it can be removed"),
        &|| fs::remove_file(entry.join("made.json")).expect("it can be removed"),
        &|| fs::write(entry.join("made.json"), "{}").expect("it can be written"),
    ];
    for (number, damage) in damages.iter().enumerate() {
        damage();
        assert!(run(), "damage {number}");
        assert!(fs::read(&program).expect("it is there") == whole, "damage {number}");
        assert!(!run());
    }
    assert_eq!(work.entries(), [entry]);
}

/// Whoever weaves it: what is said of a pattern is said in each run that has it on its command line.
#[test]
#[ignore = "needs Mono"]
fn what_names_nothing_is_said_of_what_was_woven_before_too() {
    let Some(app) = App::on_mono("nothing") else { return };
    let pattern = ["--exclude", "App::Ecko", "--no-report"];
    for is_new in [true, false] {
        let output = app.run(&pattern, &["echo"]);
        let (_, errors, code) = said(&output);
        assert_eq!((has_woven(&output), code), (is_new, Some(9)));
        assert!(errors.contains("warning ILI0025: --exclude 'App::Ecko' names nothing there; nearest: App::Echo"), "{errors}");
    }
    let strict = said(&app.run(&[&pattern[..], &["--strict"]].concat(), &["echo"]));
    assert!(strict.2 == Some(4) && strict.0.is_empty() && strict.1.contains("error ILI0025"), "{strict:?}");
    // A file's patterns may be for other programs.
    fs::write(app.home().join("ilinst.toml"), "exclude = ['App::Ecko']\n").expect("it can be written");
    for _ in 0..2 {
        let errors = said(&app.run(&["--no-report"], &["echo"])).1;
        assert!(!errors.contains("ILI0025"), "{errors}");
    }
}

/// Nobody's program loses its files.
#[test]
#[ignore = "needs Mono"]
fn what_runs_is_not_cleared() {
    let Some(app) = App::on_mono("clear") else { return };
    let work = &app.work;
    let mut run = app.start(&["-q", "--no-report"]);
    assert_eq!(work.cached(&[])["entries"][0]["inUse"], true);
    let cleared = work.cached(&["clear"]);
    assert_eq!((&cleared["removed"], &cleared["inUse"]), (&0.into(), &1.into()));
    drop(run.stdin.take());
    assert_eq!(run.wait().expect("it ends").code(), Some(6));
    let cleared = work.cached(&["clear"]);
    assert_eq!((&cleared["removed"], &cleared["inUse"]), (&1.into(), &0.into()));
    assert!(fs::read_dir(work.cache()).expect("it is there").next().is_none(), "nothing is left");
    let empty = said(&ilinst().arg("cache").env("ILINST_CACHE", work.cache()).output().expect("ilinst runs"));
    assert!(empty.0.ends_with(": 0 woven programs, 0 B\n"), "{empty:?}");
}
