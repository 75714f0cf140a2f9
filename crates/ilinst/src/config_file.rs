//! `ilinst.toml`: options named like the flags, and rules with some of these options for some methods.
//!
//! Each key's value goes through the clap argument of that name, which defines the valid values.

use std::path::{Path, PathBuf};

use ::instrument::read_small;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches as _};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    arguments::{ConfigArgs, Lines, RuleArgs, WeaveArgs},
    failure::Failure,
    hooks::HookArgs,
    text::nearest,
};

/// The name under which it is looked for.
pub(crate) const NAME: &str = "ilinst.toml";
/// No file of options is larger, in bytes.
const LARGEST: u64 = 16 << 20;
/// The key of the rules.
const RULE: &str = "rule";

/// A file of options.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    /// Whether nobody named it.
    pub(crate) was_found: bool,
    /// The options.
    pub(crate) args: WeaveArgs,
    /// The lines of the options.
    pub(crate) lines: Lines,
    /// The rules, in order.
    pub(crate) rules: Vec<RuleArgs>,
}

impl ConfigFile {
    /// The file that is named, or that of the inputs.
    ///
    /// # Errors
    /// If it cannot be read, says what it cannot say, or the inputs have several.
    pub(crate) fn find(args: &ConfigArgs, inputs: &[&Path]) -> anyhow::Result<Option<Self>> {
        if args.no_config {
            return Ok(None);
        }
        if let Some(path) = &args.config {
            return Ok(Some(Self::read(path.clone(), false)?));
        }
        let mut found: Option<(PathBuf, &Path)> = None;
        for (place, input) in inputs.iter().enumerate() {
            let path = nearest_to(input);
            match (&found, path) {
                (Some((one, _)), Some(other)) if *one == other => {}
                (None, None) => {}
                (None, Some(path)) if place == 0 => found = Some((path, input)),
                (one, other) => {
                    let first = one.as_ref().map_or(inputs[0], |(_, first)| first);
                    let text = |path: Option<&Path>| path.map_or_else(|| format!("no {NAME}"), |path| path.display().to_string());
                    let (one, other) = (text(one.as_ref().map(|(path, _)| path.as_path())), text(other.as_deref()));
                    let (first, input) = (first.display(), input.display());
                    let text = format_args!(
                        "{first} uses {one}, and {input} uses {other}: choose one with --config FILE, or add --no-config"
                    );
                    return Err(Failure::usage(text).into());
                }
            }
        }
        Ok(found.map(|(path, _)| Self::read(path, true)).transpose()?)
    }

    fn read(path: PathBuf, was_found: bool) -> Result<Self, Failure> {
        let text = String::from_utf8(read_small(&path, LARGEST)?);
        let text = text.map_err(|error| Failure::bad_config(format_args!("{}: it is no UTF-8: {error}", path.display())))?;
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let reader = Reader { path: &path, ends };
        let table = DeTable::parse(&text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.failure(at, error.message())
        })?;
        let mut table = table.into_inner();
        let rules = table.remove(RULE).map(|rules| reader.rules(rules)).transpose()?.unwrap_or_default();
        let command = WeaveArgs::augment_args(Command::new(NAME)).mut_args(|arg| {
            let is_own = ["config", "no_config"].contains(&arg.get_id().as_str());
            if is_own { arg.hide(true) } else { arg }
        });
        let (matches, lines) = reader.options(command, &table, &[RULE], 0)?;
        let mut args = WeaveArgs::from_arg_matches(&matches).map_err(|error| reader.failure(0, error))?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        args.snk.iter_mut().for_each(|key| *key = folder.join(&key));
        let folder = folder.to_owned();
        let mut file = Self { path, was_found, args, lines, rules };
        file.hooks().for_each(|hooks| hooks.in_folder(&folder));
        file.args.selection.hot.in_folder(&folder);
        Ok(file)
    }

    /// The hooks of the file, and of each rule.
    pub(crate) fn hooks(&mut self) -> impl Iterator<Item = &mut HookArgs> {
        std::iter::once(&mut self.args.selection.hooks).chain(self.rules.iter_mut().map(|rule| &mut rule.hooks))
    }
}

