//! The options that determine the bytes of a woven module, with its original and the tool's version. The mark records them
//! as text, so that the module can be woven again.

use std::{fmt, str::FromStr};

use ilrewrite::LeaveMode;

use super::option_table::{self, DEFAULT_MIN_IL, OptionRow, OptionValue, Scope, option_row};
use crate::{
    patterns::pattern::{Pattern, PatternError},
    probes::{
        captured::Captured,
        hook_method::{HookError, HookMethod},
        hooks::{HookPoint, Hooks},
        timed_calls::{Calls, NO_CALLS},
    },
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
    /// Whether each sequence point of the PDB is counted, beside the probes.
    pub lines: bool,
    /// Whether sequence points are counted, and methods have no probes.
    pub lines_only: bool,
    /// Whether the bytes that methods allocate are counted. Only the mark has it, and the ids of methods that a rule leaves out.
    pub allocations: bool,
    /// The values captured from the calls of methods with the tracker's probes.
    pub capture: Captured,
    /// The options for some methods only.
    pub rules: Vec<Rule>,
}

/// The patterns that select methods.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Selects only the methods that these patterns name. Empty selects all.
    pub include: Vec<Pattern>,
    /// Leaves out the methods that these patterns name, even included ones.
    pub exclude: Vec<Pattern>,
}

/// The options for the methods that the patterns name.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// The methods that the rule names. Empty for all methods.
    pub include: Vec<Pattern>,
    /// The methods that the rule leaves out, even included ones.
    pub exclude: Vec<Pattern>,
    /// Whether the methods are woven. Methods that `--include` and `--exclude` leave out stay out.
    pub weave: Option<bool>,
    /// The way to the leave probe.
    pub leave: Option<LeaveMode>,
    /// See [`Options::all`]. It and `min_il` replace each other.
    pub all: Option<bool>,
    /// See [`Options::min_il`].
    pub min_il: Option<u32>,
    /// See [`Options::hooks`].
    pub hooks: Option<Hooks>,
    /// See [`Options::capture`].
    pub capture: Option<Captured>,
    /// See [`Options::allocations`]. The bytes of other methods are their callers'.
    pub allocations: Option<bool>,
}

/// The source of a method's option. Places count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// An option that holds for all methods.
    Option,
    /// A pattern of `--include` or `--exclude`, by its place.
    Pattern(usize),
    /// A rule, by its place, and the pattern of its `include` that names the method, if it has any.
    Rule(usize, Option<usize>),
}

/// The defaults.
pub(crate) static DEFAULT: Options = Options {
    leave: LeaveMode::Finally,
    selection: Selection { include: Vec::new(), exclude: Vec::new() },
    all: false,
    min_il: DEFAULT_MIN_IL,
    calls: Calls::WAITS,
    keep_layout: false,
    embed: false,
    names: false,
    lines: false,
    lines_only: false,
    allocations: false,
    hooks: Hooks::TRACKER,
    capture: Captured::NONE,
    rules: Vec::new(),
};

