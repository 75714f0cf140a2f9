//! Signatures (II.23.2): every kind, in both directions, and as IL assembly.

use std::{fmt, ops::Range};

use crate::{
    cursor::{Cursor, put_compressed_i32, put_compressed_u32},
    element::{ElementType, convention},
    error::{Error, ErrorKind, Result, malformed},
    heap::LEFT_OUT,
    schema::TypeDefOrRef,
    token::{FileOffset, Token},
};

/// Types nest no deeper than this; real ones stay below 20, and a hostile blob must not exhaust the stack.
const MAX_DEPTH: u32 = 96;
/// Arrays of more dimensions are not written out.
const MAX_RANK: u32 = 64;

/// A type in a signature (II.23.2.12), with what may stand around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeSig {
    /// A type that is one element: `int32`, `string`, `object`, `void`, `typedref`.
    Element(ElementType),
    /// `valuetype T` or `class T`.
    Named {
        /// Whether it is a value type.
        is_value: bool,
        /// Which one.
        token: TypeDefOrRef,
    },
    /// `T*`
    Ptr(Box<TypeSig>),
    /// `T&`
    ByRef(Box<TypeSig>),
    /// `T pinned`
    Pinned(Box<TypeSig>),
    /// `T[]`
    SzArray(Box<TypeSig>),
    /// `T[0...,0...]`
    Array(Box<TypeSig>, ArrayShape),
    /// `!n`: a parameter of the generic type.
    Var(u32),
    /// `!!n`: a parameter of the generic method.
    MVar(u32),
    /// `T<A, B>`
    GenericInst {
        /// Whether the generic type is a value type.
        is_value: bool,
        /// The generic type.
        token: TypeDefOrRef,
        /// Its arguments.
        arguments: Vec<TypeSig>,
    },
    /// `method T *(...)`
    FnPtr(Box<MethodSig>),
    /// `T modreq(M)` or `T modopt(M)` (II.23.2.7); the modifier stands before the type in the blob.
    Modified {
        /// Whether it must be understood.
        is_required: bool,
        /// The modifier.
        modifier: TypeDefOrRef,
        /// What it modifies.
        inner: Box<TypeSig>,
    },
}

/// The rank, sizes and lower bounds of an array (II.23.2.13).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArrayShape {
    /// How many dimensions.
    pub rank: u32,
    /// The sizes of the first dimensions.
    pub sizes: Vec<u32>,
    /// The lower bounds of the first dimensions.
    pub lower_bounds: Vec<i32>,
}

/// A method's signature: MethodDefSig, MethodRefSig, StandAloneMethodSig (II.23.2.1 to II.23.2.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodSig {
    /// The first byte: see [`convention`].
    pub convention: u8,
    /// How many generic parameters it has.
    pub generic_params: u32,
    /// What it returns.
    pub return_type: TypeSig,
    /// Its parameters.
    pub params: Vec<TypeSig>,
    /// At a call with a variable argument list: how many parameters stand before the sentinel.
    pub sentinel: Option<usize>,
}

/// A property's signature (II.23.2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertySig {
    /// Whether it belongs to an instance.
    pub has_this: bool,
    /// Its type.
    pub property_type: TypeSig,
    /// The parameters of an indexer.
    pub params: Vec<TypeSig>,
}

/// Any signature blob, by its first byte. A TypeSpec has none and is read by [`TypeSig::parse`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signature {
    /// Of a method.
    Method(MethodSig),
    /// Of a field (II.23.2.4).
    Field(TypeSig),
    /// Of a property.
    Property(PropertySig),
    /// Of local variables (II.23.2.6).
    Locals(Vec<TypeSig>),
    /// Of a generic method's instantiation (II.23.2.15).
    MethodSpec(Vec<TypeSig>),
}