/// The file of an input: in its folder, or the next one above, up to where a repository or the file system begins.
fn nearest_to(input: &Path) -> Option<PathBuf> {
    let input = std::path::absolute(input).ok()?;
    let folder = if input.is_dir() { &input } else { input.parent()? };
    for folder in folder.ancestors() {
        let path = folder.join(NAME);
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The text to parse, with its path for error messages.
struct Reader<'r> {
    path: &'r Path,
    /// Where lines end.
    ends: Vec<usize>,
}

/// A key's arguments, and the line of each.
type Words = Vec<(String, usize)>;

impl Reader<'_> {
    /// The line of a place, from 1.
    fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at) + 1
    }

    fn failure(&self, at: usize, what: impl std::fmt::Display) -> Failure {
        Failure::bad_config(format_args!("{}:{}: {what}", self.path.display(), self.line(at)))
    }

    fn rules(&self, rules: Spanned<DeValue<'_>>) -> Result<Vec<RuleArgs>, Failure> {
        let at = rules.span().start;
        let DeValue::Array(rules) = rules.into_inner() else {
            return Err(self.failure(at, "write [[rule]], as there may be several"));
        };
        let command = RuleArgs::augment_args(Command::new(RULE));
        let read = |rule: Spanned<DeValue<'_>>| {
            let at = rule.span().start;
            let DeValue::Table(table) = rule.into_inner() else { return Err(self.failure(at, "a rule is a table: [[rule]]")) };
            let (matches, lines) = self.options(command.clone(), &table, &[], at)?;
            let rule = RuleArgs::from_arg_matches(&matches).map_err(|error| self.failure(at, error))?;
            Ok(RuleArgs { line: self.line(at), lines, ..rule })
        };
        rules.into_iter().map(read).collect()
    }

    /// Parses the keys of a table, each like the argument of its name.
    fn options(&self, command: Command, table: &DeTable<'_>, others: &[&str], at: usize) -> Result<(ArgMatches, Lines), Failure> {
        let command = command.no_binary_name(true).disable_help_flag(true);
        let (mut all, mut lines) = (Vec::new(), Lines::new());
        for (key, value) in table {
            let words = self.words(&command, others, key, value)?;
            lines.insert(key.get_ref().to_string(), words.iter().map(|(_, line)| *line).collect());
            all.push((value.span().start, words));
        }
        let parse = |keys: &[(usize, Words)]| {
            command.clone().try_get_matches_from(keys.iter().flat_map(|(_, words)| words).map(|(word, _)| word))
        };
        let matches = parse(&all).map_err(|error| {
            // One key may be wrong by itself, or two of them together.
            let alone = |key: &(usize, Words)| Some((key.0, parse(std::slice::from_ref(key)).err()?));
            let (at, error) = all.iter().find_map(alone).unwrap_or((at, error));
            self.failure(at, said(&error))
        })?;
        Ok((matches, lines))
    }

    /// The command-line words that are equivalent to a key.
    fn words(
        &self,
        command: &Command,
        others: &[&str],
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Words, Failure> {
        let name = key.get_ref().as_ref();
        let arguments = || command.get_arguments().filter(|argument| !argument.is_hide_set());
        let Some(argument) = arguments().find(|argument| argument.get_long() == Some(name)) else {
            let names = arguments().filter_map(|argument| argument.get_long()).chain(others.iter().copied());
            let hint = nearest(name, names).map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            return Err(self.failure(key.span().start, format_args!("there is no option '{name}'{hint}")));
        };
        let is_flag = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
        let takes_many = matches!(argument.get_action(), ArgAction::Append);
        let word = |value: &Spanned<DeValue<'_>>| {
            let text = match value.get_ref() {
                DeValue::Boolean(yes) if is_flag => yes.to_string(),
                DeValue::String(text) if !is_flag => text.to_string(),
                DeValue::Integer(number) if !is_flag && !takes_many => {
                    let parsed = i64::from_str_radix(number.as_str(), number.radix());
                    parsed.map_err(|error| self.failure(value.span().start, error))?.to_string()
                }
                other => {
                    let wanted = match (is_flag, takes_many) {
                        (true, _) => "true or false",
                        (_, true) => "a string, or an array of strings",
                        _ => "a single value",
                    };
                    let text = format_args!("'{name}' is {wanted}, not of type {}", other.type_str());
                    return Err(self.failure(value.span().start, text));
                }
            };
            Ok((format!("--{name}={text}"), self.line(value.span().start)))
        };
        match value.get_ref() {
            DeValue::Array(values) if takes_many => values.iter().map(word).collect(),
            _ => Ok(vec![word(value)?]),
        }
    }
}

/// The error message of clap, in one line.
fn said(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let text = lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    text.trim_start_matches("error: ").to_owned()
}
