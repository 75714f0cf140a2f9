//! Patterns of `--include` and `--exclude`: globs over `Namespace.Type::Method`, regular expressions, coverlet's
//! `[assembly]Type`. Names may have the form of source code: `List<T>`, `Outer.Inner`. The namespace may be left out if no
//! name matches exactly.

use std::{str::FromStr, sync::OnceLock};

use regex::Regex;
use regex_syntax::hir::literal::Extractor;

use super::{
    condition::Condition,
    glob::{ARITY, dotted, glob, written_glob},
    parameters::Parameters,
};

/// A pattern that matches methods by name or by their properties.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    condition: Option<Condition>,
    parameters: Option<Parameters>,
    assembly: Option<Expression>,
    /// Matched against the type's full name alone, and against the full name with `::Method`.
    name: Expression,
    /// Matched against both as well. It allows any prefix of the type's name, and a method after a dot, as in reports. It
    /// allows any number of type parameters where none are given. `None` for patterns that are more than a name.
    unqualified: Option<Expression>,
    names_methods: bool,
}

/// A regular expression that is compiled at its first use. Of many patterns, few are used.
#[derive(Clone, Debug)]
struct Expression {
    text: String,
    compiled: OnceLock<Regex>,
}

impl Expression {
    /// The length in bytes from which the compiled expression may exceed the size limit.
    const LONG: usize = 1000;

    /// Compiles an expression from a user, or one that may be too large, at once.
    fn compile(text: String) -> Result<Self, regex::Error> {
        let compiled = Regex::new(&text)?.into();
        Ok(Self { text, compiled })
    }

    /// An expression made from a glob. It is valid unless it is too large.
    fn from_glob(text: String) -> Result<Self, regex::Error> {
        if text.len() > Self::LONG { Self::compile(text) } else { Ok(Self { text, compiled: OnceLock::new() }) }
    }

    fn is_match(&self, name: &str) -> bool {
        let compile = || Regex::new(&self.text).unwrap_or_else(|error| unreachable!("'{}': {error}", self.text));
        self.compiled.get_or_init(compile).is_match(name)
    }
}

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The part after `re:` is not a regular expression.
    #[error("'{pattern}' is no regular expression: {error}")]
    Regex {
        /// The whole pattern.
        pattern: String,
        /// The parser's error.
        error: Box<regex::Error>,
    },
    /// A `[` without its `]`.
    #[error("'{0}' has a [ without a ]; write [Assembly]Namespace.Type")]
    Bracket(String),
    /// A property that methods cannot have.
    #[error("'{pattern}': {what}")]
    Condition {
        /// The whole pattern.
        pattern: String,
        /// The error, or the valid values.
        what: String,
    },
    /// The pattern is empty.
    #[error("the pattern is empty; write Namespace.Type::Method, where * stands for anything")]
    Empty,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let wrong = |error| PatternError::Regex { pattern: text.to_owned(), error: Box::new(error) };
        if let Some(expression) = text.strip_prefix("re:") {
            return Ok(Self {
                text: text.to_owned(),
                condition: None,
                parameters: None,
                assembly: None,
                name: Expression::compile(expression.to_owned()).map_err(wrong)?,
                unqualified: None,
                names_methods: true,
            });
        }
        let compile = |expression: String| Expression::from_glob(expression).map_err(wrong);
        let condition = Condition::parse(text).transpose();
        if let Some(condition) = condition.map_err(|what| PatternError::Condition { pattern: text.to_owned(), what })? {
            // The pattern matches no name, only properties of methods.
            let name = compile("$^".to_owned())?;
            return Ok(Self {
                text: text.to_owned(),
                condition: Some(condition),
                parameters: None,
                assembly: None,
                name,
                unqualified: None,
                names_methods: true,
            });
        }
        let (assembly, name) = match text.strip_prefix('[') {
            Some(rest) => {
                let (assembly, name) = rest.split_once(']').ok_or_else(|| PatternError::Bracket(text.to_owned()))?;
                (Some(compile(format!("^{}$", glob(assembly)))?), if name.is_empty() { "*" } else { name })
            }
            None => (None, text),
        };
        let (name, parameters) = Parameters::split(name);
        let type_name = name.split("::").next().unwrap_or_default();
        let is_plain = !type_name.is_empty() && !type_name.contains(['*', '?']);
        let unqualified = || {
            let written = written_glob(name, ARITY);
            let whole = if name.contains("::") { written } else { format!("{written}::.*") };
            compile(format!("^(?:.*[./])?(?:{whole}{})$", dotted(name).map(|dotted| format!("|{dotted}")).unwrap_or_default()))
        };
        Ok(Self {
            text: text.to_owned(),
            condition: None,
            parameters,
            assembly,
            name: compile(format!("^(?:{}|{})$", glob(name), written_glob(name, "")))?,
            unqualified: is_plain.then(unqualified).transpose()?,
            names_methods: name.contains("::"),
        })
    }
}

