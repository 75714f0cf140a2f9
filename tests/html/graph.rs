//! The flame graph: frames have the places, widths and numbers of the profile.

use profile::{CallTree, Profile, SampleType};

use crate::{SHOP, Shown, builder, count, percent, time};

/// The height of a frame in pixels.
const FRAME: f64 = 22.0;

/// The expected places of frames, as parts of the graph's width.
struct Layout {
    tree: CallTree,
    names: Vec<String>,
    /// Total value, own value and number of calls of each frame.
    total: Vec<i64>,
    own: Vec<i64>,
    calls: Vec<i64>,
    depth: Vec<usize>,
    from: Vec<f64>,
    all: i64,
}

impl Layout {
    /// Computes the layout from a value for each path of the merged tree.
    fn of(profile: &Profile, own: impl Fn(&dyn Fn(SampleType) -> i64) -> i64) -> Self {
        let tree = profile.merged_tree();
        let at = |index: usize, what| profile.flat(&tree, what).get(index).copied().unwrap_or_default();
        let own: Vec<i64> = (0..tree.nodes.len()).map(|index| own(&|what| at(index, what))).collect();
        let calls = (0..tree.nodes.len()).map(|index| at(index, SampleType::CALLS)).collect();
        let mut total = own.clone();
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            if let Some(caller) = node.caller {
                total[caller] += total[index];
            }
        }
        let all: i64 = tree.nodes.iter().zip(&total).filter(|(node, _)| node.caller.is_none()).map(|(_, total)| total).sum();
        let (callees, mut from, mut depth) = (tree.callees(), vec![0.0; own.len()], vec![1; own.len()]);
        for caller in std::iter::once(None).chain((0..own.len()).map(Some)) {
            let mut next = caller.map_or(0.0, |caller| from[caller]);
            let mut below = callees.called_by(caller).to_vec();
            below.sort_by_key(|index| std::cmp::Reverse(total[*index]));
            for index in below {
                (from[index], depth[index]) = (next, caller.map_or(1, |caller| depth[caller] + 1));
                next += total[index] as f64 / all as f64;
            }
        }
        Self { names: profile.display_names(), tree, total, own, calls, depth, from, all }
    }

    fn width(&self, index: usize) -> f64 {
        self.total[index] as f64 / self.all as f64
    }

    fn name(&self, index: usize) -> &str {
        &self.names[self.tree.nodes[index].function]
    }
}

impl Shown {
    /// Clicks in a row, at a part of the graph's width.
    pub(crate) fn click_frame(&mut self, part: f64, row: f64) {
        let place = self.browser.eval(
            "(() => { const b = document.querySelector('canvas').getBoundingClientRect(); return [b.x, b.y, b.width]; })()",
        );
        let number = |index: usize| place[index].as_f64().expect("a number");
        self.browser.click_at(number(0) + part * number(2), number(1) + (row + 0.5) * FRAME);
    }

    /// Waits until the graph no longer moves.
    pub(crate) fn rest(&mut self) {
        self.browser.wait("App.views.flame.animation === 0");
        self.browser.settle();
    }

    /// Returns a fact from the line below the graph.
    pub(crate) fn detail(&mut self, fact: &str) -> String {
        self.texts(&format!("#detail [data-fact='{fact}'] b")).concat()
    }
}

