//! Exports of samples without probes: each format has the same paths, samples and times.

use export::{Export, Format, Measure, Origin};
use profile::Profile;

use crate::builder;

const TEXT: &str = "
profile mode=4 ticks=1000000000 end=400000000 cpu=400000000
method 1 T::Main
method 2 T::Load
method 3 T::Save
tree
 Main calls=0 start=10 total=40000000 cpu=40000000
  Load calls=0 start=30 total=120000000 cpu=120000000
   Save calls=0 start=60 total=240000000 cpu=240000000
";

/// The profile as a text format, by a measure.
fn exported(format: Format, measure: Measure) -> String {
    let bytes = builder::build(TEXT);
    let profile = Profile::parse(&bytes).expect("it is a profile");
    let origin = Origin::new(&profile, "here");
    let export =
        Export { profile: &profile, bytes: &bytes, phases: &[], origin: &origin, measure, by_thread: false, max_depth: None };
    let mut out = Vec::new();
    export.write(format, &mut out).expect("it is written");
    String::from_utf8(out).expect("it is text")
}

#[test]
fn folded_stacks_have_samples_and_times() {
    let of = |measure| exported(Format::Folded, measure);
    assert_eq!(of(Measure::Samples), "T.Main 10\nT.Main;T.Load 30\nT.Main;T.Load;T.Save 60\n");
    assert_eq!(of(Measure::Cpu), "T.Main 40000000\nT.Main;T.Load 120000000\nT.Main;T.Load;T.Save 240000000\n");
    assert_eq!(of(Measure::Cpu), of(Measure::SelfTime));
}

#[test]
fn speedscope_has_times_and_samples() {
    let document: serde_json::Value = serde_json::from_str(&exported(Format::Speedscope, Measure::SelfTime)).expect("it is JSON");
    let profiles = document["profiles"].as_array().expect("a list");
    let ends: Vec<_> = profiles.iter().map(|profile| (profile["name"].as_str(), profile["endValue"].as_f64())).collect();
    let expected = [("time", 400_000_000.0), ("cpu", 400_000_000.0), ("samples", 100.0)];
    assert_eq!(ends, expected.map(|(name, end)| (Some(name), Some(end))), "{document}");
}

#[test]
fn rows_have_samples_and_no_calls() {
    let text = exported(Format::Csv, Measure::SelfTime);
    let columns: Vec<&str> = text.lines().next().expect("a line").split(',').collect();
    // The path is the only cell with commas, and the numbers lie behind it.
    let cell = |line: &str, name: &str| {
        let place = columns.iter().position(|column| *column == name).expect("it is a column");
        line.split(',').rev().nth(columns.len() - 1 - place).expect("it is in the line").to_owned()
    };
    let rows: Vec<[String; 4]> =
        text.lines().skip(1).map(|line| ["calls", "self_ns", "cpu_ns", "samples"].map(|name| cell(line, name))).collect();
    let expected =
        [["0", "40000000", "40000000", "10"], ["0", "120000000", "120000000", "30"], ["0", "240000000", "240000000", "60"]];
    assert_eq!(rows, expected, "{text}");
}