impl Pattern {
    /// A pattern that names methods: `Total` is a method of any type, and `Order.Total` may be a name from a report.
    ///
    /// # Errors
    /// If the pattern is invalid.
    pub fn naming_methods(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() || text.contains("::") || text.starts_with("re:") {
            return text.parse();
        }
        let mut pattern = Self { text: text.to_owned(), ..format!("*::{text}").parse()? };
        if let Some(dotted) = dotted(text) {
            let either = format!("{}|^(?:.*[./])?{dotted}$", pattern.name.text);
            pattern.name = Expression::from_glob(either)
                .map_err(|error| PatternError::Regex { pattern: text.to_owned(), error: Box::new(error) })?;
        }
        Ok(pattern)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The condition on properties of methods other than the name.
    pub(crate) fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The parameters that the pattern requires.
    pub(crate) fn parameters(&self) -> Option<&Parameters> {
        self.parameters.as_ref()
    }

    /// Lists of texts. For each list, every name (`Type::Method`) that the pattern matches contains at least one of its
    /// texts. Empty if a matching name may have any text.
    pub(crate) fn needed(&self) -> Vec<Vec<String>> {
        if self.condition.is_some() {
            return Vec::new();
        }
        if let Some(expression) = self.text.strip_prefix("re:") {
            // A match begins with one of these.
            let parsed = regex_syntax::parse(expression).map(|parsed| Extractor::new().extract(&parsed));
            let literals = parsed.ok().and_then(|sequence| Some(sequence.literals()?.to_vec())).unwrap_or_default();
            let texts = literals.iter().map(|literal| String::from_utf8(literal.as_bytes().to_vec()));
            let texts = texts.collect::<Result<Vec<_>, _>>().unwrap_or_default();
            let is_needed = !texts.is_empty() && !texts.iter().any(String::is_empty);
            return if is_needed { vec![texts] } else { Vec::new() };
        }
        let name = self.text.strip_prefix('[').and_then(|rest| Some(rest.split_once(']')?.1)).unwrap_or(&self.text);
        // A list in `<>` may have other forms. So may every character except letters, digits and `_`.
        let mut depth = 0_usize;
        let mut runs = vec![String::new()];
        for character in Parameters::parts(name).map_or(name, |(name, _)| name).chars() {
            match character {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ if depth == 0 && (character.is_alphanumeric() || character == '_') => {
                    runs.last_mut().into_iter().for_each(|run| run.push(character));
                    continue;
                }
                _ => {}
            }
            if runs.last().is_some_and(|run| !run.is_empty()) {
                runs.push(String::new());
            }
        }
        runs.into_iter().filter(|run| !run.is_empty()).map(|run| vec![run]).collect()
    }

    /// Whether the pattern can match anything in an assembly.
    pub fn matches_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_none_or(|pattern| pattern.is_match(assembly))
    }

