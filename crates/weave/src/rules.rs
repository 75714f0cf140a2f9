//! Rules: what holds for some methods and not for others. They are read in order; of those that name a method, the last that
//! says something of an option is who decides it.

use ilrewrite::LeaveMode;

use crate::{capture::Captured, hooks::Hooks, options::Options, pattern::Pattern, reason::Reason};

/// What holds for the methods that its patterns name.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Which methods; all if there are none.
    pub include: Vec<Pattern>,
    /// Not these, even if they are included.
    pub exclude: Vec<Pattern>,
    /// Whether they are woven at all; what `--include` and `--exclude` leave out stays out.
    pub weave: Option<bool>,
    /// How the leave probe is reached.
    pub leave: Option<LeaveMode>,
    /// See [`Options::all`]; it replaces a `min_il`, as that does it.
    pub all: Option<bool>,
    /// See [`Options::min_il`].
    pub min_il: Option<u32>,
    /// See [`Options::hooks`].
    pub hooks: Option<Hooks>,
    /// See [`Options::capture`].
    pub capture: Option<Captured>,
}

/// Who says what holds for a method. Places count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// An option that holds for all.
    Option,
    /// A pattern of `--include` or `--exclude`, by its place.
    Pattern(usize),
    /// A rule, by its place; and the pattern of its `include` that names the method, if it has any.
    Rule(usize, Option<usize>),
}

/// What holds for a method that is selected, and who says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holds {
    /// The pattern of `--include` that names it, by its place, if there are any.
    pub included: Option<usize>,
    /// How its leave probe is reached.
    pub leave: (LeaveMode, Source),
    /// Who says which hooks it has: see [`Options::hooks_of`].
    pub hooks: Source,
    /// What is kept of its calls.
    pub capture: (Captured, Source),
    /// What its body has to be to be worth a probe.
    pub worth: (Worth, Source),
}

/// Which bodies are worth a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// All of them: `--all`.
    All,
    /// Those of more bytes of IL, with a loop or a call, of what a person wrote: `--min-il`.
    Above(u32),
}

impl Holds {
    /// What the options say of a method that no rule names.
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            included: None,
            leave: (options.leave, Source::Option),
            hooks: Source::Option,
            capture: (options.capture, Source::Option),
            worth: (Worth::of(options.all, options.min_il), Source::Option),
        }
    }
}

impl Worth {
    fn of(all: bool, min_il: u32) -> Self {
        if all { Self::All } else { Self::Above(min_il) }
    }
}

/// Says what holds in one assembly.
pub(crate) struct Chooser<'o> {
    options: &'o Options,
    include: Patterns<'o>,
    exclude: Patterns<'o>,
    rules: Vec<(Patterns<'o>, Patterns<'o>)>,
}

impl<'o> Chooser<'o> {
    /// Of an assembly of this name. None if the same holds for all methods.
    pub(crate) fn new(options: &'o Options, assembly: &str) -> Option<Self> {
        let is_same_for_all =
            options.selection.include.is_empty() && options.selection.exclude.is_empty() && options.rules.is_empty();
        (!is_same_for_all).then(|| {
            let here = |patterns| Patterns::new(patterns, assembly);
            let rules = options.rules.iter().map(|rule| (here(&rule.include), here(&rule.exclude))).collect();
            Self { options, include: here(&options.selection.include), exclude: here(&options.selection.exclude), rules }
        })
    }

    /// What holds for a method, of which is known what names it; or why it is left alone.
    pub(crate) fn choose(&self, names: &dyn Fn(&Pattern) -> bool) -> Result<Holds, Reason> {
        if let Some(pattern) = self.exclude.first(names) {
            return Err(Reason::Excluded(Source::Pattern(pattern)));
        }
        let included = self.include.first(names);
        if included.is_none() && !self.include.are_none {
            return Err(Reason::NotIncluded);
        }
        let mut holds = Holds { included, ..Holds::of(self.options) };
        let mut left_alone = None;
        for (place, (rule, (include, exclude))) in self.options.rules.iter().zip(&self.rules).enumerate() {
            let pattern = include.first(names);
            if pattern.is_none() && !include.are_none || exclude.first(names).is_some() {
                continue;
            }
            let source = Source::Rule(place, pattern);
            if let Some(weave) = rule.weave {
                left_alone = (!weave).then_some(source);
            }
            if let Some(leave) = rule.leave {
                holds.leave = (leave, source);
            }
            if rule.hooks.is_some() {
                holds.hooks = source;
            }
            if let Some(capture) = rule.capture {
                holds.capture = (capture, source);
            }
            if let Some(min_il) = rule.min_il {
                holds.worth = (Worth::Above(min_il), source);
            } else if let Some(all) = rule.all {
                holds.worth = (Worth::of(all, self.options.min_il), source);
            }
        }
        left_alone.map_or(Ok(holds), |source| Err(Reason::Excluded(source)))
    }
}

/// The patterns of a list that can name something in an assembly, with their places.
struct Patterns<'o> {
    are_none: bool,
    here: Vec<(usize, &'o Pattern)>,
}

impl<'o> Patterns<'o> {
    fn new(patterns: &'o [Pattern], assembly: &str) -> Self {
        let here = patterns.iter().enumerate().filter(|(_, pattern)| pattern.matches_assembly(assembly)).collect();
        Self { are_none: patterns.is_empty(), here }
    }

    /// The place of the first that names a method.
    fn first(&self, names: &dyn Fn(&Pattern) -> bool) -> Option<usize> {
        self.here.iter().find(|(_, pattern)| names(pattern)).map(|(place, _)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(words: &str, method: &str) -> Result<Holds, Reason> {
        let options: Options = words.parse().unwrap();
        let (class, name) = method.split_once("::").unwrap();
        Chooser::new(&options, "Shop")
            .map_or(Ok(Holds::of(&options)), |chooser| chooser.choose(&|pattern: &Pattern| pattern.matches(class, name)))
    }

    #[test]
    fn the_last_rule_that_says_something_decides_it() {
        let words = "--leave=finally --rule --include=A --leave=return --min-il=0 --rule --include=A --exclude=*::B --all";
        let a = holds(words, "A::C").unwrap();
        assert_eq!(a.leave, (LeaveMode::Return, Source::Rule(0, Some(0))));
        assert_eq!(a.worth, (Worth::All, Source::Rule(1, Some(0))));
        assert_eq!(holds(words, "A::B").unwrap().worth, (Worth::Above(0), Source::Rule(0, Some(0))));
        assert_eq!(holds(words, "D::B").unwrap(), Holds::of(&words.parse().unwrap()));
    }

    #[test]
    fn a_rule_leaves_alone_and_a_later_one_does_not() {
        let words = "--leave=finally --exclude=X --rule --include=A --no-weave --rule --include=*::B --weave";
        assert_eq!(holds(words, "A::C"), Err(Reason::Excluded(Source::Rule(0, Some(0)))));
        assert!(holds(words, "A::B").is_ok());
        assert_eq!(holds(words, "X::B"), Err(Reason::Excluded(Source::Pattern(0))), "not what is no rule's");
    }

    #[test]
    fn a_rule_for_another_assembly_is_none_here() {
        assert!(holds("--leave=finally --rule --include=[Till]* --no-weave", "A::B").is_ok());
        assert!(holds("--leave=finally --rule --include=[Shop]* --no-weave", "A::B").is_err());
        assert!(holds("--leave=finally --rule --exclude=[Till]* --no-weave", "A::B").is_err());
    }
}
