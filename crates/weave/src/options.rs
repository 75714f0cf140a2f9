//! The options that determine the bytes of a woven module, with its original and the tool's version. The mark records them
//! as text, so that the module can be woven again.

use std::{fmt, str::FromStr};

use ilrewrite::LeaveMode;

use crate::{
    capture::Captured,
    hook::{HookError, HookMethod},
    hooks::{Hooks, Place},
    pattern::{Pattern, PatternError},
    plan::Selection,
    policy::MIN_IL,
    rules::{Rule, Source},
};

/// The options that change bytes. As text they have the form of a command line: `--leave=finally --include=Shop.*
/// --keep-layout`. Options after a `--rule` belong to that rule.
#[derive(Clone, Debug)]
pub struct Options {
    /// The way to the leave probe.
    pub leave: LeaveMode,
    /// The patterns that select methods.
    pub selection: Selection,
    /// Whether methods that are skipped by default are woven too: short ones, accessors, and compiler-generated ones
    /// without a counterpart in the source.
    pub all: bool,
    /// The limit in bytes of IL up to which a body without a loop and a call is skipped.
    pub min_il: u32,
    /// The calls that have probes of their own.
    pub calls: Calls,
    /// Whether the layout of the original is kept though the image could be laid out anew.
    pub keep_layout: bool,
    /// Whether the tracker's types are embedded in the woven assembly.
    pub embed: bool,
    /// Whether the mark holds the names of the methods with probes, for programs that are trimmed or compiled to native
    /// code.
    pub names: bool,
    /// The hooks of methods in place of the tracker's probes.
    pub hooks: Hooks,
    /// The values captured from the calls of methods with the tracker's probes.
    pub capture: Captured,
    /// The options for some methods only.
    pub rules: Vec<Rule>,
}

/// The calls of other assemblies' members that have probes of their own.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Whether calls that wait have probes.
    pub waits: bool,
    /// Patterns for further methods whose calls have probes.
    pub named: Vec<Pattern>,
}

/// The defaults.
pub(crate) static DEFAULT: Options = Options {
    leave: LeaveMode::Finally,
    selection: Selection { include: Vec::new(), exclude: Vec::new() },
    all: false,
    min_il: MIN_IL,
    calls: Calls { waits: true, named: Vec::new() },
    keep_layout: false,
    embed: false,
    names: false,
    hooks: Hooks::TRACKER,
    capture: Captured::NONE,
    rules: Vec::new(),
};

impl Default for Options {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Default for Calls {
    fn default() -> Self {
        DEFAULT.calls.clone()
    }
}

/// A word of `--calls`.
#[derive(Clone, Debug)]
pub enum CallsWord {
    /// `none`: no probes for the calls that wait.
    None,
    /// A pattern for further methods whose calls have probes.
    Named(Box<Pattern>),
}

impl fmt::Display for CallsWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => NO_CALLS,
            Self::Named(pattern) => pattern.as_str(),
        })
    }
}

impl FromStr for CallsWord {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Ok(if text == NO_CALLS { Self::None } else { Self::Named(Box::new(text.parse()?)) })
    }
}

impl Options {
    /// The lists of patterns that choose methods, each with its option's name. Lists of rules have none.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (Option<&'static str>, &Vec<Pattern>)> {
        let own = [(Some("--include"), &self.selection.include), (Some("--exclude"), &self.selection.exclude)];
        own.into_iter().chain(self.rules.iter().flat_map(|rule| [(None, &rule.include), (None, &rule.exclude)]))
    }

    /// All patterns that choose methods, including those of rules.
    pub(crate) fn all_patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.lists().flat_map(|(_, patterns)| patterns)
    }

    /// The hooks that a source sets.
    pub fn hooks_of(&self, source: Source) -> &Hooks {
        match source {
            Source::Rule(place, _) => self.rules.get(place).and_then(|rule| rule.hooks.as_ref()).unwrap_or(&self.hooks),
            _ => &self.hooks,
        }
    }

    /// All hooks that methods may have.
    pub fn all_hooks(&self) -> impl Iterator<Item = &Hooks> {
        std::iter::once(&self.hooks).chain(self.rules.iter().filter_map(|rule| rule.hooks.as_ref()))
    }

    /// The lists of [`Options::lists`] in the same order, for changes.
    pub(crate) fn lists_mut(&mut self) -> Vec<&mut Vec<Pattern>> {
        let own = [&mut self.selection.include, &mut self.selection.exclude];
        own.into_iter().chain(self.rules.iter_mut().flat_map(|rule| [&mut rule.include, &mut rule.exclude])).collect()
    }

    /// The patterns of the options `--include`, `--exclude` and `--calls`, with their names.
    pub fn patterns(&self) -> impl Iterator<Item = (&'static str, &Pattern)> {
        let (include, exclude) = (&self.selection.include, &self.selection.exclude);
        let named = [("--include", include), ("--exclude", exclude), ("--calls", &self.calls.named)];
        named.into_iter().flat_map(|(option, patterns)| patterns.iter().map(move |pattern| (option, pattern)))
    }
}

