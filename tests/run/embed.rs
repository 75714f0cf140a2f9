//! Programs with the tracker in them: nothing goes beside, and several of them write one profile.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use profile::{End, Profile, rows::SortBy};
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

/// Compiles a source of `embed/` in a folder, where a program of .NET's then knows its runtime.
fn compile(mcs: &Path, folder: &Path, source: &str, options: &[&str]) {
    let mut compiler = Command::new(mcs);
    compiler.current_dir(folder).args(options).arg(root().join("tests/run/embed").join(source));
    let compiled = said(&compiler.output().expect("it starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    let config = folder.join(source).with_extension("runtimeconfig.json");
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), config).expect("it can be copied");
}

/// Nothing is wrong that was not, and nothing was done but weaving.
fn check(original: &Path, woven: &Path) {
    for command in [&["verify", "--pedantic", "--compare"][..], &["verify", "--types", "--compare"], &["diff", "--only-probes"]] {
        let checked = said(&ilinst().args(command).arg(original).arg(woven).output().expect("it starts"));
        assert_eq!(checked.2, Some(0), "{} {command:?}: {checked:?}", woven.display());
    }
}

/// Removes one line: the reference that the embedded tracker has to `System`, which is there wherever the core
/// library is.
fn but_system((text, errors, code): (String, String, Option<i32>)) -> (String, String, Option<i32>) {
    let lines = text.lines().filter(|line| !line.starts_with("System, Version=2.0.0.0"));
    (lines.map(|line| format!("{line}\n")).collect(), errors, code)
}

/// By name: how often each method was called.
fn calls(profile: &Profile) -> BTreeMap<String, u64> {
    profile.rows(SortBy::Name).into_iter().map(|row| (row.raw_name.unwrap_or_default(), row.calls)).collect()
}

/// A signed library and the program that calls it, each with a tracker of its own: one tree, in one profile.
#[test]
#[ignore = "needs .NET and Mono"]
fn several_in_one_process_share_one_profile() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("embed-several");
    let key = root().join("tracker-runtime/ilinst.snk");
    let keyfile = format!("-keyfile:{}", key.display());
    compile(&mcs, &folder, "lib.cs", &["-out:lib.dll", "-target:library", &keyfile]);
    compile(&mcs, &folder, "app.cs", &["-out:app.exe", "-r:lib.dll"]);
    let woven = folder.join("woven");
    let (app, lib) = (folder.join("app.exe"), folder.join("lib.dll"));
    instrument(&[&app, &lib, &"-o", &woven.join(""), &"--embed", &"--all", &"--snk", &key, &"-q"]);
    assert!(!woven.join(instrument::TRACKER_FILE).exists());
    [(&app, "app.exe"), (&lib, "lib.dll")].iter().for_each(|(original, name)| check(original, &woven.join(name)));
    for runtime in Runtime::all() {
        let work = scratch("embed-several-work");
        let start = |program: &Path| said(&runtime.program(program, &work).output().expect("the runtime starts"));
        let before = start(&app);
        assert_eq!(before.2, Some(5), "{before:?}");
        assert_eq!(start(&woven.join("app.exe")), before, "{}", runtime.name);
        let profile = profile_in(&work);
        let calls = calls(&profile);
        let expected = [("App::Main", 1), ("App::Twice", 10), ("Lib::Each", 1), ("Lib::Same", 20), ("Lib::Throw", 1)];
        let expected: BTreeMap<String, u64> = expected.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect();
        assert_eq!((calls, profile.end, profile.trees.len()), (expected, End::Clean, 1), "{}", runtime.name);
        // Main, Each, Same, Twice, Same, Throw: each below who called it.
        assert_eq!(profile.trees[0].nodes.iter().filter(|node| node.caller.is_some()).count(), 6 - 1, "{}", runtime.name);
    }
}

/// As Unity has them: loaded from bytes, against a core library of 2.0 or 4.0, and nothing of ours that could be found.
#[test]
#[ignore = "needs .NET and Mono"]
fn what_has_no_file_brings_its_tracker() {
    let needed = (require("ILINST_MCS"), require("ILINST_MONO_LIB"));
    let (Some(mcs), Some(mono)) = needed else { return };
    for profile in ["2.0-api", "4.0-api"] {
        let folder = scratch(&format!("embed-{profile}"));
        compile(&mcs, &folder, "engine.cs", &["-out:engine.exe"]);
        let core = format!("-r:{}", mono.join(profile).join("mscorlib.dll").display());
        compile(&mcs, &folder, "scripts.cs", &["-out:scripts.dll", "-target:library", "-nostdlib", &core]);
        let (original, woven) = (folder.join("scripts.dll"), folder.join("woven/scripts.dll"));
        instrument(&[&original, &"-o", &woven, &"--embed", &"--all", &"-q"]);
        check(&original, &woven);
        for runtime in Runtime::all() {
            let work = scratch("embed-engine-work");
            let start = |scripts: &Path| {
                said(&runtime.program(&folder.join("engine.exe"), &work).arg(scripts).output().expect("the runtime starts"))
            };
            let (before, after) = (start(&original), start(&woven));
            assert_eq!(before.2, Some(6), "{before:?}");
            assert_eq!(but_system(after), before, "{profile} {}", runtime.name);
            let calls = calls(&profile_in(&work));
            let of = |method: &str| calls.get(method).copied();
            assert_eq!((of("Scripts::Run"), of("Scripts::Update")), (Some(1), Some(40)), "{profile} {}: {calls:?}", runtime.name);
        }
    }
}