    /// Whether the pattern names an assembly, and it is this one.
    pub fn names_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_some_and(|pattern| pattern.is_match(assembly))
    }

    /// Whether the pattern matches a method, given its type's full name and its own name.
    pub fn matches(&self, type_name: &str, method: &str) -> bool {
        if self.names_methods { self.name.is_match(&format!("{type_name}::{method}")) } else { self.name.is_match(type_name) }
    }

    /// Whether the pattern matches a method when its name may lack a namespace, enclosing types and type parameters.
    pub(crate) fn matches_unqualified(&self, type_name: &str, method: &str) -> bool {
        self.unqualified.as_ref().is_some_and(|name| name.is_match(&format!("{type_name}::{method}")))
    }

    /// Whether the pattern is a name that may lack a prefix.
    pub(crate) fn is_plain(&self) -> bool {
        self.unqualified.is_some()
    }

    /// The pattern for names with any prefix.
    pub(crate) fn as_unqualified(&self) -> Self {
        match &self.unqualified {
            Some(name) => Self { name: name.clone(), names_methods: true, ..self.clone() },
            None => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each pattern gives the expected result for a method.
    fn check(cases: &[(&str, &str, bool)], does: impl Fn(&Pattern, &str, &str) -> bool) {
        for (pattern, name, expected) in cases {
            let (type_name, method) = name.split_once("::").unwrap();
            assert_eq!(does(&pattern.parse().unwrap(), type_name, method), *expected, "{pattern} {name}");
        }
    }

    #[test]
    fn globs_name_types_or_methods() {
        let cases = [
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
            ("Shop.List<T>::Add", "Shop.List`1::Add", true),
            ("Shop.Map<K, V>", "Shop.Map`2::Add", true),
            ("Shop.Map<K, List<V>>.Entry", "Shop.Map`2/Entry::Key", true),
            ("Shop.Map<,>.Entry", "Shop.Map`2/Entry::Key", true),
            ("Shop.Map<T>", "Shop.Map`2::Add", false),
            ("Shop.Order.Line", "Shop.Order/Line::Total", true),
            ("Shop.Order+Line::Total", "Shop.Order/Line::Total", true),
            ("Shop.Order::Load<T>", "Shop.Order::Load", true),
            ("Shop.Order/<>c", "Shop.Order/<>c::<Total>b__0_0", true),
            ("Shop.Order/<>c::<Total>b__0_0", "Shop.Order/<>c::<Total>b__0_0", true),
            ("Shop.Order::.ctor", "Shop.Order::.ctor", true),
            ("*::IList<T>.Add", "Shop.Order::IList<T>.Add", true),
            ("Order", "Shop.Order::Total", false),
        ];
        check(&cases, Pattern::matches);
    }

    #[test]
    fn names_may_lack_what_stands_before_them() {
        let cases = [
            ("Order", "Shop.Order::Total", true),
            ("Order::Total", "Shop.Order::Total", true),
            ("Line", "Shop.Order/Line::Total", true),
            ("Order.Line", "Shop.Order/Line::Total", true),
            ("List<T>::*", "Shop.List`1::Add", true),
            ("Gen.Inner", "Shop.Gen`1/Inner::Get", true),
            ("Shop.Map", "Shop.Map`2::Add", true),
            ("Map::Add", "Shop.Map`2::Add", true),
            ("Map<T>", "Shop.Map`2::Add", false),
            ("Order", "Shop.NoOrder::Total", false),
            ("Order", "Shop.Order/Line::Total", false),
            ("Ord*", "Shop.Order::Total", false),
            ("Shop.Order.Total", "Shop.Order::Total", true),
            ("Order.Total", "Shop.Order::Total", true),
            ("Order.Totals", "Shop.Order::Total", false),
            ("Order.Line.Total", "Shop.Order/Line::Total", true),
            ("Map<K, V>.Add<T>", "Shop.Map`2::Add", true),
            ("Shop.Order..ctor", "Shop.Order::.ctor", true),
            ("Order.ctor", "Shop.Order::.ctor", false),
            ("Map<Shop.Total>", "Shop.Map::Total>", false),
            ("Total", "Shop.Order::Total", false),
            ("re:Order", "Shop.Order::Total", false),
            ("*::Total", "Shop.Order::Total", false),
        ];
        check(&cases, |pattern, type_name, method| {
            let is_match = pattern.matches_unqualified(type_name, method);
            assert!(!is_match || pattern.as_unqualified().matches(type_name, method), "{pattern:?}");
            is_match
        });
    }

    #[test]
    fn methods_may_be_named_alone() {
        for (pattern, name, expected) in [
            ("Total", "Shop.Order::Total", true),
            ("Order.Total", "Shop.Order::Total", true),
            ("Order.Tot*", "Shop.Order::Total", true),
            ("IList.Add", "Shop.Order::IList.Add", true),
            (".ctor", "Shop.Order::.ctor", true),
            ("Order..ctor", "Shop.Order::.ctor", true),
            ("Order", "Shop.Order::Total", false),
            ("Order.Total", "Shop.NoOrder::Total", false),
        ] {
            let (type_name, method) = name.split_once("::").unwrap();
            assert_eq!(Pattern::naming_methods(pattern).unwrap().matches(type_name, method), expected, "{pattern} {name}");
        }
        assert!(Pattern::naming_methods("").is_err());
    }

    #[test]
    fn the_assembly_part_is_coverlets() {
        let pattern: Pattern = "[Shop.*]*".parse().unwrap();
        assert!(pattern.matches_assembly("Shop.Core") && !pattern.matches_assembly("Till"));
        assert!("[Shop".parse::<Pattern>().is_err());
        assert!("re:(".parse::<Pattern>().unwrap_err().to_string().starts_with("'re:(' is no regular expression"));
    }
}
