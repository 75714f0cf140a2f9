//! Full names of types, which include the names of their enclosing types. They can be far longer than the file's own
//! names, and many rows may share a long one. So they are made on demand, and bounded.

use crate::{
    element::ElementType,
    error::Result,
    heap::{LEFT_OUT, MAX_NAME},
    metadata::{Metadata, join},
    schema::{MemberRef, NestedClass, Str, Table, TypeDef, TypeDefOrRef, TypeRef, TypeSpec},
    token::{Rid, Token},
};

/// The maximum number of enclosing types in a full name. A longer chain is a cycle.
pub const MAX_NESTING: usize = 64;

/// The maximum length of a full name with its enclosing types, in bytes. Real ones have hundreds.
const MAX_FULL_NAME: usize = 4 * MAX_NAME;

/// The names of the types that a module defines.
#[derive(Clone, Debug)]
pub struct FullNames<'a, 'm> {
    metadata: &'m Metadata<'a>,
    enclosing: Vec<Rid<TypeDef>>,
}

impl<'a, 'm> FullNames<'a, 'm> {
    pub(crate) fn new(metadata: &'m Metadata<'a>) -> Self {
        Self { metadata, enclosing: metadata.enclosing_types() }
    }

    /// All types, in the order of their rows.
    pub fn types(&self) -> impl Iterator<Item = Rid<TypeDef>> + use<> {
        (1..=self.enclosing.len() as u32).map(Rid::new)
    }

    /// The enclosing type of a nested one. None for other types.
    pub fn enclosing(&self, rid: Rid<TypeDef>) -> Option<Rid<TypeDef>> {
        let index = (rid.get() as usize).checked_sub(1)?;
        self.enclosing.get(index).copied().filter(|outer| !outer.is_none())
    }

    /// A type and its enclosing types, the innermost first. A chain that is too long ends one type after the limit of
    /// names.
    pub fn chain(&self, rid: Rid<TypeDef>) -> impl Iterator<Item = Rid<TypeDef>> + '_ {
        std::iter::successors(Some(rid), |rid| self.enclosing(*rid)).take(MAX_NESTING + 1)
    }

    /// A type's full name: `Namespace.Outer/Inner`. Empty for a row that does not exist.
    ///
    /// # Errors
    /// If one of its parts cannot be read.
    pub fn name_of(&self, rid: Rid<TypeDef>) -> Result<String> {
        if rid.is_none() || rid.get() as usize > self.enclosing.len() {
            return Ok(String::new());
        }
        nested(self.chain(rid).map(|rid| self.metadata.simple_type_name(rid)))
    }
}

impl<'a> Metadata<'a> {
    /// The full names of all types, made on demand.
    pub fn full_names(&self) -> FullNames<'a, '_> {
        FullNames::new(self)
    }

    /// The enclosing type of every type, by its row number less one. None for types that are not nested.
    pub fn enclosing_types(&self) -> Vec<Rid<TypeDef>> {
        let mut enclosing = vec![Rid::NONE; self.tables.count(Table::TypeDef) as usize];
        for (_, row) in self.tables.rows::<NestedClass>() {
            if let Some(slot) = (row.nested_class.get() as usize).checked_sub(1).and_then(|index| enclosing.get_mut(index)) {
                *slot = row.enclosing_class;
            }
        }
        enclosing
    }