impl Calls {
    /// Applies a word.
    pub fn add(&mut self, word: CallsWord) {
        match word {
            CallsWord::None => self.waits = false,
            CallsWord::Named(pattern) => self.named.push(*pattern),
        }
    }
}

/// The word that turns off the probes that calls have by default.
const NO_CALLS: &str = "none";

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--leave={}", self.leave.word())?;
        put_patterns(f, "include", &self.selection.include)?;
        put_patterns(f, "exclude", &self.selection.exclude)?;
        if self.all {
            f.write_str(" --all")?;
        } else if self.min_il != MIN_IL {
            write!(f, " --min-il={}", self.min_il)?;
        }
        if !self.calls.waits {
            write!(f, " --calls={NO_CALLS}")?;
        }
        put_patterns(f, "calls", &self.calls.named)?;
        f.write_str(if self.keep_layout { " --keep-layout" } else { "" })?;
        f.write_str(if self.embed { " --embed" } else { "" })?;
        f.write_str(if self.names { " --names" } else { "" })?;
        put_hooks(f, &self.hooks)?;
        if self.capture.calls {
            write!(f, " --capture={}", self.capture)?;
        }
        self.rules.iter().try_for_each(|rule| write!(f, " --rule{rule}"))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        put_patterns(f, "include", &self.include)?;
        put_patterns(f, "exclude", &self.exclude)?;
        for (word, answer) in [("weave", self.weave), ("all", self.all)] {
            answer.map_or(Ok(()), |answer| write!(f, " --{}{word}", if answer { "" } else { "no-" }))?;
        }
        self.min_il.map_or(Ok(()), |min_il| write!(f, " --min-il={min_il}"))?;
        self.leave.map_or(Ok(()), |leave| write!(f, " --leave={}", leave.word()))?;
        self.capture.map_or(Ok(()), |capture| write!(f, " --capture={capture}"))?;
        match &self.hooks {
            Some(hooks) if hooks.methods().next().is_none() => f.write_str(" --tracker"),
            hooks => hooks.iter().try_for_each(|hooks| put_hooks(f, hooks)),
        }
    }
}

fn put_hooks(f: &mut fmt::Formatter<'_>, hooks: &Hooks) -> fmt::Result {
    let mut methods = hooks.methods();
    methods.try_for_each(|(place, hook)| write!(f, " --{}={}", place.option(), escaped(&hook.to_string())))
}

fn put_patterns(f: &mut fmt::Formatter<'_>, name: &str, patterns: &[Pattern]) -> fmt::Result {
    patterns.iter().try_for_each(|pattern| write!(f, " --{name}={}", escaped(pattern.as_str())))
}

/// The error for text that is not a list of options.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// An unknown option.
    #[error("'{0}' is not an option of instrumentation")]
    Unknown(String),
    /// An invalid pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An invalid hook.
    #[error(transparent)]
    Hook(#[from] HookError),
}

