//! A large profile: 100,000 call paths.

use names::MethodId;
use profile::{
    CallTree, Profile, SampleType,
    model::{Function, MethodName, Node, Notes},
};
use tests::{Browser, scratch};

use crate::{SHOP, builder};

const PATHS: usize = 100_000;

/// Returns a tree with this number of paths of 3,000 functions, partly wide and partly deep.
fn large(paths: usize) -> Profile {
    let mut profile = Profile::parse(&builder::build(SHOP)).expect("it is a profile");
    let function = |index: usize| Function {
        method_id: MethodId::new(1, index as u32 + 1),
        name: Some(MethodName {
            type_name: format!("Shop.Part{}.Type{}", index % 12, index % 150),
            method: format!("Method{index}"),
        }),
        source: None,
        module: Some(0),
    };
    profile.functions = (0..3000).map(function).collect();
    // Pseudo-random numbers, the same in each run.
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut nodes = vec![Node { function: 0, caller: None }];
    for index in 1..paths {
        let caller = if random(3) == 0 { random(index) } else { index - 1 - random(index.min(20)) };
        nodes.push(Node { function: random(3000), caller: Some(caller) });
    }
    let value = |what: SampleType, index: usize| match what {
        SampleType::CALLS => 1 + index as i64 % 50,
        SampleType::WALL => 1 + (index as i64 * 7919) % 1000,
        _ => 0,
    };
    let values = profile.sample_types.iter().map(|what| (0..paths).map(|index| value(*what, index)).collect()).collect();
    let notes = vec![Notes::default(); paths];
    profile.trees = vec![CallTree { number: 1, threads: 1, nodes, notes, values, ..CallTree::default() }];
    profile.statistics = vec![None; 3000];
    profile.exception_types = vec![None; 3000];
    profile
}

#[test]
#[ignore = "needs Chromium"]
fn a_hundred_thousand_paths_are_shown() {
    let page = scratch("html-large").join("large.html");
    let profile = large(PATHS);
    let mut file = std::fs::File::create(&page).expect("it can be made");
    report::html::Page::report(&profile, &[]).write(&mut file).expect("it can be written");
    let Some(mut browser) = Browser::start("large", 1400, 900) else { return };
    browser.open(&page, "");
    browser.settle();
    let calls: i64 = profile.flat(&profile.trees[0], SampleType::CALLS).iter().sum();
    let text = browser.eval("document.getElementById('tiles').textContent");
    assert!(text.as_str().is_some_and(|text| text.contains(&crate::count(calls as f64))), "{text}");
    // Only visible rows are in the document.
    for view in ["table", "tree"] {
        browser.click(&format!("[data-view={view}]"));
        browser.settle();
        let rows = browser.eval(
            "[document.querySelectorAll('.rows .row').length, Number(document.querySelector('[aria-rowcount]').ariaRowCount)]",
        );
        assert!(rows[0].as_u64() < Some(100) && rows[1].as_u64() > Some(10), "{view}: {rows}");
    }
    browser.click("[data-view=table]");
    browser.key("2");
    browser.key("End");
    let least = browser.eval(
        "[document.querySelector('.rows .selected .method').textContent, document.querySelector('.table').scrollTop > 10000]",
    );
    assert_eq!(least[1], true, "{least}");
    // The times are printed for `docs/html.md`.
    let times = browser.eval(
        "(async () => {
           App.set({ view: 'flame' });
           const { flame } = App.views;
           const measure = (work) => { const began = performance.now(); work(); return performance.now() - began; };
           const [navigation] = performance.getEntriesByType('navigation');
           const frames = [];
           for (const node of [1, 5, 50, 500, 5000, 0]) {
             flame.zoom(node);
             await new Promise((done) => setTimeout(done, 250));
             frames.push(measure(() => flame.paint()));
           }
           return {
             openedMs: navigation.loadEventEnd,
             frameMs: frames,
             drawn: flame.painted,
             searchMs: measure(() => App.set({ search: 'Method12' })),
             sortMs: measure(() => App.set({ search: '', view: 'table', sort: 'name' })),
           };
         })()",
    );
    println!("{} MB: {times}", std::fs::metadata(&page).expect("it is there").len() as f64 / 1e6);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
