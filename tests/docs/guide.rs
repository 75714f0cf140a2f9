//! A guide: its commands, and what it says that they print.

use std::{fs, path::Path, sync::LazyLock};

use regex::Regex;

pub(crate) struct Guide {
    /// In `tests/docs/programs`; as an assembly its name is in lower case.
    pub(crate) program: Option<String>,
    pub(crate) needs: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) exit_code: i32,
    /// Lines that are among those that are printed.
    pub(crate) shown: Vec<String>,
}

impl Guide {
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a guide is text");
        let head = text.lines().next().unwrap_or_default();
        let head = head.trim_start_matches("<!--").trim_end_matches("-->");
        let list = |name: &str| -> Vec<String> {
            let words = head.split(';').find_map(|part| part.trim().strip_prefix(name)).unwrap_or_default();
            words.split_whitespace().map(ToOwned::to_owned).collect()
        };
        let (program, needs) = (list("program:").pop(), list("needs:"));
        let mut steps = Vec::<Step>::new();
        let mut block = None;
        for line in text.lines() {
            if let Some(kind) = line.strip_prefix("```") {
                block = if block.is_some() { None } else { Some(kind) };
            } else if block == Some("console") {
                if let Some(command) = line.strip_prefix("$ ") {
                    let (_, code) = command.split_once("# exit code ").unwrap_or(("", "0"));
                    let exit_code = code.trim().parse().expect("an exit code is a number");
                    steps.push(Step { command: command.to_owned(), exit_code, shown: Vec::new() });
                } else if line != "..." && !line.trim().is_empty() {
                    let step = steps.last_mut().unwrap_or_else(|| panic!("{}: {line} is below no command", path.display()));
                    step.shown.push(line.to_owned());
                }
            }
        }
        assert!(!steps.is_empty(), "{} has no commands", path.display());
        Self { program, needs, steps }
    }
}

/// A line without what differs from run to run, and from processor to processor.
pub(crate) fn shape(line: &str) -> String {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[+-]?\d[\d.,]*( ?(ns|us|ms|s|%|KiB|MiB)\b)?").expect("it is one"));
    let line = NUMBER.replace_all(line, "#").replace(['~', '%'], "").replace("clock: stopwatch", "clock: tsc");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Options that show some rows, chosen by their times.
const BY_TIME: [&str; 3] = ["--limit", "--min-percent", "--hot-path"];

/// Whether the machine has a say in which rows a command shows.
pub(crate) fn shows_rows_by_time(command: &str) -> bool {
    command.split_whitespace().any(|word| BY_TIME.contains(&word)) && !command.contains("--limit 0")
}

/// Whether a line's shape is that of a row of a table: it begins with numbers.
pub(crate) fn is_row(shape: &str) -> bool {
    shape.starts_with("# # # ")
}
