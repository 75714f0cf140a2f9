//! The words of documents and comments. Each budget is today's count: it only goes down.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use tests::{root, said};

use crate::links::prose;

/// Sentences of more than [`LONGEST`] words, in documents.
const LONG_SENTENCES: usize = 0;
/// Comment lines that begin with a relative clause.
const RELATIVE_CLAUSES: usize = 0;
/// Words of a sentence.
const LONGEST: usize = 30;
/// The words of the README.
const README: usize = 1500;

/// The files that git knows with one of these endings.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).args(endings).current_dir(root());
    let (names, errors, code) = said(&git.output().expect("git starts"));
    assert_eq!(code, Some(0), "{errors}");
    names.split_terminator('\0').map(|name| root().join(name)).filter(|path| path.is_file()).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails with all of them, if there are more or fewer than the budget has.
fn check(found: &[String], budget: usize, kind: &str) {
    let list = if found.len() > budget { found.join("\n") } else { String::new() };
    assert!(found.len() == budget, "{} {kind}, and the budget is {budget}\n{list}", found.len());
}

#[test]
fn sentences_of_documents_are_short() {
    let (end, mut long) = (Regex::new(r"[.!?:;] ").expect("it is one"), Vec::new());
    for path in files(&["*.md"]) {
        // The log of changes says what was, and the page of commands is the tool's help.
        if path.ends_with("CHANGELOG.md") || path.ends_with("docs/reference/commands.md") {
            continue;
        }
        let (mut paragraph, mut paragraphs) = (String::new(), Vec::new());
        for line in prose(&read(&path)) {
            let begins = line.is_empty() || ["#", "|", "- ", "* ", "1."].iter().any(|mark| line.trim_start().starts_with(mark));
            if begins {
                paragraphs.push(std::mem::take(&mut paragraph));
            }
            if !line.starts_with('|') {
                paragraph = paragraph + " " + &line;
            }
        }
        paragraphs.push(paragraph);
        let sentences = paragraphs.iter().flat_map(|text| end.split(text));
        let too_long = sentences.filter(|sentence| sentence.split_whitespace().count() > LONGEST);
        long.extend(too_long.map(|sentence| format!("{}: {}", path.display(), sentence.trim())));
    }
    check(&long, LONG_SENTENCES, "sentences are longer than 30 words");
}

#[test]
fn comments_name_their_subject() {
    let mut found = Vec::new();
    for path in files(&["*.rs", "*.cs"]) {
        for (number, line) in (1..).zip(read(&path).lines()) {
            let comment = line.trim_start();
            let Some(text) = ["///", "//!", "//"].iter().find_map(|mark| comment.strip_prefix(mark)) else { continue };
            // C# has its comments in elements.
            let text = text.trim_start();
            let text = text.strip_prefix('<').and_then(|text| text.split_once('>')).map_or(text, |(_, text)| text);
            if ["What", "Who", "That", "Which", "Whose"].contains(&text.split_whitespace().next().unwrap_or_default()) {
                found.push(format!("{}:{number}: {comment}", path.display()));
            }
        }
    }
    check(&found, RELATIVE_CLAUSES, "comment lines begin with a relative clause");
}

#[test]
fn the_readme_is_short() {
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= README, "{words} words");
}
