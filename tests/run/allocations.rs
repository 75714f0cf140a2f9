//! `--allocations`: the bytes in the profile are those that the program notes itself, to the byte.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use profile::{
    Profile, SampleType,
    rows::{Row, SortBy},
};
use tests::{Runtime, ilinst, instrument, profile_in, require, root, said, scratch};

use crate::builder;

/// The array that the program's last call allocates, without its header.
const OPEN: u64 = 123_456;
/// The size of an array's header at most, with padding.
const HEADER: u64 = 40;
/// Methods that also allocate by what the compiler and the runtime add: exceptions' stack traces, state machines.
const AT_LEAST: [&str; 2] = ["Fails", "Loads"];

/// The program, and its instrumented copy.
fn programs(test: &str) -> Option<(PathBuf, PathBuf)> {
    let mcs = require("ILINST_MCS")?;
    let folder = scratch(&format!("allocations-{test}"));
    let program = folder.join("program.exe");
    let source = root().join("tests/run/allocations/program.cs");
    let output = Command::new(mcs).arg(format!("-out:{}", program.display())).arg(source).output().expect("it starts");
    assert!(output.status.success(), "{:?}", said(&output));
    let config = root().join("samples/hello/bin/hello.runtimeconfig.json");
    fs::copy(config, program.with_extension("runtimeconfig.json")).expect("it can be copied");
    let woven = folder.join("woven/program.exe");
    instrument(&[&program, &"-o", &woven, &"--min-il", &"0", &"--calls", &"none", &"-q"]);
    Some((program, woven))
}

/// Returns what the program prints: bytes by name.
fn notes(runtime: &Runtime, program: &Path, work: &Path, settings: &[(&str, &str)]) -> HashMap<String, u64> {
    let mut command = runtime.program(program, work);
    command.envs(settings.iter().copied()).args(settings.first().map(|_| "phase"));
    let (output, errors, code) = said(&command.output().expect("the runtime starts"));
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{output}");
    let notes = output.lines().map(|line| line.split_once(' ').expect("a name and a number"));
    notes.map(|(name, bytes)| (name.to_owned(), bytes.parse().expect("a number"))).collect()
}

fn row<'r, 'p>(rows: &'r [Row<'p>], method: &str) -> &'r Row<'p> {
    let name = Some(format!("Program::{method}"));
    rows.iter().find(|row| row.raw_name == name).unwrap_or_else(|| panic!("{method} has no row"))
}

fn own(row: &Row<'_>) -> u64 {
    row.self_bytes.expect("bytes were counted")
}

#[test]
#[ignore = "needs .NET and Mono"]
fn bytes_are_what_the_program_notes() {
    let Some((program, woven)) = programs("notes") else { return };
    for runtime in Runtime::all() {
        for mode in ["exact", "trace"] {
            println!("mode {mode} on {}", runtime.name);
            let work = scratch("allocations-work");
            let mut notes_of = notes(&runtime, &woven, &work, &[("ILINST_ALLOCATIONS", "1"), ("ILINST_MODE", mode)]);
            notes_of.remove("whole");
            let profile = profile_in(&work);
            let rows = profile.rows(SortBy::Bytes);
            for (method, bytes) in &notes_of {
                let own = own(row(&rows, method));
                if AT_LEAST.contains(&method.as_str()) {
                    assert!(own >= *bytes, "{method}: {own}, and {bytes} in notes");
                } else {
                    assert_eq!(own, *bytes, "{method}");
                }
            }
            // It was open when the process ended.
            let open = own(row(&rows, "Open"));
            assert!((OPEN..=OPEN + HEADER).contains(&open), "{open}");
            // Nothing is lost, or counted twice: Arrays is called by Main, by threads, and by steps on several threads.
            let own_of_all: u64 = rows.iter().map(own).sum();
            assert_eq!(own_of_all, profile.sum(SampleType::ALLOCATED) as u64);
            let [main, threads, loads] = ["Main", "OnThread", "Loads"].map(|method| row(&rows, method));
            assert_eq!(threads.total_bytes, Some(own(threads) + own(row(&rows, "Arrays")) - arrays_elsewhere(&profile)));
            assert!(loads.total_bytes > loads.self_bytes && main.total_bytes > loads.total_bytes);
            // Once all is compiled, async methods allocate what they do without probes. On Mono, whatever flows makes its
            // builders allocate more.
            if !runtime.is_mono() {
                let plain = notes(&runtime, &program, &work, &[]);
                assert_eq!(row(&rows, "Measured").total_bytes, plain.get("whole").copied());
            }
        }
    }
}

