//! Conditions of patterns on methods beside their names: parameters, attributes, kind, visibility, size and source file.

use ecma335::{
    Metadata, Rid,
    schema::MethodDef,
    signature::{Signature, TypeSig},
};
use regex::Regex;

use crate::pattern::glob;

/// A condition on a method beside its name.
#[derive(Clone, Debug)]
pub(crate) enum Selector {
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
            fn of_word(word: &str) -> Result<Self, String> {
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

impl Selector {
    /// Reads a condition. `None` if the text is a name.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, String>> {
        let (what, value) = text.split_once(':').filter(|(_, value)| !value.starts_with(':'))?;
        let compile = |expression: String| Regex::new(&expression).map_err(|error| error.to_string());
        Some(match what {
            "attribute" => compile(format!("^(?:.*[./])?{}(?:Attribute)?$", glob(value))).map(Self::Attribute),
            "kind" => Kind::of_word(value).map(Self::Kind),
            "visibility" => Visibility::of_word(value).map(Self::Visibility),
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

/// The parameters of a pattern: `(int, *)`.
#[derive(Clone, Debug)]
pub(crate) struct Parameters(Vec<Regex>);

impl Parameters {
    /// The name of a pattern with parameters, and the text between its brackets.
    pub(crate) fn parts(name: &str) -> Option<(&str, &str)> {
        name.strip_suffix(')').and_then(|name| name.rsplit_once('(')).filter(|(name, _)| name.contains("::"))
    }

    /// The name of a pattern, and the parameters after it, if it has some.
    pub(crate) fn split(name: &str) -> (&str, Option<Self>) {
        let Some((name, list)) = Self::parts(name) else { return (name, None) };
        let mut types = vec![String::new()];
        let mut depth = 0_usize;
        for character in list.chars() {
            match character {
                ',' if depth == 0 => {
                    types.push(String::new());
                    continue;
                }
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if let Some(last) = types.last_mut().filter(|_| character != ' ') {
                last.push(character);
            }
        }
        let is_empty = list.trim().is_empty();
        let types = types.into_iter().filter(|_| !is_empty);
        let regexes = types.map(|ty| Regex::new(&format!("^(?:.*[./])?{}$", glob(&ty))));
        (name, regexes.collect::<Result<_, _>>().ok().map(Self))
    }

    /// Whether a method has exactly these parameters.
    pub(crate) fn are_of(&self, metadata: &Metadata<'_>, method: Rid<MethodDef>) -> bool {
        let signature = metadata.row(method).and_then(|row| Signature::parse(metadata.blobs.blob(row.signature)?));
        let Ok(Signature::Method(signature)) = signature else { return false };
        let fits = |(pattern, ty): (&Regex, &TypeSig)| pattern.is_match(&written(metadata, ty));
        signature.params.len() == self.0.len() && self.0.iter().zip(&signature.params).all(fits)
    }
}

/// A type as in source code, without spaces. A type parameter has any of its names in the metadata.
fn written(metadata: &Metadata<'_>, ty: &TypeSig) -> String {
    let named = |token: ecma335::schema::TypeDefOrRef| {
        let token = token.token().unwrap_or_default();
        let name = match (token.rid_in(), token.rid_in()) {
            (Some(rid), _) => metadata.full_names().of(rid).unwrap_or_default(),
            (_, Some(rid)) => metadata.type_ref_name(rid).unwrap_or_default(),
            _ => String::new(),
        };
        name.split('/').map(|part| part.split('`').next().unwrap_or_default()).collect::<Vec<_>>().join(".")
    };
    match ty {
        TypeSig::Element(element) => element.keyword().to_owned(),
        TypeSig::Named { token, .. } => match &*named(*token) {
            "System.Decimal" => "decimal".to_owned(),
            name => name.to_owned(),
        },
        TypeSig::GenericInst { token, arguments, .. } => {
            let arguments: Vec<String> = arguments.iter().map(|argument| written(metadata, argument)).collect();
            match &*named(*token) {
                "System.Nullable" => format!("{}?", arguments.concat()),
                name => format!("{name}<{}>", arguments.join(",")),
            }
        }
        TypeSig::SzArray(inner) => format!("{}[]", written(metadata, inner)),
        TypeSig::Array(inner, shape) => {
            let commas = ",".repeat((shape.rank as usize).saturating_sub(1));
            format!("{}[{commas}]", written(metadata, inner))
        }
        TypeSig::Ptr(inner) => format!("{}*", written(metadata, inner)),
        TypeSig::ByRef(inner) => format!("ref{}", written(metadata, inner)),
        TypeSig::Pinned(inner) | TypeSig::Modified { inner, .. } => written(metadata, inner),
        TypeSig::Var(number) => format!("!{number}"),
        TypeSig::MVar(number) => format!("!!{number}"),
        TypeSig::FnPtr(_) => "delegate*".to_owned(),
    }
}
