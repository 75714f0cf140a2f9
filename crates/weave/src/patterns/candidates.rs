//! Finds the patterns that may match a method in one pass over its name, for any number of patterns.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use super::pattern::Pattern;

/// Patterns, indexed by a text that each of their matches contains.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// The automaton of these texts. `None` if it cannot be built.
    texts: Option<AhoCorasick>,
    /// The patterns that need each text.
    needed_by: Vec<Vec<usize>>,
    /// The patterns that may match any name.
    any: Vec<usize>,
}

impl Candidates {
    /// Indexes patterns, each with its number.
    pub(crate) fn new<'p>(patterns: impl Iterator<Item = (usize, &'p Pattern)>) -> Self {
        let needed: Vec<(usize, Vec<Vec<String>>)> = patterns.map(|(number, pattern)| (number, pattern.needed())).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for text in needed.iter().flat_map(|(_, choices)| choices).flatten() {
            *counts.entry(text).or_default() += 1;
        }
        let (mut places, mut texts, mut needed_by, mut any) = (HashMap::new(), Vec::new(), Vec::<Vec<usize>>::new(), Vec::new());
        for (number, choices) in &needed {
            // The best text is the one that the fewest others need, and of those the longest.
            let share = |texts: &&Vec<String>| texts.iter().map(|text| counts.get(&**text).copied().unwrap_or(0)).sum::<usize>();
            let length = |texts: &&Vec<String>| texts.iter().map(String::len).min();
            let best = choices.iter().min_by(|one, other| share(one).cmp(&share(other)).then(length(other).cmp(&length(one))));
            let Some(best) = best else {
                any.push(*number);
                continue;
            };
            for text in best {
                let place = *places.entry(&**text).or_insert_with(|| {
                    texts.push(&**text);
                    needed_by.push(Vec::new());
                    texts.len() - 1
                });
                needed_by[place].push(*number);
            }
        }
        match AhoCorasick::new(&texts) {
            Ok(texts) => Self { texts: Some(texts), needed_by, any },
            Err(_) => Self { texts: None, needed_by: Vec::new(), any: needed.iter().map(|(number, _)| *number).collect() },
        }
    }

    /// The numbers of the patterns that may match one of these names, in ascending order.
    pub(crate) fn matching<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<usize> {
        let mut found = self.any.clone();
        if let Some(texts) = &self.texts {
            for name in names {
                let needed = texts.find_overlapping_iter(name).map(|text| &self.needed_by[text.pattern().as_usize()]);
                needed.for_each(|by| found.extend(by));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(patterns: &[&str]) -> Candidates {
        let patterns: Vec<Pattern> = patterns.iter().map(|pattern| pattern.parse().expect("a pattern")).collect();
        Candidates::new(patterns.iter().enumerate())
    }

    #[test]
    fn each_pattern_that_names_a_method_is_a_candidate() {
        let patterns = [
            "Shop.*",
            "Shop.Order",
            "*::Total",
            "*::Tot??",
            "*",
            "Shop.List`1::Add",
            r"re:^Shop\.(Order|Cart)::",
            "re:(?i)TOTAL$",
            "re:.",
            "re:^$",
            "[*]Shop.Order",
            "Shop.Map<K, List<V>>.Entry",
            "Shop.Order.Line",
            "Shop.Order+Line::Total",
            "Shop.Order::Load<T>",
            "Shop.Order/<>c",
            "Shop.Order/<>c::<Total>b__0_0",
            "*::IList<T>.Add",
            "Order.Total",
            "Line",
            "Gen.Inner",
            "Shop.Order..ctor",
            "kind:async",
            "il:1..",
            "Shop.Order::Total(int, *)",
            "a",
            "[A]",
            "<",
            "x<y>z",
        ];
        let names = [
            "Shop.Order::Total",
            "Shop.Order/<>c::<Total>b__0_0",
            "Shop.List`1::Add",
            "Shop.Map`2/Entry::Key",
            "Shop.Order/Line::Total",
            "Shop.Cart::Total",
            "Shop.Order::IList<T>.Add",
            "Shop.Order::.ctor",
            "Gen`1/Inner::Get",
            "x`1z::a",
            "<::y",
            "a::b",
        ];
        let candidates = candidates(&patterns);
        for name in names {
            let (class, method) = name.split_once("::").expect("two parts");
            let found = candidates.matching([name]);
            assert!(found.is_sorted());
            for (number, text) in patterns.iter().enumerate() {
                let pattern: Pattern = text.parse().expect("a pattern");
                let names_it = pattern.matches(class, method) || pattern.matches_unqualified(class, method);
                assert!(!names_it || found.contains(&number), "{text} names {name}");
            }
        }
    }

    /// Few of many patterns are tried on a name. Their number is the cost of a name.
    #[test]
    fn few_patterns_are_looked_at() {
        let kinds: [fn(usize) -> String; 6] = [
            |number| format!("Shop.Type{number}::Run"),
            |number| format!("Shop.Type{number}"),
            |number| format!("Shop.*::Run{number}"),
            |number| format!("Shop.Type{number}*"),
            |number| format!("*Type{number}*"),
            |number| format!("re:^Shop\\.Type{number}::"),
        ];
        for kind in kinds {
            let patterns: Vec<String> = (0..20_000).map(kind).collect();
            let candidates = candidates(&patterns.iter().map(String::as_str).collect::<Vec<_>>());
            // These are the patterns with a number that the name's number begins with.
            let found = candidates.matching(["Shop.Type12345::Run12345"]);
            assert!(found.contains(&12345) && found.len() <= 5, "{}: {found:?}", patterns[0]);
        }
    }
}
