//! Types of the base library whose values people write in another way than by their fields.

use super::{Calls, Value, text};

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

impl Calls {
    /// Returns a value as people write it, if its type is known and was captured with its layout.
    pub(super) fn known(&self, value: &Value) -> Option<Known> {
        let (Value::Struct(of, Some(fields)) | Value::Object(of, _, Some(fields))) = value else { return None };
        let ty = self.types.get(*of)?;
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
                Known::Text(text::date(day))
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
            // The memory of the elements may have moved.
            "System.Span" | "System.ReadOnlySpan" => Known::Elements(number("_length")?, Vec::new()),
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
                let entries = entries.iter().take(usize::try_from(count).ok()?).filter_map(|entry| self.entry(entry));
                Known::Elements(count - free, entries.collect())
            }
            _ => return None,
        })
    }
}

impl Calls {
    /// A dictionary's entry, unless it is free.
    fn entry(&self, entry: &Value) -> Option<(Option<Value>, Value)> {
        let Value::Struct(of, Some(fields)) = entry else { return None };
        let names = &self.types.get(*of)?.fields;
        let field = |name: &str| fields.get(names.iter().position(|field| field == name)?);
        // Entries that are free lead to the next one of these, by numbers below -1.
        let is_used = matches!(field("next")?, Value::Int(-1..));
        is_used.then(|| Some((Some(field("key")?.clone()), field("value")?.clone())))?
    }
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

#[cfg(test)]
mod tests {
    use super::{super::ValueType, *};

    fn shown(name: &str, fields: &[(&str, Value)]) -> (String, String) {
        let ty = ValueType {
            name: name.into(),
            fields: fields.iter().map(|(name, _)| (*name).into()).collect(),
            ..ValueType::default()
        };
        let calls = Calls { types: vec![ty], ..Calls::default() };
        let values: Vec<Value> = fields.iter().map(|(_, value)| value.clone()).collect();
        let value = if name.contains('<') { Value::Object(0, 1, Some(values)) } else { Value::Struct(0, Some(values)) };
        (calls.text(&value), calls.json_value(&value).to_string())
    }

    #[test]
    fn values_of_the_library_are_shown_as_people_write_them() {
        let int = Value::Int;
        let max = i128::from(u64::MAX);
        let array = |length: u32, elements: &[Value]| Value::Array(0, vec![length], elements.to_vec());
        for (name, fields, text) in [
            ("System.Half", &[("_value", int(0x3E00))][..], "1.5"),
            ("System.Half", &[("_value", int(0xC000))], "-2"),
            ("System.Half", &[("_value", int(1))], "5.9604645e-8"),
            ("System.Int128", &[("_lower", int(max)), ("_upper", int(max))], "-1"),
            ("System.Int128", &[("_lower", int(5)), ("_upper", int(1))], "18446744073709551621"),
            ("System.UInt128", &[("_lower", int(max)), ("_upper", int(max))], "340282366920938463463374607431768211455"),
            ("System.DateOnly", &[("_dayNumber", int(739_944))], "2026-11-25"),
            ("System.TimeOnly", &[("_ticks", int(471_070_000_000))], "13:05:07"),
            ("System.Numerics.BigInteger", &[("_sign", int(-42)), ("_bits", Value::Null)], "-42"),
            (
                "System.Numerics.BigInteger",
                &[("_sign", int(-1)), ("_bits", array(4, &[int(1), int(2)]))],
                "{_sign=-1, _bits=[4][1, 2] (2 shown of 4)}",
            ),
            ("System.Numerics.BigInteger", &[("_sign", int(-1)), ("_bits", array(2, &[int(1), int(2)]))], "-8589934593"),
            (
                "System.Numerics.BigInteger",
                &[("_sign", int(1)), ("_bits", array(2, &[Value::Pointer(0), Value::Pointer(1)]))],
                "18446744073709551616",
            ),
            ("System.Span<int>", &[("_length", int(2))], "System.Span<int> [2]"),
            (
                "System.Collections.Generic.List<int>",
                &[("_size", int(1)), ("_items", array(4, &[int(7), int(0)]))],
                "System.Collections.Generic.List<int> [1][7]",
            ),
            (
                "System.Collections.Generic.List<int>",
                &[("_size", int(3)), ("_items", array(4, &[int(7), int(8)]))],
                "System.Collections.Generic.List<int> [3][7, 8] (2 shown of 3)",
            ),
            (
                "System.Collections.Generic.Dictionary<string, int>",
                &[("_count", int(3)), ("_freeCount", int(1)), ("_entries", Value::Null)],
                "System.Collections.Generic.Dictionary<string, int> [2]",
            ),
            // Laid out in another way, it has its fields.
            ("System.Half", &[("bits", int(1))], "{bits=1}"),
        ] {
            assert_eq!(shown(name, fields).0, text);
        }
        assert_eq!(shown("System.DateOnly", &[("_dayNumber", int(0))]).1, "\"0001-01-01\"");
        assert_eq!(shown("System.Half", &[("_value", int(0x3C00))]).1, "1.0");
    }
}
