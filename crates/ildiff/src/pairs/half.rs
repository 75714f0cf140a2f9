//! The data of one of the two modules for pairing.

use std::collections::{BTreeMap, HashMap};

use ecma335::{
    Rid, Table, Token,
    schema::{Field, MethodDef, Str, TypeDef},
};

use super::super::{
    generated_names,
    shape::{self, Mentions, Room},
};
use disasm::names::Names;

pub(super) struct Half<'n, 'a, 'm> {
    pub(super) names: &'n Names<'a, 'm>,
    pub(super) mentions: Option<Mentions>,
    pub(super) room: Room,
    /// The nested types of each type. Number 0 has the top-level types.
    pub(super) nested: BTreeMap<u32, Vec<Rid<TypeDef>>>,
}

impl<'n, 'a, 'm> Half<'n, 'a, 'm> {
    pub(super) fn new(names: &'n Names<'a, 'm>) -> Self {
        let mut nested: BTreeMap<u32, Vec<Rid<TypeDef>>> = BTreeMap::new();
        for (rid, outer) in (1..).map(Rid::new).zip(names.metadata.enclosing_types()) {
            nested.entry(outer.get()).or_default().push(rid);
        }
        Self { names, mentions: None, room: Room::default(), nested }
    }

    pub(super) fn text(&self, index: ecma335::Result<Str>) -> String {
        index.and_then(|index| self.names.metadata.name(index)).unwrap_or_default()
    }

    pub(super) fn type_name(&self, rid: Rid<TypeDef>) -> String {
        self.text(self.names.metadata.row(rid).map(|row| row.name))
    }

    pub(super) fn method_name(&self, rid: Rid<MethodDef>) -> String {
        self.text(self.names.metadata.row(rid).map(|row| row.name))
    }

    pub(super) fn is_generated_type(&self, rid: Rid<TypeDef>) -> bool {
        !self.names.is_module_type(rid)
            && (self.names.around(rid).into_iter().chain([rid]))
                .any(|each| generated_names::stem(&self.type_name(each)).is_some())
    }

    pub(super) fn is_generated_method(&self, rid: Rid<MethodDef>) -> bool {
        generated_names::stem(&self.method_name(rid)).is_some() || self.is_generated_type(self.names.method_owner(rid))
    }

    pub(super) fn types(&self) -> impl Iterator<Item = Rid<TypeDef>> + use<> {
        (1..=self.names.metadata.tables.count(Table::TypeDef)).map(Rid::new)
    }

    /// Reads the mentions in all methods.
    pub(super) fn find_mentions(&mut self) {
        if self.mentions.is_none() {
            let mut generated_types: HashMap<Rid<TypeDef>, bool> = HashMap::new();
            for rid in self.types() {
                generated_types.insert(rid, self.is_generated_type(rid));
            }
            let is_generated_type = |rid: Rid<TypeDef>| generated_types.get(&rid).copied().unwrap_or_default();
            let is_generated =
                |rid| is_generated_type(self.names.method_owner(rid)) || generated_names::stem(&self.method_name(rid)).is_some();
            self.mentions = Some(Mentions::find(self.names, is_generated_type, is_generated));
        }
    }

    /// The shape of a method. Without code, that of its name.
    pub(super) fn method_shape(&self, rid: Rid<MethodDef>) -> shape::Shape {
        let shape = shape::of_method(self.names, rid, &self.room);
        if shape.len() == 0 { shape::of_text(&self.method_name(rid)) } else { shape }
    }

    /// A field's flags, type and value, as text.
    pub(super) fn field_text(&self, rid: Rid<Field>) -> String {
        let metadata = self.names.metadata;
        let Ok(row) = metadata.row(rid) else { return String::new() };
        let field = self.names.field(Token::from(rid)).unwrap_or_default();
        // The owner follows the type, and is the same.
        let kind = field.rsplit_once(' ').map_or("", |(kind, _)| kind);
        let value = self.names.by_parent.constants.first::<ecma335::schema::Constant>(metadata, Token::from(rid).0);
        let value = value.map(|row| hex::encode(metadata.blob(row.value).unwrap_or_default()));
        format!("{:x} {kind} {value:?}", row.flags)
    }
}
