//! Calls as text and as JSON.

use std::fmt::{self, Display, Write as _};

use names::Visible;
use serde_json::json;

use super::{
    Call, Calls, How, Parameter, Passing, Signature, Value,
    condition::{elements, shown_field},
    known::Known,
    unread,
};
use crate::model::Profile;

/// The most members of a flags enum that a number is split into: each number is compared with each of them.
const MAX_FLAGS: usize = 256;
/// The most parameters shown with each call, and the most bytes of them.
const MAX_PARAMETERS: usize = 64;
const MAX_SHOWN: usize = 4096;

impl Signature {
    /// Returns the method as in a debugger's call stack: `App.dll!Ns.Type<int>.Method(string name)`.
    pub fn line(&self) -> String {
        let module = self.module.rsplit(['/', '\\']).next().unwrap_or_default();
        Visible(format_args!("{module}!{}({})", self.method, self.shown_parameters().join(", "))).to_string()
    }

    /// Returns the parameters to show with each call. Omits parameters beyond the limits.
    fn shown_parameters(&self) -> Vec<String> {
        let mut room = MAX_SHOWN;
        let mut shown = Vec::new();
        for parameter in &self.parameters {
            let text = parameter.to_string();
            let Some(left) = room.checked_sub(text.len()).filter(|_| shown.len() < MAX_PARAMETERS) else {
                shown.push(format!("… ({} more)", self.parameters.len() - shown.len()));
                break;
            };
            room = left;
            shown.push(text);
        }
        shown
    }
}

impl Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.passing {
            Passing::Value => "",
            Passing::Ref => "ref ",
            Passing::In => "in ",
            Passing::Out => "out ",
        })?;
        f.write_str(&self.type_name)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " {}", self.name) }
    }
}

impl Calls {
    /// Returns the values of a call: `a=1 b="x" -> 3`.
    pub fn values(&self, call: &Call) -> String {
        let mut words = Vec::new();
        if let Some(this) = &call.this {
            words.push(format!("this={}", self.text(this)));
        }
        let name = |index: usize| self.signatures.get(call.signature).map(|signature| signature.name(index)).unwrap_or_default();
        for (index, value) in call.arguments.iter().enumerate() {
            if *value != Value::Unread(unread::OUT) {
                words.push(format!("{}={}", name(index), self.text(value)));
            }
        }
        match (call.how, &call.returned) {
            (None, _) => words.push("-> (has not ended)".into()),
            (Some(How::Exception), _) => {
                words.push("-> (exception)".into());
                words.extend(call.exception.as_ref().map(|value| self.text(value)));
            }
            (Some(How::TailCall), _) => words.push("-> (tail call)".into()),
            (Some(How::Returned), Some(value)) => words.push(format!("-> {}", self.text(value))),
            (Some(How::Returned), None) => {}
        }
        let after: Vec<String> =
            call.after.iter().map(|(index, value)| format!("{}={}", name(*index), self.text(value))).collect();
        words.extend(call.caught.iter().map(|value| format!("caught {}", self.text(value))));
        if !after.is_empty() {
            words.push(format!("then {}", after.join(" ")));
        }
        words.join(" ")
    }

    /// Returns a value as one line of text.
    pub fn text(&self, value: &Value) -> String {
        let mut out = String::new();
        self.put(&mut out, value);
        out
    }

