//! Calls as text and as JSON.

use std::fmt::Write as _;

use names::Visible;
use profile::{
    Profile,
    calls::{Call, CallEnd, Calls, Parameter, ParameterMode, Signature, UnreadReason, Value, source_field},
};
use serde_json::json;

use super::{
    known::{Known, elements, known},
    literals::{date_time, decimal, guid, put_float, put_quoted, time_span},
};

/// The most members of a flags enum that a number is split into: each number is compared with each of them.
const MAX_FLAGS: usize = 256;
/// The most parameters shown with each call, and the most bytes of them.
const MAX_PARAMETERS: usize = 64;
const MAX_SHOWN: usize = 4096;

/// Returns a method as in a debugger's call stack: `App.dll!Ns.Type<int>.Method(string name)`.
pub fn line(signature: &Signature) -> String {
    let module = signature.module.rsplit(['/', '\\']).next().unwrap_or_default();
    Visible(format_args!("{module}!{}({})", signature.method, shown_parameters(signature).join(", "))).to_string()
}

/// Returns the parameters to show with each call. Omits parameters beyond the limits.
fn shown_parameters(signature: &Signature) -> Vec<String> {
    let mut room = MAX_SHOWN;
    let mut shown = Vec::new();
    for parameter in &signature.parameters {
        let text = declaration(parameter);
        let Some(left) = room.checked_sub(text.len()).filter(|_| shown.len() < MAX_PARAMETERS) else {
            shown.push(format!("… ({} more)", signature.parameters.len() - shown.len()));
            break;
        };
        room = left;
        shown.push(text);
    }
    shown
}

/// Returns a parameter as C# declares it.
fn declaration(Parameter { mode, type_name, name }: &Parameter) -> String {
    let mode = match mode {
        ParameterMode::Value => "",
        ParameterMode::Ref => "ref ",
        ParameterMode::In => "in ",
        ParameterMode::Out => "out ",
    };
    let gap = if name.is_empty() { "" } else { " " };
    format!("{mode}{type_name}{gap}{name}")
}

/// Returns the name of a parameter, or its index if it has none.
fn parameter_name(signature: &Signature, index: usize) -> String {
    match signature.parameters.get(index) {
        Some(parameter) if !parameter.name.is_empty() => Visible(&parameter.name).to_string(),
        _ => format!("#{}", index + 1),
    }
}

/// Returns a reason as text.
fn unread(reason: Option<UnreadReason>) -> &'static str {
    use UnreadReason as R;
    match reason {
        Some(R::UnknownType) => "its type is not known",
        Some(R::UnknownLayout) => "its layout is not known",
        Some(R::TypedReference) => "a typed reference",
        Some(R::NoRoom) => "no room",
        Some(R::Out) => "out",
        Some(R::Moved) => "a collection may have moved it",
        Some(R::NotFound) => "the runtime does not say where it is",
        Some(R::Reference) => "a reference",
        Some(R::OnStack) => "its type may be a ref struct",
        Some(R::UnderConstruction) => "not constructed yet",
        Some(R::Thrown) => "an exception",
        None => "not read",
    }
}

/// Captured calls, to be written as text or as JSON.
#[derive(Clone, Copy, Debug)]
pub struct CallText<'c>(pub &'c Calls);

