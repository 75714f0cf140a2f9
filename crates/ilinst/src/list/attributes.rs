//! `--attributes`: custom attributes, what each is on, and what it is given.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use ecma335::{
    Error, Metadata, Rid, Table, Token,
    attribute::{Argument, AttributeTypes, AttributeValue},
    element::ElementType,
    schema::{
        CustomAttribute, Event, EventMap, Field, GenericParam, InterfaceImpl, MemberRef, MethodDef, Param, Property, PropertyMap,
        TypeDef, TypeDefOrRef,
    },
    signature::Signature,
};
use serde::Serialize;

use super::{Opts, module::Module, shown};
use crate::rows;

/// A custom attribute in words.
#[derive(Serialize, Debug)]
pub(super) struct Attribute {
    /// What it is on: its token and its name.
    #[serde(serialize_with = "shown")]
    token: Token,
    on: String,
    /// Its type.
    attribute: String,
    /// What it is given; the bytes in hex where they cannot be told apart.
    arguments: String,
}

/// Reads them.
///
/// # Errors
/// If a name cannot be read.
pub(super) fn read(opts: &Opts, module: &Module<'_, '_>) -> Result<Vec<Attribute>, Error> {
    let places = Places::new(module.metadata);
    let mut attributes = Vec::new();
    for (_, row) in module.metadata.tables.rows::<CustomAttribute>() {
        let token = row.parent.token().unwrap_or_default();
        let attribute = module.metadata.attribute_type_name(&row).unwrap_or_else(|| "?".into());
        attributes.push(Attribute { token, on: places.describe(module, token)?, attribute, arguments: arguments(module, &row)? });
    }
    opts.sort.apply(&mut attributes, |each| (&each.attribute, each.arguments.len() as u64));
    Ok(attributes)
}

/// Prints a line for each: token, place, attribute, arguments.
pub(super) fn print(attributes: &[Attribute], out: &mut impl Write) -> io::Result<()> {
    for Attribute { token, on, attribute, arguments } in attributes {
        writeln!(out, "{token}  {on}  {attribute}{arguments}")?;
    }
    Ok(())
}

/// The types and methods that members and parameters belong to.
struct Places {
    fields: BTreeMap<Rid<Field>, Rid<TypeDef>>,
    params: BTreeMap<Rid<Param>, Rid<MethodDef>>,
    properties: BTreeMap<Rid<Property>, Rid<PropertyMap>>,
    events: BTreeMap<Rid<Event>, Rid<EventMap>>,
}

impl Places {
    fn new(metadata: &Metadata<'_>) -> Self {
        Self {
            fields: rows::owners(metadata, |row: &TypeDef| row.field_list.get()),
            params: rows::owners(metadata, |row: &MethodDef| row.param_list.get()),
            properties: rows::owners(metadata, |row: &PropertyMap| row.property_list.get()),
            events: rows::owners(metadata, |row: &EventMap| row.event_list.get()),
        }
    }

    /// `field Shop.Order::count`
    fn describe(&self, module: &Module<'_, '_>, token: Token) -> Result<String, Error> {
        let metadata = module.metadata;
        let rid = token.rid();
        let member = |word: &str, owner: Rid<TypeDef>, name: &str| format!("{word} {}::{name}", module.type_name_of(owner));
        Ok(match token.table() {
            Some(Table::Assembly) => "assembly".into(),
            Some(Table::Module) => "module".into(),
            Some(Table::TypeDef) => format!("type {}", module.type_name_of(Rid::new(rid))),
            Some(Table::MethodDef) => format!("method {}", module.method_name(Rid::new(rid))),
            Some(Table::Field) => {
                let rid = Rid::<Field>::new(rid);
                let name = metadata.name(metadata.row(rid)?.name)?;
                member("field", self.fields.get(&rid).copied().unwrap_or_default(), &name)
            }
            Some(Table::Property) => {
                let rid = Rid::<Property>::new(rid);
                let name = metadata.name(metadata.row(rid)?.name)?;
                let map = self.properties.get(&rid).and_then(|map| metadata.row(*map).ok());
                member("property", map.map(|map| map.parent).unwrap_or_default(), &name)
            }
            Some(Table::Event) => {
                let rid = Rid::<Event>::new(rid);
                let name = metadata.name(metadata.row(rid)?.name)?;
                let map = self.events.get(&rid).and_then(|map| metadata.row(*map).ok());
                member("event", map.map(|map| map.parent).unwrap_or_default(), &name)
            }
            Some(Table::Param) => {
                let rid = Rid::<Param>::new(rid);
                let row = metadata.row(rid)?;
                let what = if row.sequence == 0 { "result".into() } else { format!("parameter {}", metadata.name(row.name)?) };
                let method = self.params.get(&rid).map(|method| module.method_name(*method)).unwrap_or_default();
                format!("{what} of {method}")
            }
            Some(Table::GenericParam) => {
                let row: GenericParam = metadata.row(Rid::new(rid))?;
                let owner = match row.owner.token() {
                    Some(owner) if owner.table() == Some(Table::MethodDef) => module.method_name(Rid::new(owner.rid())),
                    owner => module.type_name_of(Rid::new(owner.unwrap_or_default().rid())).to_owned(),
                };
                format!("generic parameter {} of {owner}", metadata.name(row.name)?)
            }
            Some(Table::InterfaceImpl) => {
                let row: InterfaceImpl = metadata.row(Rid::new(rid))?;
                format!("interface of {}", module.type_name_of(row.class))
            }
            Some(table) => table.name().to_owned(),
            None => "nothing".into(),
        })
    }
}