/// Clicks at each frame of the whole graph, and checks the shown numbers against the profile.
fn check_frames(shown: &mut Shown, layout: &Layout, say: impl Fn(f64) -> String) {
    for index in 0..layout.own.len() {
        if layout.width(index) * 1168.0 < 2.0 {
            continue;
        }
        shown.browser.click("#reset");
        shown.rest();
        shown.click_frame(layout.from[index] + layout.width(index) / 2.0, layout.depth[index] as f64);
        let (total, own) = (layout.total[index] as f64, layout.own[index] as f64);
        assert_eq!(shown.text("#detail .method"), layout.name(index));
        assert_eq!(
            shown.detail("total"),
            format!("{} ({})", say(total), percent(total, layout.all as f64)),
            "{}",
            layout.name(index)
        );
        assert_eq!(shown.detail("self"), say(own), "{}", layout.name(index));
        if !shown.detail("calls").is_empty() {
            assert_eq!(shown.detail("calls"), count(layout.calls[index] as f64), "{}", layout.name(index));
        }
        // The frame is now as wide as the graph.
        for part in [0.002, 0.998] {
            shown.rest();
            shown.click_frame(part, layout.depth[index] as f64);
            assert_eq!(shown.text("#detail .method"), layout.name(index));
        }
    }
}

fn running(value: &dyn Fn(SampleType) -> i64) -> i64 {
    value(SampleType::WALL) - value(SampleType::WAITING) - value(SampleType::PROBES)
}

#[test]
#[ignore = "needs Chromium"]
fn frames_are_what_the_profile_says() {
    let Some(mut shown) = Shown::of("frames", SHOP) else { return };
    let ticks = shown.profile.ticks_per_second as f64 / 1e3;
    let layout = Layout::of(&shown.profile, running);
    assert!(layout.own.len() > 8);
    check_frames(&mut shown, &layout, |value| time(value / ticks));
    shown.choose("metric", "waiting");
    let layout = Layout::of(&shown.profile, |value| value(SampleType::WAITING));
    check_frames(&mut shown, &layout, |value| time(value / ticks));
    shown.choose("metric", "calls");
    let layout = Layout::of(&shown.profile, |value| value(SampleType::CALLS));
    check_frames(&mut shown, &layout, count);
}

#[test]
#[ignore = "needs Chromium"]
fn frames_of_a_thread_and_of_a_phase_are_their_own() {
    let Some(mut shown) = Shown::of("frames-thread", SHOP) else { return };
    let ticks = shown.profile.ticks_per_second as f64 / 1e3;
    for thread in 0..2 {
        shown.choose("threads", &thread.to_string());
        let alone = Profile { trees: vec![shown.profile.trees[thread].clone()], ..shown.profile.clone() };
        check_frames(&mut shown, &Layout::of(&alone, running), |value| time(value / ticks));
    }
    let phases = include_str!("../../crates/profile/tests/cases/phases.txt");
    let bytes = builder::build(phases.split_once("----").map_or(phases, |(text, _)| text));
    let phase = Profile::parse_phase(&bytes, "loop").expect("it is a profile").expect("it has the phase");
    let mut shown = Shown::of("frames-phase", phases.split_once("----").map_or(phases, |(text, _)| text)).expect("a browser");
    shown.choose("phase", "1");
    let layout = Layout::of(&phase, running);
    assert!(layout.all > 0);
    let ticks = phase.ticks_per_second as f64 / 1e3;
    check_frames(&mut shown, &layout, |value| time(value / ticks));
}

#[test]
#[ignore = "needs Chromium"]
fn sampled_profiles_have_cpu_time() {
    let sampled = "
profile mode=1 end=300000 cpu=290000000
method 1 Shop.Program::Main
method 2 Shop.Program::Hot
method 3 Shop.Program::Cold
tree current=main
 Main label=main leaves=0 total=10000 start=10 cpu=9000000
  Hot calls=1000000 total=250000 start=250 cpu=250000000
   Cold calls=7 total=40000 start=40 cpu=1000000
";
    let Some(mut shown) = Shown::of("sampled", sampled) else { return };
    shown.choose("metric", "cpu");
    let layout = Layout::of(&shown.profile, |value| value(SampleType::CPU));
    check_frames(&mut shown, &layout, |value| time(value / 1e6));
}