impl CallText<'_> {
    /// Returns the values of a call: `a=1 b="x" -> 3`.
    pub fn values(&self, call: &Call) -> String {
        let mut words = Vec::new();
        if let Some(this) = &call.this {
            words.push(format!("this={}", self.text(this)));
        }
        let name = |index: usize| {
            self.0.signatures.get(call.signature).map(|signature| parameter_name(signature, index)).unwrap_or_default()
        };
        for (index, value) in call.arguments.iter().enumerate() {
            if *value != Value::Unread(Some(UnreadReason::Out)) {
                words.push(format!("{}={}", name(index), self.text(value)));
            }
        }
        match (call.end, &call.returned) {
            (None, _) => words.push("-> (has not ended)".into()),
            (Some(CallEnd::Exception), _) => {
                words.push("-> (exception)".into());
                words.extend(call.exception.as_ref().map(|value| self.text(value)));
            }
            (Some(CallEnd::TailCall), _) => words.push("-> (tail call)".into()),
            (Some(CallEnd::Returned), Some(value)) => words.push(format!("-> {}", self.text(value))),
            (Some(CallEnd::Returned), None) => {}
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
        match known(self.0, value) {
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
            Value::Unread(reason) => write!(out, "<{}>", unread(*reason)),
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
        let names = self.0.types.get(of).map(|of| &*of.fields).unwrap_or_default();
        names.iter().map(|name| source_field(name)).chain(std::iter::repeat("?")).zip(fields)
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
        Visible(self.0.types.get(of).map_or("?", |of| of.name.as_str()))
    }

    /// Returns the name of the member or of the flags for a number; without one, the number.
    fn member(&self, of: usize, number: i128, before: &str) -> String {
        let unnamed = || format!("({}){number}", self.type_name(of));
        let Some(described) = self.0.types.get(of) else { return unnamed() };
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
        let Some(signature) = self.0.signatures.get(call.signature) else { return serde_json::Value::Null };
        let values = |list: &mut dyn Iterator<Item = (usize, &Value)>| {
            let named = list.map(|(index, value)| (parameter_name(signature, index), self.json_value(value)));
            serde_json::Value::Object(named.collect())
        };
        json!({
            "thread": call.tree,
            "number": call.number,
            "depth": call.depth,
            "line": line(signature),
            "module": signature.module,
            "method": signature.method,
            "token": signature.token,
            "parameters": shown_parameters(signature),
            "returns": signature.returned,
            "startMs": profile.milliseconds(call.start),
            "milliseconds": call.duration.map(|ticks| profile.milliseconds(ticks)),
            "ended": call.end.map(|end| match end {
                CallEnd::Returned => "returned",
                CallEnd::Exception => "exception",
                CallEnd::TailCall => "tail call",
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

    fn json_value(&self, value: &Value) -> serde_json::Value {
        match known(self.0, value) {
            Some(Known::Value(value)) => return self.json_value(&value),
            Some(Known::Text(text)) => return json!(text),
            Some(Known::Elements(..)) | None => {}
        }
        let type_name = |of: &usize| self.0.types.get(*of).map_or("?", |of| of.name.as_str());
        let fields = |of: usize, fields: &Option<Vec<Value>>| {
            fields.as_ref().map(|fields| {
                let named = self.fields(of, fields).map(|(name, value)| (name.to_owned(), self.json_value(value)));
                serde_json::Value::Object(named.collect())
            })
        };
        match value {
            Value::Unread(reason) => json!({ "unread": unread(*reason) }),
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

#[cfg(test)]
mod tests {
    use profile::calls::ValueType;

    use super::{super::literals::DAY, *};

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
            assert_eq!(CallText(&calls).text(&value), expected);
        }
    }

    fn shown(name: &str, fields: &[(&str, Value)]) -> (String, String) {
        let mut ty = ValueType::default();
        (ty.name, ty.fields) = (name.into(), fields.iter().map(|(name, _)| (*name).into()).collect());
        let calls = Calls { types: vec![ty], ..Calls::default() };
        let values: Vec<Value> = fields.iter().map(|(_, value)| value.clone()).collect();
        let value = if name.contains('<') { Value::Object(0, 1, Some(values)) } else { Value::Struct(0, Some(values)) };
        let text = CallText(&calls);
        (text.text(&value), text.json_value(&value).to_string())
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
                "System.ReadOnlySpan<int>",
                &[("_length", int(3)), ("elements", array(3, &[int(7), int(8)]))],
                "System.ReadOnlySpan<int> [3][7, 8] (2 shown of 3)",
            ),
            ("System.Span<int>", &[("_length", int(0)), ("elements", array(0, &[]))], "System.Span<int> [0][]"),
            ("System.Span<int>", &[("_length", int(5)), ("elements", array(5, &[]))], "System.Span<int> [5]"),
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
