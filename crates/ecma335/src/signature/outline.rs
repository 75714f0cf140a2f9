//! Reads the parts of a signature that instrumenting needs, without allocation: the offsets of types, and their
//! tokens.

use std::ops::Range;

use super::{ArrayShape, MAX_DEPTH, is_method, read_element, read_generic_kind, read_token};
use crate::{
    cursor::{Cursor, put_compressed_u32},
    element::{ElementType, convention},
    error::{Result, malformed},
    schema::TypeDefOrRef,
    token::FileOffset,
};

/// The outline of a method's signature: all that decides the stack effect of a call. It is read without allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodShape {
    /// Whether the method takes a `this` besides the listed parameters.
    pub has_this: bool,
    /// The first byte: see [`convention`].
    pub convention: u8,
    /// The number of listed parameters.
    pub params: u32,
    /// Whether the return type is other than `void`.
    pub returns_value: bool,
    /// The range of the return type in the blob, without preceding custom modifiers.
    pub return_type: Range<usize>,
}

impl MethodShape {
    /// Reads the outline of a blob whose file offset is `base`.
    ///
    /// # Errors
    /// If the blob is no method's signature.
    pub fn read(blob: &[u8], base: FileOffset) -> Result<Self> {
        let mut cursor = Cursor::new(blob, base);
        let convention = cursor.u8()?;
        if !is_method(convention) {
            return malformed(base, "not a method's signature");
        }
        if convention & convention::GENERIC != 0 {
            cursor.compressed_u32()?;
        }
        let params = cursor.compressed_u32()?;
        skip_modifiers(&mut cursor)?;
        let start = cursor.position();
        let returns_value = cursor.peek() != Some(ElementType::Void as u8);
        skip_type(&mut cursor, 0)?;
        let has_this = convention & (convention::HAS_THIS | convention::EXPLICIT_THIS) == convention::HAS_THIS;
        Ok(Self { has_this, convention, params, returns_value, return_type: start..cursor.position() })
    }
}

/// The outline of the signature of a body's locals (II.23.2.6). It is read without allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalsShape {
    /// The number of locals.
    pub count: u32,
    /// The range of their types in the blob.
    pub types: Range<usize>,
}

impl LocalsShape {
    /// Reads the outline of a blob whose file offset is `base`.
    ///
    /// # Errors
    /// If the blob is no LocalVarSig, or has fewer types or more bytes than its count requires. Bytes after the types
    /// would change the meaning of appended types.
    pub fn read(blob: &[u8], base: FileOffset) -> Result<Self> {
        let mut cursor = Cursor::new(blob, base);
        if cursor.u8()? != convention::LOCAL {
            return malformed(base, "not a signature of locals");
        }
        let count = cursor.compressed_u32()?;
        let start = cursor.position();
        (0..count).try_for_each(|_| skip_type(&mut cursor, 0))?;
        if !cursor.is_empty() {
            return malformed(cursor.offset(), "bytes behind the last local's type");
        }
        Ok(Self { count, types: start..cursor.position() })
    }
}

/// Visits each type that a signature's blob names, of any kind but TypeSpec, without allocation. Stops with an error
/// where the blob breaks the format.
pub fn walk_signature(cursor: Cursor<'_>, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
    walk_places(cursor, &mut |_, ty| visit(ty))
}

/// Visits the types that a TypeSpec's blob names.
pub fn walk_type_spec(mut cursor: Cursor<'_>, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
    walk_type(&mut cursor, 0, &mut |_, ty| visit(ty))
}

