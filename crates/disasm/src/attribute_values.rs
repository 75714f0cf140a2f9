//! Formats the arguments of custom attributes (II.23.3).

use std::{
    cell::OnceCell,
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use ecma335::{
    FullNames, Metadata, Result, Rid, Token,
    attribute::{Argument, AttributeTypes, AttributeValue},
    element::ElementType,
    schema::{CustomAttribute, Field, MemberRef, MethodDef, TypeDef, TypeDefOrRef},
    signature::{Signature, TypeSig, text::TypeNames as _},
};

use crate::quote;

/// Reads the values of a module's attributes.
pub struct AttributeValues<'a, 'm> {
    metadata: &'m Metadata<'a>,
    /// The module's types by the hashes of their full names, computed on first use.
    types: OnceCell<HashMap<u64, Vec<Rid<TypeDef>>>>,
    names: FullNames<'a, 'm>,
    hasher: RandomState,
}

impl<'a, 'm> AttributeValues<'a, 'm> {
    /// Prepares to read the attributes of a module.
    pub fn new(metadata: &'m Metadata<'a>) -> Self {
        Self { metadata, types: OnceCell::new(), names: metadata.full_names(), hasher: RandomState::new() }
    }

    /// An attribute's arguments: `("text", Name = 5)`, or empty. The bytes in hex, if they cannot be parsed.
    ///
    /// # Errors
    /// If the blob does not exist.
    pub fn text(&self, row: &CustomAttribute) -> Result<String> {
        let bytes = self.metadata.blob(row.value)?;
        Ok(self.words(row).unwrap_or_else(|| {
            if bytes.is_empty() { String::new() } else { format!("(bytes {})", quote::hex(bytes).to_ascii_lowercase()) }
        }))
    }

    /// An attribute's arguments, if its bytes can be parsed.
    pub fn words(&self, row: &CustomAttribute) -> Option<String> {
        let value = self.value(row)?;
        let named = value.named.iter().map(|named| format!("{} = {}", named.name, text(&named.argument)));
        let arguments: Vec<String> = value.fixed.iter().map(text).chain(named).collect();
        Some(if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) })
    }

    /// The arguments of an attribute that names an aliased type: the text, and the bytes without such names.
    pub fn aliased(&self, row: &CustomAttribute, aliases: &HashMap<String, String>) -> Option<(String, Vec<u8>)> {
        let mut value = self.value(row)?;
        let mut words = Vec::new();
        let named = value.named.iter_mut().map(|named| &mut named.argument);
        for argument in value.fixed.iter_mut().chain(named) {
            if let Argument::Type(Some(name)) = argument
                && let Some(alias) = aliases.get(name)
            {
                words.push(alias.clone());
                *argument = Argument::Type(None);
            }
        }
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        (!words.is_empty()).then(|| (words.join(", "), bytes))
    }

    /// The value. Enumerations of other modules are assumed to be `int32`, as most are.
    fn value(&self, row: &CustomAttribute) -> Option<AttributeValue> {
        let metadata = self.metadata;
        let constructor = row.constructor.token()?;
        let signature = match constructor.rid_in::<MemberRef>() {
            Some(rid) => metadata.row(rid).ok()?.signature,
            None => metadata.row(constructor.rid_in::<MethodDef>()?).ok()?.signature,
        };
        let Ok(Signature::Method(signature)) = Signature::parse(metadata.blobs.blob(signature).ok()?) else { return None };
        let value = AttributeValue::parse(metadata.blobs.blob(row.value).ok()?, &signature, self).ok()?;
        let mut written = Vec::new();
        value.write(&mut written);
        (metadata.blob(row.value) == Ok(&written[..])).then_some(value)
    }

    /// The underlying type of an enumeration of this module: that of its only instance field.
    fn own_enum(&self, rid: Rid<TypeDef>) -> Option<ElementType> {
        let row = self.metadata.children::<_, Field>(rid).find_map(|field| {
            let row = self.metadata.row(field).ok()?;
            (self.metadata.name(row.name).ok()? == "value__").then_some(row)
        })?;
        match Signature::parse(self.metadata.blobs.blob(row.signature).ok()?).ok()? {
            Signature::Field(TypeSig::Element(element)) => Some(element),
            _ => None,
        }
    }

    fn type_named(&self, name: &str) -> Option<Rid<TypeDef>> {
        let full_name = |rid: Rid<TypeDef>| self.names.name_of(rid).unwrap_or_default();
        let types = self.types.get_or_init(|| {
            let mut types: HashMap<u64, Vec<Rid<TypeDef>>> = HashMap::new();
            for rid in self.names.types() {
                types.entry(self.hasher.hash_one(full_name(rid))).or_default().push(rid);
            }
            types
        });
        // Of several types with one name, the last one is meant.
        types.get(&self.hasher.hash_one(name))?.iter().rev().copied().find(|rid| full_name(*rid) == name)
    }
}

impl AttributeTypes for AttributeValues<'_, '_> {
    fn enum_of(&self, token: TypeDefOrRef) -> Option<ElementType> {
        let own = token.token().and_then(Token::rid_in::<TypeDef>).and_then(|rid| self.own_enum(rid));
        own.or(Some(ElementType::I4))
    }

    fn enum_named(&self, name: &str) -> Option<ElementType> {
        let path = name.split(',').next().unwrap_or_default().replace('+', "/");
        let own = self.type_named(&path).and_then(|rid| self.own_enum(rid));
        own.or(Some(ElementType::I4))
    }

    fn is_system_type(&self, token: TypeDefOrRef) -> bool {
        token.token().is_some_and(|token| self.metadata.type_name(token).ends_with("System.Type"))
    }
}

fn text(argument: &Argument) -> String {
    match argument {
        Argument::Char(unit) => format!("{:?}", char::from_u32((*unit).into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
        Argument::Array(Some(values)) => format!("{{ {} }}", values.iter().map(text).collect::<Vec<_>>().join(", ")),
        Argument::Object(_, value) => text(value),
        other => other.to_string(),
    }
}