    fn put(&self, out: &mut String, value: &Value) {
        match self.known(value) {
            Some(Known::Value(value)) => return self.put(out, &value),
            Some(Known::Text(text)) => return out.push_str(&text),
            Some(Known::Elements(count, elements)) => {
                let (Value::Struct(of, _) | Value::Object(of, ..)) = value else { return };
                let _ = write!(out, "{} [{count}]", self.type_name(*of));
                return self.put_elements(out, count, &elements);
            }
            None => {}
        }
        // Writing to a string cannot fail.
        let _ = match value {
            Value::Unread(reason) => write!(out, "<{}>", unread::text(*reason)),
            Value::Null => write!(out, "null"),
            Value::Bool(is_it) => write!(out, "{is_it}"),
            Value::Char(unit) => {
                put_quoted(out, &[*unit], '\'');
                Ok(())
            }
            Value::Int(int) => write!(out, "{int}"),
            Value::Single(number) => put_float(out, number, f64::from(*number)),
            Value::Double(number) => put_float(out, number, *number),
            Value::Text(length, units) => {
                put_quoted(out, units, '"');
                if *length as usize > units.len() { write!(out, "… ({} shown of {length})", units.len()) } else { Ok(()) }
            }
            Value::Pointer(address) => write!(out, "0x{address:x}"),
            Value::Struct(of, None) => write!(out, "{} {{…}}", self.type_name(*of)),
            Value::Struct(of, Some(fields)) => {
                self.put_fields(out, *of, fields);
                Ok(())
            }
            Value::Object(of, _, None) => write!(out, "{}", self.type_name(*of)),
            Value::Object(of, _, Some(fields)) => {
                let _ = write!(out, "{} ", self.type_name(*of));
                self.put_fields(out, *of, fields);
                Ok(())
            }
            Value::Array(_, dimensions, elements) => {
                self.put_array(out, dimensions, elements);
                Ok(())
            }
            Value::Enum(of, number) => write!(out, "{}", self.member(*of, *number, &format!("{}.", self.type_name(*of)))),
            Value::DateTime(data) => write!(out, "{}", date_time(*data)),
            Value::Decimal(words) => write!(out, "{}", decimal(*words)),
            Value::Guid(bytes) => write!(out, "{}", guid(bytes)),
            Value::TimeSpan(units) => write!(out, "{}", time_span(*units)),
            Value::Type(of) => write!(out, "typeof({})", self.type_name(*of)),
        };
    }

    fn put_fields(&self, out: &mut String, of: usize, fields: &[Value]) {
        out.push('{');
        for (index, (name, value)) in self.fields(of, fields).enumerate() {
            let _ = write!(out, "{}{}=", if index > 0 { ", " } else { "" }, Visible(name));
            self.put(out, value);
        }
        out.push('}');
    }