/// Copies a signature's blob, of any kind, and replaces the types that it names.
///
/// # Errors
/// If the blob breaks the format, or the replacement fails.
pub fn map_types(
    blob: Cursor<'_>,
    is_type_spec: bool,
    mut map: impl FnMut(TypeDefOrRef) -> Result<TypeDefOrRef>,
) -> Result<Vec<u8>> {
    let start = blob.position();
    let mut named = Vec::new();
    let mut note = |place: Range<usize>, ty| named.push((place.start - start..place.end - start, ty));
    if is_type_spec { walk_type(&mut { blob }, 0, &mut note) } else { walk_places(blob, &mut note) }?;
    let (bytes, mut out, mut copied) = (blob.rest(), Vec::new(), 0);
    for (place, ty) in named {
        out.extend_from_slice(bytes.get(copied..place.start).unwrap_or_default());
        put_compressed_u32(&mut out, map(ty)?.0);
        copied = place.end;
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    Ok(out)
}

fn walk_places(mut cursor: Cursor<'_>, visit: &mut impl FnMut(Range<usize>, TypeDefOrRef)) -> Result<()> {
    let first = cursor.u8()?;
    let kind = first & convention::MASK;
    if kind == convention::FIELD {
        return walk_type(&mut cursor, 0, visit);
    }
    if is_method(first) {
        return walk_method(&mut cursor, first, 0, visit);
    }
    let count = cursor.compressed_u32()?;
    // The type of a property precedes those of its parameters.
    let own = u32::from(kind == convention::PROPERTY);
    (0..count.saturating_add(own)).try_for_each(|_| walk_type(&mut cursor, 0, visit))
}

/// Reads a method's signature after its first byte.
fn walk_method(
    cursor: &mut Cursor<'_>,
    convention: u8,
    depth: u32,
    visit: &mut impl FnMut(Range<usize>, TypeDefOrRef),
) -> Result<()> {
    if convention & convention::GENERIC != 0 {
        cursor.compressed_u32()?;
    }
    let count = cursor.compressed_u32()?;
    walk_type(cursor, depth, visit)?;
    (0..count).try_for_each(|_| {
        if cursor.peek() == Some(ElementType::Sentinel as u8) {
            cursor.u8()?;
        }
        walk_type(cursor, depth, visit)
    })
}

fn visit_token(cursor: &mut Cursor<'_>, visit: &mut impl FnMut(Range<usize>, TypeDefOrRef)) -> Result<()> {
    let start = cursor.position();
    let ty = read_token(cursor)?;
    visit(start..cursor.position(), ty);
    Ok(())
}

fn walk_modifiers(cursor: &mut Cursor<'_>, visit: &mut impl FnMut(Range<usize>, TypeDefOrRef)) -> Result<()> {
    while matches!(cursor.peek().and_then(ElementType::from_byte), Some(ElementType::CModReqd | ElementType::CModOpt)) {
        cursor.u8()?;
        visit_token(cursor, visit)?;
    }
    Ok(())
}

fn skip_modifiers(cursor: &mut Cursor<'_>) -> Result<()> {
    walk_modifiers(cursor, &mut |_, _| ())
}

/// Skips one type, including its parts.
fn skip_type(cursor: &mut Cursor<'_>, depth: u32) -> Result<()> {
    walk_type(cursor, depth, &mut |_, _| ())
}

fn walk_type(cursor: &mut Cursor<'_>, depth: u32, visit: &mut impl FnMut(Range<usize>, TypeDefOrRef)) -> Result<()> {
    if depth > MAX_DEPTH {
        return malformed(cursor.offset(), "types nested too deep");
    }
    walk_modifiers(cursor, visit)?;
    let (offset, element) = read_element(cursor)?;
    match element {
        ElementType::Ptr | ElementType::ByRef | ElementType::Pinned | ElementType::SzArray => walk_type(cursor, depth + 1, visit),
        ElementType::ValueType | ElementType::Class => visit_token(cursor, visit),
        ElementType::Var | ElementType::MVar => cursor.compressed_u32().map(drop),
        ElementType::Array => {
            walk_type(cursor, depth + 1, visit)?;
            ArrayShape::read(cursor).map(drop)
        }
        ElementType::GenericInst => {
            read_generic_kind(cursor)?;
            visit_token(cursor, visit)?;
            let count = cursor.compressed_u32()?;
            if count == 0 {
                return malformed(offset, "an instantiation without arguments");
            }
            (0..count).try_for_each(|_| walk_type(cursor, depth + 1, visit))
        }
        ElementType::FnPtr => {
            let (offset, first) = (cursor.offset(), cursor.u8()?);
            if !is_method(first) {
                return malformed(offset, "not a method's signature");
            }
            walk_method(cursor, first, depth + 1, visit)
        }
        _ if element.is_whole_type() => Ok(()),
        _ => malformed(offset, "an element that is no type"),
    }
}

/// The type that the IL of a runtime-async method returns, given the declared task. `Task<T>` and `ValueTask<T>` give
/// `T`, the plain ones give none. Ranges are within the signature's blob.
pub fn effective_async_return(blob: &[u8], declared: &Range<usize>) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(blob.get(declared.clone())?, FileOffset(0));
    if read_element(&mut cursor).ok()?.1 != ElementType::GenericInst {
        return None;
    }
    read_element(&mut cursor).ok()?;
    read_token(&mut cursor).ok()?;
    if cursor.compressed_u32().ok()? != 1 {
        return None;
    }
    skip_modifiers(&mut cursor).ok()?;
    Some(declared.start + cursor.position()..declared.end)
}
