//! The options in force: the command line's, then those of `ilinst.toml`, then the defaults.

use std::path::Path;

use weave::{Calls, Hooks, Options, Selection, option_table::DEFAULT_MIN_IL};

use crate::{
    arguments::{Origin, SelectionArgs, Setting, WeaveArgs},
    config_file::ConfigFile,
    failure::Failure,
    hooks::HookArgs,
};

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
        let mut file = ConfigFile::find(&self.selection.config, inputs)?;
        let mut args = self.clone();
        if let Some(file) = &mut file {
            give_way(file, self);
            if !self.selection.hooks.leave.is_empty() {
                args.selection.hooks.leave.append(&mut file.args.selection.hooks.leave);
            }
        }
        let settings = args.add(file.as_ref().map(|file| &file.args));
        let Self { selection, lines, lines_only, allocations, all_assemblies, snk: keys, keep_layout, embed, names, strict } =
            args;
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
            min_il: selection.min_il.unwrap_or(DEFAULT_MIN_IL),
            calls,
            keep_layout: keep_layout.unwrap_or_default(),
            embed: embed.unwrap_or_default(),
            names: names.unwrap_or_default(),
            lines: lines.unwrap_or_default(),
            lines_only: lines_only.unwrap_or_default(),
            allocations: allocations.unwrap_or_default(),
            hooks: selection.hooks.resolve(&mut hook_assemblies)?.unwrap_or(Hooks::TRACKER),
            capture: selection.capture.unwrap_or_default(),
            rules,
        };
        if weave.capture.calls && weave.hooks.methods().next().is_some() {
            let text = "--capture needs the tracker's probes, which hooks replace: leave out --capture, or the hooks";
            return Err(Failure::usage(text).into());
        }
        if weave.counts_bytes() && (weave.lines_only || weave.hooks.methods().next().is_some()) {
            let text =
                "--allocations needs the tracker's probes: leave out --allocations (or its rules), or --lines-only and the hooks";
            return Err(Failure::usage(text).into());
        }
        let all_assemblies = all_assemblies.unwrap_or_default();
        let options =
            ::instrument::Options { weave, all_assemblies, projects_alone: false, keys, hook_assemblies, names_expected: false };
        Ok(Weaving { options, strict: strict.unwrap_or_default(), settings, file, of_profiles })
    }
}

/// Takes options out of the file, and out of its rules, that the command line decides.
fn give_way(file: &mut ConfigFile, given: &WeaveArgs) {
    let WeaveArgs { selection: given, allocations, .. } = given;
    // Both say which bodies are long enough.
    if given.all.is_some() || given.min_il.is_some() {
        file.args.selection.all = None;
        file.args.selection.min_il = None;
        file.rules.iter_mut().for_each(|rule| (rule.all, rule.min_il) = (None, None));
    }
    if given.hooks.mode().is_some() {
        file.hooks().for_each(HookArgs::clear_mode);
    }
    // A hook of one place may take the result of another's.
    if given.hooks.has_hooks() {
        file.hooks().for_each(HookArgs::clear_hooks);
    }
    if given.capture.is_some() {
        file.rules.iter_mut().for_each(|rule| rule.capture = None);
    }
    if *allocations == Some(false) {
        file.rules.iter_mut().for_each(|rule| rule.allocations = None);
    }
}
