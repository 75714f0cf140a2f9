//! The parameters that a pattern requires of a method.

use ecma335::{
    Metadata, Rid,
    schema::MethodDef,
    signature::{Signature, TypeSig},
};
use regex::Regex;

use super::glob::glob;

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
    pub(crate) fn match_method(&self, metadata: &Metadata<'_>, method: Rid<MethodDef>) -> bool {
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
            (Some(rid), _) => metadata.full_names().name_of(rid).unwrap_or_default(),
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
