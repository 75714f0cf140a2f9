//! Arguments that several subcommands share. `ilinst.toml` has them too, by the same names: what both say comes together here.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use weave::{Calls, CallsWord, Captured, Hooks, Options, Pattern, plan::Selection, policy::MIN_IL};

use crate::{
    config_file::ConfigFile,
    failure::Failure,
    hooks::{HookArgs, HookName, LeaveWord, Preset},
    hot::HotArgs,
};

/// The options that choose methods and their probes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SelectionArgs {
    /// Instrument only methods that match (repeatable), as 'Shop.*' or 'Shop.Order::Load'; see `ilinst help patterns`
    #[arg(help_heading = "Methods", long, value_name = "PATTERN")]
    pub(crate) include: Vec<Pattern>,

    /// Skip methods that match (repeatable); wins over --include
    #[arg(help_heading = "Methods", long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<Pattern>,

    /// Instrument trivial accessors, short methods and compiler-generated members too, which are skipped by default
    #[arg(help_heading = "Methods", long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub(crate) all: Option<bool>,

    /// Skip methods with at most N bytes of IL that contain no loop and call only skipped methods; 0 disables this [default:
    /// 24]
    #[arg(help_heading = "Methods", long, conflicts_with = "all", value_name = "N")]
    pub(crate) min_il: Option<u32>,

    #[command(flatten)]
    pub(crate) hot: HotArgs,

    /// Also time calls of these methods in assemblies that are not instrumented (repeatable)
    ///
    /// Blocking calls of the base library, such as Join, Wait, lock and socket reads, are always timed; `none` switches that
    /// off.
    #[arg(help_heading = "Recording", long, value_name = "PATTERN")]
    pub(crate) calls: Vec<CallsWord>,

    #[command(flatten)]
    pub(crate) hooks: HookArgs,

    /// Record each call with its time (calls), arguments (args), result (return), instance (this) or exception (exception)
    ///
    /// Separate words by commas; `report --calls` shows the calls. `tostring` records objects and structs as the text that
    /// their ToString returns: it runs in your program. `none` records no single calls.
    #[arg(help_heading = "Recording", long, value_name = "WHAT")]
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

    /// Instrument the framework's assemblies of a folder too; to choose one, --include '[System.Xml]*'
    #[arg(help_heading = "Methods", long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub(crate) all_assemblies: Option<bool>,

    /// Sign assemblies again with this key pair, as `sn -k` writes it (repeatable)
    #[arg(help_heading = "Instrumented files", long, value_name = "FILE")]
    pub(crate) snk: Vec<PathBuf>,

    /// Keep the layout of the file and append a section, instead of laying the file out anew
    #[arg(help_heading = "Instrumented files", long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub(crate) keep_layout: Option<bool>,

    /// Put the tracker into each instrumented assembly instead of beside it
    #[arg(help_heading = "Instrumented files", long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub(crate) embed: Option<bool>,

    /// Store the names of instrumented methods in each assembly, for programs that are trimmed or compiled to native code
    #[arg(help_heading = "Instrumented files", long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub(crate) names: Option<bool>,

    /// Exit with 4 if a method could not be instrumented
    #[arg(help_heading = "Instrumented files", long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub(crate) strict: Option<bool>,
}

/// The options in force, from the command line and a file.
#[derive(Debug)]
pub(crate) struct Weaving {
    /// How files are instrumented; the file's rules are among it.
    pub(crate) options: ::instrument::Options,
    /// `--strict`.
    pub(crate) strict: bool,
    /// Each option, in the order of the help.
    pub(crate) settings: Vec<Setting>,
    /// The file, if there is one.
    pub(crate) file: Option<ConfigFile>,
    /// The options that profiles' rules are of, which are behind the file's.
    pub(crate) of_profiles: Vec<&'static str>,
}

impl Weaving {
    /// The name of an option that is on the command line, if there is one.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = self.settings.iter().find(|setting| setting.origin == Origin::CommandLine);
        given.map(|setting| setting.name)
    }

    /// Whether an option is on the command line, by its name there: a file's may be for other inputs.
    pub(crate) fn is_given(&self, option: &str) -> bool {
        let is_it = |setting: &&Setting| option.strip_prefix("--") == Some(setting.name);
        self.settings.iter().find(is_it).is_some_and(|setting| setting.origin == Origin::CommandLine)
    }
}

/// The value of an option.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name, without dashes.
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// The source of an option's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Default,
    File,
    CommandLine,
}

