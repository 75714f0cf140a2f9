//! Patterns for methods of profiles, by the names that reports show or those that metadata has.

use std::{fmt, str::FromStr};

use profile::Profile;
use weave::Pattern;

/// A pattern: a part of a name, a glob over all of it, or what `--include` takes.
#[derive(Clone, Debug)]
pub(crate) struct MethodPattern {
    text: String,
    /// None: the text is a part of the name, in whatever case.
    pattern: Option<Pattern>,
}

impl FromStr for MethodPattern {
    type Err = <Pattern as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_part = !text.is_empty() && !text.contains(['*', '?']) && !text.contains("::") && !text.starts_with("re:");
        // A name may have brackets at its end: Main [lambda at Program.cs:41].
        let pattern = if is_part && !text.starts_with('[') { None } else { Some(text.parse()?) };
        Ok(Self { text: text.to_owned(), pattern })
    }
}

impl fmt::Display for MethodPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl MethodPattern {
    /// Whether it names a function of a profile; `names` are the profile's display names.
    pub(crate) fn names(&self, profile: &Profile, names: &[String], function: usize) -> bool {
        let Some(of_profile) = profile.functions.get(function) else { return false };
        let raw = of_profile.name.as_ref().map(|name| (name.type_name.as_str(), name.method.as_str()));
        let module = profile.module_of(of_profile);
        let assembly = module.map_or("", |module| module.assembly.as_str());
        self.is_match(names.get(function).map_or("", String::as_str), raw, assembly)
    }

    /// The same by the names that it has: as shown, in metadata, and its assembly's.
    pub(crate) fn is_match(&self, shown: &str, raw: Option<(&str, &str)>, assembly: &str) -> bool {
        match &self.pattern {
            None => shown.to_lowercase().contains(&self.text.to_lowercase()),
            Some(pattern) => {
                let assembly = assembly.split(',').next().unwrap_or_default();
                let is_raw = raw.is_some_and(|(type_name, method)| pattern.matches(type_name, method));
                pattern.matches_assembly(assembly) && (is_raw || pattern.matches(shown, ""))
            }
        }
    }

    /// The functions of a profile that it names: those that are called just so, with or without their types, else all.
    pub(crate) fn functions(&self, profile: &Profile, names: &[String]) -> Vec<usize> {
        let is_just_so = |name: &String| {
            let before = name.strip_suffix(&self.text);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let just_so: Vec<usize> = (0..names.len()).filter(|function| names.get(*function).is_some_and(is_just_so)).collect();
        if !just_so.is_empty() {
            return just_so;
        }
        (0..names.len()).filter(|function| self.names(profile, names, *function)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_go_over_the_names_that_are_shown_and_those_of_metadata() {
        for (pattern, expected) in [
            ("load", true),
            ("Order.Load", true),
            ("Loading", false),
            ("Shop.*", true),
            ("*.Load<T>", true),
            ("Shop.Order", true),
            ("Shop.Order/Line", false),
            ("Shop.Order::Load", true),
            ("Shop.Order::Lo*", true),
            ("re:^Shop.*::Load$", true),
            ("[Core]*", true),
            ("[Core]Shop.Till", false),
            ("[Other]*", false),
        ] {
            let parsed: MethodPattern = pattern.parse().expect("it is a pattern");
            let found = parsed.is_match("Shop.Order.Load<T>", Some(("Shop.Order", "Load")), "Core, Version=1.0.0.0");
            assert_eq!(found, expected, "{pattern}");
        }
        assert!("".parse::<MethodPattern>().is_err());
    }
}
