//! Shared code of the tests of `ilinst run --live` on all systems: the programs in `tests/live`, and facts about their profiles.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use profile::{Profile, SampleType};

use crate::{References, compile, compile_with, root};

/// Compiles the program that prints its number of calls at the end and has exit code 42. Returns `None` without a compiler.
pub fn app(folder: &Path) -> Option<PathBuf> {
    let app = folder.join("app.exe");
    compile(&root().join("tests/live/app.cs"), &app, References::All, &[])?;
    Some(app)
}

/// Compiles the program whose calls are known with their values: an assembly named ProfilingTest.dll.
pub fn program_of_values(folder: &Path) -> Option<PathBuf> {
    let (source, made) = (root().join("tests/live/values/ProfilingTest.cs"), folder.join("ProfilingTest.exe"));
    compile_with(&source, &made, References::Core, &[], &["-unsafe"])?;
    let program = made.with_extension("dll");
    fs::rename(made, &program).expect("it was made");
    Some(program)
}

/// Returns the expected lines of `report --calls` for that program.
pub fn lines_of_values() -> String {
    fs::read_to_string(root().join("tests/live/values/lines.txt")).expect("it is there")
}

/// Returns the lines of such a report, without the times.
pub fn without_times(report: &str) -> Vec<String> {
    let lines = report.lines().map(|line| match line.trim_start().split_once(" ms") {
        Some((time, values)) if line.starts_with(' ') && time.parse::<f64>().is_ok() => values.to_owned(),
        _ => line.to_owned(),
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns the number of calls of each method. Checks that calls which are not open have as many leaves as enters, and that
/// nothing was lost.
pub fn calls(profile: &Profile) -> BTreeMap<String, i64> {
    let mut calls = BTreeMap::new();
    assert_eq!((profile.lost_calls(), profile.bad_tokens()), (0, 0));
    for tree in &profile.trees {
        for (node, values) in tree.nodes.iter().zip(tree.values[0].iter()) {
            let name = profile.functions[node.function].name.as_ref().expect("it has a name");
            *calls.entry(format!("{}::{}", name.type_name, name.method)).or_default() += values;
        }
    }
    calls
}

/// Returns the number of open calls.
pub fn open_calls(profile: &Profile) -> i64 {
    let place = profile.sample_types.iter().position(|kind| *kind == SampleType::OPEN).expect("it has them");
    profile.trees.iter().flat_map(|tree| &tree.values[place]).sum()
}

/// Returns the calls of each method, by name and parameters, from the output of `report --json`.
pub fn calls_of_report(json: &[u8]) -> BTreeMap<String, i64> {
    let report: serde_json::Value = serde_json::from_slice(json).expect("it is JSON");
    let mut calls = BTreeMap::new();
    for row in report["methods"].as_array().expect("methods").iter().filter(|row| row["name"] != crate::JIT) {
        let name = format!("{}({})", row["name"].as_str().expect("a name"), row["parameters"]);
        *calls.entry(name).or_default() += row["calls"].as_i64().expect("calls");
    }
    calls
}
