//! The safety net: what was written is read again, as a runtime would, before it takes anything's place.

use std::{fmt, ops::Range, sync::Mutex, sync::PoisonError};

use ecma335::{Error, Image, Metadata, MethodBody, Rid, Rva, Table, image::CliHeader, schema::MethodDef};

use crate::module::Woven;

/// What is wrong with a written file: a fault of ours, never of the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The method it was found in, if in one.
    pub method: Option<Rid<MethodDef>>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { method: None, what: error.to_string() }
    }
}

/// Reads a woven file. It has to be what was made, to the byte; every row of the input says what it said; and where each
/// woven method's row leads there is the body that was checked, where any other's leads there is the input's. So all that
/// the check found of the bodies, and of what they call, is true of the file.
///
/// # Errors
/// The first fault, by method.
pub fn check(output: &[u8], woven: &Woven<'_>, input: (&Image<'_>, &Metadata<'_>), threads: usize) -> Result<(), Fault> {
    let fault = |what: String| Err(Fault { method: None, what });
    let mut rest = output;
    for part in woven.file.iter() {
        rest = match rest.strip_prefix(part) {
            Some(rest) => rest,
            None => return fault(format!("what was written differs behind byte {}", output.len() - rest.len())),
        };
    }
    if !rest.is_empty() {
        return fault(format!("{} bytes too many were written", rest.len()));
    }
    let image = Image::parse(output)?;
    let metadata = Metadata::parse(image.metadata()?)?;
    check_tables(&metadata, input.1).or_else(fault)?;

    let reader = Reader { image: &image, metadata: &metadata, input, woven };
    let first: Mutex<Option<Fault>> = Mutex::new(None);
    let check_range = |range: Range<u32>| {
        for rid in range.map(Rid::new) {
            if let Err(what) = reader.check_method(rid) {
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|fault| fault.method > Some(rid)) {
                    *first = Some(Fault { method: Some(rid), what });
                }
                return;
            }
        }
    };
    let end = woven.methods.len() as u32 + 1;
    let share = end.div_ceil(threads.max(1) as u32).max(4096);
    let ranges = (1..end).step_by(share as usize).map(|start| start..(start + share).min(end));
    if end <= share {
        ranges.for_each(check_range);
    } else {
        std::thread::scope(|scope| ranges.for_each(|range| drop(scope.spawn(|| check_range(range)))));
    }
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Every row of the input is there, and says what it said; what weaving changes by design is left to others to look at.
pub(crate) fn check_tables(new: &Metadata<'_>, old: &Metadata<'_>) -> Result<(), String> {
    for table in Table::ALL.iter().copied() {
        let (before, after) = (old.tables.count(table), new.tables.count(table));
        if after < before || (table == Table::MethodDef && after != before) {
            return Err(format!("{table} has {after} rows, and had {before}"));
        }
        // Rows with new addresses or hashes, and the one table that rows are put into rather than behind.
        if matches!(table, Table::MethodDef | Table::FieldRva | Table::File | Table::CustomAttribute) {
            continue;
        }
        let is_same = if new.tables.widths().columns(table) == old.tables.widths().columns(table) {
            new.tables.bytes(table).starts_with(old.tables.bytes(table))
        } else {
            (1..=before).all(|rid| new.tables.cells(table, rid) == old.tables.cells(table, rid))
        };
        if !is_same {
            return Err(format!("rows of {table} have changed"));
        }
    }
    Ok(())
}

/// A written file and what it was woven of.
struct Reader<'a, 'm> {
    image: &'m Image<'a>,
    metadata: &'m Metadata<'a>,
    input: (&'m Image<'m>, &'m Metadata<'m>),
    woven: &'m Woven<'m>,
}

impl Reader<'_, '_> {
    fn check_method(&self, rid: Rid<MethodDef>) -> Result<(), String> {
        let text = |error: Error| error.to_string();
        let before: MethodDef = self.input.1.row(rid).map_err(text)?;
        let after: MethodDef = self.metadata.row(rid).map_err(text)?;
        if after.name != before.name || (MethodDef { rva: before.rva, ..after }) != before {
            return Err("its row has changed".into());
        }
        // Woven methods come in the order of their rows.
        match self.woven.bodies.binary_search_by_key(&rid, |(woven, _)| *woven) {
            Ok(index) => {
                let offset = self.image.offset_of(Rva(after.rva)).map_err(text)?.0 as usize;
                let expected = &self.woven.bodies[index].1;
                if offset != expected.start {
                    return Err(format!("its row leads to {offset:#x}, and its body is at {:#x}", expected.start));
                }
                Ok(())
            }
            Err(_) if (before.rva == 0) == (after.rva == 0) && body(self.input.0, before.rva) == body(self.image, after.rva) => {
                Ok(())
            }
            // Junk that leads into the headers, which do change, is junk still.
            Err(_) if self.is_in_cli_header(before.rva) => Ok(()),
            Err(_) => Err("it was to be left alone, and its body has changed".into()),
        }
    }
}

impl Reader<'_, '_> {
    fn is_in_cli_header(&self, rva: u32) -> bool {
        let start = self.input.0.cli_header_offset().0;
        let body = body(self.input.0, rva).map_or(0, |body| body.len() as u64);
        let offset = self.input.0.offset_of(Rva(rva)).map_or(u64::MAX, |offset| offset.0);
        offset < start + CliHeader::SIZE as u64 && offset.saturating_add(body) > start
    }
}

/// The bytes of a body; none if it cannot be read.
fn body<'a>(image: &Image<'a>, rva: u32) -> Option<&'a [u8]> {
    let cursor = image.cursor_at(Rva(rva)).ok()?;
    cursor.rest().get(..MethodBody::measure(cursor).ok()?)
}
