//! The description of a captured method: its names and types as the profile shows them.

use ecma335::{
    Error, Image, Metadata, Rid, Token,
    element::ElementType,
    schema::{GenericParam, MethodDef, Module, Param, TypeDef, TypeDefOrRef, TypeRef},
    signature::{MethodSig, Signature, TypeSig},
};
use names::{Description, Descriptions};

use super::hook_values::{HookContext, MethodContext};

/// The way a parameter is passed, with its number in descriptions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterMode {
    Value = 0,
    Ref = 1,
    In = 2,
    Out = 3,
}

/// The descriptions of these methods for a mark. `None` without methods. A method whose signature cannot be read has none: no
/// call of it is captured.
pub(crate) fn of_methods(
    image: &Image<'_>,
    metadata: &Metadata<'_>,
    methods: impl Iterator<Item = Rid<MethodDef>>,
) -> Result<Option<Vec<u8>>, Error> {
    let module: Module = metadata.row(Rid::new(1))?;
    let mut descriptions = Descriptions::new(&metadata.name(module.name)?, image.bytes().len().max(MIN_ROOM));
    let context = HookContext::new(metadata);
    let mut methods: Vec<_> = methods.collect();
    methods.sort();
    for rid in methods {
        let row = metadata.row(rid)?;
        if let Some(description) = DescribedMethod::read(&context, rid, &row).and_then(|method| method.description()) {
            descriptions.add(rid.get(), description);
        }
    }
    Ok(descriptions.to_bytes())
}

/// The bytes that the descriptions of a small module may take.
const MIN_ROOM: usize = 1 << 20;

/// A type without its custom modifiers.
pub(super) fn stripped(mut ty: &TypeSig) -> &TypeSig {
    while let TypeSig::Modified { inner, .. } | TypeSig::Pinned(inner) = ty {
        ty = inner;
    }
    ty
}

/// A method with its signature.
pub(super) struct DescribedMethod<'c, 'a, 'm> {
    pub(super) context: MethodContext<'c, 'a, 'm>,
    pub(super) signature: MethodSig,
    metadata: &'m Metadata<'a>,
    rid: Rid<MethodDef>,
    row: &'c MethodDef,
}

impl<'c, 'a, 'm> DescribedMethod<'c, 'a, 'm> {
    /// `None` if the signature cannot be read.
    pub(super) fn read(context: &'c HookContext<'a, 'm>, rid: Rid<MethodDef>, row: &'c MethodDef) -> Option<Self> {
        let metadata = context.metadata();
        let Signature::Method(signature) = Signature::parse(metadata.blobs.blob(row.signature).ok()?).ok()? else { return None };
        Some(Self { context: context.method_context(rid), signature, metadata, rid, row })
    }