    /// Checks that the names of all types can be read.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn check_type_names(&self) -> Result<()> {
        let mut rows = self.tables.rows::<TypeDef>();
        rows.try_for_each(|(_, row)| self.strings.check(row.namespace).and_then(|()| self.strings.check(row.name)))
    }

    /// The full name of a TypeRef, without its scope: `Namespace.Outer/Inner`.
    pub fn type_ref_name(&self, rid: Rid<TypeRef>) -> Result<String> {
        nested(self.type_ref_chain(rid).map(|row| {
            let row = row?;
            self.joined(row.namespace, row.name)
        }))
    }

    /// Whether a TypeDef is a value type, by its base type (II.13). None if the row does not exist.
    pub fn is_value_type(&self, rid: Rid<TypeDef>) -> Option<bool> {
        let row = self.row(rid).ok()?;
        let names = |token: Token| match token.table()? {
            Table::TypeRef => self.row(token.rid_in::<TypeRef>()?).ok().map(|row| (row.namespace, row.name)),
            _ => self.row(token.rid_in::<TypeDef>()?).ok().map(|row| (row.namespace, row.name)),
        };
        let base = row.extends.token().filter(|token| token.rid() != 0).and_then(names);
        let is = |(namespace, name): (Str, Str), text: &[u8]| {
            self.strings.string_bytes(name) == Ok(text) && self.strings.string_bytes(namespace) == Ok(b"System")
        };
        // `System.Enum` extends `System.ValueType`, but is a class.
        let extends_value = |base| is(base, b"Enum") || is(base, b"ValueType") && !is((row.namespace, row.name), b"Enum");
        Some(!row.is_interface() && base.is_some_and(extends_value))
    }

    /// A TypeRef and its enclosing ones, the innermost first. A chain that is too long ends one row after the limit
    /// of names.
    pub fn type_ref_chain(&self, rid: Rid<TypeRef>) -> impl Iterator<Item = Result<TypeRef>> + '_ {
        let outer = |row: &Result<TypeRef>| Some(self.row(row.as_ref().ok()?.resolution_scope.token()?.rid_in()?));
        std::iter::successors(Some(self.row(rid)), outer).take(MAX_NESTING + 1)
    }

    /// The full name of one TypeDef, without computing those of others.
    pub(crate) fn type_def_name(&self, rid: Rid<TypeDef>) -> Result<String> {
        nested(
            std::iter::successors(Some(rid), |rid| self.enclosing_type(*rid))
                .take(MAX_NESTING + 1)
                .map(|rid| self.simple_type_name(rid)),
        )
    }

    /// The enclosing type of one type. A table without the sorted flag is searched from its start.
    fn enclosing_type(&self, rid: Rid<TypeDef>) -> Option<Rid<TypeDef>> {
        let of = |number: u32| self.row(Rid::<NestedClass>::new(number)).ok();
        let is_it = |row: &NestedClass| row.nested_class == rid;
        if !self.tables.is_sorted(Table::NestedClass) {
            return self.tables.rows::<NestedClass>().map(|(_, row)| row).find(is_it).map(|row| row.enclosing_class);
        }
        let (mut low, mut high) = (1, self.tables.count(Table::NestedClass) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if of(middle)?.nested_class.get() < rid.get() { low = middle + 1 } else { high = middle }
        }
        of(low).filter(is_it).map(|row| row.enclosing_class)
    }

    pub(crate) fn simple_type_name(&self, rid: Rid<TypeDef>) -> Result<String> {
        let row = self.row(rid)?;
        self.joined(row.namespace, row.name)
    }

    fn joined(&self, namespace: Str, name: Str) -> Result<String> {
        Ok(join(&self.strings.string(namespace)?, &self.strings.string(name)?))
    }

    /// The name of the assembly that a TypeRef's outermost type comes from, if it has one.
    pub fn assembly_of(&self, rid: Rid<TypeRef>) -> Option<String> {
        let outermost = self.type_ref_chain(rid).last()?.ok()?;
        let assembly: crate::schema::AssemblyRef = self.row(outermost.resolution_scope.token().and_then(Token::rid_in)?).ok()?;
        self.name(assembly.name).ok()
    }

    /// The declaring type of a MemberRef (II.22.25), or the generic type that it is an instance of. `None` if this module defines the
    /// type.
    pub fn class_of_reference(&self, row: &MemberRef) -> Option<Rid<TypeRef>> {
        let class = row.class.token()?;
        let Some(spec) = class.rid_in::<TypeSpec>() else { return class.rid_in() };
        let mut cursor = self.blobs.blob(self.row(spec).ok()?.signature).ok()?;
        if cursor.u8().ok()? != ElementType::GenericInst as u8 {
            return None;
        }
        cursor.u8().ok()?;
        TypeDefOrRef(cursor.compressed_u32().ok()?).token()?.rid_in()
    }
}

/// A nested type's name, from its parts, the innermost first. Parts beyond the limit are omitted, except the
/// innermost.
///
/// # Errors
/// The first error among the parts.
pub fn nested<E>(parts: impl Iterator<Item = Result<String, E>>) -> Result<String, E> {
    let mut name = String::new();
    for (depth, part) in parts.enumerate() {
        let part = part?;
        if depth > 0 && (depth == MAX_NESTING || name.len() + part.len() > MAX_FULL_NAME) {
            return Ok(format!("{LEFT_OUT}/{name}"));
        }
        name = if depth == 0 { part } else { format!("{part}/{name}") };
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_as_many_parts_as_there_is_room_for() {
        let name = |parts: &[&str]| nested(parts.iter().map(|part| Ok::<_, ()>((*part).to_owned()))).unwrap();
        assert_eq!(name(&["In", "Out", "N.A"]), "N.A/Out/In");
        assert_eq!(name(&[]), "");
        let long = "x".repeat(MAX_FULL_NAME);
        assert_eq!(name(&["In", &long, "N.A"]), "…/In");
        assert_eq!(name(&[&long, "A"]), format!("…/{long}"));
        let endless = nested((0..).map(|_| Ok::<_, ()>("A".into()))).unwrap();
        assert_eq!(endless, format!("…/{}", vec!["A"; MAX_NESTING].join("/")));
    }
}
