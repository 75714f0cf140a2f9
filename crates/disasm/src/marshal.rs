//! Native types for marshalling (II.7.4, II.23.4).

use ecma335::{Cursor, Result, Token, schema};

use super::{lines::one_line, names::Names};
use crate::{ilasm::Ilasm, quote};

/// Native types of one word (II.23.4). The flag marks those that Mono's ilasm parses but cannot use.
const NATIVE: &[(u8, &str, bool)] = &[
    (0x02, "bool", true),
    (0x03, "int8", true),
    (0x04, "unsigned int8", true),
    (0x05, "int16", true),
    (0x06, "unsigned int16", true),
    (0x07, "int32", true),
    (0x08, "unsigned int32", true),
    (0x09, "int64", true),
    (0x0A, "unsigned int64", true),
    (0x0B, "float32", true),
    (0x0C, "float64", true),
    (0x0D, "syschar", false),
    (0x0E, "variant", false),
    (0x0F, "currency", true),
    (0x11, "decimal", false),
    (0x12, "date", false),
    (0x13, "bstr", true),
    (0x14, "lpstr", true),
    (0x15, "lpwstr", true),
    (0x16, "lptstr", true),
    (0x18, "objectref", false),
    (0x19, "iunknown", true),
    (0x1A, "idispatch", true),
    (0x1B, "struct", true),
    (0x1C, "interface", true),
    (0x1F, "int", true),
    (0x20, "unsigned int", true),
    (0x21, "nested struct", false),
    (0x22, "byvalstr", false),
    (0x23, "ansi bstr", true),
    (0x24, "tbstr", true),
    (0x25, "variant bool", true),
    (0x26, "method", true),
    (0x28, "as any", true),
    (0x2B, "lpstruct", true),
    (0x2D, "error", true),
];

/// The element types of safe arrays, by their number. Empty ones have no word.
const VARIANTS: &[&str] = &[
    "",
    "null",
    "int16",
    "int32",
    "float32",
    "float64",
    "currency",
    "date",
    "bstr",
    "idispatch",
    "error",
    "bool",
    "variant",
    "iunknown",
    "decimal",
    "",
    "int8",
    "unsigned int8",
    "unsigned int16",
    "unsigned int32",
    "int64",
    "unsigned int64",
    "int",
    "unsigned int",
];

/// `marshal(lpstr) `, followed by a space. If Mono's ilasm would fail on it, a comment, or for .NET's ilasm the bytes.
pub(crate) fn marshal(names: &Names<'_, '_>, owner: Token) -> String {
    let row: Option<schema::FieldMarshal> = names.by_parent.marshals.first(names.metadata, owner.0);
    let Some(row) = row else { return String::new() };
    let blob = names.metadata.blobs.blob(row.native_type);
    match blob.and_then(|mut cursor| native(&mut cursor, 0)) {
        Ok((text, true)) => format!("marshal({text}) "),
        Ok((_, false)) if names.ilasm == Ilasm::DotNet => {
            let bytes = names.metadata.blob(row.native_type).map(quote::hex).unwrap_or_default();
            format!("marshal({{ {bytes} }}) ")
        }
        Ok((text, false)) => format!("/* marshal({}) */ ", text.replace("*/", "* /")),
        Err(error) => format!("/* marshal: {} */ ", one_line(error).replace("*/", "* /")),
    }
}

/// A native type, and whether Mono's ilasm accepts it.
fn native(cursor: &mut Cursor<'_>, depth: u32) -> Result<(String, bool)> {
    let byte = cursor.u8()?;
    if let Some((_, text, is_known)) = NATIVE.iter().find(|(each, ..)| *each == byte) {
        return Ok(((*text).to_owned(), *is_known));
    }
    Ok(match byte {
        0x17 => (format!("fixed sysstring[{}]", cursor.compressed_u32()?), true),
        0x1E => (format!("fixed array[{}]", cursor.compressed_u32()?), true),
        0x1D => {
            let kind = if cursor.is_empty() { 0 } else { cursor.compressed_u32()? };
            let word = VARIANTS.get(kind as usize).copied().unwrap_or_default();
            let is_known = cursor.is_empty() && !matches!(word, "null" | "int64" | "unsigned int64");
            (format!("safearray {word}"), is_known)
        }
        // Arrays of arrays do not exist.
        0x2A if depth < 2 => {
            // 0x50 means that the element type is not specified.
            let (element, is_known) = match cursor.peek() {
                None => (String::new(), true),
                Some(0x50) => (cursor.u8().map(|_| String::new())?, true),
                Some(_) => native(cursor, depth + 1)?,
            };
            let mut next = || if cursor.is_empty() { Ok(None) } else { cursor.compressed_u32().map(Some) };
            let (param, size) = (next()?, next()?);
            let bounds = match (size, param) {
                (Some(size), Some(0)) => size.to_string(),
                (Some(size), Some(param)) => format!("{size} + {param}"),
                (None, Some(param)) => format!("+ {param}"),
                _ => String::new(),
            };
            (format!("{element}[{bounds}]"), is_known)
        }
        0x2C => {
            let mut text = || -> Result<String> {
                let length = cursor.compressed_u32()?;
                Ok(String::from_utf8_lossy(cursor.bytes(length as usize)?).into_owned())
            };
            let (guid, native_name, marshaler, cookie) = (text()?, text()?, text()?, text()?);
            let is_known = guid.is_empty() && native_name.is_empty();
            (format!("custom({}, {})", quote::text(&marshaler), quote::text(&cookie)), is_known)
        }
        _ => (format!("{{ {byte:02X} {} }}", quote::hex(cursor.rest())), false),
    })
}
