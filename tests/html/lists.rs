//! The table, the tree, callers and callees, threads and phases.

use profile::rows::SortBy;
use report::views::{edges, paths};
use serde_json::Value;

use crate::{SHOP, Shown, count, percent, time};

/// The columns of the table, with their fields in the report.
const SHOWN: &[(&str, &str)] = &[
    ("self", "selfMs"),
    ("total", "totalMs"),
    ("waiting", "waitingMs"),
    ("calls", "calls"),
    ("average", "averageMs"),
    ("p50", "p50Ms"),
    ("p95", "p95Ms"),
    ("max", "maxMs"),
    ("first", "firstMs"),
    ("exceptions", "exceptions"),
];

/// Returns the expected text of a cell.
fn cell(column: &str, field: &str, row: &Value) -> String {
    let error = match column {
        "self" => row["selfUncertaintyMs"].as_f64(),
        "total" => row["totalUncertaintyMs"].as_f64(),
        _ => None,
    };
    match (column, row[field].as_f64()) {
        (_, None) => String::new(),
        ("calls" | "exceptions", Some(number)) => count(number),
        (_, Some(ms)) => error.map_or_else(|| time(ms), |error| rough_time(ms, error)),
    }
}

/// Returns a time without the digits that its possible error makes meaningless.
fn rough_time(ms: f64, error: f64) -> String {
    if error <= 0.0 {
        return time(ms);
    }
    if ms < error {
        let size = 10_f64.powf(error.log10().floor());
        return format!("< {}", time((error / size).ceil() * size));
    }
    let size = [1e3, 1.0, 1e-3].into_iter().find(|size| ms >= *size).unwrap_or(1e-6);
    let digits = (-(error / size).log10()).ceil().max(0.0) as usize;
    let (value, unit) = time(ms).split_once(' ').map(|(value, unit)| (value.to_owned(), unit.to_owned())).expect("it has a unit");
    let shown = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{:.digits$} {unit}", value.parse::<f64>().expect("a number"), digits = digits.min(shown))
}

impl Shown {
    /// Returns the rows of the table in their order: the name, and the cells of some columns.
    fn rows(&mut self, columns: &[&str]) -> Vec<Vec<String>> {
        let script = format!(
            "[...document.querySelectorAll('.table .rows .row')]
               .sort((one, other) => parseFloat(one.style.top) - parseFloat(other.style.top))
               .map((row) => [
                 row.querySelector('.method').textContent,
                 ...{}.map((column) => row.querySelector(`[data-column=${{column}}]`)?.textContent ?? '')
               ])",
            Value::from(columns.to_vec())
        );
        let rows = self.browser.eval(&script);
        let texts =
            |row: &Value| row.as_array().expect("cells").iter().map(|cell| cell.as_str().expect("text").to_owned()).collect();
        rows.as_array().expect("rows").iter().map(texts).collect()
    }

