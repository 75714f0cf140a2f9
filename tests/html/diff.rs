//! `ilinst diff --html` in a browser: when parts are drawn, the keys and the filter, and the drawn part of a large diff.

use std::{fs, path::PathBuf};

use base64ct::{Base64, Encoding as _};
use serde_json::Value;
use tests::{Browser, ilinst, root, sample, scratch};

/// The page of a diff, open in a browser; `None` without a browser.
struct Page {
    browser: Browser,
    file: PathBuf,
}

impl Page {
    fn of(name: &str, old: &PathBuf, new: &PathBuf) -> Option<Self> {
        let file = scratch(&format!("html-diff-{name}")).join("diff.html");
        let output = ilinst().arg("diff").args([old, new]).arg("--html").arg(&file).output().expect("ilinst runs");
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let mut browser = Browser::start(&format!("diff-{name}"), 1200, 800)?;
        browser.open(&file, "");
        browser.settle();
        Some(Self { browser, file })
    }

    /// Opens the diff of a sample and its instrumented version.
    fn of_sample(name: &str) -> Option<Self> {
        Self::of_sample_with(name, "-q")
    }

    fn of_sample_with(name: &str, option: &str) -> Option<Self> {
        let woven = scratch(&format!("html-diff-{name}-woven"));
        let original = sample("orders").join("orders.exe");
        tests::instrument(&[&original, &"-o", &woven, &option]);
        Self::of(name, &original, &woven.join("orders.exe"))
    }

    /// Returns the number of elements that match a selector.
    fn count(&mut self, selector: &str) -> u64 {
        self.eval(&format!("document.querySelectorAll({selector:?}).length")).as_u64().expect("a number")
    }

    fn eval(&mut self, expression: &str) -> Value {
        self.browser.eval(expression)
    }
}

#[test]
#[ignore = "needs Chromium"]
fn sections_are_closed_beyond_a_few_and_drawn_when_opened() {
    let Some(mut page) = Page::of_sample("sections") else { return };
    let types = page.count("section");
    assert!(types > 5 && page.count("nav li") == types);
    let open = page.count("details.type[open]");
    assert!(open < types, "{open} of {types} are open");
    page.browser.click("#collapse");
    assert_eq!(page.count("main details[open]"), 0);
    page.browser.open(&page.file.clone(), &format!("t{}", types - 2));
    page.browser.wait("document.querySelectorAll('section:nth-last-of-type(2) details.change').length > 0");
    assert_eq!(page.count("section:nth-last-of-type(2) > details[open]"), 1);
}

/// The list has the number of each type's changes, and the ends of long names. State machines are behind their methods.
#[test]
#[ignore = "needs Chromium"]
fn the_list_counts_and_state_machines_are_beside_their_methods() {
    let Some(mut page) = Page::of_sample_with("list", "--all") else { return };
    let counts = "[...document.querySelectorAll('nav li span')].reduce((sum, each) => sum + Number(each.textContent), 0)";
    assert_eq!(page.eval(counts), page.eval("data.changes.length"));
    assert_eq!(
        page.eval("[...document.querySelectorAll('nav a')].filter((each) => each.textContent.includes(\"/'<\")).length"),
        0
    );
    page.eval("document.querySelectorAll('details.type').forEach(open)");
    let before = "(() => { const titles = [...document.querySelectorAll('details.change > summary')].map((each) => each.textContent); \
                  const at = titles.findIndex((each) => each.includes(\"'<GetEnumerator>\")); \
                  return at > 0 && titles[at - 1].includes('::GetEnumerator('); })()";
    assert_eq!(page.eval(before), true);
    page.browser.resize(900, 800);
    page.browser.settle();
    let link = "document.querySelector('nav a')";
    assert_eq!(page.eval(&format!("getComputedStyle({link}).direction + getComputedStyle({link}).textOverflow")), "rtlellipsis");
}

