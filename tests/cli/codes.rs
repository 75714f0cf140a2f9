//! `docs/errors.md` lists exactly the numbers that the tool and its package can report.

use std::{collections::BTreeSet, fs, path::Path};

use tests::root;

#[test]
fn each_number_is_explained() {
    let mut said = BTreeSet::new();
    for folder in ["crates", "msbuild/build"] {
        collect(&root().join(folder), &mut said);
    }
    let page = fs::read_to_string(root().join("docs/errors.md")).expect("it is there");
    let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
    let explained: BTreeSet<String> = headings.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert!(said.len() > 20, "they are found: {said:?}");
    assert_eq!(said, explained, "left: said, right: explained");
}

/// Collects the numbers in a folder's sources.
fn collect(folder: &Path, said: &mut BTreeSet<String>) {
    for path in fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, said);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "targets") {
            let text = fs::read_to_string(&path).expect("it is text");
            let codes = text.match_indices("ILI0").filter_map(|(at, _)| text.get(at..at + 7));
            said.extend(codes.filter(|code| code[3..].bytes().all(|byte| byte.is_ascii_digit())).map(str::to_owned));
        }
    }
}