#[test]
#[ignore = "needs Chromium"]
fn counted_profiles_have_calls_alone() {
    let counted = "
profile mode=2 end=300000
method 1 Shop.Program::Main
method 2 Shop.Program::Hot
counter Main calls=1
counter Hot calls=2000
";
    let Some(mut shown) = Shown::of("counted", counted) else { return };
    let layout = Layout::of(&shown.profile, |value| value(SampleType::CALLS));
    check_frames(&mut shown, &layout, count);
    assert!(!shown.text("#tiles").contains("Running"), "{}", shown.text("#tiles"));
    shown.browser.key("2");
    assert_eq!(shown.texts(".table .head button"), ["Method", "Calls"]);
}

#[test]
#[ignore = "needs Chromium"]
fn a_flame_stands_on_its_root() {
    let Some(mut shown) = Shown::of("flame", SHOP) else { return };
    shown.choose("direction", "flame");
    let height = shown.browser.eval("document.querySelector('canvas').clientHeight").as_f64().expect("a number");
    shown.click_frame(0.1, height / FRAME - 2.0);
    assert_eq!(shown.text("#detail .method"), "Shop.Program.Main");
    shown.browser.key("ArrowUp");
    assert_eq!(shown.text("#detail .method"), "Shop.Orders.Store.Load");
    shown.browser.key("i");
    shown.rest();
    shown.click_frame(0.1, 1.0);
    assert_eq!(shown.text("#detail .method"), "Shop.Program.Main");
}

#[test]
#[ignore = "needs Chromium"]
fn the_keyboard_is_enough() {
    let Some(mut shown) = Shown::of("keyboard", SHOP) else { return };
    shown.browser.key("2");
    shown.browser.key("1");
    let mut press = |key: &str, expected: &str| {
        shown.browser.key(key);
        shown.rest();
        assert_eq!(shown.text("#detail .method"), expected, "{key}");
    };
    press("ArrowDown", "Shop.Program.Main");
    press("ArrowRight", "Shop.Worker.Run");
    press("ArrowLeft", "Shop.Program.Main");
    press("ArrowDown", "Shop.Orders.Store.Load");
    press("Enter", "Shop.Orders.Store.Load");
    press("ArrowDown", "Shop.Orders.Price.Sum");
    press("ArrowUp", "Shop.Orders.Store.Load");
    press("Escape", "Shop.Program.Main");
    press("Home", "all threads");
    // The search, and its matches one after another.
    shown.browser.key("/");
    shown.browser.type_text("price.sum");
    assert!(shown.text("#found").starts_with("1 method, "), "{}", shown.text("#found"));
    shown.browser.key("Enter");
    assert_eq!(shown.text("#detail .method"), "Shop.Orders.Price.Sum");
    assert!(shown.browser.eval("location.hash").as_str().is_some_and(|hash| hash.contains("search=price.sum")));
    shown.browser.key("Escape");
    assert_eq!(shown.text("#found"), "");
    shown.browser.key("Escape");
    shown.browser.key("c");
    assert_eq!(shown.text(".card h2"), "Shop.Orders.Price.Sum");
    shown.browser.key("?");
    assert_eq!(shown.browser.eval("document.getElementById('keys').open"), true);
}

#[test]
#[ignore = "needs Chromium"]
fn what_is_found_is_a_share_of_all() {
    let Some(mut shown) = Shown::of("found", SHOP) else { return };
    shown.browser.click("#search");
    shown.browser.type_text("re:Load|Sum");
    // Load on both threads with the Sum below it, and the Sum beside it.
    let total = shown.profile.milliseconds(shown.profile.running());
    assert_eq!(shown.text("#found"), format!("2 methods, {}", percent(350.0 + 70.0 + 50.0, total)));
    // Frames that do not match are dimmed.
    let picture = "document.querySelector('canvas').toDataURL()";
    let dim = shown.browser.eval(picture);
    shown.browser.key("Escape");
    assert_ne!(shown.browser.eval(picture), dim);
    shown.browser.type_text("re:(");
    assert_eq!(shown.browser.eval("document.getElementById('search').getAttribute('aria-invalid')"), "true");
}
