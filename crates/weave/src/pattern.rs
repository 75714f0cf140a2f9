//! Patterns of `--include` and `--exclude`: globs over `Namespace.Type::Method`, regular expressions, coverlet's
//! `[assembly]Type`. Names may have the form of source code: `List<T>`, `Outer.Inner`. The namespace may be left out if no
//! name matches exactly.

use std::{str::FromStr, sync::OnceLock};

use regex::Regex;
use regex_syntax::hir::literal::Extractor;

use crate::selector::{Parameters, Selector};

/// A pattern that matches methods by name or by their properties.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    selector: Option<Selector>,
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
    fn of_glob(text: String) -> Result<Self, regex::Error> {
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
    Selector {
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
                selector: None,
                parameters: None,
                assembly: None,
                name: Expression::compile(expression.to_owned()).map_err(wrong)?,
                unqualified: None,
                names_methods: true,
            });
        }
        let compile = |expression: String| Expression::of_glob(expression).map_err(wrong);
        let selector = Selector::parse(text).transpose();
        if let Some(selector) = selector.map_err(|what| PatternError::Selector { pattern: text.to_owned(), what })? {
            // The pattern matches no name, only properties of methods.
            let name = compile("$^".to_owned())?;
            return Ok(Self {
                text: text.to_owned(),
                selector: Some(selector),
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
            selector: None,
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
    pub fn of_methods(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() || text.contains("::") || text.starts_with("re:") {
            return text.parse();
        }
        let mut pattern = Self { text: text.to_owned(), ..format!("*::{text}").parse()? };
        if let Some(dotted) = dotted(text) {
            let either = format!("{}|^(?:.*[./])?{dotted}$", pattern.name.text);
            pattern.name = Expression::of_glob(either)
                .map_err(|error| PatternError::Regex { pattern: text.to_owned(), error: Box::new(error) })?;
        }
        Ok(pattern)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The condition on properties of methods other than the name.
    pub(crate) fn selector(&self) -> Option<&Selector> {
        self.selector.as_ref()
    }

    /// The parameters that the pattern requires.
    pub(crate) fn parameters(&self) -> Option<&Parameters> {
        self.parameters.as_ref()
    }

    /// Lists of texts. For each list, every name (`Type::Method`) that the pattern matches contains at least one of its
    /// texts. Empty if a matching name may have any text.
    pub(crate) fn needed(&self) -> Vec<Vec<String>> {
        if self.selector.is_some() {
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

/// The regular expression of a glob: `*` is anything, `?` one character, and case counts.
pub(crate) fn glob(glob: &str) -> String {
    glob.chars().map(one).collect()
}

fn one(character: char) -> String {
    match character {
        '*' => ".*".into(),
        '?' => ".".into(),
        _ => regex::escape(character.encode_utf8(&mut [0; 4])),
    }
}

/// The number of a type's type parameters, which metadata appends to its name, if it has any.
const ARITY: &str = "(?:`[0-9]+)?";

/// The regular expression of a glob in source form: `Outer.Inner` and `Outer+Inner` for `Outer/Inner`, `Map<K, V>` for
/// ``Map`2``. Type parameters of methods are dropped, as metadata's names lack them. `arity` may follow a type's name.
fn written_glob(glob: &str, arity: &str) -> String {
    let (type_name, method) = glob.split_once("::").map_or((glob, None), |(type_name, method)| (type_name, Some(method)));
    let separated = |character| match character {
        '.' | '+' => format!("{arity}[./]"),
        '/' => format!("{arity}/"),
        _ => one(character),
    };
    let mut expression = with_arity(type_name, |count| format!("`{count}")).chars().map(separated).collect::<String>() + arity;
    if let Some(method) = method {
        expression.push_str("::");
        expression.extend(with_arity(method, |_| String::new()).chars().map(one));
    }
    expression
}

/// The name with its method after `::` in place of the last dot, as in `Order.Total` or `Order..ctor`. `None` if there is
/// no dot outside `<>`.
fn dotted(name: &str) -> Option<String> {
    let constructor = [".ctor", ".cctor"].into_iter().find_map(|own| Some((name.strip_suffix(own)?.strip_suffix('.')?, own)));
    let (type_name, method) = constructor.or_else(|| name.rsplit_once('.'))?;
    let is_name = !type_name.is_empty() && !method.is_empty() && !name.contains("::");
    (is_name && method.matches('<').count() == method.matches('>').count())
        .then(|| written_glob(&format!("{type_name}::{method}"), ARITY))
}

/// The name with each list of type parameters replaced. A `<` at the start of a name begins a compiler-generated name.
fn with_arity(name: &str, arity: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some(at) = rest.find('<') {
        let (before, list) = rest.split_at(at);
        let is_list = before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '>'));
        let mut depth = 0_usize;
        let mut count = 1;
        let end = list.char_indices().find_map(|(index, character)| {
            match character {
                '<' => depth += 1,
                '>' => depth -= 1,
                ',' if depth == 1 => count += 1,
                _ => {}
            }
            (depth == 0).then_some(index + 1)
        });
        let Some((list, behind)) = end.filter(|_| is_list).map(|end| list.split_at(end)) else {
            let (sign, behind) = list.split_at(1);
            out = out + before + sign;
            rest = behind;
            continue;
        };
        debug_assert!(list.ends_with('>'));
        out = out + before + &arity(count);
        rest = behind;
    }
    out + rest
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
            assert_eq!(Pattern::of_methods(pattern).unwrap().matches(type_name, method), expected, "{pattern} {name}");
        }
        assert!(Pattern::of_methods("").is_err());
    }

    #[test]
    fn the_assembly_part_is_coverlets() {
        let pattern: Pattern = "[Shop.*]*".parse().unwrap();
        assert!(pattern.matches_assembly("Shop.Core") && !pattern.matches_assembly("Till"));
        assert!("[Shop".parse::<Pattern>().is_err());
        assert!("re:(".parse::<Pattern>().unwrap_err().to_string().starts_with("'re:(' is no regular expression"));
    }
}
