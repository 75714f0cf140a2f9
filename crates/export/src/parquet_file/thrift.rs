//! Thrift's compact protocol, the encoding of Parquet's metadata. Structs are read without knowledge of their fields.

use super::input::{Input, damaged};

/// The deepest nesting accepted; Parquet needs less than half of it.
const MAX_DEPTH: usize = 16;

/// A struct: its fields by number.
#[derive(Default)]
pub(super) struct Struct<'b>(Vec<(i64, Value<'b>)>);

enum Value<'b> {
    Bool(bool),
    Int(i64),
    Bytes(&'b [u8]),
    List(Vec<Value<'b>>),
    Struct(Struct<'b>),
    /// A value of a type that no field read here has.
    Other,
}

impl<'b> Struct<'b> {
    /// Reads a struct.
    pub(super) fn read(input: &mut Input<'b>) -> Result<Self, String> {
        structure(input, 0)
    }

    fn get(&self, field: i64) -> Option<&Value<'b>> {
        self.0.iter().find(|(number, _)| *number == field).map(|(_, value)| value)
    }

    pub(super) fn int(&self, field: i64) -> Option<i64> {
        match self.get(field)? {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn bool(&self, field: i64) -> Option<bool> {
        match self.get(field)? {
            Value::Bool(is_it) => Some(*is_it),
            _ => None,
        }
    }

    pub(super) fn bytes(&self, field: i64) -> Option<&'b [u8]> {
        match self.get(field)? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn structure(&self, field: i64) -> Option<&Self> {
        match self.get(field)? {
            Value::Struct(inner) => Some(inner),
            _ => None,
        }
    }

    /// Returns the structs of a list; none if there is no such list.
    pub(super) fn structs(&self, field: i64) -> impl Iterator<Item = &Self> {
        let list = match self.get(field) {
            Some(Value::List(list)) => &list[..],
            _ => &[],
        };
        list.iter().filter_map(|value| match value {
            Value::Struct(inner) => Some(inner),
            _ => None,
        })
    }
}

fn structure<'b>(input: &mut Input<'b>, depth: usize) -> Result<Struct<'b>, String> {
    if depth > MAX_DEPTH {
        return Err(damaged("structs are nested too deep", input.at));
    }
    let (mut fields, mut number) = (Vec::new(), 0_i64);
    loop {
        let head = input.byte()?;
        let kind = head & 0xF;
        if kind == 0 {
            return Ok(Struct(fields));
        }
        number = match head >> 4 {
            0 => input.zigzag()?,
            step => number.saturating_add(step.into()),
        };
        // The type of a boolean field is also its value.
        let value = if kind <= 2 { Value::Bool(kind == 1) } else { value(input, kind, depth)? };
        fields.push((number, value));
    }
}

fn value<'b>(input: &mut Input<'b>, kind: u8, depth: usize) -> Result<Value<'b>, String> {
    Ok(match kind {
        1 | 2 => Value::Bool(input.byte()? == 1),
        3 => Value::Int(input.byte()?.cast_signed().into()),
        4..=6 => Value::Int(input.zigzag()?),
        7 => {
            input.take(8)?;
            Value::Other
        }
        8 => {
            let count = input.varint()?;
            Value::Bytes(input.take(usize::try_from(count).unwrap_or(usize::MAX))?)
        }
        9 | 10 => {
            let head = input.byte()?;
            let count = if head >> 4 == 0xF { input.varint()? } else { u64::from(head >> 4) };
            if depth > MAX_DEPTH {
                return Err(damaged("lists are nested too deep", input.at));
            }
            // Each element takes at least one byte, so the bytes limit the list whatever its count.
            let mut list = Vec::new();
            for _ in 0..count {
                list.push(value(input, head & 0xF, depth + 1)?);
            }
            Value::List(list)
        }
        12 => Value::Struct(structure(input, depth + 1)?),
        _ => return Err(damaged("a field of unknown type", input.at)),
    })
}
