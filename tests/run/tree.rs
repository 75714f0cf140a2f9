//! Call trees of woven programs: who called whom, as the samples' sources say, and how times add up.

use std::{collections::BTreeMap, env, fs};

use names::source_name;
use profile::{Profile, SampleType};
use tests::root;

/// Compares a profile with `calls/NAME.txt`, which says how often each method calls each other one. `BLESS=1` writes what
/// the profile says: whoever changes a sample proves that by its source.
pub(crate) fn check(profile: &Profile, name: &str) {
    let file = root().join("tests/run/calls").join(name).with_extension("txt");
    let calls = calls(profile);
    if env::var_os("BLESS").is_some() {
        fs::write(&file, &calls).expect("it can be written");
    }
    assert_eq!(fs::read_to_string(&file).expect("it can be read"), calls, "{}", file.display());
    check_times(profile);
}

/// `caller -> callee: calls`. What the compiler made is left out: runtimes differ in when they run its initializers.
fn calls(profile: &Profile) -> String {
    let mut calls: BTreeMap<(String, String), i64> = BTreeMap::new();
    for tree in &profile.trees {
        for (node, count) in tree.nodes.iter().zip(profile.flat(tree, SampleType::CALLS)) {
            let caller = node.caller.map(|caller| tree.nodes[caller].function);
            *calls.entry((name(profile, caller), name(profile, Some(node.function)))).or_default() += *count;
        }
    }
    calls.retain(|(_, callee), _| !callee.starts_with("Count") && !callee.contains("/<") && !callee.starts_with('<'));
    calls.iter().map(|((caller, callee), calls)| format!("{caller} -> {callee}: {calls}\n")).collect()
}

fn name(profile: &Profile, function: Option<usize>) -> String {
    let Some(function) = function else { return "(thread)".to_owned() };
    let name = profile.functions[function].name.as_ref().expect("every method is named");
    let source = source_name(&name.type_name, &name.method);
    source.map_or_else(|| format!("{}::{}", name.type_name, name.method), |source| source.to_string())
}

/// No method's callees take longer than it does, and no thread's than the run.
pub(crate) fn check_times(profile: &Profile) {
    for tree in &profile.trees {
        let own = profile.flat(tree, SampleType::WALL);
        for (node, own) in tree.nodes.iter().zip(own) {
            assert!(*own >= 0, "{}: its callees took {} ticks longer", name(profile, Some(node.function)), -own);
        }
        let of_thread: i64 = own.iter().sum();
        assert!(0 < of_thread && of_thread <= profile.duration, "{of_thread} of {} ticks", profile.duration);
    }
}
