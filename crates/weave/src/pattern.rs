//! `--include` and `--exclude`: globs over `Namespace.Type::Method`, regular expressions, coverlet's `[assembly]Type`. Names may
//! be written as people write them: `List<T>`, `Outer.Inner`, and, if nothing has just that name, without the namespace.

use std::{str::FromStr, sync::OnceLock};

use regex::Regex;
use regex_syntax::hir::literal::Extractor;

use crate::selector::{Parameters, Selector};

/// A pattern that names methods, or says what they are.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    selector: Option<Selector>,
    parameters: Option<Parameters>,
    assembly: Option<Expression>,
    /// Matched against the type's full name alone, or with `::Method` behind it.
    name: Expression,
    /// Matched against both, with anything before the type's name, however many type parameters where none are written, and a
    /// method behind a dot, as reports have it; none for what says more than a name.
    unqualified: Option<Expression>,
    names_methods: bool,
}

/// A regular expression that is compiled when it is asked first: of many patterns few are.
#[derive(Clone, Debug)]
struct Expression {
    text: String,
    compiled: OnceLock<Regex>,
}

impl Expression {
    /// A longer one may be larger than a compiled one may be.
    const LONG: usize = 1000;

    /// One that a user wrote, or that may be too large; it is compiled at once.
    fn compile(text: String) -> Result<Self, regex::Error> {
        let compiled = Regex::new(&text)?.into();
        Ok(Self { text, compiled })
    }

    /// One that was made of a glob, and is right if it is not too large.
    fn of_glob(text: String) -> Result<Self, regex::Error> {
        if text.len() > Self::LONG { Self::compile(text) } else { Ok(Self { text, compiled: OnceLock::new() }) }
    }

    fn is_match(&self, name: &str) -> bool {
        let compile = || Regex::new(&self.text).unwrap_or_else(|error| unreachable!("'{}': {error}", self.text));
        self.compiled.get_or_init(compile).is_match(name)
    }
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
    /// What methods cannot be.
    #[error("'{pattern}': {what}")]
    Selector {
        /// The whole pattern.
        pattern: String,
        /// What is wrong, or what there is.
        what: String,
    },
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
            // It names nothing, but says what methods are.
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
    /// A pattern that names methods: `Total` is that of any type, and `Order.Total` may be what a report shows.
    ///
    /// # Errors
    /// If it is no pattern.
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

    /// What it says of methods beside their names.
    pub(crate) fn selector(&self) -> Option<&Selector> {
        self.selector.as_ref()
    }

    /// Which parameters it says that a method has.
    pub(crate) fn parameters(&self) -> Option<&Parameters> {
        self.parameters.as_ref()
    }

    /// Texts of which a name has one at least (`Type::Method`) if this names it, in whatever way it is written: lists to choose
    /// one from. None if a name may have any text.
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
        // A list in <> may be written in other ways, and so may all that is neither a letter, a digit nor _.
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

    /// Whether it can name anything of an assembly.
    pub fn matches_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_none_or(|pattern| pattern.is_match(assembly))
    }

    /// Whether it says which assembly it means, and that is this.
    pub fn names_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_some_and(|pattern| pattern.is_match(assembly))
    }

    /// Whether it names a method, given its type's full name and its own.
    pub fn matches(&self, type_name: &str, method: &str) -> bool {
        if self.names_methods { self.name.is_match(&format!("{type_name}::{method}")) } else { self.name.is_match(type_name) }
    }

    /// The same of a name that may have a namespace, or types that it is nested in, before it, and type parameters.
    pub(crate) fn matches_unqualified(&self, type_name: &str, method: &str) -> bool {
        self.unqualified.as_ref().is_some_and(|name| name.is_match(&format!("{type_name}::{method}")))
    }

    /// Whether it is a name that may lack what stands before it.
    pub(crate) fn is_plain(&self) -> bool {
        self.unqualified.is_some()
    }

    /// The pattern that looks for names with anything before them.
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

/// How many type parameters a type has, if it has any; metadata has it behind the name.
const ARITY: &str = "(?:`[0-9]+)?";

/// The same of names as people write them: `Outer.Inner` and `Outer+Inner` for `Outer/Inner`, `Map<K, V>` for ``Map`2``, and
/// methods' type parameters, which metadata's names have not. Behind a type's name may stand what `arity` says.
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

/// A method behind a type's name and a dot, as `Order.Total` or `Order..ctor`; none if the last dot is within `<>`, or there is none.
fn dotted(name: &str) -> Option<String> {
    let constructor = [".ctor", ".cctor"].into_iter().find_map(|own| Some((name.strip_suffix(own)?.strip_suffix('.')?, own)));
    let (type_name, method) = constructor.or_else(|| name.rsplit_once('.'))?;
    let is_name = !type_name.is_empty() && !method.is_empty() && !name.contains("::");
    (is_name && method.matches('<').count() == method.matches('>').count())
        .then(|| written_glob(&format!("{type_name}::{method}"), ARITY))
}

/// A name with something else for each list of type parameters; `<` after no name begins one of a compiler's own.
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

    /// Whether each pattern does to a method what is expected of it.
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
