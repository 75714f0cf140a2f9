//! `ilinst compare --html`: the table shows the comparison, and the graph shows both sides.

use std::{fs, path::Path};

use serde_json::Value;
use tests::{Browser, ilinst, said, scratch};

use crate::{Shown, builder, count, time};

const METHODS: &str = "
module assembly=Shop,Version=1 name=shop.dll
method 1 Shop.Program::Main
method 2 Shop.Orders.Store::Load
method 3 Shop.Orders.Price::Sum
method 4 Shop.Old::Parse
method 5 Shop.Fresh::Parse
method 6 Shop.Steady::Work
";

/// Returns a run of a side; times differ a little between its three runs.
fn run(is_new: bool, noise: u64) -> String {
    let tree = if is_new {
        format!(
            " Main calls=1 total=900000\n  Load calls=70 total={}\n   Sum calls=240 total=150000\n  \
             Parse calls=5 total=90000\n  Work calls=9 total={}\n",
            400_000 + noise,
            100_000 + noise
        )
    } else {
        format!(
            " Main calls=1 total=700000\n  Load calls=60 total={}\n   Sum calls=240 total=150000\n  \
             Gone calls=8 total=60000\n  Work calls=9 total={}\n",
            200_000 + noise,
            100_400 + noise
        )
    };
    let methods = if is_new { METHODS.to_owned() } else { METHODS.replace("Shop.Old::Parse", "Shop.Old::Gone") };
    format!("profile end=900000{methods}tree\nthread 1 Main\n{tree}")
}

/// Returns the arguments that name three runs of each side.
fn sides(folder: &Path) -> Vec<String> {
    let mut arguments = Vec::new();
    for (option, is_new) in [("--base", false), ("--new", true)] {
        arguments.push(option.to_owned());
        for index in 0..3 {
            let file = folder.join(format!("{option}-{index}.ilprof"));
            fs::write(&file, builder::build(&run(is_new, 700 * index))).expect("it can be written");
            arguments.push(file.display().to_string());
        }
    }
    arguments
}

#[test]
#[ignore = "needs Chromium"]
fn a_filter_leaves_the_paths_that_lead_to_what_it_names() {
    let folder = scratch("html-compare-filter");
    let page = folder.join("changes.html");
    let options = ["--filter", "Price.Sum", "--filter", "Shop.Old.*", "--fail-if", "new"];
    let mut compare = ilinst();
    compare.arg("compare").args(sides(&folder)).args(options).arg("--html").arg(&page);
    let made = said(&compare.output().expect("ilinst runs"));
    assert_eq!((made.0.as_str(), made.1.as_str(), made.2), ("", "", Some(0)), "what is new is filtered out");
    let Some(mut browser) = Browser::start("compare-filter", 1400, 800) else { return };
    browser.open(&page, "view=table");
    let names = "[...document.querySelectorAll('.rows .row .method')].map((name) => name.textContent)";
    assert_eq!(browser.eval(names), serde_json::json!(["Shop.Orders.Price.Sum", "Shop.Old.Gone"]));
    let paths = "[...App.tree.fn].map((fn) => FUNCTIONS.name(fn)).slice(1)";
    let expected = ["Shop.Program.Main", "Shop.Orders.Store.Load", "Shop.Orders.Price.Sum", "Shop.Old.Gone"];
    assert_eq!(browser.eval(paths), serde_json::json!(expected));
    browser.key("4");
    let tile = browser.eval("[...document.querySelectorAll('#tiles div')].map((tile) => tile.textContent).slice(-2)");
    assert_eq!(tile, serde_json::json!(["slower, faster0, 0", "new, gone0, 1"]));
}

