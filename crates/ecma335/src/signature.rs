//! Signatures (II.23.2): reads and writes every kind. `outline.rs` reads the few parts that instrumenting needs,
//! `text.rs` formats them.

pub mod outline;
pub mod text;

use crate::{
    cursor::{Cursor, put_compressed_i32, put_compressed_u32},
    element::{ElementType, convention},
    error::{Error, ErrorKind, Result, malformed},
    schema::TypeDefOrRef,
    token::FileOffset,
};

/// The maximum nesting of types. Real ones stay below 20, and a hostile blob must not exhaust the stack.
const MAX_DEPTH: u32 = 96;

/// A type in a signature (II.23.2.12), including its modifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeSig {
    /// A type of a single element: `int32`, `string`, `object`, `void`, `typedref`.
    Element(ElementType),
    /// `valuetype T` or `class T`.
    Named {
        /// Whether the type is a value type.
        is_value: bool,
        /// The type.
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
    /// `T modreq(M)` or `T modopt(M)` (II.23.2.7). In the blob, the modifier precedes the type.
    Modified {
        /// Whether it is a `modreq`.
        is_required: bool,
        /// The modifier.
        modifier: TypeDefOrRef,
        /// The modified type.
        inner: Box<TypeSig>,
    },
}

/// The rank, sizes and lower bounds of an array (II.23.2.13).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArrayShape {
    /// The number of dimensions.
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
    /// The number of generic parameters.
    pub generic_params: u32,
    /// The return type.
    pub return_type: TypeSig,
    /// The types of the parameters.
    pub params: Vec<TypeSig>,
    /// For a call with a variable argument list: the number of parameters before the sentinel.
    pub sentinel: Option<usize>,
}

/// A property's signature (II.23.2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertySig {
    /// Whether the property is an instance property.
    pub has_this: bool,
    /// The property's type.
    pub property_type: TypeSig,
    /// The parameters of an indexer.
    pub params: Vec<TypeSig>,
}

/// Any signature blob, by its first byte. A TypeSpec has no such byte; [`TypeSig::parse`] reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signature {
    /// A method's signature.
    Method(MethodSig),
    /// A field's type (II.23.2.4).
    Field(TypeSig),
    /// A property's signature.
    Property(PropertySig),
    /// The types of local variables (II.23.2.6).
    Locals(Vec<TypeSig>),
    /// The type arguments of a generic method's instance (II.23.2.15).
    MethodSpec(Vec<TypeSig>),
}

impl Signature {
    /// Reads a blob of any kind but TypeSpec, which must have no further bytes.
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
    /// Reads a TypeSpec's blob (II.23.2.14), which must have no further bytes.
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
            _ if element.is_whole_type() => Self::Element(element),
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

/// Reads whether a generic type is a class or a value type (II.23.2.14).
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
/// Whether a blob's first byte is that of a method's signature.
fn is_method(convention: u8) -> bool {
    matches!(convention & convention::MASK, convention::DEFAULT..=convention::VARARG | convention::UNMANAGED)
}

#[cfg(test)]
mod tests;
