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
    for words in commands().into_keys() {
        let help = printed(&words.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        page += &format!("\n## {}\n\n```text\n{}\n```\n", format!("ilinst {words}").trim(), help.join("\n").trim_end());
    }
    let path = root().join("docs/reference/commands.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, page).expect("it can be written");
    } else {
        let written = fs::read_to_string(path).unwrap_or_default();
        let first = written.lines().zip(page.lines()).find(|(written, printed)| written != printed);
        assert!(written == page, "the page and the tool differ; BLESS=1 writes it. First: {first:?}");
    }
}
