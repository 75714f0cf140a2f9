//! Custom attribute values (II.23.3): reads and writes the arguments of an attribute.

use std::fmt;

use little_endian::PutNumbers;

use crate::{
    cursor::{Cursor, put_compressed_u32},
    element::ElementType,
    error::{Error, ErrorKind, Result, malformed},
    schema::TypeDefOrRef,
    signature::{MethodSig, TypeSig},
};

/// The maximum nesting of arrays. The format allows one level; hostile blobs have more.
const MAX_DEPTH: u32 = 16;
const PROLOG: u16 = 1;
/// The length byte of a null string.
const NULL_STRING: u8 = 0xFF;
/// The count of a null array.
const NULL_ARRAY: u32 = 0xFFFF_FFFF;

/// An attribute's value: the constructor's arguments, then the named fields and properties.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AttributeValue {
    /// The constructor's arguments, in the order of its parameters.
    pub fixed: Vec<Argument>,
    /// Fields and properties.
    pub named: Vec<NamedArgument>,
}

/// A named argument: a field or property.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedArgument {
    /// Whether the argument sets a property, not a field.
    pub is_property: bool,
    /// The name.
    pub name: String,
    /// The type.
    pub argument_type: ArgumentType,
    /// The value.
    pub argument: Argument,
}

/// The type of an argument, as encoded in the blob.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgumentType {
    /// A number, character, boolean or string.
    Element(ElementType),
    /// `System.Type`
    Type,
    /// `object`: the value includes its type.
    Object,
    /// An enumeration, by its name.
    Enum(String),
    /// A one-dimensional array.
    Array(Box<ArgumentType>),
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// `false` or `true`
    Boolean(bool),
    /// A UTF-16 unit.
    Char(u16),
    /// An integer or an enumeration's value. Its type decides its size.
    Integer(ElementType, i128),
    /// A float of four bytes.
    R4(f32),
    /// A float of eight bytes.
    R8(f64),
    /// Text, or null.
    String(Option<String>),
    /// A type by its name, or null.
    Type(Option<String>),
    /// An array, or null.
    Array(Option<Vec<Argument>>),
    /// A value with its type.
    Object(ArgumentType, Box<Argument>),
}

/// Resolves the types that a blob mentions.
pub trait AttributeTypes {
    /// The underlying type of an enumeration in the constructor's signature. None if it is unknown.
    fn enum_of(&self, token: TypeDefOrRef) -> Option<ElementType>;
    /// The underlying type of an enumeration that the blob names. None if it is unknown.
    fn enum_named(&self, name: &str) -> Option<ElementType>;
    /// Whether a class in the constructor's signature is `System.Type`.
    fn is_system_type(&self, token: TypeDefOrRef) -> bool;
}

impl AttributeValue {
    /// Reads a value, given its constructor's signature.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if an enumeration's size is unknown: then keep the blob unchanged. Others if the
    /// blob breaks the format.
    pub fn parse(mut cursor: Cursor<'_>, constructor: &MethodSig, types: &impl AttributeTypes) -> Result<Self> {
        let offset = cursor.offset();
        if cursor.u16()? != PROLOG {
            return malformed(offset, "a custom attribute's value starts with 1");
        }
        let cursor = &mut cursor;
        let fixed = constructor.params.iter().map(|param| read_param(cursor, param, types)).collect::<Result<_>>()?;
        let count = cursor.u16()?;
        let named = (0..count).map(|_| NamedArgument::read(cursor, types)).collect::<Result<_>>()?;
        Ok(Self { fixed, named })
    }

    /// Appends the blob's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u16(PROLOG);
        self.fixed.iter().for_each(|argument| argument.write(out));
        out.put_u16(self.named.len() as u16);
        for named in &self.named {
            out.push(if named.is_property { ElementType::Property } else { ElementType::Field } as u8);
            named.argument_type.write(out);
            put_string(out, Some(&named.name));
            named.argument.write(out);
        }
    }
}

