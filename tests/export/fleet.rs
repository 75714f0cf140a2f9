//! The queries of `docs/fleet.md`, unchanged, run by DuckDB over the table of several runs.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;
use tests::{Report, ilinst, root, said, scratch};

use crate::{
    program::{Profiled, assert_same, printed},
    tables::python,
};

/// Returns runs of the program, and writes their table.
fn lake(folder: &Path) -> Option<Vec<Profiled>> {
    let mut runs = Vec::new();
    for (run, release) in [("a", "1.0"), ("b", "1.0"), ("c", "1.1"), ("d", "1.1")] {
        let profiled = Profiled::run(&format!("fleet-{run}"), "exact")?;
        let mut export = ilinst();
        export.args(["export", "--to", "parquet", "--host", run, "--release", release]).arg(&profiled.path);
        let done = export.arg("-o").arg(format!("{}/", folder.join("lake").display())).output().expect("ilinst runs");
        assert!(done.status.success(), "{:?}", said(&done));
        runs.push(profiled);
    }
    Some(runs)
}

/// Returns the sum of a column over all runs, by name with the types of parameters.
fn reported(runs: &[Profiled], column: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for (name, row) in runs.iter().flat_map(Profiled::rows) {
        *sums.entry(Profiled::full_name(name, row)).or_default() += row[column].as_f64().expect("a number");
    }
    sums
}

#[test]
#[ignore = "needs .NET and Python's packages"]
fn the_queries_say_what_is_reported() {
    let folder = scratch("export-fleet");
    let Some(mut query) = python("fleet.py") else { return };
    let Some(runs) = lake(&folder) else { return };
    let day = folder.join("day.parquet");
    let text = printed(query.arg("duckdb").arg(root().join("docs/fleet.md")).arg(&day).current_dir(&folder));
    let results: Value = serde_json::from_str(&text).expect("it prints JSON");
    let queries = results["queries"].as_array().expect("a list");
    let [top, regressions, flame] = &queries[..] else { panic!("three queries, not {}", queries.len()) };

    let rows = |result: &Value| result["rows"].as_array().expect("a list").clone();
    let [own, total, waiting, calls] = ["selfMs", "totalMs", "waitingMs", "calls"].map(|column| reported(&runs, column));
    assert_eq!(rows(top).len(), 20);
    for row in rows(top) {
        let name = row["method"].as_str().expect("a name");
        assert_same(name, row["self_seconds"].as_f64().expect("a number") * 1e3, own[name]);
        assert_same(name, row["total_seconds"].as_f64().expect("a number") * 1e3, total[name]);
        assert_same(name, row["waiting_seconds"].as_f64().expect("a number") * 1e3, waiting[name]);
        assert_same(name, row["calls"].as_f64().expect("a number"), calls[name]);
    }
    let most = own.iter().max_by(|one, other| one.1.total_cmp(other.1)).expect("there are some");
    assert_eq!(rows(top)[0]["method"], most.0.as_str());
    assert!(rows(top).iter().any(|row| row["runs"] == 4 && row["hosts"] == 4), "{top}");

    let means = |release: &[Profiled], name: &str| {
        let own = release.iter().map(|run| {
            let of_method = run.rows().filter(|(known, row)| Profiled::full_name(known, row) == name);
            let both = of_method.map(|(_, row)| (row["selfMs"].as_f64().unwrap_or(0.0), row["calls"].as_f64().unwrap_or(0.0)));
            let (own, calls) = both.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            own * 1e6 / calls
        });
        own.sum::<f64>() / release.len() as f64
    };
    for row in rows(regressions) {
        let name = row["method"].as_str().expect("a name");
        let (old, new) = (row["old_ns"].as_f64().expect("a number"), row["new_ns"].as_f64().expect("a number"));
        assert!(new > 1.1 * old, "{row}");
        assert_same(name, old / 1e6, means(&runs[..2], name) / 1e6);
        assert_same(name, new / 1e6, means(&runs[2..], name) / 1e6);
    }

    let own_of_day: f64 = rows(flame).iter().map(|row| row["self_ns"].as_f64().expect("a number")).sum();
    assert_same("the day", own_of_day / 1e6, own.values().sum());
    let page = folder.join("day.html");
    let said = printed(ilinst().arg("view").arg(&day).arg("--html").arg(&page));
    assert_eq!(said, "");
    assert!(fs::metadata(&page).expect("it is there").len() > 10_000);
    let tree = printed(ilinst().arg("view").arg(&day).args(["--min-percent", "0"]));
    assert!(tree.contains("Orders.Program.Main()"), "{tree}");
}

#[test]
#[ignore = "needs .NET"]
fn folded_stacks_come_back() {
    let Some(profiled) = Profiled::run("view", "exact") else { return };
    let folded = profiled.export("run.folded", &[]);
    let tree = printed(ilinst().arg("view").arg(&folded));
    let line = tree.lines().find(|line| line.ends_with("Orders.Program.Main")).unwrap_or_else(|| panic!("{tree}"));
    let total: f64 = line.split_whitespace().nth(1).expect("a column").parse().expect("a number");
    let main = Report::sum(&profiled.report, "Orders.Program.Main", "totalMs");
    assert!((total - main).abs() <= 0.001, "{line}: {main}");
    // The same from a pipe.
    let piped = Command::new("sh").arg("-c").arg("\"$0\" view - < \"$1\"").arg(ilinst().get_program()).arg(&folded).output();
    assert_eq!(String::from_utf8_lossy(&piped.expect("it starts").stdout), tree);
}
