//! Conditions of patterns on methods beside their names: attributes, kind, visibility, size and source file.

use regex::Regex;

use super::glob::glob;

/// A condition on a method beside its name.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// `attribute:Obsolete`: the method, or a type that contains it, has an attribute of this name.
    Attribute(Regex),
    /// `kind:async`
    Kind(Kind),
    /// `visibility:public`
    Visibility(Visibility),
    /// `il:100..` or `il:..24`: the least and the largest size in bytes of IL.
    Size(u32, u32),
    /// `file:src/Legacy/*`: the method's source file in the PDB.
    File(Regex),
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            fn from_word(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(format!("there is no '{word}'; write {}", [$($word),*].join(", "))),
                }
            }
        }
    };
}
words! {
    /// The kind of a method.
    Kind {
        /// An accessor of a property or an event.
        Accessor = "accessor",
        /// A constructor of instances, or of the type.
        Constructor = "constructor",
        /// A compiler-generated method.
        Generated = "generated",
        /// An async method.
        Async = "async",
        /// An iterator, which returns its results one by one.
        Iterator = "iterator",
        /// A function without a name.
        Lambda = "lambda",
    }
}
words! {
    /// The callers that may call a method.
    Visibility {
        /// Any caller.
        Public = "public",
        /// The type and the types derived from it. The assembly may be an additional condition or an addition (II.23.1.10).
        Protected = "protected",
        /// The assembly.
        Internal = "internal",
        /// The type.
        Private = "private",
    }
}

impl Condition {
    /// Reads a condition. `None` if the text is a name.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, String>> {
        let (what, value) = text.split_once(':').filter(|(_, value)| !value.starts_with(':'))?;
        let compile = |expression: String| Regex::new(&expression).map_err(|error| error.to_string());
        Some(match what {
            "attribute" => compile(format!("^(?:.*[./])?{}(?:Attribute)?$", glob(value))).map(Self::Attribute),
            "kind" => Kind::from_word(value).map(Self::Kind),
            "visibility" => Visibility::from_word(value).map(Self::Visibility),
            "il" => size(value)
                .ok_or_else(|| "write il:100.. or il:..24, in bytes".to_owned())
                .map(|(low, high)| Self::Size(low, high)),
            "file" => compile(format!("^(?:.*/)?{}$", glob(&value.replace('\\', "/")))).map(Self::File),
            _ => return None,
        })
    }
}

fn size(range: &str) -> Option<(u32, u32)> {
    let (low, high) = range.split_once("..")?;
    let number = |text: &str, otherwise| if text.is_empty() { Some(otherwise) } else { text.parse().ok() };
    (range != "..").then_some((number(low, 0)?, number(high, u32::MAX)?))
}