impl Signature {
    /// Reads a blob of any kind but TypeSpec; all of it must be used.
    ///
    /// # Errors
    /// If the blob breaks the format.
    pub fn parse(mut cursor: Cursor<'_>) -> Result<Self> {
        let Some(first) = cursor.peek() else { return Err(Error::at(cursor.offset(), ErrorKind::Truncated)) };
        let signature = match first & convention::MASK {
            convention::FIELD => {
                cursor.u8()?;
                Self::Field(TypeSig::read(&mut cursor, 0)?)
            }
            convention::LOCAL => {
                cursor.u8()?;
                Self::Locals(read_types(&mut cursor, 0)?)
            }
            convention::GENERIC_INST => {
                cursor.u8()?;
                Self::MethodSpec(read_types(&mut cursor, 0)?)
            }
            convention::PROPERTY => {
                cursor.u8()?;
                let count = cursor.compressed_u32()?;
                let property_type = TypeSig::read(&mut cursor, 0)?;
                let params = (0..count).map(|_| TypeSig::read(&mut cursor, 0)).collect::<Result<_>>()?;
                Self::Property(PropertySig { has_this: first & convention::HAS_THIS != 0, property_type, params })
            }
            _ => Self::Method(MethodSig::read(&mut cursor, 0)?),
        };
        if cursor.is_empty() { Ok(signature) } else { malformed(cursor.offset(), "bytes behind the signature's end") }
    }

    /// Appends the blob's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Method(method) => method.write(out),
            Self::Field(field) => {
                out.push(convention::FIELD);
                field.write(out);
            }
            Self::Property(property) => {
                out.push(convention::PROPERTY | if property.has_this { convention::HAS_THIS } else { 0 });
                put_compressed_u32(out, property.params.len() as u32);
                property.property_type.write(out);
                property.params.iter().for_each(|param| param.write(out));
            }
            Self::Locals(types) | Self::MethodSpec(types) => {
                out.push(if matches!(self, Self::Locals(_)) { convention::LOCAL } else { convention::GENERIC_INST });
                put_compressed_u32(out, types.len() as u32);
                types.iter().for_each(|each| each.write(out));
            }
        }
    }
}

fn read_types(cursor: &mut Cursor<'_>, depth: u32) -> Result<Vec<TypeSig>> {
    let count = cursor.compressed_u32()?;
    (0..count).map(|_| TypeSig::read(cursor, depth)).collect()
}

impl MethodSig {
    fn read(cursor: &mut Cursor<'_>, depth: u32) -> Result<Self> {
        let offset = cursor.offset();
        let convention = cursor.u8()?;
        if !is_method(convention) {
            return malformed(offset, "not a method's signature");
        }
        let generic_params = if convention & convention::GENERIC != 0 { cursor.compressed_u32()? } else { 0 };
        let count = cursor.compressed_u32()? as usize;
        let return_type = TypeSig::read(cursor, depth)?;
        let mut params = Vec::new();
        let mut sentinel = None;
        while params.len() < count {
            if cursor.peek() == Some(ElementType::Sentinel as u8) && sentinel.is_none() {
                cursor.u8()?;
                sentinel = Some(params.len());
            }
            params.push(TypeSig::read(cursor, depth)?);
        }
        Ok(Self { convention, generic_params, return_type, params, sentinel })
    }

    /// Appends the blob's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.convention);
        if self.convention & convention::GENERIC != 0 {
            put_compressed_u32(out, self.generic_params);
        }
        put_compressed_u32(out, self.params.len() as u32);
        self.return_type.write(out);
        for (index, param) in self.params.iter().enumerate() {
            if self.sentinel == Some(index) {
                out.push(ElementType::Sentinel as u8);
            }
            param.write(out);
        }
    }
}

impl TypeSig {
    /// Reads a TypeSpec's blob (II.23.2.14); all of it must be used.
    ///
    /// # Errors
    /// If the blob breaks the format.
    pub fn parse(mut cursor: Cursor<'_>) -> Result<Self> {
        let parsed = Self::read(&mut cursor, 0)?;
        if cursor.is_empty() { Ok(parsed) } else { malformed(cursor.offset(), "bytes behind the type's end") }
    }