    /// The name in metadata.
    pub(super) fn name(&self) -> Result<&'a [u8], Error> {
        self.metadata.strings.string_bytes(self.row.name)
    }

    /// The way each parameter is passed, and its name.
    pub(super) fn parameters(&self) -> Vec<(ParameterMode, String)> {
        let metadata = self.metadata;
        let rows: Vec<Param> = metadata.children::<MethodDef, Param>(self.rid).filter_map(|rid| metadata.row(rid).ok()).collect();
        let parameter = |(place, ty): (usize, &TypeSig)| {
            let row = rows.iter().find(|row| usize::from(row.sequence) == place + 1);
            let name = row.and_then(|row| metadata.name(row.name).ok()).unwrap_or_default();
            (self.parameter_mode(ty, row), name)
        };
        self.signature.params.iter().enumerate().map(parameter).collect()
    }

    /// C#'s modifiers decide, then the flags of the Param row.
    fn parameter_mode(&self, ty: &TypeSig, row: Option<&Param>) -> ParameterMode {
        let (mut at, mut is_read_only) = (ty, false);
        while let TypeSig::Modified { modifier, inner, .. } = at {
            is_read_only |= self.type_name(*modifier) == "System.Runtime.InteropServices.InAttribute";
            at = inner;
        }
        match row {
            _ if !matches!(at, TypeSig::ByRef(_)) => ParameterMode::Value,
            Some(row) if row.is_out() && !row.is_in() => ParameterMode::Out,
            Some(row) if is_read_only || row.is_in() && !row.is_out() => ParameterMode::In,
            _ if is_read_only => ParameterMode::In,
            _ => ParameterMode::Ref,
        }
    }

    fn description(&self) -> Option<Description> {
        let generics: Vec<String> = (0..self.signature.generic_params).map(|number| self.text(&TypeSig::MVar(number))).collect();
        let generics = if generics.is_empty() { String::new() } else { format!("<{}>", generics.join(", ")) };
        let parameter = |(ty, (mode, name)): (&TypeSig, (ParameterMode, String))| {
            let ty = stripped(ty);
            let ty = if let TypeSig::ByRef(inner) = ty { stripped(inner) } else { ty };
            (mode as u8, self.text(ty), name)
        };
        Some(Description {
            class: self.text(&self.context.own_type()?.signature),
            name: self.metadata.name(self.row.name).ok()? + &generics,
            returned: self.text(&self.signature.return_type),
            has_this: !self.row.is_static(),
            parameters: self.signature.params.iter().zip(self.parameters()).map(parameter).collect(),
        })
    }

    /// The type in C# syntax.
    fn text(&self, ty: &TypeSig) -> String {
        match ty {
            TypeSig::Element(element @ (ElementType::I | ElementType::U | ElementType::TypedByRef)) => {
                format!("System.{}", element.class())
            }
            TypeSig::Element(element) => element.keyword().to_owned(),
            TypeSig::Named { token, .. } => written(&self.type_name(*token), &[]),
            TypeSig::GenericInst { token, arguments, .. } => {
                let arguments: Vec<String> = arguments.iter().map(|argument| self.text(argument)).collect();
                match (&*self.type_name(*token), &arguments[..]) {
                    ("System.Nullable`1", [of]) => format!("{of}?"),
                    (name, _) => written(name, &arguments),
                }
            }
            TypeSig::SzArray(_) | TypeSig::Array(..) => {
                // C# writes the outermost dimensions first.
                let (mut element, mut dimensions) = (ty, String::new());
                loop {
                    element = match element {
                        TypeSig::SzArray(inner) => {
                            dimensions.push_str("[]");
                            inner
                        }
                        TypeSig::Array(inner, shape) => {
                            dimensions.push_str(&format!("[{}]", ",".repeat(shape.rank.saturating_sub(1) as usize)));
                            inner
                        }
                        _ => break,
                    };
                }
                self.text(element) + &dimensions
            }
            TypeSig::Ptr(inner) => self.text(inner) + "*",
            TypeSig::ByRef(inner) => format!("ref {}", self.text(inner)),
            TypeSig::Modified { inner, .. } | TypeSig::Pinned(inner) => self.text(inner),
            TypeSig::Var(number) => self.parameter(self.context.class_token(), *number),
            TypeSig::MVar(number) => self.parameter(Some(self.context.method_token()), *number),
            TypeSig::FnPtr(_) => "delegate*".into(),
        }
    }

    /// The name of a type parameter.
    fn parameter(&self, owner: Option<Token>, number: u32) -> String {
        let mut rows = self.metadata.tables.rows::<GenericParam>().map(|(_, row)| row);
        let row = rows.find(|row| row.owner.token() == owner && u32::from(row.number) == number);
        row.and_then(|row| self.metadata.name(row.name).ok()).unwrap_or_else(|| format!("!{number}"))
    }

    fn type_name(&self, token: TypeDefOrRef) -> String {
        let token = token.token();
        let defined = token.and_then(Token::rid_in::<TypeDef>).and_then(|rid| self.context.full_name_of(rid));
        let referred = || token.and_then(Token::rid_in::<TypeRef>).and_then(|rid| self.metadata.type_ref_name(rid).ok());
        defined.or_else(referred).unwrap_or_else(|| "?".into())
    }
}

/// A type's name, with its type arguments distributed over its levels of nesting.
fn written(name: &str, mut arguments: &[String]) -> String {
    let mut out = String::new();
    for (depth, level) in name.split('/').enumerate() {
        if depth > 0 {
            out.push('.');
        }
        let (name, arity) = level.split_once('`').unwrap_or((level, ""));
        out.push_str(name);
        let (own, rest) = arguments.split_at(arity.parse().unwrap_or(0).min(arguments.len()));
        if !own.is_empty() {
            out.push_str(&format!("<{}>", own.join(", ")));
        }
        arguments = rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_in_csharp() {
        assert_eq!(
            written("Ns.Generic`2/In`1", &["int".into(), "string".into(), "byte".into()]),
            "Ns.Generic<int, string>.In<byte>"
        );
        assert_eq!(written("A/B", &[]), "A.B");
    }
}
