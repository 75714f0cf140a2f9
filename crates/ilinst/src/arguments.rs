//! Arguments that several subcommands share. `ilinst.toml` has them too, by the same names: what both say comes together here.

use std::{collections::BTreeMap, path::PathBuf};

use ::instrument::HookAssembly;
use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use weave::{
    CallsWord, Captured, Pattern, Rule,
    option_table::{
        ALL, ALL_ASSEMBLIES, ALLOCATIONS, CALLS, CAPTURE, EMBED, ENTER, EXCEPT_NOISE, EXCLUDE, HANDLE, INCLUDE, KEEP_LAYOUT,
        LEAVE, LINES, LINES_ONLY, MIN_IL, NAMES, ONLY_HOT, OptionRow, OptionValue, PRESET, SNK, STRICT, WEAVE,
    },
};

use crate::{
    hooks::{HookArgs, HookName, LeaveWord, Preset},
    hot::HotArgs,
};

/// The options that choose methods and their probes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SelectionArgs {
    #[arg(long, help_heading = INCLUDE.heading, value_name = INCLUDE.value_name, help = INCLUDE.help)]
    pub(crate) include: Vec<Pattern>,

    #[arg(long, help_heading = EXCLUDE.heading, value_name = EXCLUDE.value_name, help = EXCLUDE.help)]
    pub(crate) exclude: Vec<Pattern>,

    #[arg(long, help_heading = ALL.heading, value_name = ALL.value_name, help = ALL.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) all: Option<bool>,

    #[arg(long, help_heading = MIN_IL.heading, value_name = MIN_IL.value_name, help = MIN_IL.help, conflicts_with = ALL.name)]
    pub(crate) min_il: Option<u32>,

    #[command(flatten)]
    pub(crate) hot: HotArgs,

    #[arg(long, help_heading = CALLS.heading, value_name = CALLS.value_name, help = CALLS.help, long_help = CALLS.long_help)]
    pub(crate) calls: Vec<CallsWord>,

    #[command(flatten)]
    pub(crate) hooks: HookArgs,

    #[arg(long, help_heading = CAPTURE.heading, value_name = CAPTURE.value_name, help = CAPTURE.help, long_help = CAPTURE.long_help)]
    pub(crate) capture: Option<Captured>,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// The options that choose the `ilinst.toml`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConfigArgs {
    /// Use this file of options instead of the nearest ilinst.toml
    #[arg(help_heading = "Options file", long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,

    /// Ignore ilinst.toml
    #[arg(help_heading = "Options file", long)]
    pub(crate) no_config: bool,
}

/// How assemblies are woven: what every command takes that weaves, and all that `ilinst.toml` can say.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WeaveArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    #[arg(long, help_heading = LINES.heading, value_name = LINES.value_name, help = LINES.help, long_help = LINES.long_help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) lines: Option<bool>,

    #[arg(long, help_heading = LINES_ONLY.heading, value_name = LINES_ONLY.value_name, help = LINES_ONLY.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) lines_only: Option<bool>,

    #[arg(long, help_heading = ALLOCATIONS.heading, value_name = ALLOCATIONS.value_name, help = ALLOCATIONS.help, long_help = ALLOCATIONS.long_help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) allocations: Option<bool>,

    #[arg(long, help_heading = ALL_ASSEMBLIES.heading, value_name = ALL_ASSEMBLIES.value_name, help = ALL_ASSEMBLIES.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) all_assemblies: Option<bool>,

    #[arg(long, help_heading = SNK.heading, value_name = SNK.value_name, help = SNK.help)]
    pub(crate) snk: Vec<PathBuf>,

    #[arg(long, help_heading = KEEP_LAYOUT.heading, value_name = KEEP_LAYOUT.value_name, help = KEEP_LAYOUT.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) keep_layout: Option<bool>,

    #[arg(long, help_heading = EMBED.heading, value_name = EMBED.value_name, help = EMBED.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) embed: Option<bool>,

    #[arg(long, help_heading = NAMES.heading, value_name = NAMES.value_name, help = NAMES.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) names: Option<bool>,

    #[arg(long, help_heading = STRICT.heading, value_name = STRICT.value_name, help = STRICT.help, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) strict: Option<bool>,
}

/// A rule: what holds for some methods.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RuleArgs {
    #[arg(long)]
    pub(crate) include: Vec<Pattern>,
    #[arg(long)]
    pub(crate) exclude: Vec<Pattern>,
    #[arg(long, num_args = 0..=1)]
    pub(crate) weave: Option<bool>,
    #[arg(long, num_args = 0..=1)]
    pub(crate) all: Option<bool>,
    #[arg(long, conflicts_with = "all")]
    pub(crate) min_il: Option<u32>,
    #[command(flatten)]
    pub(crate) hooks: HookArgs,
    #[arg(long)]
    pub(crate) capture: Option<Captured>,
    #[arg(long, num_args = 0..=1)]
    pub(crate) allocations: Option<bool>,
    /// The line where it begins.
    #[arg(skip)]
    pub(crate) line: usize,
    #[arg(skip)]
    pub(crate) lines: Lines,
}

/// The lines of the values that each key has.
pub(crate) type Lines = BTreeMap<String, Vec<usize>>;

