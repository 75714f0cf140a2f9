//! Hostile names: no name in a file breaks a format, or changes the meaning of an export.

use export::{Export, Format, Measure, Origin};
use names::MethodId;
use profile::{
    CallTree, Profile, SampleType,
    model::{Function, MethodName, Node, Notes},
};
use serde_json::Value;

const HOSTILE: [&str; 6] = ["a;b 7", "line\nfeed", "=cmd|'/c calc'!A1", "\"quote\", <b>&\\", "\u{1b}[31m\u{202e}", "{\"x\": [1"];

/// Returns a profile whose functions, with these names, each call the next one.
fn profile(names: &[&str]) -> Profile {
    let function = |(index, name): (usize, &&str)| Function {
        method_id: MethodId::new(1, index as u32 + 1),
        name: Some(MethodName { type_name: "T".into(), method: (*name).into() }),
        source: None,
        module: None,
    };
    let nodes: Vec<Node> = (0..names.len()).map(|index| Node { function: index, caller: index.checked_sub(1) }).collect();
    let values = vec![vec![1; nodes.len()], vec![10; nodes.len()]];
    let tree =
        CallTree { number: 1, threads: 1, notes: vec![Notes::default(); nodes.len()], nodes, values, ..CallTree::default() };
    Profile {
        program: "=program".into(),
        sample_types: vec![SampleType::CALLS, SampleType::WALL],
        functions: names.iter().enumerate().map(function).collect(),
        trees: vec![tree],
        ..Profile::default()
    }
}

fn written(profile: &Profile, format: Format) -> Vec<u8> {
    let origin = Origin::new(profile, "@host");
    let export = Export {
        profile,
        bytes: &[],
        phases: &[],
        origin: &origin,
        measure: Measure::SelfTime,
        by_thread: false,
        max_depth: None,
    };
    let mut out = Vec::new();
    export.write(format, &mut out).unwrap_or_else(|error| panic!("{}: {error}", format.name()));
    out
}

fn text(profile: &Profile, format: Format) -> String {
    String::from_utf8(written(profile, format)).expect("it is text")
}

#[test]
fn no_name_ends_a_frame_a_cell_or_a_line() {
    let profile = profile(&HOSTILE);
    let folded = text(&profile, Format::Folded);
    let frames: Vec<usize> = folded.lines().map(|line| line.split(';').count()).collect();
    assert_eq!(frames, [1, 2, 3, 4, 5, 6], "{folded}");
    assert!(folded.lines().all(|line| line.ends_with(" 10")), "{folded}");
    assert!(!folded.contains(['\u{1b}', '\u{202e}']), "{folded}");

    let csv = text(&profile, Format::Csv);
    assert_eq!(csv.lines().count(), 1 + HOSTILE.len(), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.contains(",'=program,") && line.contains(",'@host,")), "{csv}");
    assert!(!csv.contains(['\u{1b}', '\u{202e}']), "{csv}");

    for format in [Format::Json, Format::Speedscope, Format::Trace] {
        let document: Value = serde_json::from_str(&text(&profile, format)).expect("it is JSON");
        for name in HOSTILE {
            let found = document.to_string().contains(&Value::from(format!("T.{name}")).to_string());
            assert!(found, "{}: {name}", format.name());
        }
    }
}

#[test]
fn an_empty_profile_is_one_in_every_format() {
    for format in Format::ALL {
        let out = written(&Profile::default(), format);
        assert_eq!(out.is_empty(), matches!(format, Format::Folded | Format::Csv | Format::Lcov), "{}", format.name());
    }
}

#[test]
fn deep_recursion_is_written() {
    let mut deep = profile(&["A", "B"]);
    // Writing each path in full would take 10^10 frames.
    let count = 200_000;
    let nodes: Vec<Node> = (0..count).map(|index| Node { function: index % 2, caller: index.checked_sub(1) }).collect();
    let values = vec![vec![1; count], vec![10; count]];
    deep.trees = vec![CallTree { number: 1, notes: vec![Notes::default(); count], nodes, values, ..CallTree::default() }];
    for format in Format::ALL.into_iter().filter(|format| !format.has_lines()) {
        assert!(!written(&deep, format).is_empty());
    }
    assert_eq!(text(&deep, Format::Folded), "T.A 1000000\nT.A;T.B 1000000\n");
}