/// The compiler has one in it too, and reads what it is in.
#[test]
#[ignore = "needs Mono"]
fn what_compiles_against_itself_compiles_as_before() {
    let needed = (require("ILINST_MCS"), require("ILINST_MONO_LIB"), Runtime::find("Mono"));
    let (Some(mcs), Some(mono), Some(runtime)) = needed else { return };
    let folder = scratch("embed-evaluates");
    let library = mono.join("4.5/Mono.CSharp.dll");
    compile(&mcs, &folder, "evaluates.cs", &["-out:evaluates.exe", &format!("-r:{}", library.display())]);
    fs::copy(library, folder.join("Mono.CSharp.dll")).expect("it can be copied");
    let woven = folder.join("woven");
    let (program, compiler) = (folder.join("evaluates.exe"), folder.join("Mono.CSharp.dll"));
    instrument(&[&program, &compiler, &"-o", &woven.join(""), &"--embed", &"--min-il=0", &"-q"]);
    let start = |program: &Path| said(&runtime.program(program, &folder).output().expect("the runtime starts"));
    let (before, after) = (start(&program), start(&woven.join("evaluates.exe")));
    assert!(before.2 == Some(7) && before.0.ends_with("\n42\nTwice\n"), "{before:?}");
    assert_eq!(after, before);
    let calls = calls(&profile_in(&folder));
    assert_eq!((calls["Evaluates::Main"], calls["Evaluates::Twice"], calls["Mono.CSharp.Evaluator::Evaluate"]), (1, 1, 1));
}

#[test]
fn what_the_tracker_cannot_be_in_is_refused() {
    let folder = scratch("embed-refused");
    let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
    let woven = folder.join("hello.exe");
    instrument(&[&sample("hello").join("hello.exe"), &"-o", &woven, &"--embed", &"-q"]);
    refused("not-written", &tracker, "it is the tracker itself");
    refused("not-written", &woven, "it is instrumented already");
}

/// A module has no references of its own, and what the tracker refers to would refer to itself.
#[test]
#[ignore = "needs Mono"]
fn what_there_is_no_place_in_is_refused() {
    let needed = (require("ILINST_MCS"), require("ILINST_MONO_LIB"));
    let (Some(mcs), Some(mono)) = needed else { return };
    let folder = scratch("embed-modules");
    let (source, module) = (folder.join("part.cs"), folder.join("part.netmodule"));
    fs::write(&source, "public class Part { public static int Sum(int n) { int s = 0; while (n > 0) s += n--; return s; } }")
        .expect("written");
    let compiled = said(&Command::new(&mcs).args(["-nologo", "-target:module"]).arg(&source).output().expect("it starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    assert!(module.is_file());
    // Type parameters lie in an order in which the tracker's would come before the structs'.
    let enums: String = (0..200).map(|number| format!("enum E{number} {{ }}\n")).collect();
    let library = folder.join("types.dll");
    let source = folder.join("types.cs");
    fs::write(
        &source,
        format!("{enums}public struct Marker<T> {{ }} static class One {{ static int Of(int n) {{ return n; }} }}"),
    )
    .expect("written");
    let compiled = said(&Command::new(mcs).args(["-nologo", "-target:library"]).arg(&source).output().expect("it starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    refused("no-place", &library, "it has more types than methods before a generic type, so --embed has no place");
    instrument(&[&library, &"-o", &folder.join("woven/"), &"--all", &"-q"]);
    refused("no-place", &module, "it is a module of an assembly of several");
    refused("no-place", &mono.join("4.5/System.dll"), "the tracker refers to it, so --embed cannot put the tracker into it");
}

/// Nothing is written, and why is said; without `--embed` some of these can be woven.
fn refused(test: &str, input: &Path, text: &str) {
    let output = scratch(&format!("embed-{test}")).join("out");
    let command = ilinst().arg("instrument").arg(input).arg("--embed").arg("-o").arg(&output).output();
    let refused = said(&command.expect("it starts"));
    assert_eq!(refused.2, Some(3), "{refused:?}");
    assert!(refused.1.contains("error ILI0012") && refused.1.contains(text) && !output.exists(), "{refused:?}");
}