impl NamedArgument {
    /// Reads one named argument. Permission sets have them too (II.22.11).
    ///
    /// # Errors
    /// As for [`AttributeValue::parse`].
    pub fn read(cursor: &mut Cursor<'_>, types: &impl AttributeTypes) -> Result<Self> {
        let offset = cursor.offset();
        let is_property = match ElementType::from_byte(cursor.u8()?) {
            Some(ElementType::Property) => true,
            Some(ElementType::Field) => false,
            _ => return malformed(offset, "a named argument that is neither field nor property"),
        };
        let argument_type = ArgumentType::read(cursor, 0)?;
        let name = read_string(cursor)?.unwrap_or_default();
        let argument = Argument::read(cursor, &argument_type, types, 0)?;
        Ok(Self { is_property, name, argument_type, argument })
    }
}

/// Reads an argument of the type in the constructor's signature.
fn read_param(cursor: &mut Cursor<'_>, param: &TypeSig, types: &impl AttributeTypes) -> Result<Argument> {
    match param {
        TypeSig::Element(ElementType::Object) => Argument::read(cursor, &ArgumentType::Object, types, 0),
        TypeSig::Element(element) => Argument::read_element(cursor, *element),
        TypeSig::Named { is_value: false, token } if types.is_system_type(*token) => Ok(Argument::Type(read_string(cursor)?)),
        TypeSig::Named { is_value: true, token } => match types.enum_of(*token) {
            Some(element) => Argument::read_element(cursor, element),
            None => unknown_enum(cursor),
        },
        TypeSig::SzArray(element) => read_array(cursor, |cursor| read_param(cursor, element, types)).map(Argument::Array),
        TypeSig::Modified { inner, .. } => read_param(cursor, inner, types),
        _ => malformed(cursor.offset(), "a constructor's parameter that no attribute can have"),
    }
}

fn unknown_enum<T>(cursor: &Cursor<'_>) -> Result<T> {
    Err(Error::at(cursor.offset(), ErrorKind::Unsupported("an enumeration of unknown size")))
}