    fn read(cursor: &mut Cursor<'_>, depth: u32) -> Result<Self> {
        if depth > MAX_DEPTH {
            return malformed(cursor.offset(), "types nested too deep");
        }
        let deeper = depth + 1;
        let (offset, element) = read_element(cursor)?;
        Ok(match element {
            ElementType::Ptr => Self::Ptr(Box::new(Self::read(cursor, deeper)?)),
            ElementType::ByRef => Self::ByRef(Box::new(Self::read(cursor, deeper)?)),
            ElementType::Pinned => Self::Pinned(Box::new(Self::read(cursor, deeper)?)),
            ElementType::SzArray => Self::SzArray(Box::new(Self::read(cursor, deeper)?)),
            ElementType::Array => Self::Array(Box::new(Self::read(cursor, deeper)?), ArrayShape::read(cursor)?),
            ElementType::ValueType | ElementType::Class => {
                Self::Named { is_value: element == ElementType::ValueType, token: read_token(cursor)? }
            }
            ElementType::Var => Self::Var(cursor.compressed_u32()?),
            ElementType::MVar => Self::MVar(cursor.compressed_u32()?),
            ElementType::GenericInst => {
                let kind = read_generic_kind(cursor)?;
                let token = read_token(cursor)?;
                Self::GenericInst { is_value: kind == ElementType::ValueType, token, arguments: read_types(cursor, deeper)? }
            }
            ElementType::FnPtr => Self::FnPtr(Box::new(MethodSig::read(cursor, deeper)?)),
            ElementType::CModReqd | ElementType::CModOpt => Self::Modified {
                is_required: element == ElementType::CModReqd,
                modifier: read_token(cursor)?,
                inner: Box::new(Self::read(cursor, deeper)?),
            },
            _ if !element.text().is_empty() && (element as u8) < ElementType::Modifier as u8 => Self::Element(element),
            _ => return malformed(offset, "an element that is no type"),
        })
    }

    /// Appends the blob's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, element: ElementType| out.push(element as u8);
        let kind = |is_value: bool| if is_value { ElementType::ValueType } else { ElementType::Class };
        let wrap = |out: &mut Vec<u8>, element: ElementType, inner: &TypeSig| {
            out.push(element as u8);
            inner.write(out);
        };
        match self {
            Self::Element(element) => put(out, *element),
            Self::Named { is_value, token } => {
                put(out, kind(*is_value));
                put_compressed_u32(out, token.0);
            }
            Self::Ptr(inner) => wrap(out, ElementType::Ptr, inner),
            Self::ByRef(inner) => wrap(out, ElementType::ByRef, inner),
            Self::Pinned(inner) => wrap(out, ElementType::Pinned, inner),
            Self::SzArray(inner) => wrap(out, ElementType::SzArray, inner),
            Self::Array(inner, shape) => {
                wrap(out, ElementType::Array, inner);
                shape.write(out);
            }
            Self::Var(number) => {
                put(out, ElementType::Var);
                put_compressed_u32(out, *number);
            }
            Self::MVar(number) => {
                put(out, ElementType::MVar);
                put_compressed_u32(out, *number);
            }
            Self::GenericInst { is_value, token, arguments } => {
                put(out, ElementType::GenericInst);
                put(out, kind(*is_value));
                put_compressed_u32(out, token.0);
                put_compressed_u32(out, arguments.len() as u32);
                arguments.iter().for_each(|argument| argument.write(out));
            }
            Self::FnPtr(method) => {
                put(out, ElementType::FnPtr);
                method.write(out);
            }
            Self::Modified { is_required, modifier, inner } => {
                put(out, if *is_required { ElementType::CModReqd } else { ElementType::CModOpt });
                put_compressed_u32(out, modifier.0);
                inner.write(out);
            }
        }
    }
}

impl ArrayShape {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let rank = cursor.compressed_u32()?;
        let sizes = cursor.compressed_u32()?;
        let sizes = (0..sizes).map(|_| cursor.compressed_u32()).collect::<Result<_>>()?;
        let lower_bounds = cursor.compressed_u32()?;
        let lower_bounds = (0..lower_bounds).map(|_| cursor.compressed_i32()).collect::<Result<_>>()?;
        Ok(Self { rank, sizes, lower_bounds })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_compressed_u32(out, self.rank);
        put_compressed_u32(out, self.sizes.len() as u32);
        self.sizes.iter().for_each(|size| put_compressed_u32(out, *size));
        put_compressed_u32(out, self.lower_bounds.len() as u32);
        self.lower_bounds.iter().for_each(|bound| put_compressed_i32(out, *bound));
    }
}

/// What a generic type is (II.23.2.14).
fn read_generic_kind(cursor: &mut Cursor<'_>) -> Result<ElementType> {
    let (at, kind) = read_element(cursor)?;
    if matches!(kind, ElementType::Class | ElementType::ValueType) {
        Ok(kind)
    } else {
        malformed(at, "an instantiation of what is neither class nor value type")
    }
}

