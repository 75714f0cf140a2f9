//! Help, manual pages, shell completions and documents agree about each command's options.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use regex::Regex;
use serde_json::Value;
use tests::{ilinst, require, root, said, scratch};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];
/// Options in the documents that are not ours: those of xtask, cargo, Mono and dotnet, and one that stands for any.
const OTHERS: [&str; 7] = ["--test-modules", "--quick", "--profile", "--runtime", "--no-build", "--no-incremental", "--option"];

/// Commands by their words, as `cache clear`, and the options of each.
pub(crate) type Commands = BTreeMap<String, BTreeSet<String>>;

/// Returns the output of the tool.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let (text, errors, code) = said(&ilinst().args(arguments).output().expect("ilinst runs"));
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{arguments:?}");
    text
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("it is one")
}

/// All that help leads to.
pub(crate) fn commands() -> Commands {
    let (option, command) = (regex(r"(?m)^ +(-\w)?(?:, )?(--[a-z-]+)?(?:[ =\[]|$)"), regex(r"(?m)^  ([a-z]+) "));
    let (mut commands, mut left) = (Commands::new(), vec![String::new()]);
    while let Some(words) = left.pop() {
        let help = printed(&words.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
        let (before, options) = help.split_once("\nOptions:\n").unwrap_or_else(|| panic!("{words}: {help}"));
        let options = option.captures_iter(options.split("\nExamples:").next().unwrap_or_default());
        let names = options.flat_map(|option| [1, 2].map(|group| option.get(group).map(|name| name.as_str().to_owned())));
        let inner = command.captures_iter(before).map(|inner| inner[1].to_owned()).filter(|inner| inner != "help");
        left.extend(inner.map(|inner| format!("{words} {inner}").trim().to_owned()));
        commands.insert(words, names.flatten().collect());
    }
    assert!(commands.len() > 20 && commands["cache clear"].contains("--help"), "{commands:?}");
    assert!(commands["instrument"].is_superset(&["-o", "--output", "--in-place"].map(str::to_owned).into()), "{commands:?}");
    commands
}

#[test]
fn the_manual_has_each_command_and_option() {
    let folder = scratch("docs-manual");
    printed(&["man", &folder.to_string_lossy()]);
    let mut pages: BTreeSet<String> = fs::read_dir(&folder)
        .expect("it is there")
        .flatten()
        .map(|page| page.file_name().to_string_lossy().into_owned())
        .collect();
    let option = regex(r"(?m)^\.TP\n(?:\\fB(-\w)\\fR(?:, )?)?(?:\\fB(--[a-z-]+)\\fR)?");
    for (words, options) in commands() {
        let page = ["ilinst"].into_iter().chain(words.split_whitespace()).collect::<Vec<_>>().join("-") + ".1";
        assert!(pages.remove(&page), "there is no {page}");
        let text = fs::read_to_string(folder.join(&page)).expect("it is text").replace("\\-", "-");
        let names = option
            .captures_iter(&text)
            .flat_map(|option| [1, 2].map(|group| option.get(group).map(|name| name.as_str().to_owned())));
        assert_eq!(names.flatten().collect::<BTreeSet<String>>(), options, "{page}");
        let help = printed(&words.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
        assert_eq!(text.contains("Examples:"), help.contains("Examples:"), "{page}");
    }
    assert!(pages.is_empty(), "there is no help for {pages:?}");
}

/// A reader of the manual may wrap its lines, except for indented ones: the examples.
#[test]
#[ignore = "needs groff"]
fn the_manual_shows_examples_as_help_does() {
    let Some(groff) = require("ILINST_GROFF") else { return };
    let folder = scratch("docs-shown");
    printed(&["man", &folder.to_string_lossy()]);
    let mut compared = 0;
    for page in fs::read_dir(&folder).expect("it is there").flatten() {
        let name = page.file_name().to_string_lossy().into_owned();
        let words = name.trim_end_matches(".1").split('-').skip(1);
        let help = printed(&words.chain(["--help"]).collect::<Vec<_>>());
        let Some((_, examples)) = help.split_once("\nExamples:\n") else { continue };
        let examples = examples.split("\n\n").next().unwrap_or_default();
        let shown = Command::new(&groff).args(["-man", "-Tutf8", "-P-cbou"]).arg(page.path()).output().expect("it starts");
        let (shown, errors, code) = said(&shown);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{name}");
        // As far as the page is indented.
        let indented = examples.lines().map(|line| format!("       {line}\n")).collect::<String>();
        assert!(shown.contains(&indented), "{name}: no\n{indented}in\n{shown}");
        compared += 1;
    }
    assert!(compared > 15, "{compared} pages have examples");
}

#[test]
fn shells_complete_each_command_and_option() {
    let commands = commands();
    for shell in SHELLS {
        let script = printed(&["completions", shell]);
        let json: Value = serde_json::from_str(&printed(&["completions", shell, "--json"])).expect("it is JSON");
        assert_eq!((&json["shell"], &json["script"]), (&shell.into(), &script.as_str().into()));
        for (words, options) in &commands {
            let inner = words.split(' ').next_back().unwrap_or_default();
            assert!(script.contains(inner), "{shell} does not complete {words}");
            for option in options.iter().filter_map(|option| option.strip_prefix("--")) {
                let is_there = script.contains(&format!("--{option}")) || script.contains(&format!("-l {option} "));
                assert!(is_there || script.contains(&format!("-l {option}\n")), "{shell} does not complete {words} --{option}");
            }
        }
    }
    // Of bash it can be said by command.
    let script = printed(&["completions", "bash"]);
    for (words, options) in commands.iter().filter(|(words, _)| !words.is_empty()) {
        let label = format!("\n        ilinst__subcmd__{})\n", words.replace(' ', "__subcmd__"));
        let (_, rest) = script.split_once(&label).unwrap_or_else(|| panic!("bash does not know {words}"));
        let (_, rest) = rest.split_once("opts=\"").expect("it has a list");
        let known: BTreeSet<&str> = rest.split('"').next().unwrap_or_default().split(' ').collect();
        assert!(options.iter().all(|option| known.contains(option.as_str())), "{words}: {options:?}, and bash knows {known:?}");
    }
}

/// The documents for users.
fn documents() -> Vec<PathBuf> {
    let mut documents = ["README.md", "msbuild/README.md", "dotnet-tool/README.md"].map(|path| root().join(path)).to_vec();
    for folder in ["docs", "docs/guide", "docs/reference"] {
        let files = fs::read_dir(root().join(folder)).expect("it is there").flatten().map(|entry| entry.path());
        let is_written = |path: &PathBuf| path.extension().is_some_and(|it| it == "md") && !path.ends_with("commands.md");
        documents.extend(files.filter(is_written));
    }
    documents
}

/// Code in a document: blocks, whose lines may go on, and what stands in a line.
fn code(path: &Path) -> Vec<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| regex(r"(?ms)^```.*?^```"));
    static INLINE: LazyLock<Regex> = LazyLock::new(|| regex(r"`([^`\n]+)`"));
    let text = fs::read_to_string(path).expect("it is text");
    let blocks = BLOCK
        .find_iter(&text)
        .flat_map(|block| block.as_str().replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>());
    let plain = BLOCK.replace_all(&text, "");
    blocks.chain(INLINE.captures_iter(&plain).map(|span| span[1].to_owned())).collect()
}

