//! `--include` and `--exclude`: globs over `Namespace.Type::Method`, regular expressions, coverlet's `[assembly]Type`. Names may
//! be written as people write them: `List<T>`, `Outer.Inner`, and, if nothing has just that name, without the namespace.

use std::str::FromStr;

use regex::Regex;

/// A pattern that names methods.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    assembly: Option<Regex>,
    /// Matched against the type's full name alone, or with `::Method` behind it.
    name: Regex,
    /// The same with anything before the type's name; none for what says more than a name.
    unqualified: Option<Regex>,
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
            return Ok(Self {
                text: text.to_owned(),
                assembly: None,
                name: compile(expression)?,
                unqualified: None,
                names_methods: true,
            });
        }
        let (assembly, name) = match text.strip_prefix('[') {
            Some(rest) => {
                let (assembly, name) = rest.split_once(']').ok_or_else(|| PatternError::Bracket(text.to_owned()))?;
                (Some(compile(&format!("^{}$", glob(assembly)))?), if name.is_empty() { "*" } else { name })
            }
            None => (None, text),
        };
        let type_name = name.split("::").next().unwrap_or_default();
        let is_plain = !type_name.is_empty() && !type_name.contains(['*', '?']);
        Ok(Self {
            text: text.to_owned(),
            assembly,
            name: compile(&format!("^(?:{}|{})$", glob(name), written_glob(name)))?,
            unqualified: is_plain.then(|| compile(&format!("^.*[./]{}$", written_glob(name)))).transpose()?,
            names_methods: name.contains("::"),
        })
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

    /// Whether it says which assembly it means, and that is this.
    pub fn names_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_some_and(|pattern| pattern.is_match(assembly))
    }

    /// Whether it names a method, given its type's full name and its own.
    pub fn matches(&self, type_name: &str, method: &str) -> bool {
        self.is_match(&self.name, type_name, method)
    }

    /// The same of a name that may have a namespace, or types that it is nested in, before it.
    pub(crate) fn matches_unqualified(&self, type_name: &str, method: &str) -> bool {
        self.unqualified.as_ref().is_some_and(|name| self.is_match(name, type_name, method))
    }

    /// Whether it is a name that may lack what stands before it.
    pub(crate) fn is_plain(&self) -> bool {
        self.unqualified.is_some()
    }

    /// The pattern that looks for names with anything before them.
    pub(crate) fn as_unqualified(&self) -> Self {
        Self { name: self.unqualified.clone().unwrap_or_else(|| self.name.clone()), ..self.clone() }
    }

    fn is_match(&self, name: &Regex, type_name: &str, method: &str) -> bool {
        if self.names_methods { name.is_match(&format!("{type_name}::{method}")) } else { name.is_match(type_name) }
    }
}

/// The regular expression of a glob: `*` is anything, `?` one character, and case counts.
fn glob(glob: &str) -> String {
    glob.chars().map(one).collect()
}

fn one(character: char) -> String {
    match character {
        '*' => ".*".into(),
        '?' => ".".into(),
        _ => regex::escape(character.encode_utf8(&mut [0; 4])),
    }
}

/// The same of names as people write them: `Outer.Inner` and `Outer+Inner` for `Outer/Inner`, `Map<K, V>` for ``Map`2``, and
/// methods' type parameters, which metadata's names have not.
fn written_glob(glob: &str) -> String {
    let (type_name, method) = glob.split_once("::").map_or((glob, None), |(type_name, method)| (type_name, Some(method)));
    let separated = |character| if matches!(character, '.' | '+') { "[./]".into() } else { one(character) };
    let mut expression = with_arity(type_name, |count| format!("`{count}")).chars().map(separated).collect::<String>();
    if let Some(method) = method {
        expression.push_str("::");
        expression.extend(with_arity(method, |_| String::new()).chars().map(one));
    }
    expression
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
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_may_lack_what_stands_before_them() {
        for (pattern, name, expected) in [
            ("Order", "Shop.Order::Total", true),
            ("Order::Total", "Shop.Order::Total", true),
            ("Line", "Shop.Order/Line::Total", true),
            ("Order.Line", "Shop.Order/Line::Total", true),
            ("List<T>::*", "Shop.List`1::Add", true),
            ("Order", "Shop.NoOrder::Total", false),
            ("Order", "Shop.Order/Line::Total", false),
            ("Ord*", "Shop.Order::Total", false),
            ("re:Order", "Shop.Order::Total", false),
            ("*::Total", "Shop.Order::Total", false),
        ] {
            let (type_name, method) = name.split_once("::").unwrap();
            let pattern: Pattern = pattern.parse().unwrap();
            assert_eq!(pattern.matches_unqualified(type_name, method), expected, "{pattern:?} {name}");
            if expected {
                assert!(pattern.as_unqualified().matches(type_name, method));
            }
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