fn read_element(cursor: &mut Cursor<'_>) -> Result<(FileOffset, ElementType)> {
    let offset = cursor.offset();
    match ElementType::from_byte(cursor.u8()?) {
        Some(element) => Ok((offset, element)),
        None => malformed(offset, "unknown element type"),
    }
}

fn read_token(cursor: &mut Cursor<'_>) -> Result<TypeDefOrRef> {
    Ok(TypeDefOrRef(cursor.compressed_u32()?))
}

/// The outline of a method's signature: all that the stack effect of a call depends on. Made without allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodShape {
    /// Whether there is a `this` beside the listed parameters.
    pub has_this: bool,
    /// The first byte: see [`convention`].
    pub convention: u8,
    /// How many parameters are listed.
    pub params: u32,
    /// Whether anything but `void` comes back.
    pub returns_value: bool,
    /// Where in the blob the return type stands, without custom modifiers before it.
    pub return_type: Range<usize>,
}

impl MethodShape {
    /// Reads the outline of a blob that lies at `base` in the file.
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

/// The outline of the signature of a body's locals (II.23.2.6), made without allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalsShape {
    /// How many locals there are.
    pub count: u32,
    /// Where in the blob their types stand, one behind the other.
    pub types: Range<usize>,
}

impl LocalsShape {
    /// Reads the outline of a blob that lies at `base` in the file.
    ///
    /// # Errors
    /// If the blob is no LocalVarSig, or has not the types that it says: what is behind them would be lost with more of them.
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

/// Gives each type that a signature's blob names, of any kind but TypeSpec, without allocation. Where the blob breaks the
/// format, that is all.
pub fn walk_signature(mut cursor: Cursor<'_>, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
    let first = cursor.u8()?;
    let kind = first & convention::MASK;
    if kind == convention::FIELD {
        return walk_type(&mut cursor, 0, visit);
    }
    if is_method(first) {
        return walk_method(&mut cursor, first, 0, visit);
    }
    let count = cursor.compressed_u32()?;
    // The type of a property comes before those of its parameters.
    let own = u32::from(kind == convention::PROPERTY);
    (0..count.saturating_add(own)).try_for_each(|_| walk_type(&mut cursor, 0, visit))
}

/// The same of a TypeSpec's blob.
pub fn walk_type_spec(mut cursor: Cursor<'_>, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
    walk_type(&mut cursor, 0, visit)
}

/// A method's signature behind its first byte.
fn walk_method(cursor: &mut Cursor<'_>, convention: u8, depth: u32, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
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

fn walk_modifiers(cursor: &mut Cursor<'_>, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
    while matches!(cursor.peek().and_then(ElementType::from_byte), Some(ElementType::CModReqd | ElementType::CModOpt)) {
        cursor.u8()?;
        visit(read_token(cursor)?);
    }
    Ok(())
}

fn skip_modifiers(cursor: &mut Cursor<'_>) -> Result<()> {
    walk_modifiers(cursor, &mut |_| ())
}

/// Skips one type, with all it is made of.
fn skip_type(cursor: &mut Cursor<'_>, depth: u32) -> Result<()> {
    walk_type(cursor, depth, &mut |_| ())
}

fn walk_type(cursor: &mut Cursor<'_>, depth: u32, visit: &mut impl FnMut(TypeDefOrRef)) -> Result<()> {
    if depth > MAX_DEPTH {
        return malformed(cursor.offset(), "types nested too deep");
    }
    walk_modifiers(cursor, visit)?;
    let (offset, element) = read_element(cursor)?;
    match element {
        ElementType::Ptr | ElementType::ByRef | ElementType::Pinned | ElementType::SzArray => walk_type(cursor, depth + 1, visit),
        ElementType::ValueType | ElementType::Class => {
            visit(read_token(cursor)?);
            Ok(())
        }
        ElementType::Var | ElementType::MVar => cursor.compressed_u32().map(drop),
        ElementType::Array => {
            walk_type(cursor, depth + 1, visit)?;
            ArrayShape::read(cursor).map(drop)
        }
        ElementType::GenericInst => {
            read_generic_kind(cursor)?;
            visit(read_token(cursor)?);
            let count = cursor.compressed_u32()?;
            (0..count).try_for_each(|_| walk_type(cursor, depth + 1, visit))
        }
        ElementType::FnPtr => {
            let (offset, first) = (cursor.offset(), cursor.u8()?);
            if !is_method(first) {
                return malformed(offset, "not a method's signature");
            }
            walk_method(cursor, first, depth + 1, visit)
        }
        _ if !element.text().is_empty() => Ok(()),
        _ => malformed(offset, "an element that is no type"),
    }
}

/// Whether a first byte is that of a method's signature.
fn is_method(convention: u8) -> bool {
    matches!(convention & convention::MASK, convention::DEFAULT..=convention::VARARG | convention::UNMANAGED)
}

/// What the IL of a runtime-async method returns, where its signature declares a task: `T` for `Task<T>` and
/// `ValueTask<T>`, nothing for the plain ones. Ranges are within the signature's blob.
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

/// Knows types by name; the text is as IL assembly has it: `[mscorlib]System.Object`.
pub trait TypeNames {
    /// The name of a TypeDef or TypeRef; a TypeSpec is asked for only where a modifier is one.
    fn type_name(&self, token: Token) -> String;
}

/// A signature's text ends where it is longer than this: a blob of a few kilobytes may name thousands of types of long names,
/// and any number of rows share it. The longest in real assemblies are half of it.
const MAX_TEXT: usize = 8 << 10;

/// A signature to be shown as IL assembly.
#[derive(Clone, Copy)]
pub struct Display<'s, S, N: ?Sized> {
    signature: &'s S,
    names: &'s N,
}

impl TypeSig {
    /// The type as IL assembly.
    pub fn display<'s, N: TypeNames + ?Sized>(&'s self, names: &'s N) -> Display<'s, Self, N> {
        Display { signature: self, names }
    }
}

impl MethodSig {
    /// The signature as IL assembly, without a name: `instance void (int32)`.
    pub fn display<'s, N: TypeNames + ?Sized>(&'s self, names: &'s N) -> Display<'s, Self, N> {
        Display { signature: self, names }
    }