#[test]
#[ignore = "needs Chromium"]
fn both_sides_are_shown() {
    let folder = scratch("html-compare");
    let arguments = sides(&folder);
    let page = folder.join("changes.html");
    let made = said(&ilinst().arg("compare").args(&arguments).arg("--html").arg(&page).output().expect("ilinst runs"));
    assert_eq!((made.0.as_str(), made.2), ("", Some(0)), "{}", made.1);
    let json = said(&ilinst().args(["compare", "--json"]).args(&arguments).output().expect("ilinst runs")).0;
    let comparison: Value = serde_json::from_str(&json).expect("it is JSON");
    let profile = profile::Profile::parse(&builder::build(&run(true, 0))).expect("it is a profile");
    let Some(mut browser) = Browser::start("compare", 1400, 800) else { return };
    browser.open(&page, "");
    let mut shown = Shown { browser, profile, file: page.clone(), page };

    // The table: medians and verdicts, slowest changes first.
    shown.browser.key("2");
    let columns = ["self-base", "self-new", "self-change", "total-base", "total-new", "calls-base", "calls-new"];
    let mut methods: Vec<&Value> = comparison["methods"].as_array().expect("a list").iter().collect();
    let number = |method: &Value, metric: &str, side: &str| method[metric][side].as_f64().expect("a number");
    methods.sort_by(|one, other| {
        let [one_change, other_change] = [one, other].map(|method| number(method, "self", "change"));
        other_change.total_cmp(&one_change).then_with(|| one["name"].as_str().cmp(&other["name"].as_str()))
    });
    let expected: Vec<Vec<String>> = methods
        .iter()
        .map(|method| {
            let cell = |column: &&str| {
                let (metric, side) = column.split_once('-').expect("two words");
                let value = number(method, metric, side);
                match (metric, side) {
                    ("calls", _) => count(value),
                    (_, "change") if value > 0.0 => format!("+{}", time(value)),
                    (_, "change") if value < 0.0 => format!("−{}", time(-value)),
                    _ => time(value),
                }
            };
            let verdict = method["verdict"].as_str().filter(|verdict| *verdict != "same").unwrap_or_default();
            let name = format!("{} {verdict}", method["name"].as_str().expect("a name"));
            std::iter::once(name).chain(columns.iter().map(cell)).collect()
        })
        .collect();
    let script = format!(
        "[...document.querySelectorAll('.table .rows .row')].map((row) => [
           row.querySelector('.method').textContent + ' ' + (row.querySelector('.remark')?.textContent ?? ''),
           ...{}.map((column) => row.querySelector(`[data-column=${{column}}]`).textContent)])",
        Value::from(columns.to_vec())
    );
    assert_eq!(shown.browser.eval(&script), serde_json::json!(expected));
    let verdicts: Vec<&str> = methods.iter().filter_map(|method| method["verdict"].as_str()).collect();
    for verdict in ["slower", "new", "gone", "same"] {
        assert!(verdicts.contains(&verdict), "{verdicts:?}");
    }

    // The graph: removed methods have no width in the new runs, and their whole width in the base.
    shown.browser.key("1");
    let width = "(() => {
       const { layout, tree } = App.views.flame;
       return layout.width[[...tree.fn].findIndex((fn) => FUNCTIONS.name(fn) === 'Shop.Old.Gone')] * MS;
     })()";
    assert_eq!(shown.browser.eval(width), 0.0);
    shown.choose("widths", "base");
    assert_eq!(shown.browser.eval(width), 60.0);
    for (widths, part, name, facts) in [
        ("new", 0.2, "Shop.Orders.Store.Load", ["201 ms", "401 ms", "+200 ms +100 %"]),
        ("base", 0.2, "Shop.Orders.Store.Load", ["201 ms", "401 ms", "+200 ms +100 %"]),
    ] {
        shown.choose("widths", widths);
        shown.browser.click("#reset");
        shown.rest();
        shown.click_frame(part, 2.0);
        assert_eq!(shown.text("#detail .method"), name);
        assert_eq!(["base", "new", "change"].map(|fact| shown.detail(fact)), facts);
        shown.rest();
    }
    // Warm colours for slower methods, cold colours for faster ones.
    let colour = |shown: &mut Shown, name: &str| {
        let script = format!(
            "(() => {{
               const {{ tree, palette }} = App;
               const node = [...tree.fn].findIndex((fn) => FUNCTIONS.name(fn) === '{name}');
               return palette.colour(tree.fn[node], node);
             }})()"
        );
        let colour = shown.browser.eval(&script);
        colour.as_str().and_then(|text| text.trim_end_matches(')').rsplit(' ').next()?.parse::<f64>().ok()).expect("a hue")
    };
    assert_eq!(colour(&mut shown, "Shop.Orders.Store.Load"), 35.0);
    assert_eq!(colour(&mut shown, "Shop.Fresh.Parse"), 35.0);
    assert_eq!(colour(&mut shown, "Shop.Old.Gone"), 250.0);
    // Paler colours for changes that may be noise.
    let pale = "(() => {
       const { tree, palette } = App;
       const node = [...tree.fn].findIndex((fn) => FUNCTIONS.name(fn) === 'Shop.Steady.Work');
       const [base, now] = [palette.base[node], palette.now[node]];
       const ratio = (now - base) / Math.max(base, now);
       const colour = palette.colour(tree.fn[node], node);
       return [ratio !== 0, colour === palette.shade(ratio), colour === palette.shade(ratio / 4)];
     })()";
    assert_eq!(shown.browser.eval(pale), serde_json::json!([true, false, true]));

    // Tree, callers and callees.
    shown.browser.key("3");
    let main = shown.texts(".rows .row:nth-child(2) .number");
    assert_eq!(main, ["700 ms", "900 ms", "+200 ms", "+29 %"]);
    shown.browser.key("4");
    assert_eq!(shown.text("[data-column=self-base]"), time(number(methods[0], "self", "base")));
}

#[test]
#[ignore = "needs Chromium"]
fn bytes_of_both_sides_are_shown() {
    let folder = scratch("html-compare-bytes");
    let page = folder.join("changes.html");
    for (name, bytes) in [("base", 1000), ("new", 3048)] {
        let tree = format!(" Main total=700000 bytes={}\n  Load calls=60 total=200000 bytes={bytes}\n", bytes + 24);
        let text = format!("profile end=900000 flags=513{METHODS}tree\nthread 1 Main\n{tree}");
        fs::write(folder.join(name).with_extension("ilprof"), builder::build(&text)).expect("it can be written");
    }
    let mut compare = ilinst();
    let output = compare.current_dir(&folder).args(["compare", "base.ilprof", "new.ilprof", "--html"]).arg(&page).output();
    assert_eq!(said(&output.expect("ilinst runs")).2, Some(0));
    let Some(mut browser) = Browser::start("compare-bytes", 1400, 800) else { return };
    browser.open(&page, "view=table");
    let cells = "[...document.querySelectorAll('.rows .row')].map((row) => ['bytes-base', 'bytes-new', 'bytes-change',
       'total-bytes-change'].map((column) => row.querySelector(`[data-column=${column}]`).textContent)).sort()";
    let expected = [["1000 B", "3.0 KiB", "+2.0 KiB", "+2.0 KiB"], ["24 B", "24 B", "0", "+2.0 KiB"]];
    assert_eq!(browser.eval(cells), serde_json::json!(expected));
    browser.open(&page, "metric=bytes");
    assert_eq!(browser.eval("App.state.metric"), "bytes");
    let sums = "[App.tree.total('bytes', true)[0], App.tree.total('bytes')[0]]";
    assert_eq!(browser.eval(sums), serde_json::json!([1024, 3072]));
}
