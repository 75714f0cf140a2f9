//! The rows of phases, and the rows outside of phases, add up to the run.

use std::collections::BTreeMap;

use export::{Export, Format, Measure, Origin};
use profile::Profile;

use crate::builder;

const TEXT: &str = "
profile end=600000
method 1 T::Main
method 2 T::Load
tree
 Main label=main calls=1 total=600000
  Load label=load calls=50 total=300000
phase mark warm clock=100000 main:1:100000 load:10:50000
phase mark busy clock=400000 main:1:400000 load:35:220000
";

#[test]
fn phases_and_the_rest_are_the_run() {
    let bytes = builder::build(TEXT);
    let profile = Profile::parse(&bytes).expect("it is a profile");
    let phase = |name: &String| {
        let phase = Profile::parse_phase(&bytes, name).expect("it is a profile").expect("it has the phase");
        (name.clone(), phase)
    };
    let phases: Vec<(String, Profile)> = profile.phases.iter().map(phase).collect();
    assert_eq!(phases.len(), 2);
    let origin = Origin::new(&profile, "here");
    let export = Export {
        profile: &profile,
        bytes: &bytes,
        phases: &phases,
        origin: &origin,
        measure: Measure::SelfTime,
        by_thread: false,
        max_depth: None,
    };
    let mut out = Vec::new();
    export.write(Format::Csv, &mut out).expect("it is written");
    let text = String::from_utf8(out).expect("it is text");
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().expect("a line").split(',').collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).expect("it is a column");
    let mut calls: BTreeMap<(String, String), i64> = BTreeMap::new();
    let mut own = 0;
    for line in lines {
        // Cells before the path contain no comma here; cells behind it are numbers.
        let cells: Vec<&str> = line.split(',').collect();
        let from_end = |name: &str| cells[cells.len() - (columns.len() - place(name))].parse::<i64>().expect("a number");
        *calls.entry((cells[place("phase")].to_owned(), cells[place("method")].to_owned())).or_default() += from_end("calls");
        own += from_end("self_ns");
    }
    let of = |phase: &str, method: &str| calls.get(&(phase.to_owned(), method.to_owned())).copied().unwrap_or_default();
    assert_eq!([of("", "T.Load"), of("warm", "T.Load"), of("busy", "T.Load")], [10, 25, 15], "{text}");
    assert_eq!([of("", "T.Main"), of("warm", "T.Main"), of("busy", "T.Main")], [1, 0, 0], "{text}");
    let ticks = profile.running();
    assert_eq!(own, ticks * 1_000_000_000 / profile.ticks_per_second as i64, "{text}");
}