/// Each option that a file can have: its name, where it is, and what it is if nobody says it.
macro_rules! for_each_setting {
    ($($name:literal = $($field:ident).+, else $default:expr;)*) => {
        impl WeaveArgs {
            /// Adds what a file says of what the command line does not; says what each comes to.
            fn add(&mut self, file: Option<&Self>) -> Vec<Setting> {
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
                    Setting { name: $name, value: self.$($field).+.to_json().unwrap_or_else(|| json!($default)), origin }
                },)*]
            }
        }
    };
}
for_each_setting! {
    "include" = selection.include, else [(); 0];
    "exclude" = selection.exclude, else [(); 0];
    "only-hot" = selection.hot.only_hot, else ();
    "except-noise" = selection.hot.except_noise, else ();
    "all" = selection.all, else false;
    "min-il" = selection.min_il, else MIN_IL;
    "calls" = selection.calls, else [(); 0];
    "enter" = selection.hooks.enter, else ();
    "leave" = selection.hooks.leave, else "finally";
    "handle" = selection.hooks.handle, else ();
    "preset" = selection.hooks.preset, else ();
    "capture" = selection.capture, else "none";
    "all-assemblies" = all_assemblies, else false;
    "snk" = snk, else [(); 0];
    "keep-layout" = keep_layout, else false;
    "embed" = embed, else false;
    "names" = names, else false;
    "strict" = strict, else false;
}

impl SelectionArgs {
    /// The options for an instrumentation. The inputs determine the file of options.
    ///
    /// # Errors
    /// If a file of options is invalid.
    pub(crate) fn resolve(&self, inputs: &[&Path]) -> anyhow::Result<Weaving> {
        WeaveArgs { selection: self.clone(), ..WeaveArgs::default() }.resolve(inputs)
    }
}

impl WeaveArgs {
    /// How the inputs, which lead to the file, are to be woven.
    ///
    /// # Errors
    /// If there is a file that is none.
    pub(crate) fn resolve(&self, inputs: &[&Path]) -> anyhow::Result<Weaving> {
        let mut file = ConfigFile::of(&self.selection.config, inputs)?;
        let mut args = self.clone();
        let given = &self.selection;
        if let Some(file) = &mut file {
            // These two are one: how much a method has to be worth.
            if given.all.is_some() || given.min_il.is_some() {
                file.args.selection.all = None;
                file.args.selection.min_il = None;
                file.rules.iter_mut().for_each(|rule| (rule.all, rule.min_il) = (None, None));
            }
            // So are what is called and what takes its result.
            if given.hooks.mode().is_some() {
                file.hooks().for_each(HookArgs::clear_mode);
            }
            if given.hooks.has_hooks() {
                file.hooks().for_each(HookArgs::clear_hooks);
            }
            if given.capture.is_some() {
                file.rules.iter_mut().for_each(|rule| rule.capture = None);
            }
            if !given.hooks.leave.is_empty() {
                args.selection.hooks.leave.append(&mut file.args.selection.hooks.leave);
            }
        }
        let settings = args.add(file.as_ref().map(|file| &file.args));
        let Self { selection, all_assemblies, snk: keys, keep_layout, embed, names, strict } = args;
        let mut calls = Calls::default();
        selection.calls.into_iter().for_each(|word| calls.add(word));
        let mut hook_assemblies = Vec::new();
        let rules = file.iter().flat_map(|file| &file.rules).map(|rule| rule.resolve(&mut hook_assemblies));
        let mut rules = rules.collect::<anyhow::Result<Vec<_>>>()?;
        let (of_profiles, more) = selection.hot.rules()?.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        rules.extend(more);
        let weave = Options {
            leave: selection.hooks.mode().unwrap_or_default(),
            selection: Selection { include: selection.include, exclude: selection.exclude },
            all: selection.all.unwrap_or_default(),
            min_il: selection.min_il.unwrap_or(MIN_IL),
            calls,
            keep_layout: keep_layout.unwrap_or_default(),
            embed: embed.unwrap_or_default(),
            names: names.unwrap_or_default(),
            hooks: selection.hooks.resolve(&mut hook_assemblies)?.unwrap_or(Hooks::TRACKER),
            capture: selection.capture.unwrap_or_default(),
            rules,
        };
        if weave.capture.calls && weave.hooks.methods().next().is_some() {
            let text = "--capture keeps what the tracker's probes see, and hooks take their place: say one of them";
            return Err(Failure::usage(text).into());
        }
        let all_assemblies = all_assemblies.unwrap_or_default();
        let options =
            ::instrument::Options { weave, all_assemblies, projects_alone: false, keys, hook_assemblies, names_expected: false };
        Ok(Weaving { options, strict: strict.unwrap_or_default(), settings, file, of_profiles })
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
