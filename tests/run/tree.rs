//! Call trees of woven programs: who called whom, as the samples' sources say, and how times add up.

use std::{collections::BTreeMap, env, fs};

use identity::source_name;
use profile::Profile;
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
    let mut calls: BTreeMap<(String, String), u64> = BTreeMap::new();
    for tree in &profile.trees {
        for node in &tree.nodes {
            let Some(caller) = node.caller.and_then(|caller| tree.nodes.get(caller)) else { continue };
            *calls.entry((name(profile, caller.method_id), name(profile, node.method_id))).or_default() += node.calls;
        }
    }
    calls.retain(|(_, callee), _| !callee.starts_with("Count") && !callee.contains("/<") && !callee.starts_with('<'));
    calls.iter().map(|((caller, callee), calls)| format!("{caller} -> {callee}: {calls}\n")).collect()
}

fn name(profile: &Profile, id: u64) -> String {
    if id == 0 {
        return "(thread)".to_owned();
    }
    let name = profile.methods.get(&id).expect("every method is named");
    let source = source_name(&name.type_name, &name.method);
    source.map_or_else(|| format!("{}::{}", name.type_name, name.method), |source| source.to_string())
}

/// No method's callees take longer than it does, and no thread's than the run.
fn check_times(profile: &Profile) {
    for tree in &profile.trees {
        for (callees, node) in tree.callees().iter().zip(&tree.nodes) {
            let of_callees: u64 = callees.iter().map(|callee| tree.nodes[*callee].total).sum();
            let total = if node.method_id == 0 { profile.wall_ticks() } else { node.total };
            assert!(of_callees <= total, "{}: {total} ticks, {of_callees} in callees", name(profile, node.method_id));
        }
        let (callees, own) = (tree.callees(), tree.self_ticks());
        let of_threads: u64 = callees[0].iter().map(|callee| tree.nodes[*callee].total).sum();
        assert!(of_threads > 0 && own[1..].iter().sum::<u64>() == of_threads, "own times make the whole");
    }
}
