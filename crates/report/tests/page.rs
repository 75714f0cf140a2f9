//! Pages: what they say of the limits of their numbers.

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../profile/tests/builder/mod.rs"]
mod builder;

use profile::Profile;
use report::html::Page;

/// The page of a case of `crates/profile/tests/cases`.
fn page(case: &str) -> String {
    let bytes = builder::build(case.split_once("----\n").expect("a case").0);
    let profile = Profile::parse(&bytes).expect("it is a profile");
    let mut page = Vec::new();
    Page::report(&profile, &[]).write(&mut page).expect("memory takes it");
    String::from_utf8(page).expect("it is text")
}

#[test]
fn a_method_that_is_counted_on_some_paths_has_a_time() {
    let page = page(include_str!("../../profile/tests/cases/limits.txt"));
    assert!(page.contains("\"1000000 of 1000007 calls counted only\""));
    assert!(!page.contains("counted; its time is in its callers\""));
}

#[test]
fn the_clock_that_timed_calls_is_a_fact() {
    let clock = |case: &str| page(case).contains("\"clock\":\"stopwatch\"");
    assert!(clock(include_str!("../../profile/tests/cases/own_cost.txt")));
    assert!(!clock(include_str!("../../profile/tests/cases/samples.txt")));
}
