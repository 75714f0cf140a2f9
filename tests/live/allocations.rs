//! `--allocations` of `attach` and `run --live`: the bytes in the profile are those that the program notes itself, to the byte.

use profile::{Profile, SampleType, rows::SortBy};
use std::io::Write as _;

use super::{
    attach::{attach, attached, begun, interrupted},
    *,
};
use tests::step;

/// Methods that also allocate the stack trace of an exception, or a state machine.
const AT_LEAST: [&str; 2] = ["Fails", STEPS];
/// An async method. `attach` counts each of its steps as a call.
const STEPS: &str = "Loads";
/// The array of the call that is open when the program ends, without its header. .NET Core 3.1 does not count arrays of this size.
const OPEN: u64 = 123_456;
/// The size of an array's header at most, with padding.
const HEADER: u64 = 40;

#[test]
#[ignore = "needs runtimes"]
fn bytes_are_what_the_program_notes() {
    for runtime in runtimes() {
        let work = Work::new("allocations");
        let (source, app) = (root().join("tests/run/allocations/program.cs"), work.folder.join("program.exe"));
        let Some(()) = compile(&source, &app, References::All, &[]) else { return };
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("wait"));
        let attached = attached(&mut attach(&work, child.id(), "bytes", &["--all", "--allocations", "--for=1h"]));
        child.stdin.take().expect("a pipe").write_all(b"go\n").expect("it reads");
        let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{}", runtime.name);
        let (_, errors, code) = said(&attached.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
        let profile = profile_in(&work.folder.join("bytes"));
        // The last phase is not marked, and Main was called before.
        assert_noted(&runtime, &profile, &text, &["whole", "InPhase", STEPS]);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn bytes_of_a_rewritten_program_are_what_it_notes() {
    for runtime in runtimes() {
        let work = Work::new("allocations-rewritten");
        let (source, app) = (root().join("tests/run/allocations/program.cs"), work.folder.join("program.exe"));
        let Some(()) = compile(&source, &app, References::All, &[]) else { return };
        let mut command = work.live(&runtime, &["--rewrite", "--all", "--allocations"], &app, &[]);
        let (text, errors, code) = said(&output(&mut command));
        assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
        // The last phase is not marked.
        assert_noted(&runtime, &profile_in(&work.profiles(&runtime)), &text, &["whole", "InPhase"]);
    }
}

/// Compares each method's own bytes with the notes that the program prints, without some of them.
fn assert_noted(runtime: &Runtime, profile: &Profile, text: &str, without: &[&str]) {
    let rows = profile.rows(SortBy::Bytes);
    let own = |method: &str| {
        let name = Some(format!("Program::{method}"));
        let row = rows.iter().find(|row| row.raw_name == name).unwrap_or_else(|| panic!("{method} has no row"));
        row.self_bytes.expect("bytes were counted")
    };
    let notes: Vec<(&str, u64)> = text
        .lines()
        .map(|line| line.split_once(' ').expect("a name and a number"))
        .filter(|(method, _)| !without.contains(method))
        .map(|(method, noted)| (method, noted.parse().expect("a number")))
        .collect();
    assert!(notes.len() > 10, "{text}");
    for (method, noted) in notes {
        let own = own(method);
        let is_right = if AT_LEAST.contains(&method) { own >= noted } else { own == noted };
        assert!(is_right, "{method} on {}: {own}, and {noted} in notes", runtime.name);
    }
    let open = own("Open");
    let expected = if runtime.name == ".NET Core 3.1" { 0..=0 } else { OPEN..=OPEN + HEADER };
    assert!(expected.contains(&open), "{}: {open}", runtime.name);
    let of_all: u64 = rows.iter().filter_map(|row| row.self_bytes).sum();
    assert_eq!(of_all, profile.sum(SampleType::ALLOCATED) as u64, "{}", runtime.name);
}

/// A project's file may be for other commands too.
#[test]
#[ignore = "needs runtimes"]
fn samples_have_no_bytes() {
    for runtime in runtimes() {
        let work = Work::new("allocations-of-samples");
        let Some(app) = work.app() else { return };
        let file = work.folder.join("bytes.toml");
        fs::write(&file, "allocations = true\n").expect("it can be written");
        let mut child = tests::waiting(runtime.program(&app, &work.folder).arg("steps"));
        let options = ["--sample", "--for=1h", "--config", file.to_str().expect("it is text")];
        let attached = begun(&mut attach(&work, child.id(), "samples", &options), "samples are taken");
        step(&mut child);
        interrupted(attached, runtime.name);
        assert!(!profile_in(&work.folder.join("samples")).has(SampleType::ALLOCATED), "{}", runtime.name);
        drop(child.stdin.take());
        assert_eq!(said(&child.wait_with_output().expect("it ends")).2, Some(42), "{}", runtime.name);
    }
}