impl FromStr for Options {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let mut options = Self::default();
        // The hooks of the options come first, then those of each rule.
        let mut hooks: Vec<[Option<HookMethod>; 3]> = vec![Default::default()];
        let unknown = |word: &str| OptionsError::Unknown(format!("--{word}"));
        let words = text.strip_prefix(START).ok_or_else(|| OptionsError::Unknown(text.to_owned()))?;
        for word in words.split(SEPARATOR) {
            let pattern = |text: &str| unescaped(text).parse::<Pattern>();
            let leave = |mode: &str| LeaveMode::of_word(mode).ok_or_else(|| unknown(word));
            let number = |number: &str| number.parse().map_err(|_| unknown(word));
            let captured = |words: &str| words.parse::<Captured>().map_err(|_| unknown(word));
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            if name == "rule" {
                hooks.push(Default::default());
            }
            let place = Place::ALL.iter().position(|place| place.option() == name && value.contains('!'));
            if let Some((place, hooks)) = place.zip(hooks.last_mut()) {
                hooks[place] = Some(unescaped(value).parse()?);
                continue;
            }
            if let Some(rule) = options.rules.last_mut() {
                match (name, value) {
                    ("rule", "") => options.rules.push(Rule::default()),
                    ("include", text) => rule.include.push(pattern(text)?),
                    ("exclude", text) => rule.exclude.push(pattern(text)?),
                    ("tracker", "") => rule.hooks = Some(Hooks::TRACKER),
                    ("weave" | "no-weave", "") => rule.weave = Some(name == "weave"),
                    ("all" | "no-all", "") => rule.all = Some(name == "all"),
                    ("min-il", text) => rule.min_il = Some(number(text)?),
                    ("leave", mode) => rule.leave = Some(leave(mode)?),
                    ("capture", words) => rule.capture = Some(captured(words)?),
                    _ => return Err(unknown(word)),
                }
                continue;
            }
            match (name, value) {
                ("rule", "") => options.rules.push(Rule::default()),
                ("leave", mode) => options.leave = leave(mode)?,
                ("include", text) => options.selection.include.push(pattern(text)?),
                ("exclude", text) => options.selection.exclude.push(pattern(text)?),
                ("all", "") => options.all = true,
                ("min-il", text) => options.min_il = number(text)?,
                ("calls", text) => options.calls.add(unescaped(text).parse()?),
                ("keep-layout", "") => options.keep_layout = true,
                ("embed", "") => options.embed = true,
                ("names", "") => options.names = true,
                ("capture", words) => options.capture = captured(words)?,
                _ => return Err(unknown(word)),
            }
        }
        for (place, methods) in hooks.into_iter().enumerate().filter(|(_, methods)| methods.iter().any(Option::is_some)) {
            let hooks = Hooks::new(methods)?;
            match place.checked_sub(1).and_then(|rule| options.rules.get_mut(rule)) {
                Some(rule) => rule.hooks = Some(hooks),
                None => options.hooks = hooks,
            }
        }
        Ok(options)
    }
}

/// The start of an option.
const START: &str = "--";
const SEPARATOR: &str = " --";

/// A pattern in which no option seems to begin. Each sequence like a separator gets one more backslash.
fn escaped(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(space) = rest.find(' ') {
        let (before, behind) = rest.split_at(space + 1);
        out.push_str(before);
        if behind.trim_start_matches('\\').starts_with(START) {
            out.push('\\');
        }
        rest = behind;
    }
    out + rest
}

/// The pattern that [`escaped`] got.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split(' ');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |out, piece| {
        let plain = piece.strip_prefix('\\').filter(|rest| rest.trim_start_matches('\\').starts_with(START));
        out + " " + plain.unwrap_or(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_the_options_again() {
        for words in [
            "--leave=finally",
            "--leave=return --include=Shop.* --include=re:^A b$ --exclude=*::get_* --keep-layout",
            "--leave=finally --keep-layout",
            "--leave=finally --keep-layout --embed",
            "--leave=finally --embed --names",
            "--leave=finally --all --calls=none",
            "--leave=finally --capture=calls,args,this --rule --capture=none --rule --capture=calls,exception",
            "--leave=finally --min-il=0 --calls=System.Text.* --calls=re:a --keep-layout",
            "--leave=finally --exclude=A --rule --include=B --include=C D --exclude=re:E --no-weave --rule --weave --no-all",
            "--leave=finally --rule --all --leave=return --rule --min-il=7 --rule",
        ] {
            assert_eq!(words.parse::<Options>().unwrap().to_string(), words);
        }
        assert_eq!(Options::default().to_string(), DEFAULT.to_string());
    }

    #[test]
    fn a_pattern_may_look_like_an_option() {
        for pattern in ["re:a --leave=return", r"re:a \--exclude=b \\--c", "re:a - -- b", "re: --"] {
            let selection = Selection { include: vec![pattern.parse().unwrap()], exclude: Vec::new() };
            let options = Options { selection, ..Options::default() };
            let again: Options = options.to_string().parse().unwrap();
            assert_eq!(again.to_string(), options.to_string());
            assert!(again.selection.exclude.is_empty() && again.leave == LeaveMode::Finally);
            assert_eq!(again.selection.include.iter().map(Pattern::as_str).collect::<Vec<_>>(), [pattern]);
        }
    }

    #[test]
    fn other_words_are_refused() {
        for words in [
            "",
            "leave",
            "--leave=later",
            "--leave=finally --probe=mine",
            "--leave=finally --min-il=-1",
            "--leave=finally --calls=re:(",
            "--include=re:(",
            "--leave=finally --rule=1",
            "--leave=finally --rule --keep-layout",
            "--leave=finally --no-weave",
        ] {
            assert!(words.parse::<Options>().is_err(), "{words}");
        }
    }
}
