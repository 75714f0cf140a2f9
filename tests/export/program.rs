//! The exported profiles: of a program with threads, waiting, async methods and exceptions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tests::{Report, Runtime, ilinst, instrument, said, sample, scratch};

/// A profile of `orders`, and its folder.
pub(crate) struct Profiled {
    pub(crate) folder: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) report: Report,
    options: &'static [&'static str],
}

impl Profiled {
    /// Records a run in a mode; `None` without a runtime.
    pub(crate) fn run(test: &str, mode: &str) -> Option<Self> {
        let runtime = Runtime::find(".NET 8")?;
        let folder = scratch(&format!("export-{test}-{mode}"));
        instrument(&[&sample("orders").join("orders.exe"), &"-o", &folder]);
        let path = folder.join("run.ilprof");
        let mut program = runtime.program(&folder.join("orders.exe"), &folder);
        let output = program.env("ILINST_OUTPUT", &path).env("ILINST_MODE", mode).output().expect("it starts");
        assert_eq!(output.status.code(), Some(3), "{:?}", said(&output));
        let report = Report::of(&path).unwrap_or_else(|error| panic!("{error}"));
        Some(Self { folder, path, report, options: &[] })
    }

    /// Writes a given profile. `options` select a part of it, for the report and for exports.
    pub(crate) fn made(test: &str, bytes: &[u8], options: &'static [&'static str]) -> Self {
        let folder = scratch(&format!("export-{test}"));
        let path = folder.join("run.ilprof");
        fs::write(&path, bytes).expect("it can be written");
        let report = Report::with(&path, options).unwrap_or_else(|error| panic!("{error}"));
        Self { folder, path, report, options }
    }

    /// Merges two runs.
    pub(crate) fn merged(test: &str) -> Option<Self> {
        let runs = [Self::run(&format!("{test}-one"), "exact")?, Self::run(&format!("{test}-two"), "exact")?];
        let merged = scratch(&format!("export-{test}-merged")).join("both.ilprof");
        printed(ilinst().arg("merge").args(runs.iter().map(|run| &run.path)).arg("-o").arg(&merged));
        Some(Self::made(test, &fs::read(merged).expect("it can be read"), &[]))
    }

    /// Exports the profile to a file of this name.
    pub(crate) fn export(&self, name: &str, options: &[&str]) -> PathBuf {
        let output = self.folder.join(name);
        let mut export = ilinst();
        export.arg("export").arg(&self.path).arg("-o").arg(&output).args(self.options).args(options);
        let done = export.output().expect("ilinst runs");
        assert!(done.status.success(), "{:?}", said(&done));
        output
    }

    /// Returns a method's name with the types of its parameters, as tables have it in all profiles.
    pub(crate) fn full_name(name: &str, row: &Value) -> String {
        let parameters = row["parameters"].as_str().map(|types| format!("({types})")).unwrap_or_default();
        if name.ends_with(&parameters) { name.to_owned() } else { format!("{name}{parameters}") }
    }

    /// Returns the methods by name, from the report, and the JIT compiler.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.report.document["methods"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| (row["name"].as_str().expect("it has a name"), row))
    }
}

/// Checks an exported number against the report: values of paths are rounded to nanoseconds.
#[track_caller]
pub(crate) fn assert_same(what: &str, exported: f64, reported: f64) {
    let within = 0.001 + reported.abs() * 1e-6;
    assert!((exported - reported).abs() <= within, "{what}: {exported} was exported, and {reported} is reported");
}

/// Returns the output of a program, which must succeed.
pub(crate) fn printed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let (text, errors, code) = said(&output);
    assert_eq!(code, Some(0), "{errors}{text}");
    text
}

/// Returns the text of a file.
pub(crate) fn text_of(path: &Path) -> String {
    fs::read_to_string(path).expect("it can be read")
}
