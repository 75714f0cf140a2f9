//! The names of methods with probes, as the mark holds them. Ids contain the row numbers at the time of weaving. Trimmers,
//! obfuscators and native compilers renumber rows, or leave none: the name of a row could be another method's.
//!
//! ```text
//! u8 kind, u32 count, count * (u32 MemberRef row, type, method)    the methods that call sites call
//! kind 1: u16 of each MethodDef row                                names::name_check, or 0: any name
//! kind 2: (type, u32 first row, u32 count, count * method)*        the names; empty without probes
//! ```
//!
//! Strings are UTF-8 after their length, which is compressed (II.23.2). Numbers are little-endian.

use std::collections::HashMap;

use ecma335::{
    Cursor, Error, FileOffset, Metadata, Rid, Table,
    cursor::put_compressed_u32,
    schema::{MemberRef, MethodDef},
};
use little_endian::{ByteOrder, LE, PutNumbers};

use crate::{
    method_id::MethodId,
    name_check::{TypeCheck, name_check},
};

/// The kind with checks of the names of rows.
const CHECKS: u8 = 1;
/// The kind with the names themselves.
const NAMES: u8 = 2;

/// The names in a mark.
#[derive(Clone, Debug, Default)]
pub struct WovenNames {
    types: Vec<String>,
    /// The index of the type, and the method's name, by row in MemberRef and MethodDef.
    calls: HashMap<u32, (usize, String)>,
    methods: HashMap<u32, (usize, String)>,
    /// The checks of names. Indexed by MethodDef row number minus one.
    checks: Vec<u16>,
}

impl WovenNames {
    /// Reads the names of a mark.
    ///
    /// # Errors
    /// If they are damaged, or of another version.
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
            names.checks = cursor.rest().chunks_exact(2).map(LE::read_u16).collect();
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

    /// The names of a method's type and of the method, if they are known.
    pub fn name(&self, id: MethodId) -> Option<(&str, &str)> {
        let (class, method) = if id.is_call_site() { &self.calls } else { &self.methods }.get(&id.row())?;
        Some((self.types.get(*class)?, method))
    }

    /// Whether a method's name can be the one that it was woven under. Without a record of it, any name can.
    pub fn is_name_of(&self, id: MethodId, type_name: &str, method: &str) -> bool {
        if let Some(name) = self.name(id) {
            return name == (type_name, method);
        }
        let check = (id.row() as usize).checked_sub(1).and_then(|index| self.checks.get(index)).filter(|_| !id.is_call_site());
        check.is_none_or(|check| *check == 0 || name_check(type_name, method).is_none_or(|found| found == *check))
    }

    /// The bytes for a mark: the names of methods with probes, by MethodDef row number minus one, and of call targets.
    /// Names beyond the size limit are left out, for instance where many methods share a long one.
    ///
    /// # Errors
    /// If a name cannot be read.
    pub fn write(
        metadata: &Metadata<'_>,
        has_probes: &[bool],
        calls: &[(Rid<MemberRef>, (String, String))],
        is_whole: bool,
        room: usize,
    ) -> Result<Vec<u8>, Error> {
        let mut out = vec![if is_whole { NAMES } else { CHECKS }];
        out.put_u32(calls.len() as u32);
        for (member_ref, (type_name, method)) in calls {
            out.put_u32(member_ref.get());
            put_text(&mut out, type_name);
            put_text(&mut out, method);
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
            let type_name = names.name_of(class)?;
            let name = |method: Rid<MethodDef>| metadata.strings.string(metadata.row(method)?.name);
            if !is_whole {
                let of_type = TypeCheck::new(&type_name);
                for method in &methods {
                    let place = checks_at + 2 * (method.get() as usize - 1);
                    if let (Some(slot), Some(check)) = (out.get_mut(place..place + 2), of_type.with_method(&name(*method)?)) {
                        LE::write_u16(slot, check);
                    }
                }
            } else if out.len() < room {
                put_text(&mut out, &type_name);
                out.put_u32(first.get());
                out.put_u32(last.get() - first.get() + 1);
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