/// The source of an option's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Default,
    File,
    CommandLine,
}

/// The value of an option.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name, without dashes.
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// The options of `ilinst.toml`, each with its place in the arguments.
macro_rules! settings {
    ($($row:ident = $($field:ident).+;)*) => {
        impl WeaveArgs {
            /// Adds the file's values of options that the command line does not have. Returns the value of each option.
            pub(crate) fn add(&mut self, file: Option<&Self>) -> Vec<Setting> {
                vec![$({
                    let of_file = file.map(|file| &file.$($field).+).filter(|value| value.to_json().is_some());
                    let origin = match (self.$($field).+.to_json(), of_file) {
                        (Some(_), _) => Origin::CommandLine,
                        (None, Some(value)) => {
                            self.$($field).+ = value.clone();
                            Origin::File
                        }
                        (None, None) => Origin::Default,
                    };
                    Setting { name: $row.name, value: self.$($field).+.to_json().unwrap_or_else(|| default(&$row)), origin }
                },)*]
            }
        }
    };
}
settings! {
    INCLUDE = selection.include;
    EXCLUDE = selection.exclude;
    ONLY_HOT = selection.hot.only_hot;
    EXCEPT_NOISE = selection.hot.except_noise;
    ALL = selection.all;
    MIN_IL = selection.min_il;
    CALLS = selection.calls;
    ENTER = selection.hooks.enter;
    LEAVE = selection.hooks.leave;
    HANDLE = selection.hooks.handle;
    PRESET = selection.hooks.preset;
    CAPTURE = selection.capture;
    LINES = lines;
    LINES_ONLY = lines_only;
    ALLOCATIONS = allocations;
    ALL_ASSEMBLIES = all_assemblies;
    SNK = snk;
    KEEP_LAYOUT = keep_layout;
    EMBED = embed;
    NAMES = names;
    STRICT = strict;
}

/// The options of rules, each with its place in the arguments.
macro_rules! rule_settings {
    ($($row:ident = $($field:ident).+;)*) => {
        impl RuleArgs {
            /// The options that the rule sets, with their values.
            pub(crate) fn settings(&self) -> Vec<(&'static str, Value)> {
                let all = [$(($row.name, self.$($field).+.to_json())),*];
                all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };
}
rule_settings! {
    INCLUDE = include;
    EXCLUDE = exclude;
    WEAVE = weave;
    ALL = all;
    MIN_IL = min_il;
    CAPTURE = capture;
    ALLOCATIONS = allocations;
    ENTER = hooks.enter;
    LEAVE = hooks.leave;
    HANDLE = hooks.handle;
    PRESET = hooks.preset;
}

/// The default of an option, as JSON.
fn default(row: &OptionRow) -> Value {
    match row.value {
        OptionValue::Flag => json!(false),
        OptionValue::Number(number) => json!(number),
        OptionValue::One(word) => json!(word),
        OptionValue::Many => json!([]),
    }
}

impl RuleArgs {
    /// The rule; the assemblies that its hooks are in are added to those known.
    ///
    /// # Errors
    /// If it has no such hooks.
    pub(crate) fn resolve(&self, known: &mut Vec<HookAssembly>) -> anyhow::Result<Rule> {
        let Self { include, exclude, weave, all, min_il, hooks, capture, allocations, .. } = self.clone();
        let (leave, hooks) = (hooks.mode(), hooks.resolve(known)?);
        Ok(Rule { include, exclude, weave, all, min_il, leave, hooks, capture, allocations })
    }
}

/// A value that may be given.
pub(crate) trait Given {
    /// None if it is not.
    fn to_json(&self) -> Option<Value>;
}

impl<T: ToJson> Given for Option<T> {
    fn to_json(&self) -> Option<Value> {
        self.as_ref().map(ToJson::to_json)
    }
}

impl<T: ToJson> Given for Vec<T> {
    fn to_json(&self) -> Option<Value> {
        match &self[..] {
            [] => None,
            [one] if !T::IS_LIST => Some(one.to_json()),
            all => Some(all.iter().map(ToJson::to_json).collect()),
        }
    }
}

/// A value as JSON has it.
pub(crate) trait ToJson {
    /// Whether several of them are a list, even if there is one.
    const IS_LIST: bool = true;

    fn to_json(&self) -> Value;
}

macro_rules! to_json {
    ($($value:ident: $type:ty => $json:expr;)*) => {
        $(impl ToJson for $type {
            fn to_json(&self) -> Value {
                let $value = self;
                json!($json)
            }
        })*
    };
}
to_json! {
    value: bool => value;
    value: u32 => value;
    path: PathBuf => path.to_string_lossy();
    pattern: Pattern => pattern.as_str();
    word: CallsWord => word.to_string();
    hook: HookName => hook.to_string();
    preset: Preset => preset.to_string();
    captured: Captured => captured.to_string();
}

impl ToJson for LeaveWord {
    const IS_LIST: bool = false;

    fn to_json(&self) -> Value {
        json!(self.to_string())
    }
}

/// `--threads`: the size of the pool that all work is shared by.
///
/// # Errors
/// If the system starts no thread more: without memory or a process' limit.
pub(crate) fn limit_threads(threads: Option<u16>) -> anyhow::Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().context("no thread can be started")
}