#[test]
#[ignore = "needs Chromium"]
fn the_filter_and_the_keys_do_what_they_say() {
    let Some(mut page) = Page::of_sample("keys") else { return };
    page.browser.key("/");
    assert_eq!(page.eval("document.activeElement.id"), "filter");
    page.browser.type_text("fibonacci");
    assert_eq!(page.eval("[...document.querySelectorAll('section')].filter((each) => !each.hidden).length"), 1);
    assert_eq!(page.eval("document.querySelector('#found').textContent.startsWith('1 of ')"), true);
    page.browser.key("Escape");
    page.browser.key("c");
    page.browser.key("j");
    assert_eq!(page.eval("document.activeElement.tagName"), "SUMMARY");
    page.browser.key("o");
    assert_eq!(page.count("details.type[open]"), 1);
    page.browser.key("j");
    page.browser.key("o");
    assert_eq!(page.count("details.change[open]"), 1);
    assert!(page.count("details.change[open] tr") > 0);
    page.browser.key("k");
    page.browser.key("o");
    assert_eq!(page.count("details.type[open]"), 0);
}

#[test]
#[ignore = "needs Chromium"]
fn what_differs_is_marked_and_not_by_colour_alone() {
    let Some(mut page) = Page::of_sample("marks") else { return };
    page.eval("document.querySelectorAll('details').forEach(open)");
    page.eval("document.querySelectorAll('details').forEach(open)");
    let without_sign = "[...document.querySelectorAll('td.a, td.d')].filter((cell) => \
                        getComputedStyle(cell, '::before').content !== (cell.className === 'a' ? '\"+\"' : '\"-\"')).length";
    assert!(page.count("td.a") > 0 && page.eval(without_sign) == 0);
    // `.maxstack 8` and `.maxstack 2`: only the number is marked.
    assert_eq!(
        page.eval(
            "[...document.querySelectorAll('td.d')].some((cell) => \
                          cell.textContent.includes('.maxstack') && cell.querySelector('del').textContent.length <= 2)"
        ),
        true
    );
    page.browser.resize(500, 800);
    page.browser.settle();
    assert_eq!(page.eval("document.documentElement.scrollWidth <= 500"), true);
    assert_eq!(page.eval("getComputedStyle(document.querySelector('tr.c td:last-child')).display"), "none");
}

#[cfg(feature = "full")]
#[test]
#[ignore = "needs Chromium and the .NET SDK"]
fn a_large_one_is_drawn_as_far_as_it_is_seen() {
    let Some(sdk) = tests::require("ILINST_SDK") else { return };
    let old = sdk.join("Sdks/Microsoft.NET.Sdk.Razor/tools/netcoreapp3.0/Microsoft.CodeAnalysis.CSharp.dll");
    let new = sdk.join("Roslyn/bincore/Microsoft.CodeAnalysis.CSharp.dll");
    let Some(mut page) = Page::of("large", &old, &new) else { return };
    let started = std::time::Instant::now();
    page.browser.open(&page.file.clone(), "");
    page.browser.wait("document.querySelectorAll('nav li').length > 0");
    page.browser.settle();
    let size = fs::metadata(&page.file).map_or(0, |file| file.len());
    println!("{} bytes, drawn in {:?}", size, started.elapsed());
    let changes = page.eval("data.changes.length").as_u64().expect("a number");
    let drawn = page.count("*");
    println!("{changes} changes, {drawn} elements");
    assert!(changes > 5000, "{changes}");
    // A section, its heading and its entry for each type, but no line of a change.
    let types = page.count("section");
    assert!(drawn < 8 * types + 2000, "{drawn} elements, {types} types");
}

/// Takes the picture of the documentation.
#[test]
#[ignore = "needs Chromium"]
fn the_picture_can_be_taken() {
    let Some(mut page) = Page::of_sample("picture") else { return };
    let picture = Base64::decode_vec(&page.browser.picture()).expect("it is Base64");
    assert!(picture.starts_with(b"\x89PNG"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(root().join("docs/diff.png"), picture).expect("it can be written");
    }
}
