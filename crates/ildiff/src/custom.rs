//! The custom debug information of a portable PDB, and the imports of scopes.

use std::borrow::Cow;

use ecma335::{
    MAX_NESTING, Result, Rid, Table, Token,
    heap::format_guid,
    pdb::{self, AsyncStepping, Import, ImportTarget, custom_debug_information as kinds},
    schema::{AssemblyRef, CustomDebugInformation, ImportScope},
};

use super::{
    digest::digest,
    lines::LABEL,
    pdb::{Pdb, method_name, type_name},
};
use disasm::{lines::one_line, names::Names, quote};

impl Pdb<'_> {
    /// The imports of a scope and of its enclosing scopes.
    pub(crate) fn imports(&self, names: &Names<'_, '_>, scope: Rid<ImportScope>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = scope;
        // The chain of parents may be a cycle.
        for _ in 0..MAX_NESTING {
            let Ok(row) = self.metadata.row(next) else { break };
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

    /// The custom debug information of a row, each entry with its IL offsets.
    pub(crate) fn custom(&self, names: &Names<'_, '_>, owner: Token, add: &mut dyn FnMut(String, &[u32])) {
        for rid in self.custom.children::<CustomDebugInformation>(owner.0) {
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
                    add(format!("catches at {LABEL} what nobody else does"), &[handler]);
                }
                for (yields, goes_on, method) in stepping.awaits {
                    add(format!("awaits at {LABEL}, goes on at {LABEL} of {}", method_name(names, method)), &[yields, goes_on]);
                }
            }
            kinds::STATE_MACHINE_HOISTED_LOCAL_SCOPES => {
                for (number, (start, length)) in pdb::hoisted_local_scopes(value)?.into_iter().enumerate() {
                    match (start, length) {
                        (0, 0) => add(format!("hoisted local {} has no scope", number + 1), &[]),
                        _ => add(
                            format!("scope {LABEL} to {LABEL}: hoisted local {}", number + 1),
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
                None => add(format!("{word}: {}", digest(value.rest())), &[]),
            },
        }
        Ok(())
    }
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

/// Text for one line, with a space for each zero. None if it is not printable.
fn printable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_text = |character: char| !character.is_control() || matches!(character, '\0' | '\n' | '\r' | '\t');
    (bytes.len() > 1 && text.chars().all(is_text)).then(|| one_line(text.trim_end_matches('\0')))
}
