//! Tests of a test suite, and the methods that ran below them.

use std::cmp::Reverse;

use profile::{Profile, SampleType, aggregate::running};
use serde::Serialize;

/// A test. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestRow<'n> {
    /// The function: an index into the profile's functions.
    #[serde(skip)]
    pub function: usize,
    /// Its display name.
    pub test: &'n str,
    /// How often it ran.
    pub runs: i64,
    /// How often the wanted functions were called below it.
    pub calls: i64,
    /// Its running time, with callees.
    pub running_ms: f64,
}

/// Returns the tests below which a wanted function was called, those with most calls first. A test calls itself. Both lists are
/// by function.
pub fn tests<'n>(profile: &Profile, is_test: &[bool], is_wanted: &[bool], names: &'n [String]) -> Vec<TestRow<'n>> {
    let mut sums: Vec<Option<TestRow<'n>>> = vec![None; profile.functions.len()];
    for tree in &profile.trees {
        let [calls, wall, waiting, probes] = [SampleType::CALLS, SampleType::WALL, SampleType::WAITING, SampleType::PROBES]
            .map(|sample_type| profile.flat(tree, sample_type));
        let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default();
        // The outermost test at or above each node; callers precede their callees.
        let mut test_of: Vec<Option<usize>> = Vec::with_capacity(tree.nodes.len());
        for (index, node) in tree.nodes.iter().enumerate() {
            let above = node.caller.and_then(|caller| *test_of.get(caller)?);
            let is_outermost = above.is_none() && is_test.get(node.function) == Some(&true);
            let test = above.or(is_outermost.then_some(node.function));
            test_of.push(test);
            let Some((test, sum)) = test.and_then(|test| Some((test, sums.get_mut(test)?))) else { continue };
            let name = names.get(test).map_or("", String::as_str);
            let row = sum.get_or_insert(TestRow { function: test, test: name, runs: 0, calls: 0, running_ms: 0.0 });
            let called = at(calls, index).max(0);
            row.runs = row.runs.saturating_add(if is_outermost { called } else { 0 });
            row.calls = row.calls.saturating_add(if is_wanted.get(node.function) == Some(&true) { called } else { 0 });
            row.running_ms += profile.milliseconds(running(at(wall, index), at(waiting, index), at(probes, index)));
        }
    }
    let mut rows: Vec<TestRow<'n>> = sums.into_iter().flatten().filter(|row| row.calls > 0).collect();
    rows.sort_by_key(|row| (Reverse(row.calls), row.test));
    rows
}
