//! `explain` shows the decisions that instrumenting makes, also with rules, and they are reproducible.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use tests::{ilinst, root, said, scratch};

/// One of each kind of setting in a file.
const OPTIONS: &str = "\
exclude = ['Count', 're:::Dispose$']
min-il = 12
calls = ['System.Text.*']

[[rule]]
include = ['Orders.*', '*::Main']
leave = 'return'

[[rule]]
exclude = ['*::.ctor', '*::*A*']
min-il = 0

[[rule]]
include = ['*::*e*']
all = true

[[rule]]
include = ['*::*t*', '[hello]*']
weave = false

[[rule]]
include = ['*::To*']
weave = true
all = false
";

#[test]
fn what_is_explained_is_what_is_done() {
    let folder = scratch("cli-config-samples");
    fs::write(folder.join("options.toml"), OPTIONS).expect("it can be written");
    let mut decisions: BTreeMap<String, usize> = BTreeMap::new();
    for sample in ["bare", "endings", "hello", "modern", "odd", "orders", "shapes", "traces"] {
        let inputs = fs::read_dir(root().join("samples").join(sample).join("bin")).expect("it is committed").flatten();
        let is_assembly = |path: &Path| path.extension().is_some_and(|extension| extension == "exe" || extension == "dll");
        for input in inputs.map(|entry| entry.path()).filter(|path| is_assembly(path)) {
            for options in ["--no-config", "--config=options.toml"] {
                check(&folder, &input, options, &mut decisions);
            }
        }
    }
    println!("{decisions:?}");
    for decision in ["finally", "return", "excluded", "short", "accessor", "generated", "no-body"] {
        assert!(decisions.contains_key(decision), "{decision}: {decisions:?}");
    }
}

fn check(folder: &Path, input: &Path, options: &str, decisions: &mut BTreeMap<String, usize>) {
    let call = |arguments: &[&str]| {
        let output = ilinst().args(arguments).current_dir(folder).output().expect("ilinst runs");
        let (out, errors, code) = said(&output);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{}, {arguments:?}", input.display());
        out
    };
    let text = input.to_str().expect("it is UTF-8");
    let _ = fs::remove_dir_all(folder.join("woven"));
    call(&["instrument", text, "-o", "woven/", "-q", options]);
    let woven = folder.join("woven").join(input.file_name().expect("it has a name"));
    let explained: Value = serde_json::from_str(&call(&["explain", text, "*", "--json", options])).expect("it is JSON");
    let explained = explained["methods"].as_array().expect("methods");
    let manifest = fs::read_to_string(format!("{}.ilinst.json", woven.display())).expect("it is there");
    let manifest: Value = serde_json::from_str(&manifest).expect("it is JSON");
    let methods = manifest["methods"].as_array().expect("methods");
    assert_eq!(explained.len(), methods.len(), "{text}");
    for (row, (method, explained)) in (1..).zip(methods.iter().zip(explained)) {
        let decision = &manifest["decisions"][method[2].as_u64().expect("an index") as usize];
        assert_eq!(explained["token"], format!("0x06{row:06x}"), "{text}");
        assert_eq!(&explained["decision"], decision, "{text}: {explained}");
        assert!(explained["method"].as_str().expect("a name").ends_with(&format!("::{}", method[1].as_str().expect("a name"))));
        // Methods skipped for other reasons have the same result with any options.
        let ours = ["finally", "return", "excluded", "short", "accessor", "generated"];
        let is_ours = ours.iter().any(|code| decision == code);
        assert_eq!(explained["because"].as_array().is_some_and(|because| !because.is_empty()), is_ours, "{explained}");
        *decisions.entry(decision.as_str().expect("a code").to_owned()).or_default() += 1;
    }
    if woven.is_file() && methods.iter().any(|method| method[2] == 0) {
        let differences = call(&["diff", "--only-probes", text, woven.to_str().expect("it is UTF-8")]);
        assert_eq!(differences, "", "{text}, {options}");
    }
}
