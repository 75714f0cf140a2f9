//! Custom attributes, their owners, and their arguments.

use std::io::{self, Write};

use ecma335::{
    Error, Metadata, Rid, Table, Token,
    lists::ListOwners,
    schema::{
        CustomAttribute, Event, EventMap, Field, GenericParam, InterfaceImpl, MethodDef, Param, Property, PropertyMap, TypeDef,
    },
};
use names::Visible;
use serde::Serialize;

use super::{module::Module, options::Sort, token_text::token_text};
use crate::attribute_values::AttributeValues;

/// A custom attribute, as text.
#[derive(Serialize, Debug)]
pub struct Attribute {
    /// The token of its owner.
    #[serde(serialize_with = "token_text")]
    pub token: Token,
    /// The owner: `method Shop.Order::Add`.
    pub on: String,
    /// The attribute's type.
    pub attribute: String,
    /// Its value (II.23.3). The bytes in hex, if they cannot be parsed.
    pub arguments: String,
}

/// Reads all attributes.
///
/// # Errors
/// If a name cannot be read.
pub(crate) fn read(module: &Module<'_, '_>, sort: Sort) -> Result<Vec<Attribute>, Error> {
    let (places, values) = (Places::new(module.metadata), AttributeValues::new(module.metadata));
    let mut attributes = Vec::new();
    for (_, row) in module.metadata.tables.rows::<CustomAttribute>() {
        let token = row.parent.token().unwrap_or_default();
        let attribute = module.metadata.attribute_type_name(&row).unwrap_or_else(|| "?".into());
        attributes.push(Attribute { token, on: places.describe(module, token)?, attribute, arguments: values.text(&row)? });
    }
    sort.apply(&mut attributes, |each| (&each.attribute, each.arguments.len() as u64));
    Ok(attributes)
}

/// Prints a line for each attribute: token, owner, attribute, arguments.
pub(crate) fn print(attributes: &[Attribute], out: &mut impl Write) -> io::Result<()> {
    for Attribute { token, on, attribute, arguments } in attributes {
        writeln!(out, "{}", Visible(format_args!("{token}  {on}  {attribute}{arguments}")))?;
    }
    Ok(())
}

/// The owners of members and parameters.
struct Places {
    fields: ListOwners<TypeDef, Field>,
    params: ListOwners<MethodDef, Param>,
    properties: ListOwners<PropertyMap, Property>,
    events: ListOwners<EventMap, Event>,
}

impl Places {
    fn new(metadata: &Metadata<'_>) -> Self {
        Self { fields: metadata.owners(), params: metadata.owners(), properties: metadata.owners(), events: metadata.owners() }
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
                member("field", self.fields.owner_of(rid).unwrap_or_default(), &name)
            }
            Some(Table::Property) => {
                let rid = Rid::<Property>::new(rid);
                let name = metadata.name(metadata.row(rid)?.name)?;
                let map = self.properties.owner_of(rid).and_then(|map| metadata.row(map).ok());
                member("property", map.map(|map| map.parent).unwrap_or_default(), &name)
            }
            Some(Table::Event) => {
                let rid = Rid::<Event>::new(rid);
                let name = metadata.name(metadata.row(rid)?.name)?;
                let map = self.events.owner_of(rid).and_then(|map| metadata.row(map).ok());
                member("event", map.map(|map| map.parent).unwrap_or_default(), &name)
            }
            Some(Table::Param) => {
                let rid = Rid::<Param>::new(rid);
                let row = metadata.row(rid)?;
                let what = if row.sequence == 0 { "result".into() } else { format!("parameter {}", metadata.name(row.name)?) };
                let method = self.params.owner_of(rid).map(|method| module.method_name(method)).unwrap_or_default();
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
