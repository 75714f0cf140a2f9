//! `docs/reference/commands.md`: the help of each command, as the tool prints it. `BLESS=1` writes the page anew.

use std::fs;

use tests::root;

use crate::agree::{commands, printed};

const BEGINNING: &str = "\
# Commands and options

Each command has `--help`, with examples, and `--json` for scripts. This page has the same texts.
";

#[test]
fn the_reference_has_the_help_of_each_command() {
    let mut page = String::from(BEGINNING);
    let mut add = |title: &str, arguments: &[&str]| {
        let help = printed(arguments);
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        page += &format!("\n## {}\n\n```text\n{}\n```\n", format!("ilinst {title}").trim(), help.join("\n").trim_end());
    };
    for words in commands().into_keys() {
        add(&words, &words.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
    }
    add("help patterns", &["help", "patterns"]);
    let path = root().join("docs/reference/commands.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, page).expect("it can be written");
    } else {
        let written = fs::read_to_string(path).unwrap_or_default();
        let first = written.lines().zip(page.lines()).find(|(written, printed)| written != printed);
        assert!(written == page, "the page and the tool differ; BLESS=1 writes it. First: {first:?}");
    }
}
