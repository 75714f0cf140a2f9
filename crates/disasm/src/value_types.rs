//! Finds the types that signatures mark as value types and as classes. A reference itself does not tell.

use std::collections::{BTreeSet, HashSet};

use ecma335::{
    Metadata, Token,
    schema::{self, Blob},
    signature::{MethodSig, Signature, TypeSig},
};

/// The tokens of types that signatures name as value types, and as classes.
#[derive(Default)]
pub struct TypeKinds {
    /// The tokens after `valuetype`.
    pub values: BTreeSet<Token>,
    /// The tokens after `class`.
    pub classes: BTreeSet<Token>,
    seen: HashSet<Blob>,
}

impl TypeKinds {
    /// Reads all signatures, each blob once. Unreadable ones are ignored.
    pub fn new(metadata: &Metadata<'_>) -> Self {
        let mut kinds = Self::default();
        let tables = &metadata.tables;
        let blobs = tables.rows::<schema::MethodDef>().map(|(_, row)| row.signature);
        let blobs = blobs.chain(tables.rows::<schema::Field>().map(|(_, row)| row.signature));
        let blobs = blobs.chain(tables.rows::<schema::MemberRef>().map(|(_, row)| row.signature));
        let blobs = blobs.chain(tables.rows::<schema::StandAloneSig>().map(|(_, row)| row.signature));
        let blobs = blobs.chain(tables.rows::<schema::Property>().map(|(_, row)| row.signature));
        for blob in blobs.chain(tables.rows::<schema::MethodSpec>().map(|(_, row)| row.instantiation)) {
            if kinds.seen.insert(blob) {
                match metadata.blobs.blob(blob).and_then(Signature::parse) {
                    Ok(Signature::Method(method)) => kinds.method(&method),
                    Ok(Signature::Field(field)) => kinds.visit(&field),
                    Ok(Signature::Property(property)) => {
                        kinds.visit(&property.property_type);
                        property.params.iter().for_each(|param| kinds.visit(param));
                    }
                    Ok(Signature::Locals(types) | Signature::MethodSpec(types)) => {
                        types.iter().for_each(|each| kinds.visit(each));
                    }
                    Err(_) => {}
                }
            }
        }
        for (_, row) in tables.rows::<schema::TypeSpec>() {
            if let Ok(spec) = metadata.blobs.blob(row.signature).and_then(TypeSig::parse) {
                kinds.visit(&spec);
            }
        }
        kinds
    }

    fn method(&mut self, method: &MethodSig) {
        self.visit(&method.return_type);
        method.params.iter().for_each(|param| self.visit(param));
    }

    /// Adds a type and its parts.
    pub fn visit(&mut self, signature: &TypeSig) {
        match signature {
            TypeSig::Element(_) | TypeSig::Var(_) | TypeSig::MVar(_) => {}
            TypeSig::Named { is_value, token } => self.add(*is_value, token.token()),
            TypeSig::Ptr(inner)
            | TypeSig::ByRef(inner)
            | TypeSig::Pinned(inner)
            | TypeSig::SzArray(inner)
            | TypeSig::Array(inner, _)
            | TypeSig::Modified { inner, .. } => self.visit(inner),
            TypeSig::GenericInst { is_value, token, arguments } => {
                self.add(*is_value, token.token());
                arguments.iter().for_each(|argument| self.visit(argument));
            }
            TypeSig::FnPtr(method) => self.method(method),
        }
    }

    fn add(&mut self, is_value: bool, token: Option<Token>) {
        if let Some(token) = token {
            let kind = if is_value { &mut self.values } else { &mut self.classes };
            kind.insert(token);
        }
    }
}
