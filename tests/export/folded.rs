//! Folded stacks, read by inferno, which draws a flame graph of them.

use std::collections::BTreeMap;

use inferno::flamegraph::{self, Options};
use names::Visible;
use regex::Regex;

use crate::program::{Profiled, assert_same, text_of};

/// Returns by name the sum of each frame's samples in a flame graph, and the number of its frames.
fn frames(folded: &str) -> BTreeMap<String, (f64, usize)> {
    let mut svg = Vec::new();
    let mut options = Options::default();
    options.min_width = 0.0;
    flamegraph::from_lines(&mut options, folded.lines(), &mut svg).expect("inferno reads it");
    let svg = String::from_utf8(svg).expect("it is text");
    let title = Regex::new(r"<title>([^<]*) \(([0-9,]+) samples, [0-9.]+%\)</title>").expect("it is one");
    let mut frames: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for found in title.captures_iter(&svg) {
        let name = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&quot;", "\"");
        let name = name.replace("&apos;", "'");
        let frame = frames.entry(name).or_default();
        frame.0 += found[2].replace(',', "").parse::<f64>().expect("it is a number");
        frame.1 += 1;
    }
    frames
}

#[test]
#[ignore = "needs .NET"]
fn inferno_draws_what_is_reported() {
    let Some(profiled) = Profiled::run("folded", "exact") else { return };
    let (compared, leaves) = assert_drawn(&profiled);
    assert!(compared > 20 && leaves > 3, "{compared}, {leaves}");
}

/// Checks that frames agree with the report. Returns the number of methods compared, and of those without callees.
pub(crate) fn assert_drawn(profiled: &Profiled) -> (usize, usize) {
    let time = frames(&text_of(&profiled.export("run.folded", &[])));
    let calls = frames(&text_of(&profiled.export("calls.folded", &["--value", "calls"])));
    assert_same("all", time["all"].0 / 1e6, profiled.report.document["runningMs"].as_f64().expect("a number"));
    let (mut compared, mut leaves) = (0, 0);
    for (name, row) in profiled.rows() {
        // A method with a single path has no recursion, so its frame shows its total.
        if let Some((total, 1)) = time.get(&shown(name)) {
            assert_same(name, total / 1e6, row["totalMs"].as_f64().expect("a number"));
            compared += 1;
        }
        if let Some((sum, 1)) = calls.get(&shown(name))
            && row["totalMs"] == row["selfMs"]
            && (row["waits"] == true || row["waitingMs"] == 0.0)
        {
            assert_same(name, *sum, row["calls"].as_f64().expect("a number"));
            leaves += 1;
        }
    }
    (compared, leaves)
}

/// Returns a name as folded stacks have it: separators are escapes.
fn shown(name: &str) -> String {
    Visible(name).to_string().replace(';', "\\u{3b}")
}

#[test]
#[ignore = "needs .NET"]
fn threads_are_outermost_frames() {
    let Some(profiled) = Profiled::run("folded-threads", "exact") else { return };
    let folded = text_of(&profiled.export("run.folded", &["--threads"]));
    let mut threads: Vec<&str> = folded.lines().filter_map(|line| line.split(';').next()).collect();
    threads.dedup();
    assert!(threads.len() >= 3, "{threads:?}");
    let time = frames(&folded);
    assert_same("all", time["all"].0 / 1e6, profiled.report.document["runningMs"].as_f64().expect("a number"));
}
