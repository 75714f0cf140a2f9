//! Tests of every command, and of every documented command line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use clap::{Args as _, Command, CommandFactory as _, FromArgMatches as _, error::ErrorKind};
use weave::option_table::{OPTIONS, OptionRow, Scope};

use crate::{
    Cli,
    arguments::{RuleArgs, WeaveArgs},
};

/// The commands that do something, with how they are called.
fn commands() -> Vec<(String, Command)> {
    fn collect(command: &Command, path: &str, into: &mut Vec<(String, Command)>) {
        let name = format!("{path}{}", command.get_name());
        if !command.has_subcommands() || name != "ilinst" {
            into.push((name.clone(), command.clone()));
        }
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            collect(below, &format!("{name} "), into);
        }
    }
    let mut command = Cli::command();
    command.build();
    let mut all = Vec::new();
    collect(&command, "", &mut all);
    all
}

#[test]
fn every_command_has_json() {
    let lacks = |command: &Command| !command.get_arguments().any(|argument| argument.get_long() == Some("json"));
    // Hidden commands are for packagers.
    let shown = commands().into_iter().filter(|(_, command)| !command.is_hide_set());
    let without: Vec<String> = shown.filter(|(_, command)| lacks(command)).map(|(name, _)| name).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// The examples of all helps, by line, and what is said of exit codes.
fn help_lines() -> Vec<(String, String)> {
    let of_all = Cli::command().get_after_help().map(ToString::to_string).unwrap_or_default();
    let texts = commands().into_iter().map(|(name, command)| {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        (name, text)
    });
    let texts = std::iter::once(("ilinst".to_owned(), of_all)).chain(texts);
    texts.flat_map(|(name, text)| text.lines().map(|line| (name.clone(), line.to_owned())).collect::<Vec<_>>()).collect()
}

/// Wrapped, the end of a comment would be read as a command.
#[test]
fn examples_fit_a_terminal() {
    let is_long = |(_, line): &(String, String)| line.starts_with("  ") && line.chars().count() > 80;
    let long: Vec<(String, String)> = help_lines().into_iter().filter(is_long).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn examples_can_be_run() {
    let lines = help_lines();
    let commands: Vec<&str> = lines.iter().map(|(_, line)| line.trim()).filter(|line| line.contains("ilinst ")).collect();
    assert!(commands.len() > 50, "{}", commands.len());
    let wrong: Vec<String> = commands.iter().flat_map(|line| wrong_in(line, &[])).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_documents_say_can_be_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["docs", "docs/reference"].map(|folder| fs::read_dir(root.join(folder)).expect("there are documents"));
    let docs = folders.into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| !path.ends_with("commands.md"));
    let texts = docs.chain(["README.md", "samples/README.md"].map(|name| root.join(name)));
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in texts.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(&path).expect("it is text");
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
                continue;
            }
            // Between backquotes, an argument may be left out, or have the name of what stands there.
            let placeholders = [ErrorKind::MissingRequiredArgument, ErrorKind::InvalidValue, ErrorKind::ValueValidation];
            let (pieces, may_be): (Vec<&str>, &[ErrorKind]) =
                if is_code { (vec![line], &[]) } else { (line.split('`').skip(1).step_by(2).collect(), &placeholders) };
            for piece in pieces.into_iter().filter(|piece| piece.contains("ilinst ")) {
                count += 1;
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                wrong.extend(wrong_in(piece, may_be).map(|error| format!("{name}:{number}: {error}")));
            }
        }
    }
    assert!(count > 40, "{count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The errors in ilinst commands of a shell line.
fn wrong_in(line: &str, may_be: &[ErrorKind]) -> Option<String> {
    for words in of_shell(line) {
        if words.first().is_none_or(|word| word != "ilinst") {
            continue;
        }
        let may_be = |error: &clap::Error| !error.use_stderr() || may_be.contains(&error.kind());
        if let Err(error) = Cli::command()
            .try_get_matches_from(&words)
            .map(drop)
            .or_else(|error| if may_be(&error) { Ok(()) } else { Err(error) })
        {
            return Some(format!("{line}: {error}"));
        }
    }
    None
}

/// The commands of a line, in words: what quotes hold together is one, comments and where output goes are none.
fn of_shell(line: &str) -> Vec<Vec<String>> {
    let line = line.trim().trim_start_matches("$ ").trim_start_matches("sudo ");
    let line = line.replace("cargo run --release -- ", "ilinst ").replace("\\|", "/");
    let (mut commands, mut word, mut quote) = (vec![Vec::new()], None::<String>, None);
    // Three spaces are what comments of examples begin with.
    let mut spaces = 0;
    for character in line.chars().chain([' ']) {
        spaces = if character == ' ' { spaces + 1 } else { 0 };
        match (character, quote) {
            (_, Some(open)) if character == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(character),
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (' ', None) => {
                if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
                    command.push(word);
                }
                if spaces == 3 {
                    break;
                }
            }
            ('#', None) if word.is_none() => break,
            ('>', None) => break,
            ('|' | ';' | '&', None) => commands.push(word.take().into_iter().collect()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    commands
}

/// The names of a command's options.
fn option_names(command: &Command) -> BTreeSet<&str> {
    command.get_arguments().filter_map(clap::Arg::get_long).collect()
}

/// The names of the options of the table that a condition holds for.
fn rows(is_meant: impl Fn(&OptionRow) -> bool) -> BTreeSet<&'static str> {
    OPTIONS.iter().filter(|row| is_meant(row)).map(|row| row.name).collect()
}

#[test]
fn the_command_line_and_the_file_have_the_options_of_the_table() {
    let command = WeaveArgs::augment_args(Command::new("weave"));
    let mut flags = option_names(&command);
    assert!(flags.remove("config") && flags.remove("no-config"));
    assert_eq!(flags, rows(|row| row.scope != Scope::Rule));
    let weaving = WeaveArgs::default().resolve(&[]).expect("there is no file");
    assert_eq!(flags, weaving.settings.iter().map(|setting| setting.name).collect());
    let rule = RuleArgs::augment_args(Command::new("rule"));
    assert_eq!(option_names(&rule), rows(OptionRow::may_stand_in_rule));
    let words = [
        "weave",
        "--include=A",
        "--exclude=A",
        "--weave=false",
        "--all=true",
        "--allocations=true",
        "--capture=args",
        "--leave=return",
    ];
    let matches = rule.clone().get_matches_from(words);
    let mut rule = RuleArgs::from_arg_matches(&matches).expect("a rule");
    rule.min_il = Some(3);
    let hook = "A.dll!B::C".parse().expect("a hook");
    rule.hooks.enter = Some(hook);
    rule.hooks.handle.clone_from(&rule.hooks.enter);
    rule.hooks.preset = "tracker".parse().ok();
    assert_eq!(rule.settings().into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>(), rows(OptionRow::may_stand_in_rule));
}

/// Other options of `ilinst instrument` that have a property.
const OTHER_PROPERTIES: [&str; 4] = ["config", "pdb", "verbose", "threads"];

#[test]
fn msbuild_has_the_options_of_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../msbuild");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("it is committed");
    let (targets, readme) = (read("build/Ilinst.MSBuild.targets"), read("README.md"));
    let lines = targets.lines().filter(|line| line.trim_start().starts_with("<_IlinstOptions Condition"));
    let option = |line: &'_ str| Some(line.split_once("$(_IlinstOptions);--")?.1.split(['=', '<']).next()?.to_owned());
    let passed: BTreeMap<String, &str> = lines.filter_map(|line| Some((option(line)?, line))).collect();
    for OptionRow { name, property, .. } in OPTIONS.iter().filter(|row| row.scope != Scope::Rule) {
        let line = passed.get(*name).unwrap_or_else(|| panic!("{name} has no line in the targets"));
        let is_property = line.contains(&format!("$({property})"));
        assert!(is_property || targets.contains(&format!("@({property})")), "{name} is not passed from {property}");
        assert!(readme.contains(&format!("`{property}`")) && readme.contains(&format!("`--{name}`")), "README.md: {name}");
    }
    let known = rows(|row| row.scope != Scope::Rule);
    let unknown: Vec<&String> =
        passed.keys().filter(|name| !known.contains(&***name) && !OTHER_PROPERTIES.contains(&&***name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not in the table");
}