#[test]
fn documents_use_what_there_is() {
    let commands = commands();
    let call = regex(r"(?:^|[\s$(])ilinst(?:\.exe)? ([a-z]+)([^|;&#]*)");
    let option = regex(r"(?:^|\s)(--[a-z][a-z-]*|-[a-zA-Z]\b)");
    let known: BTreeSet<&str> = commands.values().flatten().map(String::as_str).chain(OTHERS).collect();
    for path in documents() {
        for line in code(&path) {
            let at = format!("{}: {line}", path.display());
            for call in call.captures_iter(&line) {
                // The rest of the line is the program's.
                let rest = call[2].split(" -- ").next().unwrap_or_default();
                let longer = format!("{} {}", &call[1], rest.split_whitespace().next().unwrap_or_default());
                let words = if commands.contains_key(&longer) { longer.as_str() } else { &call[1] };
                let options = commands.get(words).unwrap_or_else(|| panic!("there is no such command: {at}"));
                for option in option.captures_iter(rest) {
                    assert!(options.contains(&option[1]), "'{words}' has no {}: {at}", &option[1]);
                }
            }
            if line.starts_with("--") {
                let option = option.captures(&line).map(|option| option[1].to_owned()).unwrap_or_default();
                assert!(known.contains(option.as_str()), "no command has {option}: {at}");
            }
        }
    }
}

/// Each number of a message has a section in `docs/errors.md`, and each section a message.
#[test]
fn each_message_has_a_section() {
    let number = regex(r"ILI00\d\d");
    let mut emitted: BTreeSet<String> = BTreeSet::new();
    let mut folders: Vec<PathBuf> = ["crates", "msbuild", "dotnet-tool"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("it can be read").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if ["rs", "cs", "targets", "props"].map(Some).contains(&extension) {
                let text = fs::read_to_string(&path).expect("it is text");
                emitted.extend(number.find_iter(&text).map(|found| found.as_str().to_owned()));
            }
        }
    }
    let page = fs::read_to_string(root().join("docs/errors.md")).expect("it is there");
    let sections = regex(r"(?m)^## (ILI00\d\d) (?:error|warning|note): ")
        .captures_iter(&page)
        .map(|section| section[1].to_owned())
        .collect();
    assert!(emitted.len() > 20, "{emitted:?}");
    assert_eq!(emitted, sections);
}

#[test]
fn each_dependency_has_a_reason() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it is there");
    let manifest = read("Cargo.toml");
    let section = manifest.split_once("[workspace.dependencies]").expect("it has dependencies").1;
    let lines = section.split("\n[").next().unwrap_or_default().lines().filter(|line| !line.contains("path = "));
    let expected: BTreeSet<&str> = lines.filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    let page = read("docs/design/dependencies.md");
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let found: Vec<&str> = rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim()).collect();
    assert!(found.is_sorted(), "{found:?}");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn the_schema_of_json_has_each_sample_type() {
    let text = fs::read_to_string(root().join("docs/profile.schema.json")).expect("it is there");
    let schema: Value = serde_json::from_str(&text).expect("it is JSON");
    let names = schema.pointer("/$defs/valueTypes/items/properties/name/enum").expect("it has them").as_array();
    let names: BTreeSet<&str> = names.expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(names, profile::model::SampleType::ALL.iter().map(|sample_type| sample_type.name).collect());
}
