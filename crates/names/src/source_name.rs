//! The source names behind compiler-generated names: `<Load>d__5::MoveNext` is the async method or iterator `Load`.

use std::{borrow::Cow, fmt};

/// A name as the person wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceName {
    /// The type it was written in: `Namespace.Type`.
    pub type_name: String,
    /// The method it was written in.
    pub method: String,
    /// The parts of that method, from the outermost to the innermost.
    pub parts: Vec<Part>,
}

/// A member that the compiler made from a part of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The steps of an async method or iterator.
    StateMachine,
    /// An anonymous function.
    Lambda,
    /// A local function, by its name.
    LocalFunction(String),
}

impl SourceName {
    /// The method and what of it it is, without the type.
    pub fn member(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::StateMachine => " [steps]".to_owned(),
            Part::Lambda => " [lambda]".to_owned(),
            Part::LocalFunction(name) => format!(".{name}"),
        });
        std::iter::once(self.method.clone()).chain(parts).collect()
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.type_name, self.member())
    }
}

/// The source name of what a compiler made; none for what a person wrote under this very name.
pub fn source_name(type_name: &str, method: &str) -> Option<SourceName> {
    let type_name = &*without_file(type_name);
    let innermost = type_name.rsplit('/').next()?;
    if let Some(name) = of_fsharp(type_name, innermost, method) {
        return Some(name);
    }
    // Of a state machine only the steps are the person's code; the rest is the compiler's own.
    let is_step = method == "MoveNext" || method == "MoveNextAsync";
    // Mono's compiler says in a closure's name alone whose lambdas are in it: `<Run>c__AnonStorey0::<>m__1`.
    let in_closure = method.starts_with("<>m__") && innermost.contains(">c__AnonStorey");
    let (written, parts) = resolve(if is_step || in_closure { innermost } else { method })?;
    if is_step != matches!(parts.last()?, Part::StateMachine) {
        return None;
    }
    // Types made by the compiler nest in the person's type: closures (<>c), state machines (<Load>d__5).
    let own_type = type_name.split("/<").next().unwrap_or(type_name);
    // In a type's name a dash stands for the dot that the name of an explicit implementation has.
    let method = if is_step { written.replace('-', ".") } else { written.to_owned() };
    Some(SourceName { type_name: own_type.to_owned(), method, parts })
}

/// The source name of what F# makes of a function's part: its types are named by the function and the line, as in `Program/load@12-1`.
fn of_fsharp(type_name: &str, innermost: &str, method: &str) -> Option<SourceName> {
    let own_type = type_name.strip_suffix(innermost)?.strip_suffix('/').filter(|_| is_closure_of_fsharp(innermost))?;
    let part = match method {
        "Invoke" | "DirectInvoke" => Part::Lambda,
        "MoveNext" | "GenerateNext" => Part::StateMachine,
        _ => return None,
    };
    // A closure in a closure.
    let own_type = own_type.rsplit_once('/').filter(|(_, last)| is_closure_of_fsharp(last)).map_or(own_type, |(outer, _)| outer);
    let (method, _) = innermost.split_once('@')?;
    Some(SourceName { type_name: own_type.to_owned(), method: method.to_owned(), parts: vec![part] })
}

/// Whether a type is named as F# names closures: what it is of, `@`, the line, and a number if there are several.
pub(crate) fn is_closure_of_fsharp(name: &str) -> bool {
    let Some((function, place)) = name.split_once('@') else { return false };
    let place = place.split('`').next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    !function.is_empty() && place.split('-').all(is_number)
}

/// A type's name without the file that C# puts before the name of a `file` type: `Shop.Line` for `Shop.<Order>F..64 digits..__Line`.
pub(crate) fn without_file(name: &str) -> Cow<'_, str> {
    const DIGITS: usize = 64;
    let split = || {
        let (namespace, rest) = name.split_once('<')?;
        let (_, rest) = rest.split_once(">F")?;
        let (hash, own) = rest.split_at_checked(DIGITS)?;
        let is_file = (namespace.is_empty() || namespace.ends_with('.')) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(format!("{namespace}{}", own.strip_prefix("__").filter(|_| is_file)?))
    };
    if name.contains(">F") { split().map_or(Cow::Borrowed(name), Cow::Owned) } else { Cow::Borrowed(name) }
}