    /// What stands before a method's name: `instance void `.
    pub fn display_head<N: TypeNames + ?Sized>(&self, names: &N) -> String {
        format!("{}{} ", convention_text(self.convention), self.return_type.display(names))
    }

    /// The parameters as IL assembly: `(int32, ..., string)`.
    pub fn display_params<N: TypeNames + ?Sized>(&self, names: &N) -> String {
        let mut text = String::new();
        put_params(&mut text, self, names);
        text
    }
}

impl<N: TypeNames + ?Sized> fmt::Display for Display<'_, TypeSig, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        put_type(&mut text, self.signature, self.names);
        f.write_str(&text)
    }
}

impl<N: TypeNames + ?Sized> fmt::Display for Display<'_, MethodSig, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.signature.display_head(self.names))?;
        f.write_str(&self.signature.display_params(self.names))
    }
}

fn put_type<N: TypeNames + ?Sized>(out: &mut String, signature: &TypeSig, names: &N) {
    let kind = |is_value: bool| if is_value { "valuetype " } else { "class " };
    match signature {
        TypeSig::Element(element) => out.push_str(element.text()),
        TypeSig::Named { is_value, token } => out.extend([kind(*is_value), &named(*token, names)]),
        TypeSig::Ptr(inner) => put_around(out, inner, names, "*"),
        TypeSig::ByRef(inner) => put_around(out, inner, names, "&"),
        TypeSig::Pinned(inner) => put_around(out, inner, names, " pinned"),
        TypeSig::SzArray(inner) => put_around(out, inner, names, "[]"),
        TypeSig::Array(inner, shape) => put_around(out, inner, names, &format!("[{shape}]")),
        TypeSig::Var(number) => out.push_str(&format!("!{number}")),
        TypeSig::MVar(number) => out.push_str(&format!("!!{number}")),
        TypeSig::GenericInst { is_value, token, arguments } => {
            out.extend([kind(*is_value), &named(*token, names), "<"]);
            put_list(out, arguments, None, names);
            out.push('>');
        }
        TypeSig::FnPtr(method) => {
            out.extend(["method ", &convention_text(method.convention)]);
            put_around(out, &method.return_type, names, " *");
            put_params(out, method, names);
        }
        TypeSig::Modified { is_required, modifier, inner } => {
            let keyword = if *is_required { "modreq" } else { "modopt" };
            put_around(out, inner, names, &format!(" {keyword}({})", named(*modifier, names)));
        }
    }
}

