//! Bills of materials, checked against CycloneDX's own schema and against cargo's list of built crates, with their licences.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;
use tests::{require, root, said};

use crate::pack_all;

const VALIDATE: &str = "\
import json, pathlib, sys
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry, Resource
schemas = {schema['$id']: schema for schema in (json.loads(path.read_text()) for path in pathlib.Path(sys.argv[1]).glob('*.json'))}
registry = Registry().with_resources((name, Resource.from_contents(schema)) for name, schema in schemas.items())
bill = json.loads(pathlib.Path(sys.argv[2]).read_text())
schema = schemas['http://cyclonedx.org/schema/bom-%s.schema.json' % bill['specVersion']]
for error in Draft7Validator(schema, registry=registry, format_checker=FormatChecker()).iter_errors(bill):
    print(error.json_path, error.message)
";

/// Returns the schema's complaints about a bill of materials; `None` if the schema is not available.
fn wrong_by_schema(bill: &Path) -> Option<String> {
    let [python, packages, schemas] = ["ILINST_PYTHON", "ILINST_PYTHON_TABLES", "ILINST_CYCLONEDX"].map(require);
    let mut command = Command::new(python?);
    command.env("PYTHONPATH", packages?).args(["-c", VALIDATE]).arg(schemas?).arg(bill);
    let (text, errors, code) = said(&command.output().expect("Python starts"));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    Some(text)
}

/// Returns the crates that cargo links for a platform, as `name@version`.
fn linked(triple: &str) -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--package", "ilinst", "--edges", "normal", "--prefix", "none", "--target", triple]);
    let (text, errors, code) = said(&command.current_dir(root()).output().expect("cargo starts"));
    assert_eq!(code, Some(0), "{errors}");
    let crates = text.lines().filter_map(|line| line.split_once(" v"));
    crates.map(|(name, rest)| format!("{name}@{}", rest.split(' ').next().unwrap_or_default())).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("it is text")
}

#[test]
#[ignore = "needs crates.io, and Python's jsonschema"]
fn bills_of_materials_are_valid_and_name_all_that_is_linked() {
    let folder = pack_all("bill");
    let bills = fs::read_dir(folder.join("dist")).expect("it is there").flatten().map(|entry| entry.path());
    let bills: Vec<_> = bills.filter(|path| path.display().to_string().ends_with(".cdx.json")).collect();
    assert!(bills.len() >= 4, "{bills:?}");
    for path in &bills {
        let Some(wrong) = wrong_by_schema(path) else { return };
        assert_eq!(wrong, "", "{}", path.display());
        let bill: Value = serde_json::from_slice(&fs::read(path).expect("it is there")).expect("it is JSON");
        let components = bill["components"].as_array().expect("there are some").iter();
        let tool = &bill["metadata"]["component"];
        let named: BTreeSet<String> = components
            .chain([tool])
            .filter_map(|each| Some(text(each.get("purl")?)))
            .map(|purl| purl.strip_prefix("pkg:cargo/").expect("it is a crate").to_owned())
            .collect();
        let name = path.file_name().expect("it has a name").to_string_lossy();
        let triple = name.strip_prefix(&format!("ilinst-{}-", crate::VERSION)).and_then(|name| name.strip_suffix(".cdx.json"));
        assert_eq!(named, linked(triple.expect("it is named for a platform")), "{name}");
    }
    // The schema must detect an error, too.
    let bill = fs::read_to_string(&bills[0]).expect("it is there");
    let damaged = folder.join("damaged.json");
    fs::write(&damaged, bill.replacen("\"type\": \"library\"", "\"type\": \"shelf\"", 1)).expect("it can be written");
    let wrong = wrong_by_schema(&damaged).expect("it could be asked");
    assert!(wrong.contains("'shelf' is not one of"), "{wrong}");
}
