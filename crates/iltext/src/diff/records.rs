//! What a portable PDB says by name: imports, custom records, documents, and what is said of the module.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use ecma335::{
    Result, Rid, Table, Token,
    heap::format_guid,
    pdb::{self, AsyncStepping, Import, ImportTarget, PdbId, custom_debug_information as kinds},
    schema::{AssemblyRef, CustomDebugInformation, Document, ImportScope},
};

use super::{
    debug::{Debug, method_name, type_name},
    lines::{PLACE, Text},
    model::{Change, How, Kind},
    module::bytes,
};
use crate::dis::{
    lines::one_line,
    names::{MAX_NESTING, Names},
    quote,
};

impl Debug<'_> {
    /// What a scope and those around it import.
    pub(super) fn imports(&self, names: &Names<'_, '_>, scope: Rid<ImportScope>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = scope;
        while let Ok(row) = self.metadata.row(next) {
            if lines.len() > MAX_NESTING {
                break;
            }
            let imports = match pdb::imports(&self.metadata, &row) {
                Ok(imports) => imports.iter().map(|each| import(names, each)).collect::<Vec<_>>().join("; "),
                Err(error) => one_line(error.kind()),
            };
            if !imports.is_empty() {
                lines.push(format!("{}: {imports}", if next == scope { "imports" } else { "imports around" }));
            }
            self.custom(names, Token::new(Table::ImportScope, next.get()), &mut |line, _| lines.push(line));
            next = row.parent;
        }
        lines
    }

    /// The custom records of something, each with the offsets it names.
    pub(super) fn custom(&self, names: &Names<'_, '_>, owner: Token, add: &mut dyn FnMut(String, &[u32])) {
        for rid in self.custom.of::<CustomDebugInformation>(owner.0) {
            let Ok(row) = self.metadata.row(rid) else { continue };
            if let Err(error) = self.custom_row(names, &row, add) {
                add(format!("custom debug information that cannot be read: {}", one_line(error.kind())), &[]);
            }
        }
    }

    fn custom_row(&self, names: &Names<'_, '_>, row: &CustomDebugInformation, add: &mut dyn FnMut(String, &[u32])) -> Result<()> {
        let kind = self.metadata.guids.guid(row.kind)?.unwrap_or_default();
        let mut value = self.metadata.blobs.blob(row.value)?;
        let word = kinds::name(kind).map_or_else(|| Cow::Owned(format_guid(&kind)), Cow::Borrowed);
        match kind {
            kinds::ASYNC_METHOD_STEPPING => {
                let stepping = AsyncStepping::parse(value)?;
                if let Some(handler) = stepping.catch_handler {
                    add(format!("catches at {PLACE} what nobody else does"), &[handler]);
                }
                for (yields, goes_on, method) in stepping.awaits {
                    add(format!("awaits at {PLACE}, goes on at {PLACE} of {}", method_name(names, method)), &[yields, goes_on]);
                }
            }
            kinds::STATE_MACHINE_HOISTED_LOCAL_SCOPES => {
                for (number, (start, length)) in pdb::hoisted_local_scopes(value)?.into_iter().enumerate() {
                    match (start, length) {
                        (0, 0) => add(format!("hoisted local {} has no scope", number + 1), &[]),
                        _ => add(
                            format!("scope {PLACE} to {PLACE}: hoisted local {}", number + 1),
                            &[start, start.saturating_add(length)],
                        ),
                    }
                }
            }
            kinds::TYPE_DEFINITION_DOCUMENTS => {
                let mut documents = Vec::new();
                while !value.is_empty() {
                    documents.push(self.document(Rid::new(value.compressed_u32()?)));
                }
                add(format!("{word}: {}", documents.join(", ")), &[]);
            }
            _ => match printable(value.rest()).filter(|_| kind != kinds::EMBEDDED_SOURCE) {
                Some(text) => add(format!("{word}: {text}"), &[]),
                None => add(format!("{word}: {}", bytes(value.rest())), &[]),
            },
        }
        Ok(())
    }

    /// Documents by name, each with what is said of it.
    fn documents(&self, names: &Names<'_, '_>) -> BTreeMap<&str, Text> {
        let mut documents: BTreeMap<&str, Text> = BTreeMap::new();
        for ((rid, row), name) in self.metadata.tables.rows::<Document>().zip(&self.documents) {
            let text = documents.entry(name).or_default();
            let words = |index| self.metadata.guids.guid(index).ok().flatten().map_or("none".into(), document_word);
            text.push(0, format!("language: {}", words(row.language)));
            let hash = quote::hex(self.metadata.blob(row.hash).unwrap_or_default()).replace(' ', "");
            text.push(0, format!("hash: {} {hash}", words(row.hash_algorithm)));
            self.custom(names, Token::new(Table::Document, rid.get()), &mut |line, _| text.push(0, line));
        }
        documents
    }

    /// What it says of the module and of all that has neither code nor scope.
    fn module_text(&self, names: &Names<'_, '_>) -> Text {
        let mut text = Text::default();
        let entry_point = PdbId::entry_point(&self.metadata);
        let entry_point = if entry_point.rid() == 0 { Ok("none".into()) } else { names.open_method(entry_point) };
        text.push(0, format!("entry point: {}", entry_point.unwrap_or_else(|error| one_line(error.kind()))));
        let parents = self.metadata.tables.rows::<CustomDebugInformation>().filter_map(|(_, row)| row.parent.token());
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
            self.custom(names, parent, &mut |line, _| text.push(0, format!("{owner}: {line}")));
        }
        text
    }
}

