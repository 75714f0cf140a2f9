//! Programs with the tracker in them: nothing goes beside, and several of them write one profile.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use profile::{End, report::SortBy};
use tests::{Runtime, ilinst, instrument, profile_in, require, root, said, sample, scratch};

use crate::{MODES, assert_balanced, compare_counts, run_with, tree};

#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_with_the_tracker_in_it_is_one_file_and_counted_exactly() {
    for runtime in Runtime::all() {
        for mode in MODES {
            let both = run_with(&runtime, "orders", "exe", mode, None, &[&"--embed"]);
            compare_counts(&both, true);
            assert_balanced(&both.profile);
            tree::check(&both.profile, "orders");
            assert_eq!(both.profile.end, End::Clean);
            let names = |name: &str| fs::read_dir(both.folder.join(name)).expect("it is there").flatten().count();
            assert_eq!(names("woven"), 4, "the program, its PDB, its configuration and the manifest");
        }
    }
}

/// A signed library and the program that calls it, each with a tracker of its own: one tree, in one profile.
#[test]
#[ignore = "needs .NET and Mono"]
fn several_in_one_process_share_one_profile() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("embed-several");
    let key = root().join("tracker-runtime/ilinst.snk");
    let keyfile = format!("-keyfile:{}", key.display());
    for (source, options) in
        [("lib.cs", ["-out:lib.dll", "-target:library", &keyfile]), ("app.cs", ["-out:app.exe", "-r:lib.dll", ""])]
    {
        let mut compiler = Command::new(&mcs);
        compiler.current_dir(&folder).args(options.iter().filter(|option| !option.is_empty()));
        let compiled = said(&compiler.arg(root().join("tests/run/embed").join(source)).output().expect("it starts"));
        assert_eq!(compiled.2, Some(0), "{compiled:?}");
    }
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), folder.join("app.runtimeconfig.json")).expect("it can be copied");
    let woven = folder.join("woven");
    let (app, lib) = (folder.join("app.exe"), folder.join("lib.dll"));
    instrument(&[&app, &lib, &"-o", &woven.join(""), &"--embed", &"--all", &"--snk", &key, &"-q"]);
    assert!(!woven.join(instrument::TRACKER_FILE).exists());
    for name in ["app.exe", "lib.dll"] {
        for command in
            [&["verify", "--pedantic", "--compare"][..], &["verify", "--types", "--compare"], &["diff", "--only-probes"]]
        {
            let mut check = ilinst();
            check.args(command).arg(folder.join(name)).arg(woven.join(name));
            let checked = said(&check.output().expect("it starts"));
            assert_eq!(checked.2, Some(0), "{name} {command:?}: {checked:?}");
        }
    }
    for runtime in Runtime::all() {
        let work = scratch("embed-several-work");
        let start = |program: &Path| said(&runtime.program(program, &work).output().expect("the runtime starts"));
        let before = start(&app);
        assert_eq!(before.2, Some(5), "{before:?}");
        assert_eq!(start(&woven.join("app.exe")), before, "{}", runtime.name);
        let profile = profile_in(&work);
        let calls: BTreeMap<String, u64> =
            profile.rows(SortBy::Name).into_iter().map(|row| (row.raw_name.unwrap_or_default(), row.calls)).collect();
        let expected = [("App::Main", 1), ("App::Twice", 10), ("Lib::Each", 1), ("Lib::Same", 20), ("Lib::Throw", 1)];
        let expected: BTreeMap<String, u64> = expected.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect();
        assert_eq!((calls, profile.end, profile.trees.len()), (expected, End::Clean, 1), "{}", runtime.name);
        // Main, Each, Same, Twice, Same, Throw: each below who called it.
        assert_eq!(profile.trees[0].nodes.iter().filter(|node| node.caller.is_some()).count(), 6 - 1, "{}", runtime.name);
    }
}

#[test]
fn what_the_tracker_cannot_be_in_is_refused() {
    let folder = scratch("embed-refused");
    let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
    let woven = folder.join("hello.exe");
    instrument(&[&sample("hello").join("hello.exe"), &"-o", &woven, &"--embed", &"-q"]);
    refused(&tracker, "it is the tracker itself");
    refused(&woven, "it is woven already");
}

/// A module has no references of its own, and what the tracker refers to would refer to itself.
#[test]
#[ignore = "needs Mono"]
fn modules_and_what_the_tracker_needs_are_refused() {
    let needed = (require("ILINST_MCS"), require("ILINST_MONO_LIB"));
    let (Some(mcs), Some(mono)) = needed else { return };
    let folder = scratch("embed-modules");
    let (source, module) = (folder.join("part.cs"), folder.join("part.netmodule"));
    fs::write(&source, "public class Part { public static int Sum(int n) { int s = 0; while (n > 0) s += n--; return s; } }")
        .expect("written");
    let compiled = said(&Command::new(mcs).args(["-nologo", "-target:module"]).arg(&source).output().expect("it starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    assert!(module.is_file());
    refused(&module, "it is a module of an assembly of several");
    refused(&mono.join("4.5/System.dll"), "the tracker refers to it, so --embed cannot put the tracker into it");
}

/// Nothing is written, and why is said; without `--embed` some of these can be woven.
fn refused(input: &Path, text: &str) {
    let output = scratch("embed-not-written").join("out");
    let command = ilinst().arg("instrument").arg(input).arg("--embed").arg("-o").arg(&output).output();
    let refused = said(&command.expect("it starts"));
    assert_eq!(refused.2, Some(3), "{refused:?}");
    assert!(refused.1.contains("error ILI0012") && refused.1.contains(text) && !output.exists(), "{refused:?}");
}
