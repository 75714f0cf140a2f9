//! Pages: what they say of the limits of their numbers.

use profile::Profile;
use report::html::Page;

use crate::builder;

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
    let page = page(include_str!("../../../profile/tests/cases/limits.txt"));
    assert!(page.contains("\"1000000 of 1000007 calls counted only\""));
    assert!(!page.contains("counted; its time is in its callers\""));
}

#[test]
fn the_clock_that_timed_calls_is_a_fact() {
    let clock = |case: &str| page(case).contains("\"clock\":\"stopwatch\"");
    assert!(clock(include_str!("../../../profile/tests/cases/own_cost.txt")));
    assert!(!clock(include_str!("../../../profile/tests/cases/samples.txt")));
}

/// The flame graph adds them up.
#[test]
fn each_path_has_its_own_bytes() {
    let page = page(include_str!("../../../profile/tests/cases/allocations.txt"));
    for (depths, bytes) in [("[0,1,2]", "[2898500,2095904,4096]"), ("[0,1,1]", "[7800,100,700]")] {
        let tree = page.split("{\"name\":\"thread of tree ").find(|tree| tree.contains(&format!("\"depth\":{depths},")));
        let tree = tree.and_then(|tree| tree.split('}').next()).expect("it is there");
        assert!(tree.contains(&format!("\"bytes\":{bytes}")), "{tree}");
    }
}

#[test]
fn a_page_of_rough_times_has_a_banner() {
    let much = page(include_str!("../../../profile/tests/cases/much_overhead.txt"));
    let banner = "\"attention\":[\"measuring overhead was 58 % of thread time (56000 ns a call): times are rough. Measure with less:\",\
                  \"ilinst run --sample -- COMMAND  # on Linux, without probes\",\"ilinst run --exclude 'Shop.Program::Tiny' --exclude \
                  'Shop.Program::Small' --exclude 'Shop.Program::Trim' -- COMMAND  # 100 % less overhead\"]";
    assert!(much.contains(banner), "{much}");
    assert!(page(include_str!("../../../profile/tests/cases/own_cost.txt")).contains("\"attention\":[]"));
}
