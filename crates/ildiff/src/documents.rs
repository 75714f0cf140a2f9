//! Compares the PDBs' facts outside of methods: documents, the module and its types.

use std::collections::{BTreeMap, BTreeSet};

use ecma335::{
    Table, Token,
    heap::format_guid,
    schema::{CustomDebugInformation, Document},
};

use super::{
    lines::Text,
    model::{Change, Kind, Status},
    pdb::Pdb,
};
use disasm::{lines::one_line, names::Names};

/// Compares the PDBs' facts outside of methods.
pub(crate) fn compare(old: (&Pdb<'_>, &Names<'_, '_>), new: (&Pdb<'_>, &Names<'_, '_>), changes: &mut Vec<Change>) {
    let (old_documents, mut new_documents) = (documents(old.0, old.1), documents(new.0, new.1));
    for (name, text) in old_documents {
        match new_documents.remove(name) {
            Some(new_text) => changes.extend(Change::between(Kind::Document, name, &text, &new_text)),
            None => changes.push(Change::whole(Kind::Document, name, Status::Removed, &text)),
        }
    }
    changes.extend(new_documents.iter().map(|(name, text)| Change::whole(Kind::Document, name, Status::Added, text)));
    changes.extend(Change::between(Kind::Header, "of the PDB", &module_text(old.0, old.1), &module_text(new.0, new.1)));
}

/// Documents by name, each with its properties.
fn documents<'d>(pdb: &'d Pdb<'_>, names: &Names<'_, '_>) -> BTreeMap<&'d str, Text> {
    let mut documents: BTreeMap<&str, Text> = BTreeMap::new();
    for ((rid, row), name) in pdb.metadata.tables.rows::<Document>().zip(&pdb.documents) {
        let text = documents.entry(name).or_default();
        let words = |index| pdb.metadata.guids.guid(index).ok().flatten().map_or("none".into(), document_word);
        text.push(0, format!("language: {}", words(row.language)));
        let hash = hex::encode_upper(pdb.metadata.blob(row.hash).unwrap_or_default());
        text.push(0, format!("hash: {} {hash}", words(row.hash_algorithm)));
        pdb.custom(names, Token::new(Table::Document, rid.get()), &mut |line, _| text.push(0, line));
    }
    documents
}

/// The entry point, and the custom debug information of the module, types, fields and other rows.
fn module_text(pdb: &Pdb<'_>, names: &Names<'_, '_>) -> Text {
    let mut text = Text::default();
    let entry_point = pdb.metadata.pdb.as_ref().map_or(Token::default(), |pdb| pdb.entry_point);
    let entry_point = if entry_point.rid() == 0 { Ok("none".into()) } else { names.open_method(entry_point) };
    text.push(0, format!("entry point: {}", entry_point.unwrap_or_else(|error| one_line(error.kind()))));
    let parents = pdb.metadata.tables.rows::<CustomDebugInformation>().filter_map(|(_, row)| row.parent.token());
    let parents: BTreeSet<Token> = parents.collect();
    let is_shown = |token: &Token| match token.table() {
        None | Some(Table::MethodDef) => false,
        Some(table) => (table as u8) < Table::Document as u8,
    };
    for parent in parents.into_iter().filter(is_shown) {
        let owner = match parent.table() {
            Some(Table::TypeDef) => names.type_ref(parent).unwrap_or_else(|_| parent.to_string()),
            Some(Table::Field) => names.field(parent).unwrap_or_else(|_| parent.to_string()),
            Some(Table::Module) => "module".into(),
            Some(Table::Assembly) => "assembly".into(),
            _ => parent.to_string(),
        };
        pdb.custom(names, parent, &mut |line, _| text.push(0, format!("{owner}: {line}")));
    }
    text
}

/// The names of languages and hash algorithms by their GUIDs.
fn document_word(kind: [u8; 16]) -> String {
    let text = format_guid(&kind);
    let known = match text.to_ascii_lowercase().as_str() {
        "3f5162f8-07c6-11d3-9053-00c04fa302a1" => "C#",
        "3a12d0b8-c26c-11d0-b442-00a0244a1dd2" => "Visual Basic",
        "ab4f38c9-b6e6-43ba-be3b-58080b2ccce3" => "F#",
        "ff1816ec-aa5e-4d10-87f7-6f4963833460" => "SHA-1",
        "8829d00f-11b8-4213-878b-770e8597ac16" => "SHA-256",
        _ => return text,
    };
    known.into()
}
