//! Callers and callees: of a call that is made again below itself, the time is the outermost's.

#[allow(dead_code, reason = "not all of it is needed here")]
mod builder;

use profile::{Profile, report::SortBy, views::Relation};

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
    let edges = profile.edges(&[load], SortBy::Total, &names);
    let found: Vec<(Relation, &str, i64, f64)> =
        edges.iter().map(|edge| (edge.relation, edge.name, edge.calls, edge.total_ms)).collect();
    // Of a clock of 1 MHz.
    let expected = [
        (Relation::Caller, "T.Main", 3, 0.6),
        (Relation::Caller, "T.Load", 12, 0.4),
        (Relation::Callee, "T.Load", 12, 0.4),
        (Relation::Callee, "T.Parse", 10, 0.15),
    ];
    assert_eq!(found, expected);
}
