//! `ilinst tests`: the attributes of NUnit and MSTest mark tests, and those that `--test-attribute` names. `tests/msbuild` runs
//! tests of xunit.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde_json::Value;
use tests::{References, Runtime, compile, ilinst, instrument, root, said, scratch};

/// Two profiles of a program that calls its tests itself: of all of them, and of `Shop.Stories.Buy` alone.
struct Ran {
    folder: PathBuf,
}

impl Ran {
    fn new() -> Option<Self> {
        let (runtime, folder) = (Runtime::find(".NET 8")?, scratch("which-tests"));
        let (program, woven) = (folder.join("frameworks.exe"), folder.join("woven/"));
        compile(&root().join("tests/run/which_tests/frameworks.cs"), &program, References::All, &[])?;
        instrument(&[&program, &"-o", &woven, &"--all", &"-q"]);
        for (profile, arguments) in [("all.ilprof", &[][..]), ("story.ilprof", &["story"])] {
            let mut command = runtime.program(&woven.join("frameworks.exe"), &folder);
            let output = command.args(arguments).env("ILINST_OUTPUT", profile).output().expect("it starts");
            assert_eq!(said(&output), (String::new(), String::new(), Some(0)));
        }
        Some(Self { folder })
    }

    fn tests(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        said(&ilinst().current_dir(&self.folder).arg("tests").args(arguments).output().expect("ilinst runs"))
    }

    /// The tests that reach a method: how often each ran, and called the method.
    fn reaching(&self, method: &str, options: &[&str]) -> BTreeMap<String, (u64, u64)> {
        let (text, errors, code) = self.tests(&[&["all.ilprof", "--method", method, "--json"], options].concat());
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{text}");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let number = |row: &Value, name: &str| row[name].as_u64().expect("a number");
        let rows = document["tests"].as_array().expect("a list").iter();
        rows.map(|row| (row["test"].as_str().expect("a name").to_owned(), (number(row, "runs"), number(row, "calls")))).collect()
    }
}

fn by_name<const N: usize>(tests: [(&str, (u64, u64)); N]) -> BTreeMap<String, (u64, u64)> {
    tests.map(|(name, counts)| (name.to_owned(), counts)).into()
}

#[test]
#[ignore = "needs .NET"]
fn attributes_of_frameworks_and_named_ones_mark_tests() {
    let Some(ran) = Ran::new() else { return };
    let total = by_name([
        ("Shop.NUnitTests.Nothing", (1, 1)),
        ("Shop.NUnitTests.Some", (2, 2)),
        ("Shop.NUnitTests.Many", (1, 1)),
        ("Shop.MSTestTests.Rows", (1, 2)),
    ]);
    assert_eq!(ran.reaching("Order.Total", &[]), total);
    let price = by_name([
        ("Shop.NUnitTests.Some", (2, 2 + 3)),
        ("Shop.NUnitTests.Many", (1, 4)),
        ("Shop.MSTestTests.Prices", (1, 1)),
        ("Shop.MSTestTests.Rows", (1, 2)),
    ]);
    assert_eq!(ran.reaching("Order.Price", &[]), price);

    let (filter, errors, code) = ran.tests(&["all.ilprof", "--method", "Order.Total", "--filter-expression"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let filtered: BTreeSet<&str> = filter.trim().split('|').collect();
    let expected: Vec<String> = total.keys().map(|test| format!("FullyQualifiedName={test}")).collect();
    assert_eq!(filtered, expected.iter().map(String::as_str).collect());

    // Both forms of an attribute's name mean the same.
    for attribute in ["Scenario", "ScenarioAttribute"] {
        let mut with_story = total.clone();
        with_story.extend(by_name([("Shop.Stories.Buy", (1, 1))]));
        assert_eq!(ran.reaching("Order.Total", &["--test-attribute", attribute]), with_story, "{attribute}");
    }
    let (text, errors, code) = ran.tests(&["story.ilprof", "--method", "Order.Price"]);
    assert!(errors.contains("name its folder (--symbols), or the tests' attribute (--test-attribute)"), "{text}{errors}");
    assert_eq!(code, Some(2));
    let (text, errors, code) = ran.tests(&["story.ilprof", "--method", "Order.Price", "--test-attribute", "Scenario"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let row: Vec<&str> = text.lines().nth(1).expect("a row behind the names of columns").split_whitespace().collect();
    assert!(matches!(row[..], ["1", "2", _, "Shop.Stories.Buy"]), "{text}");
}
