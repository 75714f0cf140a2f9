//! The kinds of values on the evaluation stack (III.1.1), as far as this module tells them.

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{Str, TypeDefOrRef, TypeRef, TypeSpec},
    signature::TypeSig,
};

use crate::{context::Context, model::at, tables::values, types::store::TypeId};

/// What a value on the stack is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Int32,
    Int64,
    /// `native int`, and unmanaged pointers.
    Native,
    Float,
    /// A managed pointer (`&`).
    Ref,
    /// An object reference (`O`).
    Object,
    /// A value type that is no enumeration.
    Value,
    /// Of a type that another assembly has, or of a generic parameter.
    Unknown,
}

/// A value on the stack: its kind, and its type if types are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    pub(crate) kind: Kind,
    pub(crate) ty: TypeId,
    /// Whether it is the method's own `this`.
    pub(crate) is_this: bool,
}

impl Value {
    /// A value of which only the kind is told.
    pub(crate) const fn of(kind: Kind) -> Self {
        Self::new(kind, TypeId::UNKNOWN)
    }

    /// A value of a kind and a type.
    pub(crate) const fn new(kind: Kind, ty: TypeId) -> Self {
        Self { kind, ty, is_this: false }
    }
}

impl Kind {
    /// The kind's name in III.1.5.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Native => "native int",
            Self::Float => "F",
            Self::Ref => "&",
            Self::Object => "O",
            Self::Value => "value type",
            Self::Unknown => "unknown",
        }
    }

    /// What an element of II.23.1.16 is on the stack; none for void.
    pub(crate) fn of_element(element: ElementType) -> Option<Self> {
        Some(match element {
            ElementType::Void => return None,
            ElementType::Boolean | ElementType::Char => Self::Int32,
            ElementType::I1 | ElementType::U1 | ElementType::I2 | ElementType::U2 => Self::Int32,
            ElementType::I4 | ElementType::U4 => Self::Int32,
            ElementType::I8 | ElementType::U8 => Self::Int64,
            ElementType::R4 | ElementType::R8 => Self::Float,
            ElementType::I | ElementType::U => Self::Native,
            ElementType::String | ElementType::Object => Self::Object,
            ElementType::TypedByRef => Self::Value,
            _ => Self::Unknown,
        })
    }

    /// What a type is on the stack; none for void.
    pub(crate) fn of(context: &Context<'_, '_>, signature: &TypeSig) -> Option<Self> {
        Some(match signature {
            TypeSig::Element(element) => return Self::of_element(*element),
            TypeSig::Named { is_value: true, token } | TypeSig::GenericInst { is_value: true, token, .. } => {
                Self::of_index(context, *token)
            }
            TypeSig::Named { .. } | TypeSig::GenericInst { .. } | TypeSig::SzArray(_) | TypeSig::Array(..) => Self::Object,
            TypeSig::Ptr(_) | TypeSig::FnPtr(_) => Self::Native,
            TypeSig::ByRef(_) => Self::Ref,
            TypeSig::Pinned(inner) | TypeSig::Modified { inner, .. } => return Self::of(context, inner),
            TypeSig::Var(_) | TypeSig::MVar(_) => Self::Unknown,
        })
    }

    /// What a value of the type that a token names is on the stack.
    pub(crate) fn of_token(context: &Context<'_, '_>, token: Token) -> Self {
        match token.table() {
            Some(Table::TypeDef) => match at(&context.model.types, token.rid()) {
                Some(row) if context.model.kind(token.rid()).is_value() => {
                    let underlying = values::underlying(context, token.rid()).and_then(Self::of_element);
                    let primitive = || Self::of_primitive(context, row.namespace, row.name);
                    underlying.or_else(primitive).unwrap_or(Self::Value)
                }
                _ => Self::Object,
            },
            Some(Table::TypeRef) => {
                let row = context.metadata.row(Rid::<TypeRef>::new(token.rid())).ok();
                row.and_then(|row| Self::of_primitive(context, row.namespace, row.name)).unwrap_or(Self::Unknown)
            }
            Some(Table::TypeSpec) => {
                let signature = context.metadata.row(Rid::<TypeSpec>::new(token.rid())).map(|row| row.signature);
                let parsed = signature.and_then(|blob| context.metadata.blobs.blob(blob)).and_then(TypeSig::parse);
                parsed.ok().and_then(|parsed| Self::of(context, &parsed)).unwrap_or(Self::Unknown)
            }
            _ => Self::Unknown,
        }
    }

    /// The primitive types by their names, which is how the assembly that defines them has them.
    fn of_primitive(context: &Context<'_, '_>, namespace: Str, name: Str) -> Option<Self> {
        if context.name(namespace) != b"System" {
            return None;
        }
        Some(match context.name(name) {
            b"Boolean" | b"Char" | b"SByte" | b"Byte" | b"Int16" | b"UInt16" | b"Int32" | b"UInt32" => Self::Int32,
            b"Int64" | b"UInt64" => Self::Int64,
            b"Single" | b"Double" => Self::Float,
            b"IntPtr" | b"UIntPtr" => Self::Native,
            _ => return None,
        })
    }

    fn of_index(context: &Context<'_, '_>, index: TypeDefOrRef) -> Self {
        match index.token() {
            Some(token) if token.table() == Some(Table::TypeDef) => Self::of_token(context, token),
            _ => Self::Unknown,
        }
    }

    /// Whether a value can be put where `wanted` is expected (III.1.6); unmanaged and managed pointers mix in unsafe code.
    pub(crate) fn fits(self, wanted: Self) -> bool {
        use Kind::{Int32, Native, Ref, Unknown};
        self == wanted
            || matches!((self, wanted), (Unknown, _) | (_, Unknown) | (Int32, Native) | (Native, Int32 | Ref) | (Ref, Native))
    }

    pub(crate) fn is_address(self) -> bool {
        matches!(self, Self::Ref | Self::Native | Self::Unknown)
    }

    pub(crate) fn is_index(self) -> bool {
        matches!(self, Self::Int32 | Self::Native | Self::Unknown)
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64 | Self::Native | Self::Unknown)
    }
}
