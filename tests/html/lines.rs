//! The view of source files, with the counts of lines.

use std::fs::File;

use profile::{
    Profile,
    lines::{LineMethod, Point, SourceFile},
};
use report::html::{Page, Sources};
use serde_json::json;
use tests::{Browser, scratch};

use crate::{SHOP, Shown, builder};

const ORDER: &str = "class Order // <b>\n{\n\tint Add(int n)\n\t{\n\t\tif (n < 0) return 0;\n\t\treturn n;\n\t}\n}\n";

fn file(path: &str, points: &[(u32, u32, u64)]) -> SourceFile {
    let point = |(line, column, count): &(u32, u32, u64)| Point {
        start_line: *line,
        start_column: *column,
        end_line: *line,
        end_column: column + 5,
        count: *count,
    };
    let points = points.iter().map(point).collect();
    let method = LineMethod { assembly: "shop".into(), type_name: "Shop.Order".into(), name: "Add".into(), points };
    SourceFile { path: path.into(), hash: None, methods: vec![method] }
}

#[test]
#[ignore = "needs Chromium"]
fn sources_are_coloured_by_their_counts() {
    let mut profile = Profile::parse(&builder::build(SHOP)).expect("it is a profile");
    profile.lines = vec![
        file("/shop/src/Long.cs", &(1..=5000).map(|line| (line, 1, u64::from(line % 2))).collect::<Vec<_>>()),
        file("/shop/src/Order.cs", &[(4, 2, 1234), (5, 3, 1234), (5, 14, 0), (6, 3, 7), (7, 2, 0)]),
    ];
    let page = scratch("html-lines").join("report.html");
    let links = vec![Some("https://example.org/Long.cs".into()), None];
    let sources = Sources { folder: "/shop/".into(), texts: vec![None, Some(ORDER.into())], links };
    let written = Page::report(&profile, &[]).with_lines(&profile, &sources);
    written.write(&mut File::create(&page).expect("it can be made")).expect("it can be written");
    let Some(browser) = Browser::start("lines", 1200, 800) else { return };
    let mut shown = Shown { browser, profile, file: page.clone(), page };
    shown.open("");
    shown.browser.click("[data-view=lines]");
    let rows =
        "[...document.querySelectorAll('.files tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))";
    let expected = json!([
        ["src/Long.cs", "5\u{202f}000", "2\u{202f}500", "50.0"],
        ["src/Order.cs", "4", "3", "75.0"],
        ["2 files", "5\u{202f}004", "2\u{202f}503", "50.0"]
    ]);
    assert_eq!(shown.browser.eval(rows), expected);
    // A file without a text has its counts; only the rows that are seen are drawn.
    assert!(shown.text(".source .head .text, .source .head > :nth-child(3)").contains("was not found"));
    assert_eq!(shown.browser.eval("document.querySelector('.source .head a').href"), "https://example.org/Long.cs");
    let drawn = shown.browser.eval("document.querySelectorAll('.source .rows .row').length");
    assert!(drawn.as_u64().is_some_and(|drawn| drawn > 10 && drawn < 200), "{drawn}");

    shown.browser.click(".files tbody tr:nth-child(2) button");
    let lines = "[...document.querySelectorAll('.source .rows .row')].map((row) => [...row.children].map((cell) => cell.textContent).join('|') + row.className.slice(3))";
    let expected = json!([
        "|1|class Order // <b>",
        "|2|{",
        "|3|    int Add(int n)",
        "1\u{202f}234|4|    { ran",
        "1\u{202f}234 ~|5|        if (n < 0) return 0; partly",
        "7|6|        return n; ran",
        "0|7|    } never",
        "|8|}",
    ]);
    assert_eq!(shown.browser.eval(lines), expected);
    // Often run lines are warmer, and a link shows the same file.
    let heat =
        "['4', '6'].map((line) => parseInt(document.querySelector(`[data-line=\"${line}\"]`).style.getPropertyValue('--heat')))";
    let heat = shown.browser.eval(heat);
    assert!(heat[0].as_u64() > heat[1].as_u64(), "{heat}");
    assert_eq!(shown.browser.eval("location.hash"), "#view=lines&file=1");
    shown.open("view=lines&file=1");
    assert_eq!(shown.browser.eval(lines), expected);
    shown.browser.resize(400, 700);
    shown.browser.settle();
    let wide = shown.browser.eval("document.documentElement.scrollWidth");
    assert!(wide.as_f64().is_some_and(|wide| wide <= 400.0), "{wide}");
    // An address with no such file shows the last.
    shown.open("view=lines&file=99");
    assert_eq!(shown.text(".files [aria-pressed=true]"), "src/Order.cs");
}