/// What an attribute is given: `("text", Name = 5)`, or nothing.
fn arguments(module: &Module<'_, '_>, row: &CustomAttribute) -> Result<String, Error> {
    let bytes = module.metadata.blob(row.value)?;
    let Some(value) = value(module, row) else {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return Ok(if hex.is_empty() { String::new() } else { format!("(bytes {})", hex.join(" ")) });
    };
    let named = value.named.iter().map(|named| format!("{} = {}", named.name, text(&named.argument)));
    let arguments: Vec<String> = value.fixed.iter().map(text).chain(named).collect();
    Ok(if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) })
}

/// The value, if the bytes can be told apart: enumerations of elsewhere are taken for `int32`, which most are.
fn value(module: &Module<'_, '_>, row: &CustomAttribute) -> Option<AttributeValue> {
    let metadata = module.metadata;
    let constructor = row.constructor.token()?;
    let signature = match constructor.rid_in::<MemberRef>() {
        Some(rid) => metadata.row(rid).ok()?.signature,
        None => metadata.row(constructor.rid_in::<MethodDef>()?).ok()?.signature,
    };
    let Ok(Signature::Method(signature)) = Signature::parse(metadata.blobs.blob(signature).ok()?) else { return None };
    let value = AttributeValue::parse(metadata.blobs.blob(row.value).ok()?, &signature, &Types { module }).ok()?;
    let mut written = Vec::new();
    value.write(&mut written);
    (metadata.blob(row.value) == Ok(&written[..])).then_some(value)
}

struct Types<'t, 'a, 'm> {
    module: &'t Module<'a, 'm>,
}

impl Types<'_, '_, '_> {
    /// What an enumeration of this module consists of: its one field that belongs to instances.
    fn own_enum(&self, rid: Rid<TypeDef>) -> Option<ElementType> {
        let fields: Vec<Rid<Field>> = rows::run(self.module.metadata, rid, |row: &TypeDef| row.field_list.get());
        let row = fields.iter().find_map(|field| {
            let row = self.module.metadata.row(*field).ok()?;
            (self.module.metadata.name(row.name).ok()? == "value__").then_some(row)
        })?;
        match Signature::parse(self.module.metadata.blobs.blob(row.signature).ok()?).ok()? {
            Signature::Field(ecma335::signature::TypeSig::Element(element)) => Some(element),
            _ => None,
        }
    }
}

impl AttributeTypes for Types<'_, '_, '_> {
    fn enum_of(&self, token: TypeDefOrRef) -> Option<ElementType> {
        let own = token.token().and_then(Token::rid_in::<TypeDef>).and_then(|rid| self.own_enum(rid));
        own.or(Some(ElementType::I4))
    }

    fn enum_named(&self, name: &str) -> Option<ElementType> {
        let path = name.split(',').next().unwrap_or_default().replace('+', "/");
        let index = self.module.types.iter().position(|each| *each == path);
        let own = index.and_then(|index| self.own_enum(Rid::new(index as u32 + 1)));
        own.or(Some(ElementType::I4))
    }

    fn is_system_type(&self, token: TypeDefOrRef) -> bool {
        token.token().is_some_and(|token| super::type_text(self.module, token).ends_with("System.Type"))
    }
}

fn text(argument: &Argument) -> String {
    match argument {
        Argument::Boolean(value) => value.to_string(),
        Argument::Char(unit) => format!("{:?}", char::from_u32((*unit).into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
        Argument::Integer(_, value) => value.to_string(),
        Argument::R4(value) => value.to_string(),
        Argument::R8(value) => value.to_string(),
        Argument::String(Some(text)) => format!("{text:?}"),
        Argument::Type(Some(name)) => format!("typeof({name})"),
        Argument::String(None) | Argument::Type(None) | Argument::Array(None) => "null".into(),
        Argument::Array(Some(values)) => format!("{{ {} }}", values.iter().map(text).collect::<Vec<_>>().join(", ")),
        Argument::Object(_, value) => text(value),
    }
}