    /// Compares the table with a report, in the order of one of its fields.
    fn check_table(&mut self, report: &Value, field: &str, descending: bool, columns: &[(&str, &str)]) {
        let mut methods: Vec<&Value> = report["methods"].as_array().expect("a list").iter().collect();
        let number = |row: &Value| row[field].as_f64();
        methods.sort_by(|one, other| {
            let order = match (number(one), number(other)) {
                (Some(one), Some(other)) if descending => other.total_cmp(&one),
                (Some(one), Some(other)) => one.total_cmp(&other),
                (one, other) => other.is_some().cmp(&one.is_some()),
            };
            order.then_with(|| one["name"].as_str().cmp(&other["name"].as_str()))
        });
        let expected: Vec<Vec<String>> = methods
            .iter()
            .map(|row| {
                let cells = columns.iter().map(|(column, field)| cell(column, field, row));
                std::iter::once(row["name"].as_str().expect("a name").to_owned()).chain(cells).collect()
            })
            .collect();
        let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
        assert_eq!(self.rows(&names), expected, "by {field}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_table_is_the_report_however_it_is_sorted() {
    let Some(mut shown) = Shown::of("table", SHOP) else { return };
    let report = shown.report(&[]);
    shown.browser.click("[data-view=table]");
    shown.check_table(&report, "selfMs", true, SHOWN);
    for (place, (_, field)) in SHOWN.iter().enumerate().skip(1) {
        let button = format!(".table .head > :nth-child({}) button", place + 2);
        for descending in [true, false] {
            shown.browser.click(&button);
            shown.check_table(&report, field, descending, SHOWN);
        }
    }
    // Unknown values come last in both orders.
    for sort in ["p95", "-p95"] {
        shown.open(&format!("view=table&sort={sort}"));
        let known: Vec<bool> = shown.rows(&["p95"]).iter().map(|row| !row[1].is_empty()).collect();
        assert!(known.contains(&true) && known.contains(&false), "{known:?}");
        assert!(known.is_sorted_by(|one, other| one >= other), "{known:?}");
    }
    shown.browser.click(".table .head > :nth-child(1) button");
    let mut names: Vec<String> = shown.rows(&[]).concat();
    assert!(names.is_sorted(), "{names:?}");
    // The rows are exactly the matches of the search.
    shown.browser.click("#search");
    shown.browser.type_text("oRDers.");
    names.retain(|name| name.contains("Orders."));
    assert_eq!(shown.rows(&[]).concat(), names);
    assert_eq!(names.len(), 2);
}

/// The table shows the methods as the report does. The graph shows the paths to these methods and below them.
#[test]
#[ignore = "needs Chromium"]
fn a_filter_leaves_what_it_names_and_the_paths_around_it() {
    let filter = ["--filter", "Store.Load"];
    let Some(mut shown) = Shown::with("filter", SHOP, &filter) else { return };
    let report = shown.report(&[&filter[..], &["--limit", "0"]].concat());
    shown.browser.click("[data-view=table]");
    shown.check_table(&report, "selfMs", true, SHOWN);
    assert_eq!(shown.rows(&[]).len(), 1);
    let tree = shown.report(&[&filter[..], &["--tree", "--no-fold-recursion"]].concat());
    let names = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let mut expected: Vec<String> = tree["tree"].as_array().expect("a list").iter().map(|path| names(&path["name"])).collect();
    let paths = shown.browser.eval("[...App.tree.fn].map((fn) => FUNCTIONS.name(fn)).slice(1)");
    let mut paths: Vec<String> = paths.as_array().expect("a list").iter().map(names).collect();
    expected.sort();
    paths.sort();
    assert_eq!(paths, expected);
    assert!(shown.text("body").contains("only Store.Load, with callers and callees"));
}

#[test]
#[ignore = "needs Chromium"]
fn the_tree_opens_to_what_the_profile_has() {
    let Some(mut shown) = Shown::of("tree", SHOP) else { return };
    shown.browser.key("3");
    // Each row is opened, from the first to the last.
    for _ in 0..30 {
        if shown.browser.eval("document.querySelector('.rows .selected').ariaExpanded") == "false" {
            shown.browser.key("ArrowRight");
        }
        shown.browser.key("ArrowDown");
    }
    let (tree, names) = (shown.profile.merged_tree(), shown.profile.display_names());
    let rows = paths(&shown.profile, &tree, &names);
    let all = shown.profile.milliseconds(shown.profile.running());
    let mut expected = vec![vec!["all threads".to_owned(), time(all), "100 %".into(), "0".into(), "0".into()]];
    let mut next: Vec<usize> = Vec::new();
    let below = |caller: Option<usize>| {
        let mut below: Vec<usize> = rows.iter().filter(|path| path.caller == caller).map(|path| path.id).collect();
        below.sort_by(|one, other| rows[*one].total_ms.total_cmp(&rows[*other].total_ms));
        below
    };
    next.extend(below(None));
    while let Some(id) = next.pop() {
        let path = &rows[id];
        let (total, own) =
            (rough_time(path.total_ms, path.total_uncertainty_ms), rough_time(path.self_ms, path.self_uncertainty_ms));
        let numbers = [total, percent(path.total_ms, all), own, count(path.calls as f64)];
        expected.push(std::iter::once(path.name.to_owned()).chain(numbers).collect());
        next.extend(below(Some(id)));
    }
    assert_eq!(shown.rows(&["total", "share", "self", "calls"]), expected);
    // The rows close again.
    shown.browser.key("Home");
    shown.browser.key("ArrowLeft");
    assert_eq!(shown.rows(&[]).concat(), ["all threads"]);
}

#[test]
#[ignore = "needs Chromium"]
fn callers_and_callees_are_the_profiles() {
    // Deep enough for a row in the middle of a recursion, neither first nor last.
    let inner = "    Sum calls=100 total=40000\n";
    let text = SHOP.replace(inner, &format!("{inner}     Sum calls=50 total=20000\n"));
    let Some(mut shown) = Shown::of("callers", &text) else { return };
    let names = shown.profile.display_names();
    for function in 0..names.len() {
        shown.open(&format!("view=callers&method={function}"));
        let name = shown.text(".card h2");
        let index = names.iter().position(|known| *known == name).expect("it is one of them");
        let edges: Vec<Vec<String>> = edges(&shown.profile, &[index], SortBy::Total, &names)
            .iter()
            .map(|edge| {
                let name = if edge.function.is_some() { edge.name } else { "all threads" };
                vec![name.to_owned(), rough_time(edge.total_ms, edge.total_uncertainty_ms), count(edge.calls as f64)]
            })
            .collect();
        let mut found = shown.rows(&["value", "calls"]);
        let mut expected = edges;
        // The two lists are beside each other, so they are compared as one, in any order.
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{name}");
    }
    // A click shows the clicked method.
    shown.browser.click(".callers .table .rows .row");
    assert_ne!(shown.text(".card h2"), names[names.len() - 1]);
}

#[test]
#[ignore = "needs Chromium"]
fn threads_are_shown_apart() {
    let Some(mut shown) = Shown::of("threads", SHOP) else { return };
    let all = shown.profile.milliseconds(shown.profile.running());
    shown.browser.key("3");
    shown.choose("threads", "apart");
    let rows = shown.rows(&["total"]);
    let of_thread = |name: &str| rows.iter().find(|row| row[0] == name).map(|row| row[1].clone());
    assert_eq!((of_thread("Main (1)"), of_thread("Pool (7)")), (Some(time(750.0)), Some(time(300.0))));
    assert_eq!(rows[0][1], time(all));
    shown.choose("threads", "1");
    shown.browser.key("2");
    let calls: Vec<(String, String)> = shown.rows(&["calls"]).into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let expected = [("Shop.Worker.Run", "3"), ("Shop.Worker.Parse", "9"), ("Shop.Orders.Store.Load", "4")];
    assert_eq!(calls, expected.map(|(name, calls)| (name.to_owned(), calls.to_owned())));
}

#[test]
#[ignore = "needs Chromium"]
fn phases_are_reports_of_their_own() {
    let phases = include_str!("../../crates/profile/tests/cases/phases.txt");
    let text = phases.split_once("----").map_or(phases, |(text, _)| text);
    let Some(mut shown) = Shown::of("phases", text) else { return };
    shown.browser.key("5");
    let names = shown.texts(".phases th button");
    assert_eq!(names, ["the whole", "loop", "between"]);
    let columns =
        [("self", "selfMs"), ("total", "totalMs"), ("waiting", "waitingMs"), ("calls", "calls"), ("average", "averageMs")];
    for (place, name) in names.iter().enumerate() {
        let options = if place == 0 { vec![] } else { vec!["--phase", name.as_str()] };
        let report = shown.report(&options);
        shown.browser.key("5");
        let row = format!(".phases tbody tr:nth-child({})", place + 1);
        for (column, field) in [("milliseconds", "milliseconds"), ("self", "runningMs"), ("waiting", "waitingMs")] {
            assert_eq!(shown.text(&format!("{row} [data-column={column}]")), time(report[field].as_f64().expect("a number")));
        }
        shown.browser.click(&format!("{row} th button"));
        shown.browser.key("2");
        shown.check_table(&report, "selfMs", true, &columns);
    }
}
