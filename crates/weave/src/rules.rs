//! Rules set options for some methods. They are read in order. The last rule that names a method and sets an option decides
//! that option.

use ilrewrite::LeaveMode;

use crate::{candidates::Candidates, capture::Captured, hooks::Hooks, options::Options, pattern::Pattern, reason::Reason};

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
}

/// The source of a method's option. Places count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// An option that holds for all methods.
    Option,
    /// A pattern of `--include` or `--exclude`, by its place.
    Pattern(usize),
    /// A rule, by its place, and the pattern of its `include` that names the method, if it has any.
    Rule(usize, Option<usize>),
}

/// The options of a selected method, each with its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holds {
    /// The place of the `--include` pattern that names the method, if there are such patterns.
    pub included: Option<usize>,
    /// The way to the method's leave probe.
    pub leave: (LeaveMode, Source),
    /// The source of the method's hooks: see [`Options::hooks_of`].
    pub hooks: Source,
    /// The values captured from the method's calls.
    pub capture: (Captured, Source),
    /// The condition for the method's body to be worth a probe.
    pub worth: (Worth, Source),
}

/// The bodies that are worth a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// All bodies: `--all`.
    All,
    /// Bodies from source code with more than this many bytes of IL, or with a loop or a call: `--min-il`.
    Above(u32),
}

impl Holds {
    /// The options of a method that no rule names.
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

/// Chooses the options of the methods of one assembly.
pub(crate) struct Chooser<'o> {
    options: &'o Options,
    /// The lists of `--exclude` and `--include`, then the same two lists of each rule.
    lists: Vec<&'o [Pattern]>,
    /// The patterns that may name a method of the assembly, by their numbers across all lists.
    candidates: Candidates,
    /// The number of the first pattern of each list.
    starts: Vec<usize>,
    /// The places of the rules that hold for all methods except excluded ones.
    for_all: Vec<usize>,
}

/// The places of the two lists.
const EXCLUDE: usize = 0;
const INCLUDE: usize = 1;
/// The number of lists of the options, and of each rule.
const LISTS: usize = 2;

impl<'o> Chooser<'o> {
    /// A chooser for the assembly of this name. `None` if the same options hold for all methods.
    pub(crate) fn new(options: &'o Options, assembly: &str) -> Option<Self> {
        let Options { selection, rules, .. } = options;
        if selection.include.is_empty() && selection.exclude.is_empty() && rules.is_empty() {
            return None;
        }
        let of_rules = rules.iter().flat_map(|rule| [&rule.exclude[..], &rule.include]);
        let lists: Vec<&[Pattern]> = [&selection.exclude[..], &selection.include].into_iter().chain(of_rules).collect();
        let starts = lists.iter().scan(0, |next, list| Some(std::mem::replace(next, *next + list.len()))).collect();
        let here = lists.iter().copied().flatten().enumerate().filter(|(_, pattern)| pattern.matches_assembly(assembly));
        let candidates = Candidates::new(here);
        let for_all = (0..rules.len()).filter(|rule| rules[*rule].include.is_empty()).collect();
        Some(Self { options, candidates, starts, for_all, lists })
    }

    /// The options of a method with these names (`Type::Method`), or the reason for skipping it.
    pub(crate) fn choose<'n>(
        &self,
        called: impl IntoIterator<Item = &'n str>,
        names: &dyn Fn(&Pattern) -> bool,
    ) -> Result<Holds, Reason> {
        let candidates = self.candidates.of(called);
        // The place of the first pattern in a list that names the method.
        let first = |list: usize| {
            let (start, patterns) = (self.starts[list], self.lists[list]);
            let from = candidates.partition_point(|number| *number < start);
            let places = candidates[from..].iter().map(|number| number - start).take_while(|place| *place < patterns.len());
            places.into_iter().find(|place| names(&patterns[*place]))
        };
        if let Some(pattern) = first(EXCLUDE) {
            return Err(Reason::Excluded(Source::Pattern(pattern)));
        }
        let included = first(INCLUDE);
        if included.is_none() && !self.lists[INCLUDE].is_empty() {
            return Err(Reason::NotIncluded);
        }
        let mut holds = Holds { included, ..Holds::of(self.options) };
        let mut left_alone = None;
        for place in self.rules(&candidates) {
            let (rule, list) = (&self.options.rules[place], (place + 1) * LISTS);
            let pattern = first(list + INCLUDE);
            if pattern.is_none() && !rule.include.is_empty() || first(list + EXCLUDE).is_some() {
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

    /// The places of the rules that may hold for a method with these candidates, in order.
    fn rules(&self, candidates: &[usize]) -> Vec<usize> {
        let lists = candidates.iter().map(|number| self.starts.partition_point(|start| start <= number) - 1);
        let rules = lists.filter_map(|list| (list / LISTS).checked_sub(1));
        let mut rules: Vec<usize> = rules.chain(self.for_all.iter().copied()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(words: &str, method: &str) -> Result<Holds, Reason> {
        let options: Options = words.parse().unwrap();
        let (class, name) = method.split_once("::").unwrap();
        Chooser::new(&options, "Shop").map_or(Ok(Holds::of(&options)), |chooser| {
            chooser.choose([method], &|pattern: &Pattern| pattern.matches(class, name))
        })
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
    fn the_first_pattern_of_a_list_is_named() {
        let words =
            "--leave=finally --include=X --include=*::C --include=A::* --rule --include=B --include=re:C$ --include=A --all";
        let holds = holds(words, "A::C").unwrap();
        assert_eq!((holds.included, holds.worth.1), (Some(1), Source::Rule(0, Some(1))));
    }

    /// A list may be empty. It begins at the same number as the next one then.
    #[test]
    fn rules_without_patterns_hold_for_all() {
        let words = "--leave=finally --rule --leave=return --rule --include=B --min-il=3 --rule --exclude=A::D --all";
        let holds_for_c = holds(words, "A::C").unwrap();
        assert_eq!((holds_for_c.leave.1, holds_for_c.worth.1), (Source::Rule(0, None), Source::Rule(2, None)));
        assert_eq!(holds(words, "A::D").unwrap().worth.1, Source::Option);
        assert_eq!(holds(words, "B::D").unwrap().worth, (Worth::All, Source::Rule(2, None)));
    }

    #[test]
    fn a_rule_for_another_assembly_is_none_here() {
        assert!(holds("--leave=finally --rule --include=[Till]* --no-weave", "A::B").is_ok());
        assert!(holds("--leave=finally --rule --include=[Shop]* --no-weave", "A::B").is_err());
        assert!(holds("--leave=finally --rule --exclude=[Till]* --no-weave", "A::B").is_err());
    }
}
