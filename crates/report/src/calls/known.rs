//! Types of the base library whose values people write in another way than by their fields.

use profile::calls::{Calls, Value};

use super::literals::date;

/// The last of the year 9999.
const LAST_DAY: u64 = 3_652_058;

/// A value as people write it.
pub(super) enum Known {
    /// Another value.
    Value(Value),
    /// Text.
    Text(String),
    /// How many elements a collection has, and the first of them, each a value or a key with its value.
    Elements(i128, Vec<(Option<Value>, Value)>),
}

/// Returns a value as people write it, if its type is known and was captured with its layout.
pub(super) fn known(calls: &Calls, value: &Value) -> Option<Known> {
    let (Value::Struct(of, Some(fields)) | Value::Object(of, _, Some(fields))) = value else { return None };
    let ty = calls.types.get(*of)?;
    let field = |name: &str| fields.get(ty.fields.iter().position(|field| field == name)?);
    let number = |name: &str| match field(name)? {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    let half = |name: &str| Some(number(name)? as u64);
    let generic = ty.name.split('<').next().unwrap_or_default();
    Some(match generic {
        "System.Half" => Known::Value(Value::Single(single(number("_value").or_else(|| number("m_value"))? as u16))),
        "System.Int128" => {
            let (upper, lower) = (half("_upper")?, half("_lower")?);
            Known::Value(Value::Int(((u128::from(upper) << 64) | u128::from(lower)).cast_signed()))
        }
        "System.UInt128" => {
            let number = u128::from(half("_upper")?) << 64 | u128::from(half("_lower")?);
            i128::try_from(number).map_or_else(|_| Known::Text(number.to_string()), |number| Known::Value(Value::Int(number)))
        }
        "System.DateOnly" => {
            let day = u64::try_from(number("_dayNumber")?).ok().filter(|day| *day <= LAST_DAY)?;
            Known::Text(date(day))
        }
        "System.TimeOnly" => Known::Value(Value::TimeSpan(number("_ticks")?.try_into().ok()?)),
        "System.Numerics.BigInteger" => match field("_bits")? {
            // A number that fits into an int has no more.
            Value::Null => Known::Value(Value::Int(number("_sign")?)),
            Value::Array(_, dimensions, digits) if [digits.len() as u32] == **dimensions => {
                let sign = if number("_sign")? < 0 { "-" } else { "" };
                Known::Text(format!("{sign}{}", big(digits)?))
            }
            _ => return None,
        },
        "System.Span" | "System.ReadOnlySpan" => {
            let elements = match field("elements") {
                Some(Value::Array(_, _, elements)) => elements.iter().map(|element| (None, element.clone())).collect(),
                _ => Vec::new(),
            };
            Known::Elements(number("_length")?, elements)
        }
        "System.Collections.Generic.List" => {
            let count = number("_size")?;
            let Value::Array(_, _, items) = field("_items")? else { return None };
            let shown = items.iter().take(usize::try_from(count).ok()?);
            Known::Elements(count, shown.map(|item| (None, item.clone())).collect())
        }
        "System.Collections.Generic.Dictionary" => {
            let count = number("_count").or_else(|| number("count"))?;
            let free = number("_freeCount").or_else(|| number("freeCount"))?;
            let entries = match field("_entries").or_else(|| field("entries"))? {
                Value::Array(_, _, entries) => &**entries,
                _ => &[],
            };
            let entries = entries.iter().take(usize::try_from(count).ok()?).filter_map(|entry| entry_of(calls, entry));
            Known::Elements(count - free, entries.collect())
        }
        _ => return None,
    })
}

/// A dictionary's entry, unless it is free.
fn entry_of(calls: &Calls, entry: &Value) -> Option<(Option<Value>, Value)> {
    let Value::Struct(of, Some(fields)) = entry else { return None };
    let names = &calls.types.get(*of)?.fields;
    let field = |name: &str| fields.get(names.iter().position(|field| field == name)?);
    // Entries that are free lead to the next one of these, by numbers below -1.
    let is_used = matches!(field("next")?, Value::Int(-1..));
    is_used.then(|| Some((Some(field("key")?.clone()), field("value")?.clone())))?
}

/// A number by its digits, the lowest first: of 32 bits, from .NET 11 on of 64.
fn big(digits: &[Value]) -> Option<u128> {
    digits.iter().rev().try_fold(0, |number: u128, digit| match digit {
        Value::Int(digit) => number.checked_mul(1 << 32)?.checked_add(u32::try_from(*digit).ok()?.into()),
        Value::Pointer(digit) => number.checked_mul(1 << 64)?.checked_add((*digit).into()),
        _ => None,
    })
}

/// The number that 16 bits are (IEEE 754, binary16).
fn single(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1F), f32::from(bits & 0x3FF) / 1024.0);
    sign * match exponent {
        0 => fraction * 2f32.powi(-14),
        0x1F if fraction == 0.0 => f32::INFINITY,
        0x1F => f32::NAN,
        _ => (1.0 + fraction) * 2f32.powi(exponent - 15),
    }
}

/// Returns the number of elements of an array with these dimensions; saturates.
pub(super) fn elements(dimensions: &[u32]) -> u64 {
    dimensions.iter().fold(1, |all, length| all.saturating_mul((*length).into()))
}
