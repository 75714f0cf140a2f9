//! The ownership in a module: nested types, accessors of properties and events, and source methods of
//! compiler-generated items.

use std::collections::BTreeMap;

use ecma335::{
    Error, Rid, Table, Token,
    schema::{Event, EventMap, MethodDef, MethodSemantics, Property, PropertyMap, TypeDef},
    signature::Signature,
};

use super::{module::Module, owners::Owners};
use crate::lines::listed;

pub(crate) struct Feature {
    pub(crate) token: Token,
    pub(crate) name: String,
    /// `instance string Name`
    pub(crate) signature: String,
    pub(crate) accessors: Vec<Rid<MethodDef>>,
}

/// The ownership in a module.
pub(crate) struct Structure {
    pub(crate) enclosing: Vec<Rid<TypeDef>>,
    pub(crate) owners: Owners,
    /// Properties and events by their type.
    pub(crate) features: BTreeMap<Rid<TypeDef>, Vec<Feature>>,
    /// The property or event of an accessor.
    pub(crate) accessor_of: BTreeMap<Rid<MethodDef>, Token>,
}

impl Structure {
    /// Reads the ownership.
    ///
    /// # Errors
    /// If the name of a property or event cannot be read.
    pub(crate) fn new(module: &Module<'_, '_>) -> Result<Self, Error> {
        let metadata = module.metadata;
        let mut accessors: BTreeMap<Token, Vec<Rid<MethodDef>>> = BTreeMap::new();
        let mut accessor_of = BTreeMap::new();
        for (_, row) in metadata.tables.rows::<MethodSemantics>() {
            let Some(association) = row.association.token() else { continue };
            accessors.entry(association).or_default().push(row.method);
            accessor_of.entry(row.method).or_insert(association);
        }
        let mut features: BTreeMap<Rid<TypeDef>, Vec<Feature>> = BTreeMap::new();
        let mut add = |owner, token, name: String, signature: String| {
            let accessors = accessors.remove(&token).unwrap_or_default();
            features.entry(owner).or_default().push(Feature { token, name, signature, accessors });
        };
        for (rid, map) in metadata.owners::<PropertyMap, Property>().iter() {
            let row = metadata.row(rid)?;
            let name = metadata.name(row.name)?;
            let signature = property_text(module, &row, &name)?;
            add(metadata.row(map)?.parent, Token::new(Table::Property, rid.get()), name, signature);
        }
        for (rid, map) in metadata.owners::<EventMap, Event>().iter() {
            let row = metadata.row(rid)?;
            let name = metadata.name(row.name)?;
            let kind = row.event_type.token().map(|token| module.type_text(token)).unwrap_or_default();
            add(metadata.row(map)?.parent, Token::new(Table::Event, rid.get()), name.clone(), format!("{kind} {name}"));
        }
        // An accessor of a property or event that no type lists is an ordinary method.
        accessor_of.retain(|_, feature| !accessors.contains_key(feature));
        Ok(Self { enclosing: metadata.enclosing_types(), owners: Owners::find(module), features, accessor_of })
    }
}

/// `instance string Name`, `instance string Item(int32)`
fn property_text(module: &Module<'_, '_>, row: &Property, name: &str) -> Result<String, Error> {
    let Ok(Signature::Property(signature)) = Signature::parse(module.metadata.blobs.blob(row.signature)?) else {
        return Ok(name.to_owned());
    };
    let instance = if signature.has_this { "instance " } else { "" };
    let params = listed(signature.params.iter().map(|param| param.display(module).to_string()));
    let params = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
    Ok(format!("{instance}{} {name}{params}", signature.property_type.display(module)))
}
