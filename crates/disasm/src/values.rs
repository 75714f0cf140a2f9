//! Values: constants and attributes (II.16.2, II.21).

use ecma335::{
    Cursor, Result, Token,
    element::ElementType,
    schema::{self, CustomAttribute},
};

use super::{
    lines::{Lines, one_line},
    names::Names,
};
use crate::{ilasm::Ilasm, quote};

/// A constant: `int32(5)`, `"text"`, `nullref`.
pub fn constant(names: &Names<'_, '_>, row: &schema::Constant) -> Result<String> {
    value(row.kind, &mut names.metadata.blobs.blob(row.value)?, names.ilasm)
}

/// The value for an element type. A string is all of the remaining bytes.
pub fn value(kind: u8, cursor: &mut Cursor<'_>, ilasm: Ilasm) -> Result<String> {
    let Some(element) = ElementType::from_byte(kind) else { return Ok("nullref".into()) };
    Ok(match element {
        ElementType::Boolean => format!("bool({})", cursor.u8()? != 0),
        ElementType::Char => format!("char({:#06x})", cursor.u16()?),
        ElementType::I1 => format!("int8({})", cursor.i8()?),
        ElementType::U1 => format!("uint8({})", cursor.u8()?),
        ElementType::I2 => format!("int16({})", cursor.i16()?),
        ElementType::U2 => format!("uint16({})", cursor.u16()?),
        ElementType::I4 => format!("int32({})", cursor.i32()?),
        ElementType::U4 => format!("uint32({})", cursor.u32()?),
        ElementType::I8 => format!("int64({})", cursor.i64()?),
        ElementType::U8 => format!("uint64({:#x})", cursor.u64()?),
        // An integer gives the bits.
        ElementType::R4 => {
            let value = cursor.f32()?;
            format!("float32({})", quote::float32(value).unwrap_or_else(|| format!("{:#010x}", value.to_bits())))
        }
        ElementType::R8 => {
            let value = cursor.f64()?;
            format!("float64({})", quote::float64(value).unwrap_or_else(|| format!("{:#018x}", value.to_bits())))
        }
        ElementType::String => {
            let pairs = cursor.bytes(cursor.rest().len())?.chunks_exact(2);
            let unit = |pair: &[u8]| pair.iter().rev().fold(0, |unit, byte| unit << 8 | u16::from(*byte));
            quote::string(&pairs.map(unit).collect::<Vec<_>>(), ilasm)
        }
        _ => "nullref".into(),
    })
}

/// The attributes of a row, as text. For a comparison they are sorted, and without the hidden ones.
pub fn texts(names: &Names<'_, '_>, owner: Token) -> impl Iterator<Item = Result<String>> {
    let rows = names.by_parent.attributes.children::<CustomAttribute>(owner.0).map(|rid| names.metadata.row(rid));
    let is_shown = |row: &Result<CustomAttribute>| row.as_ref().map_or(true, |row| !names.hides(row));
    let mut texts: Vec<Result<String>> = rows.filter(is_shown).map(|row| row.and_then(|row| attribute(names, &row))).collect();
    if names.for_comparison {
        texts.sort_by(|one, two| one.as_ref().ok().cmp(&two.as_ref().ok()));
    }
    texts.into_iter()
}

/// Prints the attributes of a row, each as its constructor and its bytes.
pub fn attributes(names: &Names<'_, '_>, owner: Token, lines: &mut Lines) {
    for text in texts(names, owner) {
        match text {
            Ok(text) => lines.line(text),
            Err(error) => lines.comment(format_args!("an attribute of {owner}: {error}")),
        }
    }
}

/// Prints the attributes of a row behind a directive that names it, if it has any.
pub(crate) fn attributes_of(names: &Names<'_, '_>, owner: Token, directive: &str, lines: &mut Lines) {
    if texts(names, owner).next().is_some() {
        lines.line(directive);
        attributes(names, owner, lines);
    }
}

/// Prints a directive before each attribute of a row, as it counts for the next one only.
pub(crate) fn attributes_each_behind(names: &Names<'_, '_>, owner: Token, directive: &str, lines: &mut Lines) {
    for text in texts(names, owner) {
        lines.line(directive);
        match text {
            Ok(text) => lines.line(text),
            Err(error) => lines.comment(error),
        }
    }
}

/// Prints the attributes of a row as comments, where the assembler's grammar allows none.
pub fn attributes_as_comments(names: &Names<'_, '_>, owner: Token, of: &str, lines: &mut Lines) {
    for text in texts(names, owner) {
        lines.comment(format_args!("{of}: {}", text.unwrap_or_else(|error| error.to_string())));
    }
}

/// An attribute: `.custom instance void A::.ctor(int32) = (01 00 05 00 00 00 00 00)  // (5)`.
pub fn attribute(names: &Names<'_, '_>, row: &CustomAttribute) -> Result<String> {
    let constructor = names.method(row.constructor.token().unwrap_or_default())?;
    let aliases = names.aliases.borrow();
    if !aliases.reflected.is_empty()
        && let Some((words, bytes)) = names.attribute_values.aliased(row, &aliases.reflected)
    {
        return Ok(format!(".custom {constructor} = ({}) of {words}", quote::hex(&bytes)));
    }
    let blob = names.metadata.blob(row.value)?;
    let value = if blob.is_empty() { String::new() } else { format!(" = ({})", quote::hex(blob)) };
    let words = names.attribute_values.words(row).filter(|words| !words.is_empty());
    let comment = words.map(|words| format!("  // {}", one_line(words))).unwrap_or_default();
    Ok(format!(".custom {constructor}{value}{comment}"))
}
