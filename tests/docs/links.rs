//! The links of all documents: each leads to a file of the repository, and to a heading there. `docs/SUMMARY.md` lists all
//! pages of `docs`, which `cargo xtask book` makes a book of.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{root, said};

/// The documents that git knows, by their paths from the root.
fn documents() -> BTreeMap<PathBuf, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]).current_dir(root());
    let (names, errors, code) = said(&git.output().expect("git starts"));
    assert_eq!(code, Some(0), "{errors}");
    let names = names.split_terminator('\0').map(PathBuf::from).filter(|name| root().join(name).is_file());
    names.map(|name| (name.clone(), fs::read_to_string(root().join(name)).expect("it can be read"))).collect()
}

/// Lines of text, without blocks and spans of code.
pub(crate) fn prose(text: &str) -> Vec<String> {
    let (mut lines, mut is_code) = (Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("code"));
        }
    }
    lines
}

/// Where links lead.
fn links(text: &str) -> Vec<String> {
    let lines = prose(text);
    let links = lines.iter().flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.to_owned()).collect()
}

/// The places of a document, as GitHub and mdBook name them for its headings.
fn places(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && line.starts_with('#')
    });
    let place = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(place).collect()
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

#[test]
fn no_link_is_dead() {
    let documents = documents();
    let mut dead = Vec::new();
    for (name, text) in &documents {
        for link in links(text).iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { name.clone() } else { normal(&name.with_file_name("").join(file)) };
            let is_there = match documents.get(&to) {
                Some(text) => place.is_empty() || places(text).contains(place),
                None => root().join(&to).exists(),
            };
            if !is_there {
                dead.push(format!("{}: {link}", name.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn the_book_has_each_page() {
    let documents = documents();
    let summary = Path::new("docs/SUMMARY.md");
    let listed = links(&documents[summary]);
    let pages: BTreeSet<PathBuf> = listed.iter().map(|link| normal(&Path::new("docs").join(link))).collect();
    assert_eq!(pages.len(), listed.len(), "a page is listed twice: {listed:?}");
    let missing: Vec<&PathBuf> =
        documents.keys().filter(|name| name.starts_with("docs") && *name != summary && !pages.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}
