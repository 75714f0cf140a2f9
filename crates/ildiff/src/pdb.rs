//! The portable PDB of one of the two modules.

use ecma335::{
    Cursor, FileOffset, Metadata, Result, Rid, Table, Token,
    pdb::document_name,
    schema::{CustomDebugInformation, Document, LocalScope, MethodDef, StateMachineMethod, TypeDefOrRef},
};

use disasm::{lines::one_line, names::Names, parent_index::ParentIndex};

/// A PDB with indexes by owner.
pub(crate) struct Pdb<'p> {
    pub(crate) metadata: Metadata<'p>,
    /// Scopes by MethodDef.
    pub(crate) scopes: ParentIndex,
    /// The kickoff methods of state machines, by their `MoveNext`.
    pub(crate) kickoffs: ParentIndex,
    /// Custom debug information by token.
    pub(crate) custom: ParentIndex,
    /// The documents' names by row number less one.
    pub(crate) documents: Vec<String>,
}

impl<'p> Pdb<'p> {
    pub(crate) fn parse(bytes: &'p [u8]) -> Result<Self> {
        let metadata = Metadata::parse(Cursor::new(bytes, FileOffset(0)))?;
        let name = |row: Document| document_name(&metadata, &row).unwrap_or_else(|error| one_line(error.kind()));
        Ok(Self {
            scopes: ParentIndex::new(&metadata, |row: &LocalScope| row.method.get()),
            kickoffs: ParentIndex::new(&metadata, |row: &StateMachineMethod| row.move_next_method.get()),
            custom: ParentIndex::new(&metadata, |row: &CustomDebugInformation| row.parent.token().map_or(0, |token| token.0)),
            documents: metadata.tables.rows::<Document>().map(|(_, row)| name(row)).collect(),
            metadata,
        })
    }

    pub(crate) fn document(&self, rid: Rid<Document>) -> &str {
        (rid.get() as usize).checked_sub(1).and_then(|index| self.documents.get(index)).map_or("no document", String::as_str)
    }
}

/// A method, formatted as a reference.
pub(crate) fn method_name(names: &Names<'_, '_>, method: Rid<MethodDef>) -> String {
    let token = Token::new(Table::MethodDef, method.get());
    names.open_method(token).unwrap_or_else(|error| one_line(error.kind()))
}

/// A type, formatted as a reference.
pub(crate) fn type_name(names: &Names<'_, '_>, token: u32) -> String {
    let name = TypeDefOrRef(token).token().map(|token| names.type_ref(token));
    name.unwrap_or_else(|| Ok("no type".into())).unwrap_or_else(|error| one_line(error.kind()))
}