fn read_array(
    cursor: &mut Cursor<'_>,
    mut read: impl FnMut(&mut Cursor<'_>) -> Result<Argument>,
) -> Result<Option<Vec<Argument>>> {
    let count = cursor.u32()?;
    if count == NULL_ARRAY {
        return Ok(None);
    }
    // Collected one by one, because the count may far exceed the blob's bytes.
    (0..count).map(|_| read(cursor)).collect::<Result<_>>().map(Some)
}

impl ArgumentType {
    fn read(cursor: &mut Cursor<'_>, depth: u32) -> Result<Self> {
        let offset = cursor.offset();
        if depth > MAX_DEPTH {
            return malformed(offset, "arrays nested too deep");
        }
        match ElementType::from_byte(cursor.u8()?) {
            Some(ElementType::Type) => Ok(Self::Type),
            Some(ElementType::BoxedObject) => Ok(Self::Object),
            Some(ElementType::Enum) => Ok(Self::Enum(read_string(cursor)?.unwrap_or_default())),
            Some(ElementType::SzArray) => Ok(Self::Array(Box::new(Self::read(cursor, depth + 1)?))),
            Some(element) if (ElementType::Boolean as u8..=ElementType::String as u8).contains(&(element as u8)) => {
                Ok(Self::Element(element))
            }
            _ => malformed(offset, "an element that no attribute's argument has"),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Element(element) => out.push(*element as u8),
            Self::Type => out.push(ElementType::Type as u8),
            Self::Object => out.push(ElementType::BoxedObject as u8),
            Self::Enum(name) => {
                out.push(ElementType::Enum as u8);
                put_string(out, Some(name));
            }
            Self::Array(element) => {
                out.push(ElementType::SzArray as u8);
                element.write(out);
            }
        }
    }
}

impl Argument {
    fn read(cursor: &mut Cursor<'_>, argument_type: &ArgumentType, types: &impl AttributeTypes, depth: u32) -> Result<Self> {
        if depth > MAX_DEPTH {
            return malformed(cursor.offset(), "values nested too deep");
        }
        match argument_type {
            ArgumentType::Element(element) => Self::read_element(cursor, *element),
            ArgumentType::Type => Ok(Self::Type(read_string(cursor)?)),
            ArgumentType::Object => {
                let own = ArgumentType::read(cursor, 0)?;
                let value = Self::read(cursor, &own, types, depth + 1)?;
                Ok(Self::Object(own, Box::new(value)))
            }
            ArgumentType::Enum(name) => match types.enum_named(name) {
                Some(element) => Self::read_element(cursor, element),
                None => unknown_enum(cursor),
            },
            ArgumentType::Array(element) => {
                read_array(cursor, |cursor| Self::read(cursor, element, types, depth + 1)).map(Self::Array)
            }
        }
    }

    fn read_element(cursor: &mut Cursor<'_>, element: ElementType) -> Result<Self> {
        let integer = |value: i128| Self::Integer(element, value);
        Ok(match element {
            ElementType::Boolean => Self::Boolean(cursor.u8()? != 0),
            ElementType::Char => Self::Char(cursor.u16()?),
            ElementType::I1 => integer(cursor.i8()?.into()),
            ElementType::U1 => integer(cursor.u8()?.into()),
            ElementType::I2 => integer(cursor.i16()?.into()),
            ElementType::U2 => integer(cursor.u16()?.into()),
            ElementType::I4 => integer(cursor.i32()?.into()),
            ElementType::U4 => integer(cursor.u32()?.into()),
            ElementType::I8 => integer(cursor.i64()?.into()),
            ElementType::U8 => integer(cursor.u64()?.into()),
            ElementType::R4 => Self::R4(cursor.f32()?),
            ElementType::R8 => Self::R8(cursor.f64()?),
            ElementType::String => Self::String(read_string(cursor)?),
            _ => return malformed(cursor.offset(), "an element that no attribute's argument has"),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(value) => out.push((*value).into()),
            Self::Char(value) => out.put_u16(*value),
            Self::Integer(element, value) => out.extend_from_slice(&value.to_le_bytes()[..integer_size(*element)]),
            Self::R4(value) => out.put_f32(*value),
            Self::R8(value) => out.put_f64(*value),
            Self::String(text) | Self::Type(text) => put_string(out, text.as_deref()),
            Self::Array(None) => out.put_u32(NULL_ARRAY),
            Self::Array(Some(items)) => {
                out.put_u32(items.len() as u32);
                items.iter().for_each(|item| item.write(out));
            }
            Self::Object(own, value) => {
                own.write(out);
                value.write(out);
            }
        }
    }
}

fn integer_size(element: ElementType) -> usize {
    match element {
        ElementType::I1 | ElementType::U1 => 1,
        ElementType::I2 | ElementType::U2 => 2,
        ElementType::I4 | ElementType::U4 => 4,
        _ => 8,
    }
}

/// Reads a SerString: a length in bytes and UTF-8, or one byte for null.
fn read_string(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    if cursor.peek() == Some(NULL_STRING) {
        cursor.u8()?;
        return Ok(None);
    }
    let length = cursor.compressed_u32()?;
    Ok(Some(String::from_utf8_lossy(cursor.bytes(length as usize)?).into_owned()))
}

fn put_string(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => out.push(NULL_STRING),
        Some(text) => {
            put_compressed_u32(out, text.len() as u32);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fixed = self.fixed.iter().map(Argument::to_string);
        let named = self.named.iter().map(|named| format!("{} = {}", named.name, named.argument));
        write!(f, "({})", fixed.chain(named).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Char(value) => write!(f, "'{}'", String::from_utf16_lossy(&[*value])),
            Self::Integer(_, value) => write!(f, "{value}"),
            Self::R4(value) => write!(f, "{value}"),
            Self::R8(value) => write!(f, "{value}"),
            Self::String(Some(text)) => write!(f, "{text:?}"),
            Self::Type(Some(name)) => write!(f, "typeof({name})"),
            Self::String(None) | Self::Type(None) | Self::Array(None) => f.write_str("null"),
            Self::Array(Some(items)) => write!(f, "[{}]", items.iter().map(Self::to_string).collect::<Vec<_>>().join(", ")),
            Self::Object(_, value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{signature::Signature, token::FileOffset};

    /// Every value type is an enumeration of bytes, every class is `System.Type`.
    struct Known;
    impl AttributeTypes for Known {
        fn enum_of(&self, _: TypeDefOrRef) -> Option<ElementType> {
            Some(ElementType::U1)
        }
        fn enum_named(&self, name: &str) -> Option<ElementType> {
            (name == "E").then_some(ElementType::I4)
        }
        fn is_system_type(&self, _: TypeDefOrRef) -> bool {
            true
        }
    }

    fn constructor(params: &[u8]) -> MethodSig {
        let blob = [&[0x20, params.iter().filter(|byte| **byte != 0x1D && **byte != 0x05).count() as u8, 0x01], params].concat();
        match Signature::parse(Cursor::new(&blob, FileOffset(0))) {
            Ok(Signature::Method(method)) => method,
            other => panic!("{other:?}"),
        }
    }

    /// The parameters, a value, and its text.
    const VALUES: &[(&[u8], &[u8], &str)] = &[
        (&[], &[1, 0, 0, 0], "()"),
        (&[0x08, 0x0E], &[1, 0, 0xFE, 0xFF, 0xFF, 0xFF, 2, b'h', b'i', 0, 0], "(-2, \"hi\")"),
        (&[0x0E], &[1, 0, 0xFF, 0, 0], "(null)"),
        (&[0x12, 0x05], &[1, 0, 1, b'T', 0, 0], "(typeof(T))"),
        (&[0x11, 0x05], &[1, 0, 7, 0, 0], "(7)"),
        (&[0x1D, 0x06], &[1, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0], "([1, 2])"),
        (&[0x1D, 0x06], &[1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0], "(null)"),
        (&[0x1C], &[1, 0, 0x55, 1, b'E', 9, 0, 0, 0, 0, 0], "(9)"),
        (&[0x1C], &[1, 0, 0x1D, 0x51, 1, 0, 0, 0, 0x03, 0x41, 0, 0, 0], "(['A'])"),
        (&[0x02], &[1, 0, 1, 2, 0, 0x53, 0x02, 1, b'F', 0, 0x54, 0x0E, 1, b'P', 1, b'x'], "(true, F = false, P = \"x\")"),
    ];

    #[test]
    fn values_read_write_and_show() {
        for (params, blob, text) in VALUES {
            let value = AttributeValue::parse(Cursor::new(blob, FileOffset(0)), &constructor(params), &Known).unwrap();
            assert_eq!(value.to_string(), *text);
            let mut out = Vec::new();
            value.write(&mut out);
            assert_eq!(out, *blob, "{text}");
        }
    }

    #[test]
    fn cut_off_values_are_errors() {
        for (params, blob, text) in VALUES {
            for length in 0..blob.len() {
                let cut = Cursor::new(&blob[..length], FileOffset(0));
                assert!(AttributeValue::parse(cut, &constructor(params), &Known).is_err(), "{text} cut to {length}");
            }
        }
    }

    #[test]
    fn an_enumeration_of_unknown_size_is_said() {
        let blob = [1, 0, 0x55, 1, b'X', 9, 0, 0, 0, 0, 0];
        let error = AttributeValue::parse(Cursor::new(&blob, FileOffset(0)), &constructor(&[0x1C]), &Known).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
    }
}