/// A type, and what is made of it.
fn put_around<N: TypeNames + ?Sized>(out: &mut String, inner: &TypeSig, names: &N, behind: &str) {
    put_type(out, inner, names);
    out.push_str(behind);
}

fn put_params<N: TypeNames + ?Sized>(out: &mut String, method: &MethodSig, names: &N) {
    out.push('(');
    put_list(out, &method.params, method.sentinel, names);
    out.push(')');
}

/// Types with commas between them, and three dots before one of them or behind the last.
fn put_list<N: TypeNames + ?Sized>(out: &mut String, types: &[TypeSig], sentinel: Option<usize>, names: &N) {
    let dots = sentinel.map(|at| at.min(types.len()));
    for (index, each) in types.iter().enumerate() {
        if out.len() > MAX_TEXT {
            return out.push(LEFT_OUT);
        }
        if index > 0 {
            out.push_str(", ");
        }
        if dots == Some(index) {
            out.push_str("..., ");
        }
        put_type(out, each, names);
    }
    if dots == Some(types.len()) {
        out.push_str(if types.is_empty() { "..." } else { ", ..." });
    }
}

fn named<N: TypeNames + ?Sized>(token: TypeDefOrRef, names: &N) -> String {
    match token.token() {
        Some(token) => names.type_name(token),
        None => format!("<bad index 0x{:x}>", token.0),
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No runtime has arrays of more than 32 dimensions; a hostile blob may state millions.
        if self.rank > MAX_RANK {
            return write!(f, "/* {} dimensions */", self.rank);
        }
        // `T[]` would be a vector, which is another type.
        if self.rank == 1 && self.sizes.is_empty() && self.lower_bounds.is_empty() {
            return f.write_str("...");
        }
        for dimension in 0..self.rank as usize {
            if dimension > 0 {
                f.write_str(",")?;
            }
            match (self.lower_bounds.get(dimension), self.sizes.get(dimension)) {
                (Some(low), Some(size)) => write!(f, "{low}...{}", i64::from(*low) + i64::from(*size) - 1)?,
                (Some(low), None) => write!(f, "{low}...")?,
                (None, Some(size)) => write!(f, "{size}")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// The convention's words, each with a space behind it.
fn convention_text(first: u8) -> String {
    let mut text = String::new();
    if first & convention::HAS_THIS != 0 {
        text.push_str("instance ");
    }
    if first & convention::EXPLICIT_THIS != 0 {
        text.push_str("explicit ");
    }
    text.push_str(match first & convention::MASK {
        convention::C => "unmanaged cdecl ",
        convention::STDCALL => "unmanaged stdcall ",
        convention::THISCALL => "unmanaged thiscall ",
        convention::FASTCALL => "unmanaged fastcall ",
        convention::VARARG => "vararg ",
        convention::UNMANAGED => "unmanaged ",
        _ => "",
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;
    impl TypeNames for Numbers {
        fn type_name(&self, token: Token) -> String {
            format!("T{}", token.rid())
        }
    }

    /// Blobs of methods and what they say.
    const METHODS: &[(&[u8], &str)] = &[
        (&[0x00, 0x00, 0x01], "void ()"),
        (&[0x20, 0x02, 0x08, 0x0E, 0x10, 0x1C], "instance int32 (string, object&)"),
        (&[0x10, 0x01, 0x01, 0x1E, 0x00, 0x1D, 0x1E, 0x00], "!!0 (!!0[])"),
        (&[0x05, 0x02, 0x01, 0x0E, 0x41, 0x08], "vararg void (string, ..., int32)"),
        (&[0x00, 0x01, 0x15, 0x12, 0x05, 0x02, 0x08, 0x13, 0x01, 0x0F, 0x01], "class T1<int32, !1> (void*)"),
        (&[0x00, 0x01, 0x01, 0x14, 0x08, 0x02, 0x01, 0x03, 0x02, 0x00, 0x02], "void (int32[0...2,1...])"),
        (&[0x00, 0x01, 0x01, 0x14, 0x08, 0x01, 0x00, 0x00], "void (int32[...])"),
        (&[0x00, 0x00, 0x1F, 0x05, 0x10, 0x11, 0x09], "valuetype T2& modreq(T1) ()"),
        (&[0x00, 0x01, 0x16, 0x1B, 0x09, 0x01, 0x01, 0x18], "typedref (method unmanaged void *(native int))"),
    ];

    #[test]
    fn methods_read_write_and_show() {
        for (blob, text) in METHODS {
            let Signature::Method(method) = Signature::parse(Cursor::new(blob, FileOffset(0))).unwrap() else { panic!("{text}") };
            assert_eq!(method.display(&Numbers).to_string(), *text);
            let mut out = Vec::new();
            method.write(&mut out);
            assert_eq!(out, *blob, "{text}");
            let shape = MethodShape::read(blob, FileOffset(0)).unwrap();
            assert_eq!(shape.params as usize, method.params.len(), "{text}");
            assert_eq!(shape.returns_value, !text.contains("void ("), "{text}");
        }
    }

    #[test]
    fn long_signatures_are_cut() {
        let many = [&[0x00, 0x80 | 0x3F, 0xFF, 0x01][..], &[0x12, 0x05].repeat(0x3FFF)].concat();
        let Signature::Method(method) = Signature::parse(Cursor::new(&many, FileOffset(0))).unwrap() else { panic!("a method") };
        let shown = method.display(&Numbers).to_string();
        assert!(shown.starts_with("void (class T1, class T1") && shown.ends_with("class T1…)"), "{}", &shown[..40]);
        assert!((MAX_TEXT..MAX_TEXT + 40).contains(&shown.len()), "{}", shown.len());
        assert_eq!(method.display_head(&Numbers) + &method.display_params(&Numbers), shown);
    }

    #[test]
    fn the_other_kinds_round_trip() {
        for blob in
            [&[0x06, 0x0E][..], &[0x28, 0x01, 0x08, 0x0E], &[0x07, 0x02, 0x45, 0x10, 0x08, 0x16], &[0x0A, 0x02, 0x08, 0x1C]]
        {
            let mut out = Vec::new();
            Signature::parse(Cursor::new(blob, FileOffset(0))).unwrap().write(&mut out);
            assert_eq!(out, blob);
        }
    }

    #[test]
    fn locals_are_as_many_as_the_signature_says() {
        // Three of them: pinned uint8&, class T1<int32>, string; and a byte too many.
        let blob = [0x07, 0x03, 0x45, 0x10, 0x05, 0x15, 0x12, 0x05, 0x01, 0x08, 0x0E, 0xFF];
        assert_eq!(LocalsShape::read(&blob[..11], FileOffset(0)).unwrap(), LocalsShape { count: 3, types: 2..11 });
        for (length, kind) in [(10, 0x07), (11, 0x06), (12, 0x07)] {
            let blob = [&[kind], &blob[1..length]].concat();
            assert!(LocalsShape::read(&blob, FileOffset(0)).is_err(), "{length} bytes of kind {kind}");
        }
    }

    #[test]
    fn modifiers_before_the_return_type_are_left_out() {
        // void modreq(T1) (int32): an init accessor returns nothing.
        let shape = MethodShape::read(&[0x20, 0x01, 0x1F, 0x05, 0x01, 0x08], FileOffset(0)).unwrap();
        assert!(!shape.returns_value);
        let shape = MethodShape::read(METHODS[7].0, FileOffset(0)).unwrap();
        assert_eq!(METHODS[7].0[shape.return_type], [0x10, 0x11, 0x09]);
    }

    #[test]
    fn a_runtime_async_method_returns_what_its_task_holds() {
        let of = |blob: &[u8]| {
            let shape = MethodShape::read(blob, FileOffset(0)).unwrap();
            effective_async_return(blob, &shape.return_type).map(|range| blob[range].to_vec())
        };
        assert_eq!(of(&[0x00, 0x00, 0x15, 0x12, 0x05, 0x01, 0x1D, 0x08]), Some(vec![0x1D, 0x08]));
        assert_eq!(of(&[0x00, 0x00, 0x12, 0x05]), None);
    }

    #[test]
    fn every_cut_off_blob_is_an_error_and_deep_ones_end() {
        for (blob, text) in METHODS {
            for length in 0..blob.len() {
                assert!(Signature::parse(Cursor::new(&blob[..length], FileOffset(0))).is_err(), "{text} cut to {length}");
            }
        }
        let deep = [vec![0x06], vec![0x1D; 100_000], vec![0x08]].concat();
        assert!(Signature::parse(Cursor::new(&deep, FileOffset(0))).is_err());
    }
}
