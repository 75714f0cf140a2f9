//! Callers and callees: a recursive call adds no time beyond the outermost call's.

use names::MethodId;
use profile::{
    CallTree, Profile, SampleType,
    model::{Function, Node, Notes},
    rows::SortBy,
};
use report::{
    TextOptions,
    views::{GroupBy, Relation, View, ViewOptions, Wanted, edges, view},
};

use crate::{builder, shown::shown};

const TEXT: &str = "
profile end=1000
method 1 T::Main
method 2 T::Load
method 3 T::Parse
tree
 Main total=1000
  Load calls=3 total=600
   Load calls=5 total=400
    Load calls=7 total=300
     Parse calls=9 total=100
   Parse calls=1 total=50
  Parse calls=2 total=20
";

#[test]
fn recursion_is_counted_and_its_time_is_the_outermost_calls() {
    let bytes = builder::build(TEXT);
    let profile = Profile::parse(&bytes).expect("it is a profile");
    let names = profile.display_names();
    let load = names.iter().position(|name| name == "T.Load").expect("it was called");
    let found = edges(&profile, &[load], SortBy::Total, &names);
    let found: Vec<(Relation, &str, i64, f64)> =
        found.iter().map(|edge| (edge.relation, edge.name, edge.calls, edge.total_ms)).collect();
    // With a clock of 1 MHz.
    let expected = [
        (Relation::Caller, "T.Main", 3, 0.6),
        (Relation::Caller, "T.Load", 12, 0.4),
        (Relation::Callee, "T.Load", 12, 0.4),
        (Relation::Callee, "T.Parse", 10, 0.15),
    ];
    assert_eq!(found, expected);
}

const WITH_BYTES: &str = "
profile end=1000 flags=513
module assembly=Shop,Version=1 name=shop.dll
method 1 T::Main
method 2 T::Load
method 3 U::Parse
tree
 Main total=1000 bytes=9000
  Load calls=3 total=600 bytes=6000
   Load calls=5 total=400 bytes=4000
    Parse calls=9 total=100 bytes=1000
  Parse calls=2 total=20 bytes=200
";

#[test]
fn edges_and_groups_have_allocated_bytes_if_they_were_counted() {
    let lines = |text: &str, wanted: fn(usize) -> Wanted| -> Vec<Vec<String>> {
        let bytes = builder::build(text);
        let profile = Profile::parse(&bytes).expect("it is a profile");
        let load = profile.display_names().iter().position(|name| name == "T.Load").expect("it was called");
        let shown = shown(&profile, &wanted(load), ViewOptions::default());
        shown
            .lines()
            .map(|line| line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect())
            .collect()
    };
    let has = |lines: &[Vec<String>], bytes: &[&str], name: &str| {
        let is_it = |cells: &Vec<String>| {
            cells.ends_with(&[bytes, &[name]].concat().iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())
        };
        assert!(lines.iter().any(is_it), "{bytes:?} {name}: {lines:#?}");
    };
    let method = lines(WITH_BYTES, |load| Wanted::Method(vec![load]));
    // Load calls itself once: these bytes are the inner call's.
    for (bytes, other) in [("5.9 KiB", "T.Main"), ("3.9 KiB", "T.Load"), ("1000 B", "U.Parse")] {
        has(&method, &[bytes], other);
    }
    let types = lines(WITH_BYTES, |_| Wanted::Groups(GroupBy::Type));
    has(&types, &["7.6 KiB", "8.8 KiB"], "T");
    has(&types, &["1.2 KiB", "1.2 KiB"], "U");
    let has_bytes = |lines: &[Vec<String>]| lines.iter().flatten().any(|cell| cell.contains("bytes"));
    assert!(has_bytes(&method) && has_bytes(&types));
    let without = WITH_BYTES.replace("513", "1");
    for wanted in [(|load| Wanted::Method(vec![load])) as fn(usize) -> Wanted, |_| Wanted::Groups(GroupBy::Type)] {
        assert!(!has_bytes(&lines(&without, wanted)));
    }
}

