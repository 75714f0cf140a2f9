//! speedscope's view of its own format, and of Chrome's trace events.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use base64ct::{Base64, Encoding as _};
use serde_json::{Value, json};
use tests::{Browser, require};

use crate::program::{Profiled, assert_same, text_of};

/// Returns self time and total in ms by name, from speedscope's table of an opened file.
fn table(page: &Path, file: &Path) -> Option<BTreeMap<String, (f64, f64)>> {
    let name = file.file_name().expect("it has a name").to_string_lossy();
    let contents = Base64::encode_string(&fs::read(file).expect("it can be read"));
    let script: PathBuf = file.with_extension("js");
    fs::write(&script, format!("speedscope.loadFileFromBase64({}, {})", json!(name), json!(contents))).expect("it is written");
    // The window is high enough for all rows.
    let folder = file.parent().and_then(Path::file_name).expect("it is in a folder").to_string_lossy();
    let mut browser = Browser::start(&format!("of-{folder}"), 1200, 6000)?;
    browser.open(&page.join("index.html"), &format!("view=sandwich&localProfilePath={}", script.display()));
    browser.wait("document.querySelectorAll('tr').length > 1");
    browser.settle();
    let rows = browser.eval("[...document.querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.innerText))");
    let rows = rows.as_array().expect("a list").iter().filter_map(|cells| {
        let text = |index: usize| cells[index].as_str();
        Some((words(text(2)?), (milliseconds(text(1)?)?, milliseconds(text(0)?)?)))
    });
    Some(rows.collect())
}

/// Parses the time in `12.34ms (5.6%)`.
fn milliseconds(text: &str) -> Option<f64> {
    let time = text.split_whitespace().next()?;
    let unit = time.find(|character: char| character.is_alphabetic() || character == '\u{b5}')?;
    let number: f64 = time[..unit].replace(',', "").parse().ok()?;
    Some(match &time[unit..] {
        "ns" => number / 1e6,
        "ms" => number,
        "s" => number * 1e3,
        // Microseconds, with either of the two letters that look like mu.
        _ => number / 1e3,
    })
}

#[test]
#[ignore = "needs .NET and Chromium"]
fn speedscope_shows_what_is_reported() {
    let Some(profiled) = Profiled::run("speedscope", "exact") else { return };
    let Some(compared) = assert_read(&profiled) else { return };
    assert!(compared > 30, "{compared}");
}

/// Returns the number of methods that agree with the report; `None` without a browser.
pub(crate) fn assert_read(profiled: &Profiled) -> Option<usize> {
    let file = profiled.export("run.speedscope.json", &[]);
    let shown = table(&require("ILINST_SPEEDSCOPE")?, &file)?;
    let mut compared = 0;
    for (name, row) in profiled.rows().filter(|(_, row)| row["totalMs"].as_f64() > Some(0.001)) {
        let (own, total) = shown.get(&words(name)).unwrap_or_else(|| panic!("{name} is not shown: {:?}", shown.keys()));
        for (shown, column) in [(own, "selfMs"), (total, "totalMs")] {
            let reported = row[column].as_f64().expect("a number");
            // speedscope shows two decimals in any unit.
            assert!(
                (shown - reported).abs() <= 0.006 * reported + 0.00001,
                "{name}: {shown} is shown, and {column} is {reported}"
            );
        }
        compared += 1;
    }
    Some(compared)
}

/// Returns a text with blanks collapsed, as a page shows it.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
#[ignore = "needs .NET and Chromium"]
fn a_trace_is_a_timeline_of_every_call() {
    let (Some(page), Some(profiled)) = (require("ILINST_SPEEDSCOPE"), Profiled::run("trace", "trace")) else { return };
    let file = profiled.export("run.trace.json", &[]);
    let document: Value = serde_json::from_str(&text_of(&file)).expect("it is JSON");
    // By thread: open calls. By method: the number of beginnings.
    let mut open: BTreeMap<u64, Vec<(&str, f64)>> = BTreeMap::new();
    let mut began: BTreeMap<&str, u64> = BTreeMap::new();
    for event in document["traceEvents"].as_array().expect("a list") {
        let (Some(thread), Some(time)) = (event["tid"].as_u64(), event["ts"].as_f64()) else { continue };
        let (name, stack) = (event["name"].as_str().expect("a name"), open.entry(thread).or_default());
        match event["ph"].as_str() {
            Some("B") => {
                stack.push((name, time));
                *began.entry(name).or_default() += 1;
            }
            _ => {
                let (opened, since) = stack.pop().unwrap_or_else(|| panic!("{name} ends without having begun"));
                assert!(opened == name && since <= time, "{opened} ends as {name}, {since} to {time}");
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    let mut compared = 0;
    // An async method has an event for each step, but only one call.
    for (name, row) in profiled.rows().filter(|(_, row)| row["async"] == false && row["exceptions"] == 0) {
        assert_eq!(began.get(name).copied().unwrap_or_default(), row["calls"].as_u64().expect("a number"), "{name}");
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
    let Some(shown) = table(&page, &file) else { return };
    assert!(shown.len() > 5 && shown.keys().all(|name| began.contains_key(name.as_str())), "{shown:?}");
}

#[test]
#[ignore = "needs .NET and Chromium"]
fn paths_of_other_modes_are_stretches_as_long_as_they_took() {
    let Some(profiled) = Profiled::run("stretches", "exact") else { return };
    let Some(shown) = assert_stretches(&profiled) else { return };
    assert!(shown > 5, "{shown}");
}

/// Returns the number of methods shown for a trace with an event for each path; `None` without a browser.
pub(crate) fn assert_stretches(profiled: &Profiled) -> Option<usize> {
    let file = profiled.export("run.trace.json", &[]);
    let document: Value = serde_json::from_str(&text_of(&file)).expect("it is JSON");
    for (name, row) in profiled.rows() {
        let events = document["traceEvents"].as_array().expect("a list").iter().filter(|event| event["name"] == name);
        let own: f64 = events.map(|event| event["args"]["selfMs"].as_f64().expect("a number")).sum();
        assert_same(name, own, row["selfMs"].as_f64().expect("a number"));
    }
    let shown = table(&require("ILINST_SPEEDSCOPE")?, &file)?;
    // speedscope appends an event's arguments to its name.
    let names = shown.keys().map(|name| name.split(" {").next().unwrap_or_default());
    assert!(names.clone().all(|name| profiled.rows().any(|(known, _)| words(known) == name)), "{shown:?}");
    Some(names.count())
}