/// `<method>suffix` as the method and its parts. The method may be such a name itself, as in an async lambda's steps,
/// `<<Run>b__0_0>d`.
fn resolve(made: &str) -> Option<(&str, Vec<Part>)> {
    let (inner, suffix) = made.strip_prefix('<')?.rsplit_once('>')?;
    let part = match suffix.split_once("__") {
        Some(("b" | "m", _)) => Part::Lambda,
        Some(("g", rest)) => Part::LocalFunction(rest.split('|').next()?.to_owned()),
        Some(("d", _)) => Part::StateMachine,
        // Mono's compiler.
        Some(("c", rest)) if rest.starts_with("async") || rest.starts_with("Iterator") => Part::StateMachine,
        Some(("c", rest)) if rest.starts_with("AnonStorey") => Part::Lambda,
        // In another made name there is no number.
        None if suffix == "d" => Part::StateMachine,
        _ => return None,
    };
    // `<Main>$` holds a program's top-level statements.
    let written = inner.strip_prefix('<').and_then(|rest| rest.strip_suffix(">$")).unwrap_or(inner);
    let (written, mut parts) = resolve(written).unwrap_or((written, Vec::new()));
    parts.push(part);
    (!written.is_empty()).then_some((written, parts))
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
            ("Shop.Order/<>c/<<Run>b__0_0>d", "MoveNext", "Shop.Order::Run [lambda] [steps]"),
            ("Shop.Order/<>c__7`1/<<Run>b__7_0>d", "MoveNext", "Shop.Order::Run [lambda] [steps]"),
            ("Shop.Order/<<Run>g__Local|0_1>d", "MoveNext", "Shop.Order::Run.Local [steps]"),
            ("Program", "<<Main>$>g__Local|0_0", "Program::Main.Local"),
            ("Shop.Order/<Shop-ILoad-Load>d__5", "MoveNext", "Shop.Order::Shop.ILoad.Load [steps]"),
            ("Shop.Order/<>c", "<.ctor>b__4_0", "Shop.Order::.ctor [lambda]"),
            ("Shop.Order/<Load>d__5", "MoveNextAsync", "Shop.Order::Load [steps]"),
            ("Shop.Order/<Load>c__async2", "MoveNext", "Shop.Order::Load [steps]"),
            ("Shop.Order/<Lines>c__Iterator0`1", "MoveNext", "Shop.Order::Lines [steps]"),
            ("Shop.Order/<Run>c__AnonStorey1", "<>m__0", "Shop.Order::Run [lambda]"),
            ("Shop.Order/<Run>c__AnonStorey1/<Run>c__async0", "MoveNext", "Shop.Order::Run [steps]"),
            ("Shop.Order", "<Run>m__0", "Shop.Order::Run [lambda]"),
            ("Program/add@5", "Invoke", "Program::add [lambda]"),
            ("Program/add@5-1`1", "Invoke", "Program::add [lambda]"),
            ("Shop.Orders/load@12", "MoveNext", "Shop.Orders::load [steps]"),
            ("Shop.Orders/items@9-2", "GenerateNext", "Shop.Orders::items [steps]"),
            ("Program/add@5", ".ctor", ""),
            ("Program/a@b", "Invoke", ""),
            ("add@5", "Invoke", ""),
            ("Shop.Order/<Load>d__5", "<>m__Finally1", ""),
            ("Shop.Order/<Lines>c__Iterator0", "<>__Finally0", ""),
            ("Shop.Order/<Run>c__AnonStorey1", ".ctor", ""),
            ("Shop.Order/Lines", "MoveNext", ""),
            ("Shop.Order", "<>d", ""),
            ("Shop.Order/<Load>d__5", "SetStateMachine", ""),
            ("Shop.Order", "Total", ""),
            ("Shop.Order", "<Clone>$", ""),
            ("<Module>", ".cctor", ""),
        ] {
            let name = source_name(type_name, method).map(|name| name.to_string()).unwrap_or_default();
            assert_eq!(name, expected, "{type_name}::{method}");
        }
        let of_file = format!("Shop.<Order>F{}__Line/<Load>d__5", "0123456789ABCDEF".repeat(4));
        assert_eq!(source_name(&of_file, "MoveNext").map(|name| name.to_string()).as_deref(), Some("Shop.Line::Load [steps]"));
    }
}