    fn fields<'c>(&'c self, of: usize, fields: &'c [Value]) -> impl Iterator<Item = (&'c str, &'c Value)> {
        let names = self.types.get(of).map(|of| &*of.fields).unwrap_or_default();
        names.iter().map(|name| shown_field(name)).chain(std::iter::repeat("?")).zip(fields)
    }

    fn put_array(&self, out: &mut String, dimensions: &[u32], values: &[Value]) {
        let lengths: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
        let _ = write!(out, "[{}]", lengths.join(", "));
        let all = elements(dimensions);
        if values.is_empty() && all > 0 {
            return;
        }
        out.push('[');
        for (index, value) in values.iter().enumerate() {
            out.push_str(if index > 0 { ", " } else { "" });
            self.put(out, value);
        }
        out.push(']');
        if (values.len() as u64) < all {
            let _ = write!(out, " ({} shown of {all})", values.len());
        }
    }

    /// The first elements of a collection of so many.
    fn put_elements(&self, out: &mut String, count: i128, elements: &[(Option<Value>, Value)]) {
        if elements.is_empty() && count > 0 {
            return;
        }
        out.push('[');
        for (index, (key, value)) in elements.iter().enumerate() {
            out.push_str(if index > 0 { ", " } else { "" });
            if let Some(key) = key {
                self.put(out, key);
                out.push_str(": ");
            }
            self.put(out, value);
        }
        out.push(']');
        if (elements.len() as i128) < count {
            let _ = write!(out, " ({} shown of {count})", elements.len());
        }
    }

    fn type_name(&self, of: usize) -> Visible<&str> {
        Visible(self.types.get(of).map_or("?", |of| of.name.as_str()))
    }

    /// Returns the name of the member or of the flags for a number; without one, the number.
    fn member(&self, of: usize, number: i128, before: &str) -> String {
        let unnamed = || format!("({}){number}", self.type_name(of));
        let Some(described) = self.types.get(of) else { return unnamed() };
        if let Some(name) = described.member(number) {
            return format!("{before}{}", Visible(name));
        }
        let mut rest = number as u64;
        let mut names = Vec::new();
        let flags = described.members.iter().take(if described.is_flags { MAX_FLAGS } else { 0 });
        for (member, name) in flags.filter(|(member, _)| *member != 0) {
            if rest & *member as u64 == *member as u64 {
                rest &= !(*member as u64);
                names.push(format!("{before}{}", Visible(name)));
            }
        }
        if rest == 0 && !names.is_empty() { names.join(" | ") } else { unnamed() }
    }

    /// Returns a call as JSON. Times are in milliseconds.
    pub fn json(&self, profile: &Profile, call: &Call) -> serde_json::Value {
        let Some(signature) = self.signatures.get(call.signature) else { return serde_json::Value::Null };
        let values = |list: &mut dyn Iterator<Item = (usize, &Value)>| {
            let named = list.map(|(index, value)| (signature.name(index), self.json_value(value)));
            serde_json::Value::Object(named.collect())
        };
        json!({
            "thread": call.tree,
            "number": call.number,
            "depth": call.depth,
            "line": signature.line(),
            "module": signature.module,
            "method": signature.method,
            "token": signature.token,
            "parameters": signature.shown_parameters(),
            "returns": signature.returned,
            "startMs": profile.milliseconds(call.start),
            "milliseconds": call.duration.map(|ticks| profile.milliseconds(ticks)),
            "ended": call.how.map(|how| match how {
                How::Returned => "returned",
                How::Exception => "exception",
                How::TailCall => "tail call",
            }),
            "this": call.this.as_ref().map(|value| self.json_value(value)),
            "arguments": values(&mut call.arguments.iter().enumerate()),
            "return": call.returned.as_ref().map(|value| self.json_value(value)),
            "after": values(&mut call.after.iter().map(|(index, value)| (*index, value))),
            "exception": call.exception.as_ref().map(|value| self.json_value(value)),
            "caught": call.caught.iter().map(|value| self.json_value(value)).collect::<Vec<_>>(),
            "text": self.values(call),
        })
    }

    pub(super) fn json_value(&self, value: &Value) -> serde_json::Value {
        match self.known(value) {
            Some(Known::Value(value)) => return self.json_value(&value),
            Some(Known::Text(text)) => return json!(text),
            Some(Known::Elements(..)) | None => {}
        }
        let type_name = |of: &usize| self.types.get(*of).map_or("?", |of| of.name.as_str());
        let fields = |of: usize, fields: &Option<Vec<Value>>| {
            fields.as_ref().map(|fields| {
                let named = self.fields(of, fields).map(|(name, value)| (name.to_owned(), self.json_value(value)));
                serde_json::Value::Object(named.collect())
            })
        };
        match value {
            Value::Unread(reason) => json!({ "unread": unread::text(*reason) }),
            Value::Null => serde_json::Value::Null,
            Value::Bool(is_it) => json!(is_it),
            Value::Int(int) => match (i64::try_from(*int), u64::try_from(*int)) {
                (Ok(int), _) => json!(int),
                (_, Ok(int)) => json!(int),
                _ => json!(int.to_string()),
            },
            Value::Single(number) => json!(number),
            Value::Double(number) => json!(number),
            Value::Char(unit) => json!(String::from_utf16_lossy(&[*unit])),
            Value::Text(length, units) if *length as usize == units.len() => json!(String::from_utf16_lossy(units)),
            Value::Text(length, units) => json!({ "length": length, "text": String::from_utf16_lossy(units) }),
            Value::Struct(of, values) => json!({ "type": type_name(of), "fields": fields(*of, values) }),
            Value::Object(of, which, values) => {
                json!({ "type": type_name(of), "id": format!("0x{which:x}"), "fields": fields(*of, values) })
            }
            Value::Array(of, dimensions, elements) => {
                let elements: Vec<_> = elements.iter().map(|element| self.json_value(element)).collect();
                json!({ "type": type_name(of), "dimensions": dimensions, "elements": elements })
            }
            Value::Enum(of, number) => json!(self.member(*of, *number, "")),
            _ => json!(self.text(value)),
        }
    }
}

impl Signature {
    /// Returns the name of a parameter, or its index if it has none.
    fn name(&self, index: usize) -> String {
        match self.parameters.get(index) {
            Some(parameter) if !parameter.name.is_empty() => Visible(&parameter.name).to_string(),
            _ => format!("#{}", index + 1),
        }
    }
}

/// Writes a float with the fewest digits that identify it; large and small ones with an exponent.
fn put_float(out: &mut String, number: &(impl Display + fmt::LowerExp), size: f64) -> fmt::Result {
    let is_plain = size == 0.0 || !size.is_finite() || (1e-5..1e15).contains(&size.abs());
    if is_plain { write!(out, "{number}") } else { write!(out, "{number:e}") }
}