impl Default for Options {
    fn default() -> Self {
        DEFAULT.clone()
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
    pub fn hooks_set_by(&self, source: DecidedBy) -> &Hooks {
        match source {
            DecidedBy::Rule(place, _) => self.rules.get(place).and_then(|rule| rule.hooks.as_ref()).unwrap_or(&self.hooks),
            _ => &self.hooks,
        }
    }

    /// Whether sequence points are counted.
    pub fn counts_lines(&self) -> bool {
        self.lines || self.lines_only
    }

    /// Whether the bytes that some methods allocate are counted.
    pub fn counts_bytes(&self) -> bool {
        self.allocations || self.rules.iter().any(|rule| rule.allocations == Some(true))
    }

    /// No bytes are counted.
    pub fn count_no_bytes(&mut self) {
        self.allocations = false;
        self.rules.iter_mut().for_each(|rule| rule.allocations = None);
    }

    /// All hooks that methods may have.
    pub fn all_hooks(&self) -> impl Iterator<Item = &Hooks> {
        std::iter::once(&self.hooks).chain(self.rules.iter().filter_map(|rule| rule.hooks.as_ref()))
    }

    /// Whether arguments or return values of some methods are recorded.
    pub fn capture_values(&self) -> bool {
        let of_rules = self.rules.iter().filter_map(|rule| rule.capture);
        std::iter::once(self.capture).chain(of_rules).any(|captured| captured.arguments || captured.returned)
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

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--leave={}", self.leave.word())?;
        put_patterns(f, "include", &self.selection.include)?;
        put_patterns(f, "exclude", &self.selection.exclude)?;
        f.write_str(if self.all { " --all" } else { "" })?;
        write!(f, " --min-il={}", self.min_il)?;
        if !self.calls.waits {
            write!(f, " --calls={NO_CALLS}")?;
        }
        put_patterns(f, "calls", &self.calls.named)?;
        f.write_str(if self.keep_layout { " --keep-layout" } else { "" })?;
        f.write_str(if self.embed { " --embed" } else { "" })?;
        f.write_str(if self.names { " --names" } else { "" })?;
        f.write_str(if self.lines { " --lines" } else { "" })?;
        f.write_str(if self.lines_only { " --lines-only" } else { "" })?;
        f.write_str(if self.allocations { " --allocations" } else { "" })?;
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
        for (word, answer) in [("weave", self.weave), ("all", self.all), ("allocations", self.allocations)] {
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
        let words = text.strip_prefix(START).ok_or_else(|| OptionsError::Unknown(text.to_owned()))?;
        let mut own = Words::default();
        let mut rules: Vec<Words> = Vec::new();
        for word in words.split(SEPARATOR) {
            match (word, rules.last_mut()) {
                (RULE, _) => rules.push(Words::default()),
                (_, Some(rule)) => rule.add(word, OptionRow::may_stand_in_rule)?,
                (_, None) => own.add(word, |row| row.scope != Scope::Rule)?,
            }
        }
        own.into_options(rules.into_iter().map(Words::into_rule).collect::<Result<_, _>>()?)
    }
}

/// The words of the options, or of one rule.
#[derive(Default)]
struct Words {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    leave: Option<LeaveMode>,
    weave: Option<bool>,
    all: Option<bool>,
    min_il: Option<u32>,
    calls: Calls,
    keep_layout: bool,
    embed: bool,
    names: bool,
    lines: bool,
    lines_only: bool,
    allocations: Option<bool>,
    capture: Option<Captured>,
    /// By place, in the order of [`HookPoint::ALL`].
    hooks: [Option<HookMethod>; 3],
    /// Whether the tracker's probes take the place of hooks.
    is_tracker: bool,
}

impl Words {
    /// Adds a word, if the option may stand here.
    fn add(&mut self, word: &str, may_stand: impl Fn(&OptionRow) -> bool) -> Result<(), OptionsError> {
        let unknown = || OptionsError::Unknown(format!("{START}{word}"));
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let is_rule_word = |row: &&OptionRow| may_stand(row) && row.in_mark;
        // The opposite of a flag is for rules. They may change what the options say.
        let (name, is_on) = match name.strip_prefix(NEGATED) {
            Some(name) if may_stand(&option_table::WEAVE) => (name, false),
            _ => (name, true),
        };
        if name == TRACKER && value.is_empty() && may_stand(&option_table::WEAVE) {
            self.is_tracker = true;
            return Ok(());
        }
        let row = option_row(name).filter(is_rule_word).ok_or_else(unknown)?;
        let is_flag = row.value == OptionValue::Flag;
        if is_flag && !value.is_empty() || !is_flag && !is_on {
            return Err(unknown());
        }
        if let Some(point) = HookPoint::ALL.iter().position(|point| point.option() == name && value.contains('!')) {
            self.hooks[point] = Some(unescaped(value).parse()?);
            return Ok(());
        }
        match name {
            "include" => self.include.push(unescaped(value).parse()?),
            "exclude" => self.exclude.push(unescaped(value).parse()?),
            "leave" => self.leave = Some(LeaveMode::from_word(value).ok_or_else(unknown)?),
            "weave" => self.weave = Some(is_on),
            "all" => self.all = Some(is_on),
            "min-il" => self.min_il = Some(value.parse().map_err(|_| unknown())?),
            "calls" => self.calls.add(unescaped(value).parse()?),
            "keep-layout" => self.keep_layout = true,
            "embed" => self.embed = true,
            "names" => self.names = true,
            "lines" => self.lines = true,
            "lines-only" => self.lines_only = true,
            "allocations" => self.allocations = Some(is_on),
            "capture" => self.capture = Some(value.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn into_options(self, rules: Vec<Rule>) -> Result<Options, OptionsError> {
        Ok(Options {
            leave: self.leave.unwrap_or(DEFAULT.leave),
            selection: Selection { include: self.include, exclude: self.exclude },
            all: self.all.unwrap_or(DEFAULT.all),
            min_il: self.min_il.unwrap_or(MIN_IL_OF_OLD_MARKS),
            calls: self.calls,
            keep_layout: self.keep_layout,
            embed: self.embed,
            names: self.names,
            lines: self.lines,
            lines_only: self.lines_only,
            allocations: self.allocations.unwrap_or(DEFAULT.allocations),
            hooks: Hooks::new(self.hooks)?,
            capture: self.capture.unwrap_or(DEFAULT.capture),
            rules,
        })
    }

    fn into_rule(self) -> Result<Rule, OptionsError> {
        let has_hooks = self.hooks.iter().any(Option::is_some);
        Ok(Rule {
            include: self.include,
            exclude: self.exclude,
            weave: self.weave,
            leave: self.leave,
            all: self.all,
            min_il: self.min_il,
            hooks: (has_hooks || self.is_tracker).then(|| Hooks::new(self.hooks)).transpose()?,
            capture: self.capture,
            allocations: self.allocations,
        })
    }
}

/// The value of `--min-il` in marks without it. Marks state it, since another default would change what older ones mean.
const MIN_IL_OF_OLD_MARKS: u32 = 24;
/// The word that begins a rule.
const RULE: &str = "rule";
/// The word of a rule that restores the tracker's probes.
const TRACKER: &str = "tracker";
/// The start of a flag's opposite.
const NEGATED: &str = "no-";
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
    use crate::select::option_table::OPTIONS;

    #[test]
    fn words_give_the_options_again() {
        for words in [
            "--leave=finally --min-il=24",
            "--leave=return --include=Shop.* --include=re:^A b$ --exclude=*::get_* --min-il=24 --keep-layout",
            "--leave=finally --min-il=24 --keep-layout",
            "--leave=finally --min-il=24 --keep-layout --embed",
            "--leave=finally --min-il=24 --embed --names",
            "--leave=finally --min-il=24 --names --lines --lines-only --allocations",
            "--leave=finally --all --min-il=24 --calls=none",
            "--leave=finally --min-il=24 --capture=calls,args,this --rule --capture=none --rule --capture=calls,exception",
            "--leave=finally --min-il=24 --allocations --rule --include=A --no-allocations --rule --include=B --allocations",
            "--leave=finally --min-il=0 --calls=System.Text.* --calls=re:a --keep-layout",
            "--leave=finally --exclude=A --min-il=24 --rule --include=B --include=C D --exclude=re:E --no-weave --rule --weave --no-all",
            "--leave=finally --min-il=24 --rule --all --leave=return --rule --min-il=7 --rule",
        ] {
            assert_eq!(words.parse::<Options>().unwrap().to_string(), words);
        }
        assert_eq!(Options::default().to_string(), DEFAULT.to_string());
    }

    /// A mark of an older file has no `--min-il` where the limit was 24.
    #[test]
    fn words_of_older_marks_keep_their_meaning() {
        assert_eq!("--leave=finally".parse::<Options>().unwrap().min_il, 24);
        assert_eq!("--leave=finally --all".parse::<Options>().unwrap().min_il, 24);
        assert_eq!("--leave=finally --min-il=7".parse::<Options>().unwrap().min_il, 7);
    }

    /// A word for each option that the mark has.
    fn word(row: &OptionRow) -> String {
        let value = match (row.value, row.name) {
            (OptionValue::Flag, name) => return format!("{START}{name}"),
            (_, "enter" | "handle") => "A/1.0.0.0/!B::C():000001".to_owned(),
            (OptionValue::Number(default), _) => (default + 1).to_string(),
            (OptionValue::One(default), "leave") => default.unwrap_or_default().to_owned(),
            (OptionValue::One(_), _) => "calls".to_owned(),
            (OptionValue::Many, _) => "B::C".to_owned(),
        };
        format!("{START}{}={value}", row.name)
    }

    /// The table decides which options the mark has, and which of them rules may have.
    #[test]
    fn the_mark_has_the_options_of_the_table() {
        for row in OPTIONS.iter() {
            let word = word(row);
            let of_options = word.parse::<Options>();
            assert_eq!(of_options.is_ok(), row.in_mark && row.scope != Scope::Rule, "{word}: {of_options:?}");
            let of_rule = format!("--leave=finally --rule {word}").parse::<Options>();
            assert_eq!(of_rule.is_ok(), row.in_mark && row.may_stand_in_rule(), "{word}: {of_rule:?}");
            for options in of_options.into_iter().chain(of_rule) {
                let written = options.to_string();
                assert!(format!("{written} ").contains(&format!("{word} ")), "{word}: {written}");
            }
        }
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
