//! What the mark says of the names of methods that have probes. Ids have the rows that methods had when they were woven, and
//! trimmers, obfuscators and native compilers give rows other numbers, or leave none: a name by row could be another method's.
//!
//! ```text
//! u8 kind, u32 count, count * (u32 MemberRef row, type, method)    the methods that call sites call
//! kind 1: u16 of each MethodDef row                                identity::name_check, or 0: any name
//! kind 2: (type, u32 first row, u32 count, count * method)*        the names; empty without probes
//! ```
//!
//! Strings are UTF-8 behind their length, which is compressed (II.23.2), numbers little-endian.

use std::collections::HashMap;

use ecma335::{Cursor, Error, FileOffset, Metadata, Rid, Table, cursor::put_compressed_u32, schema::MethodDef};
use identity::{MethodId, TypeCheck, name_check};

use crate::calls::CallTarget;

/// Checks of the names that rows have.
const CHECKS: u8 = 1;
/// The names themselves.
const NAMES: u8 = 2;

/// The names that a mark has.
#[derive(Clone, Debug, Default)]
pub struct WovenNames {
    types: Vec<String>,
    /// By row, in MemberRef and in MethodDef: the place of the type, and the method.
    calls: HashMap<u32, (usize, String)>,
    methods: HashMap<u32, (usize, String)>,
    /// By MethodDef row number less one.
    checks: Vec<u16>,
}

impl WovenNames {
    /// Reads what a mark has.
    ///
    /// # Errors
    /// If it is damaged, or of another version.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(bytes, FileOffset(0));
        let mut names = Self::default();
        let kind = cursor.u8()?;
        for _ in 0..cursor.u32()? {
            let row = cursor.u32()?;
            names.types.push(text(&mut cursor)?);
            names.calls.insert(row, (names.types.len() - 1, text(&mut cursor)?));
        }
        if kind == CHECKS {
            names.checks = cursor.rest().chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        }
        while kind == NAMES && !cursor.is_empty() {
            names.types.push(text(&mut cursor)?);
            let first = cursor.u32()?;
            for place in 0..cursor.u32()? {
                let method = text(&mut cursor)?;
                if !method.is_empty() {
                    names.methods.insert(first.saturating_add(place), (names.types.len() - 1, method));
                }
            }
        }
        Ok(names)
    }

    /// The names of a method's type and of itself, if they are there.
    pub fn name(&self, id: MethodId) -> Option<(&str, &str)> {
        let (class, method) = if id.is_call_site() { &self.calls } else { &self.methods }.get(&id.row())?;
        Some((self.types.get(*class)?, method))
    }

    /// Whether a method that was found goes by the name that this one was woven under, as far as that is known.
    pub fn is_name_of(&self, id: MethodId, type_name: &str, method: &str) -> bool {
        if let Some(name) = self.name(id) {
            return name == (type_name, method);
        }
        let check = (id.row() as usize).checked_sub(1).and_then(|index| self.checks.get(index)).filter(|_| !id.is_call_site());
        check.is_none_or(|check| *check == 0 || name_check(type_name, method).is_none_or(|found| found == *check))
    }

    /// The bytes for a mark: of methods that probes name, by MethodDef row number less one, and of what call sites call. Names
    /// are left out that have no room in so many bytes, as where many share a long one.
    ///
    /// # Errors
    /// If a name cannot be read.
    pub(crate) fn write(
        metadata: &Metadata<'_>,
        has_probes: &[bool],
        calls: &[CallTarget],
        is_whole: bool,
        room: usize,
    ) -> Result<Vec<u8>, Error> {
        let mut out = vec![if is_whole { NAMES } else { CHECKS }];
        put_u32(&mut out, calls.len() as u32);
        for call in calls {
            let (type_name, method) = call.names(metadata)?;
            put_u32(&mut out, call.member_ref.get());
            put_text(&mut out, &type_name);
            put_text(&mut out, &method);
        }
        let checks_at = out.len();
        if !is_whole {
            out.resize(checks_at + 2 * metadata.tables.count(Table::MethodDef) as usize, 0);
        }
        let names = metadata.full_names();
        for class in names.types() {
            let methods = metadata.children(class).filter(|method| has(has_probes, *method));
            let mut methods: Vec<Rid<MethodDef>> = methods.collect();
            methods.sort();
            let (Some(first), Some(last)) = (methods.first(), methods.last()) else { continue };
            let type_name = names.of(class)?;
            let name = |method: Rid<MethodDef>| metadata.strings.string(metadata.row(method)?.name);
            if !is_whole {
                let of_type = TypeCheck::new(&type_name);
                for method in &methods {
                    let place = checks_at + 2 * (method.get() as usize - 1);
                    if let (Some(slot), Some(check)) = (out.get_mut(place..place + 2), of_type.of(&name(*method)?)) {
                        slot.copy_from_slice(&check.to_le_bytes());
                    }
                }
            } else if out.len() < room {
                put_text(&mut out, &type_name);
                put_u32(&mut out, first.get());
                put_u32(&mut out, last.get() - first.get() + 1);
                for method in (first.get()..=last.get()).map(Rid::new) {
                    let is_named = methods.binary_search(&method).is_ok() && out.len() < room;
                    put_text(&mut out, &if is_named { name(method)? } else { "".into() });
                }
            }
        }
        Ok(out)
    }
}

fn has(has_probes: &[bool], method: Rid<MethodDef>) -> bool {
    (method.get() as usize).checked_sub(1).and_then(|index| has_probes.get(index)).copied().unwrap_or_default()
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    let length = cursor.compressed_u32()?;
    Ok(String::from_utf8_lossy(cursor.bytes(length as usize)?).into_owned())
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_compressed_u32(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}
