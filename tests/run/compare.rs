//! Profiles of two builds compare: methods are known by name and signature.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use serde_json::Value;
use tests::{Runtime, ilinst, instrument, require, root, said, scratch};

/// Compiles, weaves and runs a program, and says where its profile is.
fn profile_of(name: &str, runtime: &Runtime, mcs: &PathBuf) -> PathBuf {
    let folder = scratch(&format!("compare-{name}"));
    let program = folder.join("original/program.exe");
    fs::create_dir_all(folder.join("original")).expect("a folder can be made");
    let source = root().join(format!("tests/run/compare/{name}.cs"));
    let output = Command::new(mcs).arg(format!("-out:{}", program.display())).arg(source).output().expect("the compiler starts");
    assert!(output.status.success(), "{:?}", said(&output));
    let woven = folder.join("program.exe");
    instrument(&[&program, &"-o", &woven, &"--all", &"-q"]);
    fs::copy(root().join("samples/hello/bin/hello.runtimeconfig.json"), woven.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    let profile = folder.join("run.ilprof");
    let output = runtime.program(&woven, &folder).env("ILINST_OUTPUT", &profile).output().expect("the runtime starts");
    assert_eq!(said(&output), ("".into(), "".into(), Some(0)), "{}", runtime.name);
    profile
}

#[test]
#[ignore = "needs .NET and Mono"]
fn two_builds_compare_by_name_and_signature() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    for runtime in Runtime::all() {
        let [before, after] = ["before", "after"].map(|name| profile_of(name, &runtime, &mcs));
        let compare = |options: &[&str]| {
            let mut command = ilinst();
            command.arg("compare").args([&before, &after]).args(["--by", "calls"]).args(options);
            said(&command.output().expect("ilinst runs"))
        };
        let (text, errors, code) = compare(&["--json", "--fail-if", "calls > +10% and method ~ '*.Id*'"]);
        let said = "--fail-if 'calls > +10% and method ~ '*.Id*'': P.Id: calls 20 -> 40, +100.0 %";
        assert_eq!((errors.as_str(), code), (format!("ilinst: {said}\n").as_str(), Some(1)), "{}", runtime.name);
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let methods =
            document["methods"].as_array().expect("there are methods").iter().filter(|method| method["name"] != tests::JIT);
        let found: BTreeMap<&str, (&str, f64, f64)> = methods
            .map(|method| {
                let calls = |side: &str| method["calls"][side].as_f64().expect("a number");
                let text = |value: &'static str| method[value].as_str().expect("a text");
                (text("name"), (text("verdict"), calls("base"), calls("new")))
            })
            .collect();
        let expected = BTreeMap::from([
            ("P.Main", ("same", 1.0, 1.0)),
            ("P.Work(int)", ("same", 21.0, 22.0)),
            ("P.Work(string)", ("same", 20.0, 20.0)),
            ("P.Id<T>", ("same", 20.0, 20.0)),
            ("P.Id", ("slower", 20.0, 40.0)),
            ("P.Gone", ("gone", 1.0, 0.0)),
            ("P.Fresh", ("new", 0.0, 1.0)),
        ]);
        assert_eq!(found, expected, "{}", runtime.name);
        assert_eq!(compare(&["--fail-if", "calls > +200%"]).2, Some(0));
        assert_eq!(compare(&["--fail-if", "new and calls >= 1"]).2, Some(1));
    }
}
