//! Conditions that select calls: `count > 3 && name == "x"`.

use std::{cmp::Ordering, str::FromStr};

use profile::calls::{Call, Calls, Value};

use super::{
    known::{Known, elements, known},
    text::CallText,
};

/// A condition on calls: a conjunction of comparisons.
#[derive(Clone, Debug)]
pub struct Condition(Vec<Comparison>);

#[derive(Clone, Debug)]
struct Comparison {
    /// A parameter, `this` or `return`, then fields.
    path: Vec<String>,
    operator: Operator,
    with: Key,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Longer operators first, since some begin with a shorter one.
const OPERATORS: [(&str, Operator); 7] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

/// A value to compare.
#[derive(Clone, PartialEq, Debug)]
enum Key {
    Null,
    Bool(bool),
    Int(i128),
    Number(f64),
    Text(String),
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        split_outside_quotes(text).into_iter().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Splits a condition at `&&` outside of quotes.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) => quote = Some(open).filter(|_| open != character),
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if at >= start && text.get(at..).is_some_and(|rest| rest.starts_with("&&")) => {
                parts.extend(text.get(start..at));
                start = at + 2;
            }
            None => {}
        }
    }
    parts.extend(text.get(start..));
    parts
}

impl FromStr for Comparison {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("'{}': {why}; write it as in: count > 3 && name == \"x\"", text.trim());
        let at = text.find(['=', '!', '<', '>']).ok_or_else(|| wrong("no comparison"))?;
        let (path, rest) = text.split_at(at);
        let known = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(|| wrong("no comparison"))?;
        let path: Vec<String> = path.trim().split('.').map(|part| part.trim().to_owned()).collect();
        if path.iter().any(String::is_empty) {
            return Err(wrong("a name is missing before the operator"));
        }
        let with = rest.get(known.0.len()..).unwrap_or_default().trim();
        Ok(Self { path, operator: known.1, with: literal(with).ok_or_else(|| wrong("nothing to compare with"))? })
    }
}

/// Parses a literal of C#. A bare word is text, for names of enum members.
fn literal(text: &str) -> Option<Key> {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    Some(match text {
        "" => return None,
        "null" => Key::Null,
        "true" | "false" => Key::Bool(text == "true"),
        _ => match (quoted('"').or(quoted('\'')), text.parse(), text.parse()) {
            (Some(text), ..) => Key::Text(text.replace("\\\"", "\"").replace("\\\\", "\\")),
            (_, Ok(int), _) => Key::Int(int),
            (_, _, Ok(number)) => Key::Number(number),
            _ => Key::Text(text.to_owned()),
        },
    })
}

impl Condition {
    /// Returns whether a call meets the condition. A call without such a parameter, or with an unread one, does not.
    pub fn is_met(&self, calls: &Calls, call: &Call) -> bool {
        self.0.iter().all(|comparison| comparison.is_met(calls, call))
    }
}

impl Comparison {
    fn is_met(&self, calls: &Calls, call: &Call) -> bool {
        let found = value_at(calls, call, &self.path);
        found.is_some_and(|found| self.operator.is_met(&found, &self.with))
    }
}

impl Operator {
    fn is_met(self, found: &Key, with: &Key) -> bool {
        let order = match (found, with) {
            (Key::Int(a), Key::Int(b)) => Some(a.cmp(b)),
            (Key::Int(_) | Key::Number(_), Key::Int(_) | Key::Number(_)) => found.number().partial_cmp(&with.number()),
            (Key::Text(a), Key::Text(b)) => Some(a.as_str().cmp(b)),
            _ => (found == with).then_some(Ordering::Equal),
        };
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Unequal => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::Greater => order == Some(Ordering::Greater),
            Self::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

impl Key {
    fn number(&self) -> f64 {
        match self {
            Self::Int(int) => *int as f64,
            Self::Number(number) => *number,
            _ => f64::NAN,
        }
    }
}

fn value_at(calls: &Calls, call: &Call, path: &[String]) -> Option<Key> {
    let (first, fields) = path.split_first()?;
    let signature = calls.signatures.get(call.signature)?;
    let mut value = match signature.parameter(first) {
        // An `out` parameter has its value after the call.
        Some(index) => match call.arguments.get(index)? {
            Value::Unread(_) => call.after.iter().find(|(after, _)| *after == index).map(|(_, value)| value)?,
            value => value,
        },
        None if first == "this" => call.this.as_ref()?,
        None if first == "return" => call.returned.as_ref()?,
        None => return None,
    };
    for (depth, field) in fields.iter().enumerate() {
        let is_last = depth + 1 == fields.len();
        if let (true, "Length", Some(length)) = (is_last, field.as_str(), length(value)) {
            return Some(Key::Int(length));
        }
        if let (true, "Count" | "Length", Some(Known::Elements(count, _))) = (is_last, field.as_str(), known(calls, value)) {
            return Some(Key::Int(count));
        }
        let (of, fields) = match value {
            Value::Struct(of, Some(fields)) | Value::Object(of, _, Some(fields)) => (of, fields),
            _ => return None,
        };
        value = fields.get(calls.types.get(*of)?.field(field)?)?;
    }
    key(calls, value)
}

fn key(calls: &Calls, value: &Value) -> Option<Key> {
    match known(calls, value) {
        Some(Known::Value(value)) => return key(calls, &value),
        Some(Known::Text(text)) => return Some(Key::Text(text)),
        Some(Known::Elements(..)) | None => {}
    }
    Some(match value {
        Value::Unread(_) => return None,
        Value::Null => Key::Null,
        Value::Bool(is_it) => Key::Bool(*is_it),
        Value::Int(int) => Key::Int(*int),
        Value::Pointer(address) => Key::Int((*address).into()),
        Value::Single(number) => Key::Number((*number).into()),
        Value::Double(number) => Key::Number(*number),
        Value::Char(unit) => Key::Text(String::from_utf16_lossy(&[*unit])),
        Value::Text(_, units) => Key::Text(String::from_utf16_lossy(units)),
        Value::Decimal(_) => Key::Number(CallText(calls).text(value).parse().ok()?),
        Value::Enum(of, number) => {
            let member = calls.types.get(*of)?.member(*number);
            member.map_or(Key::Int(*number), |name| Key::Text(name.to_owned()))
        }
        _ => Key::Text(CallText(calls).text(value)),
    })
}

/// Returns the number of units or elements.
fn length(value: &Value) -> Option<i128> {
    match value {
        Value::Text(length, _) => Some((*length).into()),
        Value::Array(_, dimensions, _) => Some(elements(dimensions).into()),
        _ => None,
    }
}
