//! Exports of allocated bytes and of the possible errors of times: each path's own.

use std::io::Read as _;

use export::{Export, Format, Measure, Origin, read_parquet};
use flate2::read::GzDecoder;
use profile::{Profile, SampleType};

use crate::builder;

const TEXT: &str = "
profile end=1000 flags=513
method 1 T::Main
method 2 T::Load
tree
 Main calls=1 total=900 bytes=5000
  Load calls=3 total=400 bytes=4096
   Load calls=1 total=100 bytes=96
";

/// The profile in a format; `text` describes it.
fn exported(text: &str, format: Format) -> Vec<u8> {
    let bytes = builder::build(text);
    let profile = Profile::parse(&bytes).expect("it is a profile");
    let origin = Origin::new(&profile, "here");
    let measure = Measure::Bytes;
    let export =
        Export { profile: &profile, bytes: &bytes, phases: &[], origin: &origin, measure, by_thread: false, max_depth: None };
    let mut out = Vec::new();
    export.write(format, &mut out).expect("it is written");
    out
}

fn text(format: Format) -> String {
    String::from_utf8(exported(TEXT, format)).expect("it is text")
}

#[test]
fn folded_stacks_have_bytes() {
    assert_eq!(text(Format::Folded), "T.Main 904\nT.Main;T.Load 4000\nT.Main;T.Load;T.Load 96\n");
}

#[test]
fn speedscope_has_bytes_as_its_unit() {
    let document: serde_json::Value = serde_json::from_str(&text(Format::Speedscope)).expect("it is JSON");
    let profiles = document["profiles"].as_array().expect("a list");
    let of_bytes = profiles.iter().find(|profile| profile["name"] == "bytes").expect("bytes are there");
    assert_eq!((of_bytes["unit"].as_str(), of_bytes["endValue"].as_f64()), (Some("bytes"), Some(5000.0)));
}

#[test]
fn rows_have_bytes() {
    let text = text(Format::Csv);
    let mut lines = text.lines().map(|line| line.rsplit(',').take(2).collect::<Vec<&str>>());
    assert_eq!(lines.next().expect("the names"), ["total_bytes", "bytes"]);
    // Of a recursion, the outermost call has the total.
    assert_eq!(lines.collect::<Vec<_>>(), [["5000", "904"], ["4096", "4000"], ["0", "96"]]);
}

/// The bytes of each path, as the file has them and as they are read again.
#[test]
fn parquet_has_bytes() {
    let profile = read_parquet(&exported(TEXT, Format::Parquet)).expect("it is read");
    let (names, tree) = (profile.display_names(), &profile.trees[0]);
    let bytes = profile.flat(tree, SampleType::ALLOCATED);
    let rows: Vec<(&str, i64)> = tree.nodes.iter().zip(bytes).map(|(node, bytes)| (&*names[node.function], *bytes)).collect();
    assert_eq!(rows, [("T.Main", 904), ("T.Load", 4000), ("T.Load", 96)]);
}

#[test]
fn pprof_has_alloc_space_only_if_bytes_were_counted() {
    let unpacked = |text: &str| {
        let mut bytes = Vec::new();
        GzDecoder::new(&*exported(text, Format::Pprof)).read_to_end(&mut bytes).expect("it is packed");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert!(unpacked(TEXT).contains("alloc_space"));
    assert!(!unpacked(&TEXT.replace("flags=513", "flags=1")).contains("alloc_space"));
}

#[test]
fn rows_have_the_possible_errors_of_times() {
    let text = "profile end=1000 inside=4 outside=10\nmethod 1 T::Main\nmethod 2 T::Load\ntree\n Main total=900\n  Load calls=3 total=400\n";
    let text = String::from_utf8(exported(text, Format::Csv)).expect("it is text");
    let columns: Vec<&str> = text.lines().next().expect("the names").split(',').rev().collect();
    let cell = |line: &str, name: &str| {
        let place = columns.iter().position(|column| *column == name).expect("it is a column");
        line.split(',').rev().nth(place).expect("it is in the line").to_owned()
    };
    let of_row = |line: &str| ["self_uncertainty_ns", "total_uncertainty_ns"].map(|name| cell(line, name));
    assert_eq!(text.lines().skip(1).map(of_row).collect::<Vec<_>>(), [["13000", "16000"], ["3000", "3000"]], "{text}");
}
