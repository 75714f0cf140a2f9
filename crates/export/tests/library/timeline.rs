//! Mode trace as a timeline: the beginning and end of each call, for the run and for its phases.

use export::{Export, Format, Measure, Origin};
use profile::Profile;
use serde_json::Value;

use crate::builder;

/// Main calls Load twice, and Save, which an exception leaves. Chunks of events are in the order of the file.
const TEXT: &str = "
profile mode=3 start=1000 end=11000
method 1 T::Main
method 2 T::Load
method 3 T::Save
tree
 Main label=main number=1 calls=1 total=9000
  Load label=load number=2 calls=2 total=2000
   Save label=save number=3 calls=1 total=500
events sequence=2 2@6000 3@6500 -2@7000 -1@9500
events sequence=1 1@500 2@1000 -2@2000
phase mark warm clock=2500 main:0:0
phase mark busy clock=7600 main:0:0
";

/// Returns beginnings and ends as `+Load@1`, in ms.
fn timeline(phase: Option<&str>) -> String {
    let bytes = builder::build(TEXT);
    let profile = match phase {
        None => Profile::parse(&bytes).expect("it is a profile"),
        Some(name) => Profile::parse_phase(&bytes, name).expect("it is a profile").expect("it has the phase"),
    };
    let origin = Origin::new(&profile, "here");
    let export = Export {
        profile: &profile,
        bytes: &bytes,
        phases: &[],
        origin: &origin,
        measure: Measure::SelfTime,
        by_thread: false,
        max_depth: None,
    };
    let mut out = Vec::new();
    export.write(Format::Trace, &mut out).expect("it is written");
    let document: Value = serde_json::from_slice(&out).expect("it is JSON");
    let events = document["traceEvents"].as_array().expect("a list").iter().filter_map(|event| {
        let sign = match event["ph"].as_str()? {
            "B" => '+',
            "E" => '-',
            _ => return None,
        };
        let name = event["name"].as_str().expect("a name").trim_start_matches("T.");
        Some(format!("{sign}{name}@{}", event["ts"].as_f64().expect("a number") / 1e3))
    });
    events.collect::<Vec<String>>().join(" ")
}

#[test]
fn each_call_is_where_it_was() {
    let expected = "+Main@0.5 +Load@1 -Load@2 +Load@6 +Save@6.5 -Save@7 -Load@7 -Main@9.5";
    assert_eq!(timeline(None), expected);
}

#[test]
fn a_phase_is_cut_out_of_it() {
    let warm = "+Main@1.5 +Load@1.5 -Load@2 +Load@6 +Save@6.5 -Save@6.6 -Load@6.6 -Main@6.6";
    assert_eq!(timeline(Some("warm")), warm, "what is open at a phase's bounds begins and ends there");
    assert_eq!(timeline(Some("busy")), "+Main@6.6 +Load@6.6 +Save@6.6 -Save@7 -Load@7 -Main@9.5");
}
