//! The crates for publication on crates.io.

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;
use tests::{root, said};

/// `cargo xtask dist --check` tests whether each crate can be built from its package.
#[test]
fn crates_say_whose_they_are() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"]).current_dir(root());
    let (text, errors, code) = said(&command.output().expect("cargo starts"));
    assert_eq!(code, Some(0), "{errors}");
    let metadata: Value = serde_json::from_str(&text).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("there are some");
    let published: Vec<&Value> = packages.iter().filter(|package| package["publish"].is_null()).collect();
    let names: BTreeSet<&str> = published.iter().filter_map(|package| package["name"].as_str()).collect();
    assert!(names.len() >= 15 && names.iter().all(|name| name.starts_with("ilinst")), "{names:?}");
    for package in published {
        let value = |key: &str| package[key].as_str().unwrap_or_else(|| panic!("{} has no {key}", package["name"]));
        let whose = [value("name"), value("description")].iter().any(|text| *text == "ilinst" || text.contains("part of ilinst"));
        assert!(whose, "{}: {}", value("name"), value("description"));
        assert!(!value("license").is_empty() && value("repository").contains("ilinst"), "{}", value("name"));
        // A crate that is not published can only be a dependency of tests.
        for need in package["dependencies"].as_array().expect("it is a list") {
            let is_ours = !need["path"].is_null() && need["kind"] != "dev";
            assert!(!is_ours || names.contains(need["name"].as_str().expect("it is text")), "{}: {need}", value("name"));
        }
    }
}
