//! The kinds of values on the evaluation stack (III.1.1).

use ecma335::element::ElementType;

/// The kind of a value on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueKind {
    Int32,
    Int64,
    /// `native int`, and unmanaged pointers.
    Native,
    Float,
    /// A managed pointer (`&`).
    Ref,
    /// An object reference (`O`).
    Object,
    /// A value type other than an enumeration.
    Value,
    /// A value of a type from another assembly, or of a generic parameter.
    Unknown,
}

impl ValueKind {
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

    /// The kind of an element type of II.23.1.16 on the stack. `None` for void.
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

    /// The element type of II.23.1.16 for a number of this kind.
    pub(crate) fn element(self) -> Option<ElementType> {
        match self {
            Self::Int32 => Some(ElementType::I4),
            Self::Int64 => Some(ElementType::I8),
            Self::Native => Some(ElementType::I),
            Self::Float => Some(ElementType::R8),
            _ => None,
        }
    }

    /// Whether a value can be used where `wanted` is expected (III.1.6). Unmanaged and managed pointers mix in unsafe code.
    pub(crate) fn assignable_to(self, wanted: Self) -> bool {
        use ValueKind::{Int32, Native, Ref, Unknown};
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
