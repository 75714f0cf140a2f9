//! pprof exports, read by Go's pprof.

use std::{collections::BTreeMap, path::Path, process::Command};

use names::Visible;
use tests::require;

use crate::program::{Profiled, assert_same, printed};

/// Returns flat and cumulative numbers by function, as `go tool pprof -top` prints them.
fn top(go: &Path, profile: &Path, sample_type: &str, options: &[&str]) -> BTreeMap<String, (f64, f64)> {
    let mut command = Command::new(go);
    command.args(["tool", "pprof", "-top", "-unit=ns", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"]);
    command.arg(format!("-sample_index={sample_type}")).args(options).arg(profile);
    // pprof stores files below the home folder, and would look there for the program's sources.
    let text = printed(command.env("PPROF_TMPDIR", profile.parent().expect("a folder")));
    let number = |text: &str| text.trim_end_matches("ns").parse::<f64>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let rows = text.lines().skip_while(|line| !line.contains("flat%")).skip(1);
    rows.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[5..].join(" "), (number(words[0]), number(words[3])))
    })
    .collect()
}

#[test]
#[ignore = "needs .NET and Go"]
fn pprof_says_what_is_reported() {
    let Some(profiled) = Profiled::run("pprof", "exact") else { return };
    let Some(compared) = assert_read(&profiled) else { return };
    assert!(compared > 50, "{compared}");
    // Files and lines are kept, too.
    let Some(go) = require("ILINST_GO") else { return };
    let lines = top(&go, &profiled.folder.join("run.pb.gz"), "self", &["-lines"]);
    let mut known = 0;
    for (name, row) in profiled.rows().filter(|(_, row)| row["file"].is_string() && row["selfMs"].as_f64() > Some(0.0)) {
        let place = format!("{name} {}:{}", row["file"].as_str().expect("a file"), row["line"]);
        assert!(lines.contains_key(&place), "{place}: {:?}", lines.keys());
        known += 1;
    }
    assert!(known > 20, "{known}");
}

/// Returns the number of methods that agree with the report; `None` without Go.
pub(crate) fn assert_read(profiled: &Profiled) -> Option<usize> {
    let go = require("ILINST_GO")?;
    let file = profiled.export("run.pb.gz", &[]);
    // A sample type without values is omitted.
    let waits = profiled.rows().any(|(_, row)| row["waitingMs"].as_f64() > Some(0.0));
    let [time, calls] = ["self", "calls"].map(|sample_type| top(&go, &file, sample_type, &[]));
    let waiting = if waits { top(&go, &file, "waiting", &[]) } else { BTreeMap::new() };
    let mut compared = 0;
    for (name, row) in profiled.rows() {
        // Names have control characters escaped, since pprof may print to a terminal.
        let shown = Visible(name).to_string();
        let reported = |column: &str| row[column].as_f64().expect("a number");
        let exported = |all: &BTreeMap<String, (f64, f64)>| all.get(&shown).copied().unwrap_or_default();
        assert_same(name, exported(&time).0 / 1e6, reported("selfMs"));
        assert_same(name, exported(&time).1 / 1e6, reported("totalMs"));
        assert_same(name, exported(&calls).0, reported("calls"));
        assert_same(name, exported(&waiting).1 / 1e6, reported("waitingMs"));
        compared += 1;
    }
    Some(compared)
}