/// Writes text as C# does: control characters and unpaired surrogates are escapes.
fn put_quoted(out: &mut String, units: &[u16], quote: char) {
    out.push(quote);
    for decoded in char::decode_utf16(units.iter().copied()) {
        let _ = match decoded {
            Ok('\n') => write!(out, "\\n"),
            Ok('\r') => write!(out, "\\r"),
            Ok('\t') => write!(out, "\\t"),
            Ok('\0') => write!(out, "\\0"),
            Ok(character) if character == quote || character == '\\' => write!(out, "\\{character}"),
            Ok(character) if names::is_hidden(character) => write!(out, "\\u{:04x}", character as u32),
            Ok(character) => write!(out, "{character}"),
            Err(half) => write!(out, "\\u{:04x}", half.unpaired_surrogate()),
        };
    }
    out.push(quote);
}

/// A second in units of 100 ns.
const SECOND: u64 = 10_000_000;
const DAY: u64 = 86_400 * SECOND;

/// Returns a time in ISO 8601, with its significant digits.
fn date_time(data: u64) -> String {
    let units = data & (u64::MAX >> 2);
    let zone = if data >> 62 == 1 { "Z" } else { "" };
    format!("{}T{}{zone}", date(units / DAY), clock(units % DAY))
}

/// A day, by how many lie between the first of the year 1 and it.
pub(super) fn date(days: u64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time_span(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    let days = if units >= DAY { format!("{}.", units / DAY) } else { String::new() };
    format!("{sign}{days}{}", clock(units % DAY))
}

fn clock(units: u64) -> String {
    let seconds = units / SECOND;
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = units % SECOND;
    if fraction == 0 { clock } else { format!("{clock}.{fraction:07}") }
}

/// Converts days since the start of the year 1 to year, month and day.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, in eras of 400 years.
    let days = days + 306;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

fn decimal([low, middle, high, flags]: [u32; 4]) -> String {
    let number = u128::from(high) << 64 | u128::from(middle) << 32 | u128::from(low);
    let scale = (flags >> 16 & 0xFF).min(28) as usize;
    let mut digits = format!("{number:0width$}", width = scale + 1);
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    let sign = if flags >> 31 == 1 { "-" } else { "" };
    format!("{sign}{digits}")
}

fn guid(bytes: &[u8; 16]) -> String {
    let [a, b, c, d, e, f, g, h, rest @ ..] = *bytes;
    let first = u32::from_le_bytes([a, b, c, d]);
    let (second, third) = (u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]));
    let (fourth, last) = rest.split_at(2);
    format!("{first:08x}-{second:04x}-{third:04x}-{}-{}", hex::encode(fourth), hex::encode(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_net_shows_them() {
        let calls = Calls::default();
        let day = |days: u64| Value::DateTime(days * DAY);
        for (value, expected) in [
            (day(0), "0001-01-01T00:00:00"),
            (day(719_162), "1970-01-01T00:00:00"),
            (day(730_178), "2000-02-29T00:00:00"),
            (day(3_652_058), "9999-12-31T00:00:00"),
            (Value::DateTime(1 << 62 | 637_134_336_005_000_000), "2020-01-01T00:00:00.5000000Z"),
            (Value::TimeSpan(-(DAY as i64) - 15_000_000), "-1.00:00:01.5000000"),
            (Value::Decimal([12345, 0, 0, 0x8002_0000]), "-123.45"),
            (Value::Decimal([5, 0, 0, 3 << 16]), "0.005"),
            (Value::Decimal([u32::MAX, u32::MAX, u32::MAX, 0]), "79228162514264337593543950335"),
            (Value::Text(3, "a\"\n".encode_utf16().collect()), r#""a\"\n""#),
            (Value::Text(2, vec![0xD83D, 0xDE00]), "\"😀\""),
            (Value::Text(9, vec![0xD83D]), "\"\\ud83d\"… (1 shown of 9)"),
            (Value::Char(0x202E), "'\\u202e'"),
            (Value::Array(0, vec![2, 3], vec![Value::Int(0); 4]), "[2, 3][0, 0, 0, 0] (4 shown of 6)"),
            (Value::Array(0, vec![0], Vec::new()), "[0][]"),
            (Value::Double(-2.25), "-2.25"),
            (Value::Double(1e300), "1e300"),
            (Value::Single(0.1), "0.1"),
        ] {
            assert_eq!(calls.text(&value), expected);
        }
    }
}