/// The bytes of Arrays that are not below OnThread.
fn arrays_elsewhere(profile: &Profile) -> u64 {
    let names: Vec<Option<String>> = profile.functions.iter().map(profile::model::Function::raw_name).collect();
    let is = |function: usize, method: &str| names[function].as_deref() == Some(&format!("Program::{method}"));
    let of_tree = |tree: &profile::CallTree| -> i64 {
        let bytes = profile.flat(tree, SampleType::ALLOCATED);
        let nodes = tree.nodes.iter().zip(bytes).filter(|(node, _)| {
            is(node.function, "Arrays") && !node.caller.is_some_and(|caller| is(tree.nodes[caller].function, "OnThread"))
        });
        nodes.map(|(_, bytes)| *bytes).sum()
    };
    profile.trees.iter().map(of_tree).sum::<i64>() as u64
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_phase_has_the_bytes_of_its_own_calls() {
    let Some((_, woven)) = programs("phases") else { return };
    for runtime in Runtime::all() {
        println!("on {}", runtime.name);
        let work = scratch("allocations-work-phases");
        let noted = notes(&runtime, &woven, &work, &[("ILINST_ALLOCATIONS", "1")]);
        let profiles = fs::read_dir(&work).expect("it is there").flatten().map(|entry| entry.path());
        let path =
            profiles.into_iter().find(|path| path.extension().is_some_and(|it| it == "ilprof")).expect("there is a profile");
        let bytes = fs::read(path).expect("it can be read");
        let phase = Profile::parse_phase(&bytes, "second").expect("it is a profile").expect("there is such a phase");
        let rows = phase.rows(SortBy::Bytes);
        assert_eq!(own(row(&rows, "InPhase")), noted["InPhase"]);
        assert_eq!(rows.iter().filter(|row| row.raw_name.as_deref() == Some("Program::BeforePhase")).count(), 0);
        // The array of this call was allocated before, and the mark itself is the tracker's.
        let again = row(&rows, "Again");
        assert_eq!(again.total_bytes, Some(own(again) + noted["InPhase"]));
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn modes_that_do_not_see_each_call_are_refused() {
    let Some((_, woven)) = programs("refused") else { return };
    for runtime in Runtime::all() {
        for mode in ["count", "sampled"] {
            let work = scratch("allocations-work-refused");
            let mut command = runtime.program(&woven, &work);
            let output = command.envs([("ILINST_ALLOCATIONS", "1"), ("ILINST_MODE", mode)]).output().expect("the runtime starts");
            let (_, errors, code) = said(&output);
            assert_eq!(code, Some(0));
            assert!(errors.contains("ILINST_ALLOCATIONS needs ILINST_MODE=exact"), "{errors}");
            assert_eq!(fs::read_dir(&work).expect("it is there").count(), 0);
        }
    }
}

/// The exit code of `compare` with a gate, of two profiles whose method `Load` allocated these bytes (none: not counted).
fn gate(base: Option<u64>, new: Option<u64>, condition: &str) -> (String, String, Option<i32>) {
    let folder = scratch("allocations-gate");
    for (name, bytes) in [("base", base), ("new", new)] {
        let text = format!(
            "profile end=100000 flags={}\nmethod 1 T::Main\nmethod 2 T::Load\ntree\n Main total=90000 bytes={}\n  Load total=50000 \
             bytes={}\n",
            if bytes.is_some() { 513 } else { 1 },
            bytes.unwrap_or_default() + 100,
            bytes.unwrap_or_default(),
        );
        fs::write(folder.join(name).with_extension("ilprof"), builder::build(&text)).expect("it can be written");
    }
    let mut command = ilinst();
    command.current_dir(&folder).args(["compare", "base.ilprof", "new.ilprof", "--fail-if", condition]);
    said(&command.output().expect("it starts"))
}

#[test]
fn a_gate_sees_each_byte() {
    for (base, new, condition, code) in [
        (Some(1_000_000), Some(1_000_000), "bytes > +0%", 0),
        (Some(1_000_000), Some(1_000_001), "bytes > +0%", 1),
        (Some(1_000_000), Some(1_000_001), "bytes > +1%", 0),
        (Some(1_000_000), Some(1_020_000), "bytes > +1%", 1),
        (Some(1_000_000), Some(1_020_000), "program.bytes > +1%", 1),
        (Some(1_000_000), Some(1_020_000), "total-bytes > +10KiB and method ~ T.Main", 1),
        (Some(1_000_000), Some(1_020_000), "total-bytes > +1MiB", 0),
        (Some(1_000_000), Some(900_000), "bytes < -5%", 1),
    ] {
        let (output, errors, found) = gate(base, new, condition);
        assert_eq!(found, Some(code), "{condition}: {output}{errors}");
        assert!(output.contains("bytes: "), "{output}");
    }
    let (_, errors, _) = gate(Some(1_000_000), Some(1_020_000), "bytes > +1%");
    assert!(errors.contains("T.Load: bytes 1000000 -> 1020000 B, +2.0 %"), "{errors}");
}

#[test]
fn runs_without_bytes_are_unknown_to_a_gate() {
    let (output, errors, code) = gate(None, None, "bytes > +1%");
    assert!(errors.contains("no method has 'bytes': --allocations counts"), "{errors}");
    assert!(code != Some(1) && !output.contains("bytes: "), "{output}{errors}");
}