/// Compares what the PDBs say beside methods.
pub(crate) fn compare(old: (&Debug<'_>, &Names<'_, '_>), new: (&Debug<'_>, &Names<'_, '_>), changes: &mut Vec<Change>) {
    let (old_documents, mut new_documents) = (old.0.documents(old.1), new.0.documents(new.1));
    for (name, text) in old_documents {
        match new_documents.remove(name) {
            Some(new_text) => changes.extend(Change::between(Kind::Document, name, &text, &new_text)),
            None => changes.push(Change { kind: Kind::Document, name: name.to_owned(), how: How::Removed }),
        }
    }
    let added = new_documents.into_keys().map(|name| Change { kind: Kind::Document, name: name.to_owned(), how: How::Added });
    changes.extend(added);
    changes.extend(Change::between(Kind::Header, "of the PDB", &old.0.module_text(old.1), &new.0.module_text(new.1)));
}

/// `System.Linq`, `Json = [Newtonsoft.Json]Newtonsoft.Json`
fn import(names: &Names<'_, '_>, import: &Import) -> String {
    let assembly = import.assembly.map(|rid| {
        let name = names.metadata.row::<AssemblyRef>(rid).and_then(|row| names.metadata.name(row.name));
        format!("[{}]", quote::dotted(&name.unwrap_or_default()))
    });
    let target = match &import.target {
        Some(ImportTarget::Namespace(name)) => quote::dotted(name).into_owned(),
        Some(ImportTarget::Type(token)) => format!("type {}", type_name(names, token.0)),
        Some(ImportTarget::Xml(name)) => format!("xmlns {}", quote::text(name)),
        None => String::new(),
    };
    let alias = import.alias.as_ref().map(|alias| format!("{} = ", quote::name(alias)));
    format!("{}{}{target}", alias.unwrap_or_default(), assembly.unwrap_or_default())
}

/// Text that can stand in a line, with a space for each zero.
fn printable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_text = |character: char| !character.is_control() || matches!(character, '\0' | '\n' | '\r' | '\t');
    (bytes.len() > 1 && text.chars().all(is_text)).then(|| one_line(text.trim_end_matches('\0')))
}

/// The languages and hashes that compilers name.
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
