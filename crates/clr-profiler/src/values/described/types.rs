//! Types with C# names: from signatures, with the runtime's generic arguments, and from classes.

use std::{fmt, sync::Arc};

use ecma335::{Rid, element::ElementType, schema::TypeDef};

use crate::abi::runtime::Id;

const SPANS: [&str; 2] = ["System.Span`1", "System.ReadOnlySpan`1"];

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Type {
    Element(ElementType),
    Named(Arc<NamedType>),
    /// An array and its rank.
    Array(Box<Type>, u32),
    Pointer(Box<Type>),
    ByRef(Box<Type>),
    /// A function pointer: its parameters, then its return type.
    Function(Vec<Type>),
    /// A type known only by this text.
    Unknown(String),
}

/// A type that has a name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NamedType {
    /// The metadata name: ``Ns.Outer`1/Inner``.
    pub(crate) name: String,
    pub(crate) is_value: bool,
    /// Its module and row; `None` if the module is not loaded.
    pub(crate) definition: Option<(Id, Rid<TypeDef>)>,
    pub(crate) arguments: Vec<Type>,
}

impl Type {
    pub(crate) fn named(named: NamedType) -> Self {
        let class = named.name.strip_prefix("System.").filter(|class| !class.is_empty());
        let element = (0..=u8::MAX).filter_map(ElementType::from_byte).find(|element| Some(element.class()) == class);
        element.map_or_else(|| Self::Named(Arc::new(named)), Self::Element)
    }

    /// The name of an element type's definition; `None` for an element type with further parts.
    pub(crate) fn definition_of(element: ElementType) -> Option<String> {
        Some(element.class()).filter(|class| !class.is_empty()).map(|class| format!("System.{class}"))
    }

    /// An element type by its number in signatures.
    pub(crate) fn of_element(number: u32) -> Option<Self> {
        let element = ElementType::from_byte(u8::try_from(number).ok()?)?;
        (!element.class().is_empty()).then_some(Self::Element(element))
    }

    pub(crate) fn is_reference(&self) -> bool {
        match self {
            Self::Element(element) => matches!(element, ElementType::String | ElementType::Object),
            Self::Named(named) => !named.is_value,
            Self::Array(..) => true,
            Self::Pointer(_) | Self::ByRef(_) | Self::Function(_) | Self::Unknown(_) => false,
        }
    }

    /// The same type with `object` for all references: types with the same result have the same layout.
    pub(crate) fn canonical(&self) -> Self {
        match self {
            _ if self.is_reference() => Self::Element(ElementType::Object),
            Self::Named(named) => {
                let arguments = named.arguments.iter().map(Self::canonical).collect();
                Self::Named(Arc::new(NamedType { arguments, ..NamedType::clone(named) }))
            }
            _ => self.clone(),
        }
    }

    /// The `T` of a `Nullable<T>`; `None` for other types.
    pub(crate) fn nullable(&self) -> Option<&Type> {
        match self {
            Self::Named(named) if named.name == "System.Nullable`1" => named.arguments.first(),
            _ => None,
        }
    }

    /// The `T` of a `Span<T>` or a `ReadOnlySpan<T>`; `None` for other types.
    pub(crate) fn span_element(&self) -> Option<&Type> {
        match self {
            Self::Named(named) if SPANS.contains(&&*named.name) => named.arguments.first(),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The names that debuggers use: users may take C#'s `nint` for another type.
            Self::Element(element @ (ElementType::I | ElementType::U | ElementType::TypedByRef)) => {
                write!(f, "System.{}", element.class())
            }
            Self::Element(element) => f.write_str(element.keyword()),
            Self::Named(named) => match self.nullable() {
                Some(of) => write!(f, "{of}?"),
                None => named.fmt(f),
            },
            Self::Array(..) => {
                // The outermost dimensions come first.
                let mut element = self;
                let mut dimensions = String::new();
                while let Self::Array(inner, rank) = element {
                    let commas = ",".repeat(rank.saturating_sub(1) as usize);
                    dimensions.push_str(&format!("[{commas}]"));
                    element = inner;
                }
                write!(f, "{element}{dimensions}")
            }
            Self::Pointer(to) => write!(f, "{to}*"),
            Self::ByRef(to) => write!(f, "ref {to}"),
            Self::Function(types) => write!(f, "delegate*<{}>", List(types)),
            Self::Unknown(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for NamedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, &self.name, &self.arguments)
    }
}

/// Writes a type's name; each nesting level has its own generic arguments.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str, mut arguments: &[Type]) -> fmt::Result {
    for (depth, level) in name.split('/').enumerate() {
        if depth > 0 {
            f.write_str(".")?;
        }
        let (name, arity) = level.split_once('`').unwrap_or((level, ""));
        f.write_str(name)?;
        let arity = arity.parse().unwrap_or(0).min(arguments.len());
        let (own, rest) = arguments.split_at(arity);
        if !own.is_empty() {
            write!(f, "<{}>", List(own))?;
        }
        arguments = rest;
    }
    Ok(())
}

/// A comma-separated list of types.
pub(crate) struct List<'t>(pub(crate) &'t [Type]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, each) in self.0.iter().enumerate() {
            write!(f, "{}{each}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, arguments: &[Type]) -> Type {
        Type::named(NamedType { name: name.into(), is_value: true, definition: None, arguments: arguments.into() })
    }

    #[test]
    fn types_are_written_as_in_csharp() {
        let (int, text) = (Type::Element(ElementType::I4), Type::Element(ElementType::String));
        let byte = named("System.Byte", &[]);
        assert_eq!(
            named("Ns.Generic`2/In`1", &[int.clone(), text.clone(), byte]).to_string(),
            "Ns.Generic<int, string>.In<byte>"
        );
        assert_eq!(named("A/B/C", &[]).to_string(), "A.B.C");
        assert_eq!(named("System.Nullable`1", std::slice::from_ref(&int)).to_string(), "int?");
        let vector = |of| Type::Array(Box::new(of), 1);
        assert_eq!(vector(Type::Array(Box::new(int.clone()), 2)).to_string(), "int[][,]");
        assert_eq!(Type::Pointer(Box::new(Type::Pointer(Box::new(int.clone())))).to_string(), "int**");
        assert_eq!(Type::Function(vec![text, int]).to_string(), "delegate*<string, int>");
        // Missing arguments are not invented.
        assert_eq!(named("Ns.Open`2", &[]).to_string(), "Ns.Open");
    }

    #[test]
    fn references_are_laid_out_alike() {
        let of = |argument| named("Pair`1", &[argument]);
        let (text, int) = (Type::Element(ElementType::String), Type::Element(ElementType::I4));
        assert_eq!(of(text.clone()).canonical(), of(Type::Array(Box::new(text), 1)).canonical());
        assert_ne!(of(int).canonical(), of(Type::Element(ElementType::Object)));
    }
}
