//! Full names of rows, for findings. They are built only when there is a finding.

use std::convert::Infallible;

use ecma335::{
    MAX_NESTING, Metadata, Rid, Table, Token,
    schema::{
        AssemblyRef, Event, ExportedType, File, GenericParam, ManifestResource, MemberRef, MethodSpec, ModuleRef, Property, Str,
        TypeDef, TypeRef,
    },
};

use crate::model::{Model, at};

/// Names the rows of one module.
pub(crate) struct Names<'m> {
    metadata: &'m Metadata<'m>,
    model: &'m Model,
}

impl<'m> Names<'m> {
    pub(crate) fn new(metadata: &'m Metadata<'m>, model: &'m Model) -> Self {
        Self { metadata, model }
    }

    /// The name of a row. Empty if it has none.
    pub(crate) fn name_of(&self, token: Token) -> String {
        self.find(token).unwrap_or_default()
    }

    fn find(&self, token: Token) -> Option<String> {
        let (metadata, rid) = (self.metadata, token.rid());
        Some(match token.table()? {
            Table::TypeDef => self.type_name(rid),
            Table::TypeRef => metadata.type_ref_name(Rid::<TypeRef>::new(rid)).ok()?,
            Table::Field => {
                let row = at(&self.model.fields, rid)?;
                self.member(at(&self.model.field_owners, rid)?, row.name)
            }
            Table::MethodDef => {
                let row = at(&self.model.methods, rid)?;
                self.member(at(&self.model.method_owners, rid)?, row.name)
            }
            Table::Param => {
                let row = at(&self.model.params, rid)?;
                let owner = self.name_of(Token::new(Table::MethodDef, at(&self.model.param_owners, rid)?));
                format!("{owner}({})", self.text(row.name))
            }
            Table::Event => {
                let row: Event = metadata.row(Rid::new(rid)).ok()?;
                self.member(at(&self.model.event_owners, rid)?, row.name)
            }
            Table::Property => {
                let row: Property = metadata.row(Rid::new(rid)).ok()?;
                self.member(at(&self.model.property_owners, rid)?, row.name)
            }
            Table::MemberRef => {
                let row: MemberRef = metadata.row(Rid::new(rid)).ok()?;
                let parent = row.class.token().filter(|parent| parent.table() != Some(Table::MethodDef));
                format!("{}::{}", parent.map(|parent| self.name_of(parent)).unwrap_or_default(), self.text(row.name))
            }
            Table::MethodSpec => self.name_of(metadata.row(Rid::<MethodSpec>::new(rid)).ok()?.method.token()?),
            Table::GenericParam => {
                let row: GenericParam = metadata.row(Rid::new(rid)).ok()?;
                format!("{}<{}>", self.name_of(row.owner.token()?), self.text(row.name))
            }
            Table::ExportedType => {
                let row: ExportedType = metadata.row(Rid::new(rid)).ok()?;
                ecma335::metadata::join(&self.text(row.namespace), &self.text(row.name))
            }
            Table::ModuleRef => self.text(metadata.row(Rid::<ModuleRef>::new(rid)).ok()?.name),
            Table::AssemblyRef => self.text(metadata.row(Rid::<AssemblyRef>::new(rid)).ok()?.name),
            Table::File => self.text(metadata.row(Rid::<File>::new(rid)).ok()?.name),
            Table::ManifestResource => self.text(metadata.row(Rid::<ManifestResource>::new(rid)).ok()?.name),
            _ => return None,
        })
    }

    fn member(&self, owner: u32, name: Str) -> String {
        format!("{}::{}", self.type_name(owner), self.text(name))
    }

    fn type_name(&self, rid: u32) -> String {
        let chain = std::iter::successors(Some(rid), |rid| at(&self.model.enclosing, *rid).map(Rid::get));
        let rows = chain.take(MAX_NESTING + 1).map_while(|rid| at(&self.model.types, rid));
        let name = |row: TypeDef| ecma335::metadata::join(&self.text(row.namespace), &self.text(row.name));
        ecma335::names::nested(rows.map(|row| Ok::<_, Infallible>(name(row)))).unwrap_or_default()
    }

    fn text(&self, index: Str) -> String {
        self.metadata.name(index).unwrap_or_default()
    }
}