/// Each method calls the next: looking at all nodes for each of them would take hours.
#[test]
fn edges_of_all_methods_take_one_walk() {
    let count = 200_000;
    let function = |row| Function { method_id: MethodId::new(1, row), name: None, source: None, module: None };
    let nodes: Vec<Node> = (0..count).map(|index| Node { function: index, caller: index.checked_sub(1) }).collect();
    let tree = CallTree {
        number: 1,
        notes: vec![Notes::default(); count],
        nodes,
        values: vec![vec![1; count], vec![10; count]],
        ..CallTree::default()
    };
    let profile = Profile {
        sample_types: vec![SampleType::CALLS, SampleType::WALL],
        functions: (1..=count as u32).map(function).collect(),
        trees: vec![tree],
        ..Profile::default()
    };
    let (names, wanted) = (profile.display_names(), Wanted::Method((0..count).collect()));
    let view = |limit: usize| {
        let options = ViewOptions { limit, ..ViewOptions::default() };
        let (view, rows) = view(&profile, &wanted, &options, &names, &|_| true);
        let View::Method { methods, edges } = &view else { panic!("{view:?}") };
        let text = view.text(&profile, rows, &TextOptions::default());
        (methods.len(), edges.len(), text.lines().filter(|line| line.contains("called by")).count())
    };
    // Each method has a caller, the first one unmeasured code. Each method but the last has a callee.
    assert_eq!(view(usize::MAX), (count, 2 * count - 1, count));
    assert_eq!(view(40), (40, 40, 40));
}

/// A probe takes 27 + 29 us, known to 25 and 40 % of it.
#[test]
fn edges_groups_and_threads_have_no_more_decimals_than_their_error_allows() {
    let text = "profile end=125000 inside=27 outside=29\nmethod 1 T::Loop\nmethod 2 U::Tiny\ntree\n Loop total=125000\n  Tiny \
                calls=1000 total=33000\n";
    let profile = Profile::parse(&builder::build(text)).expect("it is a profile");
    let tiny = profile.display_names().iter().position(|name| name == "U.Tiny").expect("it was called");
    let has = |wanted: Wanted, row: &[&str]| {
        let text = shown(&profile, &wanted, ViewOptions::default());
        let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>() == row;
        assert!(text.lines().any(is_row), "{row:?}:\n{text}");
    };
    has(Wanted::Method(vec![tiny]), &["100", "<7", "0.000", "1000", "T.Loop"]);
    has(Wanted::Groups(GroupBy::Type), &["1", "1000", "<7", "<10", "<7", "<10", "0.000", "U"]);
    has(Wanted::Threads, &["68", "100", "0.000", "1001", "thread", "of", "tree", "1"]);
}

#[test]
fn the_time_of_calls_that_are_only_counted_is_not_known() {
    let text = "profile end=30000 counting=10\nmethod 1 T::All\nmethod 2 U::Leaf\nmethod 3 V::Outer\nmethod 4 W::Slow\ntree\n All \
                total=29000\n  Leaf calls=1000 leaves=0 counted\n  Outer calls=3 leaves=0 counted\n   Slow total=2000\n";
    let profile = Profile::parse(&builder::build(text)).expect("it is a profile");
    let all = profile.display_names().iter().position(|name| name == "T.All").expect("it was called");
    let has = |wanted: &Wanted, row: &[&str]| {
        let text = shown(&profile, wanted, ViewOptions::default());
        let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>() == row;
        assert!(text.lines().any(is_row), "{row:?}:\n{text}");
    };
    has(&Wanted::Tree, &["-", "-", "-", "1000", "U.Leaf", "[counted]"]);
    has(&Wanted::Tree, &["10.54", "2.000", "-", "3", "V.Outer", "[counted]"]);
    has(&Wanted::Method(vec![all]), &["-", "-", "0.000", "1000", "U.Leaf"]);
    has(&Wanted::Groups(GroupBy::Type), &["1", "1000", "-", "-", "-", "-", "0.000", "U"]);
}
