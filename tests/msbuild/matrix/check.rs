//! Everything that holds for a cell: exact counts under the right names, and nothing to find.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use tests::{Report, ilinst, said};

use super::table::Program;

/// Output, errors and exit code of a program.
pub(super) type Ended = (String, String, Option<i32>);

/// The only profile in a folder has exactly the calls that the program makes.
pub(super) fn exact(program: &Program, profiles: &Path) -> PathBuf {
    let found: Vec<PathBuf> = fs::read_dir(profiles).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let [profile] = &found[..] else { panic!("one profile in {}, not {found:?}", profiles.display()) };
    let report = Report::of(profile).expect("it can be reported");
    let mut calls = BTreeMap::new();
    for row in &report.rows {
        let name = row["rawName"].as_str().unwrap_or_default();
        if program.own.iter().any(|own| name.starts_with(own)) {
            *calls.entry(name).or_insert(0) += row["calls"].as_u64().unwrap_or_default();
        }
    }
    // A library that is instrumented alone has no program's calls beside it.
    let is_there = |name: &str| program.assemblies.len() == 1 || !name.starts_with("Program") || calls.contains_key(name);
    let expected = program.calls.iter().copied().filter(|(name, _)| is_there(name)).collect();
    assert_eq!(calls, expected, "{}", profile.display());
    assert_eq!(report.lost_calls, 0);
    profile.clone()
}

/// `doctor` is silent.
pub(super) fn healthy(paths: &[&Path]) {
    let ended = tool(&[&["doctor".as_ref()][..], &paths.iter().map(|path| path.as_os_str()).collect::<Vec<_>>()].concat());
    assert!(ended.2 == Some(0) && ended.0.ends_with("nothing is wrong\n"), "doctor {paths:?}: {}{}", ended.0, ended.1);
}

/// Instrumenting broke no rule that the original keeps.
pub(super) fn valid(woven: &Path, original: &Path) {
    let ended = tool(&["verify".as_ref(), woven.as_ref(), "--compare".as_ref(), original.as_ref()]);
    assert_eq!(ended.2, Some(0), "verify {}: {ended:?}", woven.display());
}

/// Returns output, errors and exit code of ilinst.
pub(super) fn tool(arguments: &[&OsStr]) -> Ended {
    said(&ilinst().args(arguments).output().expect("ilinst runs"))
}
