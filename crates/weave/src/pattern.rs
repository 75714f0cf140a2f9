//! `--include` and `--exclude`: globs over `Namespace.Type::Method`, regular expressions, coverlet's `[assembly]Type`.

use std::str::FromStr;

use regex::Regex;

/// A pattern that names methods.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    assembly: Option<Regex>,
    /// Matched against the type's full name alone, or with `::Method` behind it.
    name: Regex,
    names_methods: bool,
}

/// A pattern that is none.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The part behind `re:` is no regular expression.
    #[error("'{pattern}' is no regular expression: {error}")]
    Regex {
        /// The whole pattern.
        pattern: String,
        /// What the parser says.
        error: Box<regex::Error>,
    },
    /// A `[` without its `]`.
    #[error("'{0}' has a [ without a ]; write [Assembly]Namespace.Type")]
    Bracket(String),
    /// Nothing at all.
    #[error("the pattern is empty; write Namespace.Type::Method, where * stands for anything")]
    Empty,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let compile = |expression: &str| {
            let error = |error| PatternError::Regex { pattern: text.to_owned(), error: Box::new(error) };
            Regex::new(expression).map_err(error)
        };
        if let Some(expression) = text.strip_prefix("re:") {
            return Ok(Self { text: text.to_owned(), assembly: None, name: compile(expression)?, names_methods: true });
        }
        let (assembly, name) = match text.strip_prefix('[') {
            Some(rest) => {
                let (assembly, name) = rest.split_once(']').ok_or_else(|| PatternError::Bracket(text.to_owned()))?;
                (Some(compile(&glob(assembly))?), if name.is_empty() { "*" } else { name })
            }
            None => (None, text),
        };
        Ok(Self { text: text.to_owned(), assembly, name: compile(&glob(name))?, names_methods: name.contains("::") })
    }
}

impl Pattern {
    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it can name anything of an assembly.
    pub fn matches_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_none_or(|pattern| pattern.is_match(assembly))
    }

    /// Whether it names a method, given its type's full name and its own.
    pub fn matches(&self, type_name: &str, method: &str) -> bool {
        if self.names_methods { self.name.is_match(&format!("{type_name}::{method}")) } else { self.name.is_match(type_name) }
    }
}

/// The regular expression of a glob: `*` is anything, `?` one character, and case counts.
fn glob(glob: &str) -> String {
    let mut expression = String::from("^");
    for character in glob.chars() {
        match character {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            _ => expression.push_str(&regex::escape(character.encode_utf8(&mut [0; 4]))),
        }
    }
    expression.push('$');
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        let (type_name, method) = name.split_once("::").unwrap();
        pattern.parse::<Pattern>().unwrap().matches(type_name, method)
    }

    #[test]
    fn globs_name_types_or_methods() {
        for (pattern, name, expected) in [
            ("Shop.*", "Shop.Order::Total", true),
            ("Shop.*", "Shop.Order/<>c::<Total>b__0_0", true),
            ("Shop.*", "Shopping.Cart::Total", false),
            ("Shop.Order", "Shop.Order::Total", true),
            ("Shop.Order", "Shop.OrderLine::Total", false),
            ("*::Total", "Shop.Order::Total", true),
            ("*::Tot??", "Shop.Order::Total", true),
            ("*::get_*", "Shop.Order::Total", false),
            ("*::.ctor", "Shop.Order::.ctor", true),
            ("Shop.List`1::Add", "Shop.List`1::Add", true),
            ("re:^Shop\\.(Order|Cart)::", "Shop.Cart::Total", true),
            ("re:^Shop\\.(Order|Cart)::", "Shop.Till::Total", false),
            ("[*]Shop.Order", "Shop.Order::Total", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_assembly_part_is_coverlets() {
        let pattern: Pattern = "[Shop.*]*".parse().unwrap();
        assert!(pattern.matches_assembly("Shop.Core") && !pattern.matches_assembly("Till"));
        assert!("[Shop".parse::<Pattern>().is_err());
        assert!("re:(".parse::<Pattern>().unwrap_err().to_string().starts_with("'re:(' is no regular expression"));
    }
}
