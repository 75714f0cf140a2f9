//! Rows, read by DuckDB, PyArrow and pandas; JSON, checked against its schema.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use names::Visible;
use serde_json::Value;
use tests::{require, root};

use crate::{
    builder,
    program::{Profiled, assert_same, printed, text_of},
};

/// Returns a command that runs a script of this folder, with its imports available.
pub(crate) fn python(script: &str) -> Option<Command> {
    let (python, packages) = (require("ILINST_PYTHON")?, require("ILINST_PYTHON_TABLES")?);
    let mut command = Command::new(python);
    command.arg(root().join("tests/export").join(script)).env("PYTHONPATH", packages);
    Some(command)
}

/// Returns the number of methods that a reader finds equal to the report; `None` without the reader.
pub(crate) fn assert_read(profiled: &Profiled, reader: &str, file: &Path) -> Option<usize> {
    let rows = printed(python("tables.py")?.arg(reader).arg(file));
    let rows: Vec<Value> = serde_json::from_str(&rows).expect("it prints JSON");
    let mut compared = 0;
    for (name, row) in profiled.rows() {
        let full = Profiled::full_name(name, row);
        // CSV has control characters escaped, and no formulas.
        let full = if reader.ends_with("csv") { shown(&full) } else { full };
        let what = format!("{reader}: {full}");
        let found = rows.iter().find(|row| row["method"] == full.as_str()).unwrap_or_else(|| panic!("{what}: no rows"));
        let both = |metric: &str, column: &str, unit: f64| {
            assert_same(&what, found[metric].as_f64().expect("a number") / unit, row[column].as_f64().expect("a number"));
        };
        both("calls", "calls", 1.0);
        both("self_ns", "selfMs", 1e6);
        both("total_ns", "totalMs", 1e6);
        both("total_waiting_ns", "waitingMs", 1e6);
        both("exceptions", "exceptions", 1.0);
        if !row["selfBytes"].is_null() {
            both("bytes", "selfBytes", 1.0);
            both("total_bytes", "totalBytes", 1.0);
        }
        compared += 1;
    }
    Some(compared)
}

fn shown(name: &str) -> String {
    let is_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("{}{}", if is_formula { "'" } else { "" }, Visible(name))
}

#[test]
#[ignore = "needs .NET and Python's packages"]
fn tables_say_what_is_reported() {
    let Some(profiled) = Profiled::run("tables", "exact") else { return };
    let Some(compared) = assert_all_read(&profiled) else { return };
    assert!(compared > 50, "{compared}");
}

#[test]
#[ignore = "needs Python's packages"]
fn tables_have_allocated_bytes() {
    let (text, _) = include_str!("../../crates/profile/tests/cases/allocations.txt").split_once("----\n").expect("a case");
    let profiled = Profiled::made("tables-bytes", &builder::build(text), &[]);
    assert!(profiled.rows().all(|(_, row)| row["selfBytes"].as_u64() > Some(0)), "{:?}", profiled.report.rows);
    let Some(compared) = assert_all_read(&profiled) else { return };
    assert_eq!(compared, 3);
}

/// Returns the number of methods found by all readers, which must be equal.
pub(crate) fn assert_all_read(profiled: &Profiled) -> Option<usize> {
    let [parquet, csv] = ["run.parquet", "run.csv"].map(|name| profiled.export(name, &[]));
    let readers = [("duckdb-parquet", &parquet), ("pyarrow", &parquet), ("duckdb-csv", &csv), ("pandas-csv", &csv)];
    let found: Option<Vec<usize>> = readers.iter().map(|(reader, file)| assert_read(profiled, reader, file)).collect();
    found?.into_iter().min()
}

/// Exports the profile as JSON, and checks it against its schema.
pub(crate) fn json(profiled: &Profiled) -> Option<Value> {
    let file = profiled.export("run.json", &[]);
    let schema: PathBuf = root().join("docs/profile.schema.json");
    assert_eq!(printed(python("schema.py")?.arg(schema).arg(&file)), "");
    Some(serde_json::from_str(&text_of(&file)).expect("it is JSON"))
}

#[test]
#[ignore = "needs .NET and Python's packages"]
fn json_is_as_its_schema_says() {
    for mode in ["exact", "sampled", "count", "trace"] {
        let Some(profiled) = Profiled::run("json", mode) else { return };
        let Some(document) = json(&profiled) else { return };
        let place = |name: &str| document["values"].as_array()?.iter().position(|value| value["name"] == name);
        let sum = |name: &str| {
            let (place, threads) = (place(name)?, document["threads"].as_array()?.iter());
            let values =
                threads.map(|thread| &thread["values"][place]).flat_map(|values| values.as_array().expect("a list").iter());
            Some(values.map(|value| value.as_f64().expect("a number")).sum::<f64>())
        };
        let (calls, reported) = (sum("calls").expect("it counts"), profiled.report.rows.iter());
        assert_same(mode, calls, reported.map(|row| row["calls"].as_f64().expect("a number")).sum());
        if mode != "count" {
            let running = ["wall", "waiting", "probes"].map(|name| sum(name).expect("it is measured"));
            let reported = profiled.report.document["runningMs"].as_f64().expect("a number");
            assert_same(mode, (running[0] - running[1] - running[2]) / 1e6, reported);
        }
    }
}
