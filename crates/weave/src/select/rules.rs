//! Rules set options for some methods. They are read in order. The last rule that names a method and sets an option decides
//! that option.

use super::{
    method_options::{BodyFilter, MethodOptions},
    options::{DecidedBy, Options},
    reason::Reason,
};
use crate::patterns::{candidates::Candidates, pattern::Pattern};

/// Resolves the options of the methods of one assembly.
pub(crate) struct Resolver<'o> {
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

impl<'o> Resolver<'o> {
    /// A resolver for the assembly of this name. `None` if the same options hold for all methods.
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
    pub(crate) fn resolve<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        is_named_by: &dyn Fn(&Pattern) -> bool,
    ) -> Result<MethodOptions, Reason> {
        let candidates = self.candidates.matching(names);
        // The place of the first pattern in a list that names the method.
        let first = |list: usize| {
            let (start, patterns) = (self.starts[list], self.lists[list]);
            let from = candidates.partition_point(|number| *number < start);
            let places = candidates[from..].iter().map(|number| number - start).take_while(|place| *place < patterns.len());
            places.into_iter().find(|place| is_named_by(&patterns[*place]))
        };
        if let Some(pattern) = first(EXCLUDE) {
            return Err(Reason::Excluded(DecidedBy::Pattern(pattern)));
        }
        let included = first(INCLUDE);
        if included.is_none() && !self.lists[INCLUDE].is_empty() {
            return Err(Reason::NotIncluded);
        }
        let mut options = MethodOptions { included, ..MethodOptions::without_rules(self.options) };
        let mut skipped_by = None;
        for place in self.rules(&candidates) {
            let (rule, list) = (&self.options.rules[place], (place + 1) * LISTS);
            let pattern = first(list + INCLUDE);
            if pattern.is_none() && !rule.include.is_empty() || first(list + EXCLUDE).is_some() {
                continue;
            }
            let source = DecidedBy::Rule(place, pattern);
            if let Some(weave) = rule.weave {
                skipped_by = (!weave).then_some(source);
            }
            if let Some(leave) = rule.leave {
                options.leave = (leave, source);
            }
            if rule.hooks.is_some() {
                options.hooks = source;
            }
            if let Some(capture) = rule.capture {
                options.capture = (capture, source);
            }
            if let Some(allocations) = rule.allocations {
                options.allocations = (allocations, source);
            }
            if let Some(min_il) = rule.min_il {
                options.body_filter = (BodyFilter::Above(min_il), source);
            } else if let Some(all) = rule.all {
                options.body_filter = (BodyFilter::new(all, self.options.min_il), source);
            }
        }
        skipped_by.map_or(Ok(options), |source| Err(Reason::Excluded(source)))
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
    use ilrewrite::LeaveMode;

    use super::*;

    fn resolved(words: &str, method: &str) -> Result<MethodOptions, Reason> {
        let options: Options = words.parse().unwrap();
        let (class, name) = method.split_once("::").unwrap();
        Resolver::new(&options, "Shop").map_or(Ok(MethodOptions::without_rules(&options)), |resolver| {
            resolver.resolve([method], &|pattern: &Pattern| pattern.matches(class, name))
        })
    }

    #[test]
    fn the_last_rule_that_says_something_decides_it() {
        let words = "--leave=finally --rule --include=A --leave=return --min-il=0 --rule --include=A --exclude=*::B --all";
        let a = resolved(words, "A::C").unwrap();
        assert_eq!(a.leave, (LeaveMode::Return, DecidedBy::Rule(0, Some(0))));
        assert_eq!(a.body_filter, (BodyFilter::All, DecidedBy::Rule(1, Some(0))));
        assert_eq!(resolved(words, "A::B").unwrap().body_filter, (BodyFilter::Above(0), DecidedBy::Rule(0, Some(0))));
        assert_eq!(resolved(words, "D::B").unwrap(), MethodOptions::without_rules(&words.parse().unwrap()));
    }

    #[test]
    fn a_rule_leaves_alone_and_a_later_one_does_not() {
        let words = "--leave=finally --exclude=X --rule --include=A --no-weave --rule --include=*::B --weave";
        assert_eq!(resolved(words, "A::C"), Err(Reason::Excluded(DecidedBy::Rule(0, Some(0)))));
        assert!(resolved(words, "A::B").is_ok());
        assert_eq!(resolved(words, "X::B"), Err(Reason::Excluded(DecidedBy::Pattern(0))), "not what is no rule's");
    }

    #[test]
    fn the_first_pattern_of_a_list_is_named() {
        let words =
            "--leave=finally --include=X --include=*::C --include=A::* --rule --include=B --include=re:C$ --include=A --all";
        let options = resolved(words, "A::C").unwrap();
        assert_eq!((options.included, options.body_filter.1), (Some(1), DecidedBy::Rule(0, Some(1))));
    }

    #[test]
    fn bytes_are_those_of_the_callers_where_no_rule_counts_them() {
        let counts = |words: &str, method: &str| resolved(words, method).unwrap().allocations;
        let words = "--leave=finally --rule --include=A --allocations --rule --include=*::B --no-allocations";
        assert_eq!(counts(words, "A::C"), (true, DecidedBy::Rule(0, Some(0))));
        assert_eq!(counts(words, "A::B"), (false, DecidedBy::Rule(1, Some(0))));
        assert_eq!(counts(words, "D::C"), (false, DecidedBy::Option));
        // ILINST_ALLOCATIONS=1 may count bytes that no option names.
        assert_eq!(counts("--leave=finally --rule --include=A --all", "A::C"), (true, DecidedBy::Option));
        assert_eq!(
            counts("--leave=finally --allocations --rule --include=*::B --no-allocations", "D::C"),
            (true, DecidedBy::Option)
        );
    }

    /// A list may be empty. It begins at the same number as the next one then.
    #[test]
    fn rules_without_patterns_hold_for_all() {
        let words = "--leave=finally --rule --leave=return --rule --include=B --min-il=3 --rule --exclude=A::D --all";
        let options_of_c = resolved(words, "A::C").unwrap();
        assert_eq!((options_of_c.leave.1, options_of_c.body_filter.1), (DecidedBy::Rule(0, None), DecidedBy::Rule(2, None)));
        assert_eq!(resolved(words, "A::D").unwrap().body_filter.1, DecidedBy::Option);
        assert_eq!(resolved(words, "B::D").unwrap().body_filter, (BodyFilter::All, DecidedBy::Rule(2, None)));
    }

    #[test]
    fn a_rule_for_another_assembly_is_none_here() {
        assert!(resolved("--leave=finally --rule --include=[Till]* --no-weave", "A::B").is_ok());
        assert!(resolved("--leave=finally --rule --include=[Shop]* --no-weave", "A::B").is_err());
        assert!(resolved("--leave=finally --rule --exclude=[Till]* --no-weave", "A::B").is_err());
    }
}
