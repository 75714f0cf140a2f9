//! What people wrote, behind the names that compilers make: `<Load>d__5::MoveNext` is the async method or iterator `Load`.

use std::fmt;

/// A name as the person wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceName {
    /// The type it was written in: `Namespace.Type`.
    pub type_name: String,
    /// The method it was written in.
    pub method: String,
    /// What of that method it is.
    pub part: Part,
}

/// What the compiler made of a part of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The steps of an async method or iterator.
    StateMachine,
    /// An anonymous function.
    Lambda,
    /// A local function, by its name.
    LocalFunction(String),
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { type_name, method, part } = self;
        match part {
            Part::StateMachine => write!(f, "{type_name}::{method} [steps]"),
            Part::Lambda => write!(f, "{type_name}::{method} [lambda]"),
            Part::LocalFunction(name) => write!(f, "{type_name}::{method}.{name}"),
        }
    }
}

/// The source name of what a compiler made; none for what a person wrote under this very name.
pub fn source_name(type_name: &str, method: &str) -> Option<SourceName> {
    // Types made by the compiler nest in the person's type: closures (<>c), state machines (<Load>d__5).
    let own_type = type_name.split("/<").next().unwrap_or(type_name).to_owned();
    if let Some((inner, suffix)) = split_made_name(method) {
        let (inner, part) = match suffix.chars().next()? {
            'b' => (inner, Part::Lambda),
            'g' => {
                let name = suffix.trim_start_matches("g__").split('|').next()?;
                (inner, Part::LocalFunction(name.to_owned()))
            }
            _ => return None,
        };
        return Some(SourceName { type_name: own_type, method: innermost(inner).to_owned(), part });
    }
    let machine = type_name.rsplit('/').next()?;
    let (inner, suffix) = split_made_name(machine)?;
    if !suffix.starts_with('d') {
        return None;
    }
    // Only the steps are the person's code; the rest of a state machine is the compiler's own.
    (method == "MoveNext").then(|| SourceName {
        type_name: own_type,
        method: innermost(inner).to_owned(),
        part: Part::StateMachine,
    })
}

/// `<inner>suffix` in its two parts; the inner name may hold such names itself.
fn split_made_name(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix('<')?;
    let end = rest.rfind('>')?;
    let (inner, suffix) = (rest.get(..end)?, rest.get(end + 1..)?);
    (!inner.is_empty() && suffix.contains("__")).then_some((inner, suffix))
}

/// The person's name in a name made of a made name: a lambda's async steps are `<<Run>b__0_0>d`.
fn innermost(mut name: &str) -> &str {
    while let Some((inner, _)) = name.strip_prefix('<').and_then(|rest| rest.rsplit_once('>')) {
        name = inner;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_names_lead_to_written_ones() {
        for (type_name, method, expected) in [
            ("Shop.Order/<Load>d__5", "MoveNext", "Shop.Order::Load [steps]"),
            ("Shop.Order/<Load>d__5`1", "MoveNext", "Shop.Order::Load [steps]"),
            ("Shop.Order/<>c", "<Total>b__3_0", "Shop.Order::Total [lambda]"),
            ("Shop.Order/<>c__DisplayClass4_0", "<Total>b__1", "Shop.Order::Total [lambda]"),
            ("Shop.Order", "<Run>g__Local|0_0", "Shop.Order::Run.Local"),
            ("Program/<<Main>$>d__0", "MoveNext", "Program::Main [steps]"),
            ("Shop.Order/<>c/<<Run>b__0_0>d", "MoveNext", ""),
            ("Shop.Order/<>c/<<Run>b__0_0>d__1", "MoveNext", "Shop.Order::Run [steps]"),
            ("Shop.Order/<Load>d__5", "SetStateMachine", ""),
            ("Shop.Order", "Total", ""),
            ("Shop.Order", "<Clone>$", ""),
            ("<Module>", ".cctor", ""),
        ] {
            let name = source_name(type_name, method).map(|name| name.to_string()).unwrap_or_default();
            assert_eq!(name, expected, "{type_name}::{method}");
        }
    }
}
