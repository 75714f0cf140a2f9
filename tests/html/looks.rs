//! Light and dark themes, narrow windows, links, accessibility, and the absence of network requests.

use serde_json::{Value, json};

use crate::{SHOP, Shown};

const VIEWS: [&str; 5] = ["flame", "table", "tree", "callers", "phases"];

impl Shown {
    /// Returns the brightness of the page, from 0 to 255.
    fn brightness(&mut self) -> f64 {
        let colour = self.browser.eval("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)");
        colour.as_array().expect("three numbers").iter().take(3).filter_map(Value::as_f64).sum::<f64>() / 3.0
    }
}

#[test]
#[ignore = "needs Chromium"]
fn it_is_dark_where_that_is_preferred_and_where_it_is_chosen() {
    let Some(mut shown) = Shown::of("dark", SHOP) else { return };
    for (preferred, other) in [("dark", "light"), ("light", "dark")] {
        shown.browser.prefer(preferred);
        shown.open("");
        let is_dark = |brightness: f64| if brightness < 60.0 { "dark" } else { "light" };
        assert_eq!(is_dark(shown.brightness()), preferred);
        shown.browser.click("#theme");
        assert_eq!(is_dark(shown.brightness()), other);
        assert_eq!(shown.browser.eval("location.hash"), format!("#theme={other}"));
    }
}

#[test]
#[ignore = "needs Chromium"]
fn narrow_windows_have_all_of_it() {
    let Some(mut shown) = Shown::of("narrow", SHOP) else { return };
    shown.browser.resize(400, 700);
    for view in VIEWS {
        shown.open(&format!("view={view}"));
        let wide = shown.browser.eval("document.documentElement.scrollWidth");
        assert!(wide.as_f64().is_some_and(|wide| wide <= 400.0), "{view}: {wide}");
        let tall = shown.browser.eval("document.querySelector('main').clientHeight");
        assert!(tall.as_f64().is_some_and(|tall| tall >= 250.0), "{view}: {tall}");
    }
    shown.open("view=table");
    let name = shown.browser.eval(
        "(() => { const b = document.querySelector('.rows .method').getBoundingClientRect(); return [b.left, b.right]; })()",
    );
    assert!(name[0].as_f64() >= Some(0.0) && name[1].as_f64() <= Some(400.0), "{name}");
}

#[test]
#[ignore = "needs Chromium"]
fn a_link_shows_the_same() {
    let Some(mut shown) = Shown::of("links", SHOP) else { return };
    shown.choose("threads", "apart");
    shown.choose("metric", "calls");
    for key in ["2", "1", "ArrowDown", "ArrowDown", "Enter"] {
        shown.browser.key(key);
    }
    let all = "[
       location.hash,
       ...['detail', 'toolbar'].map((id) => document.getElementById(id).textContent),
       document.querySelector('canvas').toDataURL(),
     ].join()";
    shown.browser.wait("App.views.flame.animation === 0");
    shown.browser.settle();
    let before = shown.browser.eval(all);
    let hash = shown.browser.eval("location.hash.slice(1)");
    let hash = hash.as_str().expect("a text").to_owned();
    assert!(hash.contains("zoom="), "{hash}");
    shown.open(&hash);
    shown.browser.key("2");
    shown.browser.key("1");
    shown.browser.settle();
    assert_eq!(shown.browser.eval(all), before);
    // The Back button returns to the previous view.
    shown.open("");
    for key in ["2", "3"] {
        shown.browser.key(key);
    }
    shown.browser.eval("history.back()");
    shown.browser.wait("document.querySelector('[aria-selected=true]').dataset.view === 'table'");
}

#[test]
#[ignore = "needs Chromium"]
fn all_that_can_be_reached_has_a_name() {
    let Some(mut shown) = Shown::of("names", SHOP) else { return };
    for view in VIEWS {
        shown.open(&format!("view={view}"));
        let tree = shown.browser.call("Accessibility.getFullAXTree", &json!({}));
        let has = |node: &Value, wanted: &str| {
            node["properties"]
                .as_array()
                .is_some_and(|all| all.iter().any(|each| each["name"] == wanted && each["value"]["value"] == true))
        };
        for node in tree["nodes"].as_array().expect("a list") {
            let is_root = node["role"]["value"] == "RootWebArea";
            if has(node, "focusable") && !is_root {
                assert!(node["name"]["value"].as_str().is_some_and(|name| !name.is_empty()), "{view}: {node:#}");
            }
        }
    }
}

#[test]
#[ignore = "needs Chromium"]
fn it_reaches_no_network() {
    let Some(mut shown) = Shown::of("network", SHOP) else { return };
    let refused = shown.browser.eval(
        "new Promise((done) => {
           document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));
           fetch('https://example.com/').then(() => done('asked'), () => {});
         })",
    );
    assert_eq!(refused, "connect-src");
    // The browser reports the refused request, as expected.
    shown.browser.complaints.clear();
    let text = std::fs::read_to_string(&shown.page).expect("it can be read");
    for leads_away in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!text.contains(leads_away), "{leads_away}");
    }
    assert!(text.len() < 100_000, "{}", text.len());
}
