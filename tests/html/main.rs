//! `ilinst report --html` in a browser: clicking, searching and sorting show the numbers of the profile.

#[path = "../../crates/profile/tests/builder/mod.rs"]
mod builder;
mod compare;
mod diff;
mod graph;
mod hostile;
#[cfg(feature = "full")]
mod large;
mod lines;
mod lists;
mod looks;
mod page;
mod real;

use std::{fs, path::PathBuf};

use profile::Profile;
use serde_json::Value;
use tests::{Browser, ilinst, scratch};

/// A program with two threads, recursion, waiting, exceptions, and statistics of single calls.
const SHOP: &str = "
profile end=900000 cpu=700000000
module assembly=Shop,Version=1 name=shop.dll
method 1 Shop.Program::Main
method 2 Shop.Orders.Store::Load
method 3 System.Threading.Thread::Sleep waits
method 4 Shop.Orders.Price::Sum
method 5 Shop.Worker::Run
method 6 Shop.Worker::Parse
exception 1 Shop.OutOfStock
tree
thread 1 Main
 Main calls=1 total=900000 first=900000 times=
  Load calls=60 total=500000 first=20000 times=8000x50,12000x9 exceptions=2 exception=1
   Sleep calls=60 total=150000
   Sum calls=240 total=130000 first=900 times=500x200,800x39
    Sum calls=100 total=40000
  Sum calls=10 total=50000
tree
thread 7 Pool
 Run calls=3 total=300000
  Parse calls=9 total=110000 exceptions=1 exception=1
  Load calls=4 total=70000
phase mark warm clock=100000
phase mark busy clock=400000
";

/// A page, its profile, and a browser that has it open; `None` without a browser.
struct Shown {
    browser: Browser,
    profile: Profile,
    page: PathBuf,
    /// The profile's file.
    file: PathBuf,
}

impl Shown {
    /// Opens the page of a profile built from text, as the command line writes it.
    fn of(name: &str, text: &str) -> Option<Self> {
        Self::with(name, text, &[])
    }

    /// Opens the page, created with further options.
    fn with(name: &str, text: &str, options: &[&str]) -> Option<Self> {
        let folder = scratch(&format!("html-{name}"));
        let file = folder.join("shop.ilprof");
        fs::write(&file, builder::build(text)).expect("it can be written");
        Self::of_file(name, file, options)
    }

    fn of_file(name: &str, file: PathBuf, options: &[&str]) -> Option<Self> {
        let page = scratch(&format!("html-{name}-page")).join("report.html");
        let output = ilinst().arg("report").arg(&file).arg("--html").arg(&page).args(options).output().expect("ilinst runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let profile = Profile::parse(&fs::read(&file).expect("it can be read")).expect("it is a profile");
        let mut browser = Browser::start(name, 1200, 800)?;
        browser.open(&page, "");
        Some(Self { browser, profile, page, file })
    }

    /// Opens the page with this hash.
    fn open(&mut self, hash: &str) {
        self.browser.open(&self.page, hash);
        self.browser.settle();
    }

    /// Returns the texts of all elements that match a selector.
    fn texts(&mut self, selector: &str) -> Vec<String> {
        let script = format!("[...document.querySelectorAll({})].map((each) => each.textContent)", Value::from(selector));
        let texts = self.browser.eval(&script);
        texts.as_array().expect("a list").iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }

    fn text(&mut self, selector: &str) -> String {
        self.texts(selector).into_iter().next().unwrap_or_else(|| panic!("there is no {selector}"))
    }

    /// Selects a value in a drop-down list.
    fn choose(&mut self, id: &str, value: &str) {
        let script = format!(
            "(() => {{ const select = document.getElementById('choose-{id}'); select.value = {};
             select.dispatchEvent(new Event('change')); return select.value; }})()",
            Value::from(value)
        );
        assert_eq!(self.browser.eval(&script), value, "{id}");
        self.browser.settle();
    }

    /// Returns the output of `ilinst report --json`, with further options.
    fn report(&self, options: &[&str]) -> Value {
        tests::Report::with(&self.file, options).expect("it is a profile").document
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.browser.complaints.is_empty(), "{}", self.browser.complaints.join("\n"));
        }
    }
}

/// Returns a time in the page's format.
fn time(ms: f64) -> String {
    let (unit, size) = match ms {
        0.0 => return "0".into(),
        1e3.. => ("s", 1e3),
        1.0.. => ("ms", 1.0),
        1e-3.. => ("µs", 1e-3),
        _ => ("ns", 1e-6),
    };
    let value = ms / size;
    let digits = if unit == "ns" || value >= 100.0 { 0 } else { usize::from(value < 10.0) + 1 };
    format!("{value:.digits$} {unit}")
}

/// Returns a number in the page's format, with separated thousands.
fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join("\u{202f}")
}

/// Returns a percentage in the page's format.
fn percent(part: f64, whole: f64) -> String {
    let value = if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
    let digits = if value >= 99.95 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.digits$} %")
}
