//! The output check: what was written is read again, as a runtime would, before it takes anything's place.

use std::{fmt, ops::Range};

use ecma335::{
    Additions, Error, Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    element::convention,
    image::CliHeader,
    schema::{MethodDef, StandAloneSig},
    signature::outline::LocalsShape,
    tables::is_ordered,
    vacancy::vacant_blobs,
};

use rayon::prelude::*;

use crate::{local_sigs, module::Woven, tracker::Mark};

/// Methods that one thread checks at a time.
const CHUNK: u32 = 4096;

/// What is wrong with a written file: a fault of ours, never of the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The method it was found in, if in one.
    pub method: Option<Rid<MethodDef>>,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    /// What was written is not what was made, from a byte on.
    pub fn written_otherwise(at: usize) -> Self {
        Self { method: None, what: format!("what was written differs behind byte {at}") }
    }

    fn of(error: impl fmt::Display) -> Self {
        Self { method: None, what: error.to_string() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::of(error)
    }
}

/// Reads a woven file. It has to be what was made, to the byte, and as [`check_contents`] says.
///
/// # Errors
/// The first fault, by method.
pub fn check(output: &[u8], woven: &Woven<'_>, input: (&Image<'_>, &Metadata<'_>)) -> Result<(), Fault> {
    let difference = woven.file.first_difference(output).map_err(Fault::of)?;
    difference.map_or(Ok(()), |at| Err(Fault::written_otherwise(at)))?;
    check_contents(output, woven, input)
}

/// Reads a woven file that is what was made, which may be gone. Every row of the input says what it said, and what is new
/// is what was added, row by row, each where its table wants it; and where each woven method's row leads there is the body
/// that was checked, where any other's leads there is the input's. So all that the check found of the bodies, and of what
/// they call, is true of the file.
///
/// # Errors
/// The first fault, by method.
pub fn check_contents(output: &[u8], woven: &Woven<'_>, input: (&Image<'_>, &Metadata<'_>)) -> Result<(), Fault> {
    let fault = |what: String| Err(Fault { method: None, what });
    let image = Image::parse(output)?;
    let metadata = Metadata::parse(image.metadata()?)?;
    check_local_sigs(output, &metadata, input.1, woven)?;
    check_tables(&metadata, input.1).or_else(fault)?;
    check_additions(&metadata, input.1, &woven.additions).or_else(fault)?;
    check_mark(&metadata, woven).or_else(fault)?;

    let reader = Reader { image: &image, metadata: &metadata, input, woven };
    let end = woven.methods.len() as u32 + 1;
    let check_from = |start: u32| {
        let mut range = (start..end.min(start + CHUNK)).map(Rid::new);
        range.find_map(|rid| reader.check_method(rid).err().map(|what| Fault { method: Some(rid), what }))
    };
    let starts: Vec<u32> = (1..end).step_by(CHUNK as usize).collect();
    let fault = match &starts[..] {
        [start] => check_from(*start),
        starts => starts.par_iter().find_map_first(|start| check_from(*start)),
    };
    fault.map_or(Ok(()), Err)
}

/// Whether all that a module's tokens mean they mean in the other too: rows and heaps are its own, and more behind them.
/// The places of bodies may differ, and signatures of locals: see [`has_same_locals`].
pub fn extends(new: &Metadata<'_>, old: &Metadata<'_>) -> bool {
    let methods = || old.tables.rows::<MethodDef>().zip(new.tables.rows::<MethodDef>());
    check_tables(new, old).is_ok() && methods().all(|((_, old), (_, new))| MethodDef { rva: old.rva, ..new } == old)
}

/// Whether a token of a body's locals means the same in two modules of which one [`extends`] the other.
pub fn has_same_locals(new: &Metadata<'_>, old: &Metadata<'_>, locals: Token) -> bool {
    locals.rid_in::<StandAloneSig>().is_none_or(|rid| sig(new, rid) == sig(old, rid))
}

/// Every row of the input is there, and says what it said; what weaving changes by design is left to others to look at.
fn check_tables(new: &Metadata<'_>, old: &Metadata<'_>) -> Result<(), String> {
    let heaps = [("#Strings", old.strings, new.strings), ("#US", old.user_strings, new.user_strings)];
    if let Some((name, ..)) = heaps.iter().find(|(_, old, new)| !new.bytes.starts_with(old.bytes)) {
        return Err(format!("{name} does not begin with what it had"));
    }
    for table in Table::ALL.iter().copied() {
        let (before, after) = (old.tables.count(table), new.tables.count(table));
        if after < before {
            return Err(format!("{table} has {after} rows, and had {before}"));
        }
        // Rows with new addresses, hashes or signatures, and the one table that each woven module has one row more in.
        if matches!(table, Table::MethodDef | Table::FieldRva | Table::File | Table::StandAloneSig | Table::CustomAttribute) {
            continue;
        }
        let is_there = if after > before && is_ordered(table) {
            // Rows are put among those of a sorted table.
            let mut rows = 0..after;
            (0..before).all(|old_row| rows.any(|row| has_rows(new, row, old, old_row..old_row + 1, table)))
        } else {
            has_rows(new, 0, old, 0..before, table)
        };
        if !is_there {
            return Err(format!("rows of {table} have changed"));
        }
    }
    check_blobs(new, old)
}

/// Rows of signatures of locals may have others; blobs that were theirs alone may have gone, and no other.
fn check_blobs(new: &Metadata<'_>, old: &Metadata<'_>) -> Result<(), String> {
    let table = Table::StandAloneSig;
    let rows = 0..=old.tables.count(table);
    let is_replaced: Vec<bool> = rows.map(|rid| !is_same_sig(new, old, Rid::new(rid))).collect();
    let mut kept_from = 0;
    let vacant = if is_replaced.contains(&true) {
        let is_locals =
            |metadata: &Metadata<'_>, rid| sig(metadata, rid).is_some_and(|blob| blob.first() == Some(&convention::LOCAL));
        let mut replaced = (0..).zip(&is_replaced).filter(|(_, is_replaced)| **is_replaced).map(|(rid, _)| Rid::new(rid));
        if let Some(row) = replaced.find(|rid| !is_locals(old, *rid) || !is_locals(new, *rid)) {
            return Err(format!("row {} of {table} has changed", row.get()));
        }
        vacant_blobs(old, |of, row| of == table && is_replaced[row as usize])
    } else {
        Vec::new()
    };
    let end = old.blobs.bytes.len();
    for place in vacant.into_iter().map(|place| place.start as usize..place.end as usize).chain(std::iter::once(end..end)) {
        let kept = kept_from..place.start;
        if new.blobs.bytes.get(kept.clone()) != old.blobs.bytes.get(kept) {
            return Err("#Blob has not what it had".into());
        }
        kept_from = place.end;
    }
    Ok(())
}

/// Whether a row leads to the same signature, at the same place.
fn is_same_sig(new: &Metadata<'_>, old: &Metadata<'_>, rid: Rid<StandAloneSig>) -> bool {
    let row = |metadata: &Metadata<'_>| metadata.row(rid).ok();
    row(new) == row(old) && sig(new, rid) == sig(old, rid)
}

fn sig<'a>(metadata: &Metadata<'a>, rid: Rid<StandAloneSig>) -> Option<&'a [u8]> {
    metadata.blob(metadata.row(rid).ok()?.signature).ok()
}

/// Whether a table has rows of the old one, by their numbers less one, from a place on.
fn has_rows(new: &Metadata<'_>, place: u32, old: &Metadata<'_>, rows: Range<u32>, table: Table) -> bool {
    let widths = new.tables.widths();
    if widths.columns(table) != old.tables.widths().columns(table) {
        return (place + 1..).zip(rows).all(|(rid, row)| new.tables.cells(table, rid) == old.tables.cells(table, row + 1));
    }
    let bytes = |rows: Range<u32>| {
        let size = widths.row_size(table);
        rows.start as usize * size..rows.end as usize * size
    };
    let place = bytes(place..place + rows.len() as u32);
    new.tables.bytes(table).get(place) == old.tables.bytes(table).get(bytes(rows))
}

/// The signatures of locals that are new, in new rows or old ones, are those that were added, and can be read.
fn check_local_sigs(output: &[u8], new: &Metadata<'_>, old: &Metadata<'_>, woven: &Woven<'_>) -> Result<(), Fault> {
    let table = Table::StandAloneSig;
    let added = (old.tables.count(table) + 1..).zip(woven.additions.rows(table));
    for (rid, cells) in woven.additions.replaced(table).chain(added) {
        let blob = new.row(Rid::<StandAloneSig>::new(rid)).and_then(|row| new.blobs.blob(row.signature));
        let read = blob.and_then(|blob| LocalsShape::read(blob.rest(), blob.offset())).map_err(|error| error.to_string());
        let is_as_added = new.tables.cells(table, rid).is_some_and(|found| found == cells);
        let read = read.and_then(|_| if is_as_added { Ok(()) } else { Err("it is elsewhere".into()) });
        if let Err(what) = read {
            let is_its = |place: &Range<usize>| local_var_sig(output, place) == Some(Token::new(table, rid));
            let method = woven.bodies.iter().find(|(_, place)| is_its(place)).map(|(method, _)| *method);
            return Err(Fault { method, what: format!("the signature of its locals: {what}") });
        }
    }
    Ok(())
}

/// What is new beside the input is what was added, and nothing else.
fn check_additions(new: &Metadata<'_>, old: &Metadata<'_>, additions: &Additions) -> Result<(), String> {
    for table in Table::ALL.iter().copied() {
        let (before, added) = (old.tables.count(table), additions.rows(table));
        let (found, expected) = (new.tables.count(table) - before, added.len());
        if found as usize != expected {
            return Err(format!("{table} has {found} new rows, and {expected} were added"));
        }
        if additions.is_ordered(table) && expected > 0 {
            check_inserted(table, new, old, additions)?;
        } else if !has_rows(new, 0, old, 0..if table == Table::CustomAttribute { before } else { 0 }, table) {
            return Err(format!("rows of {table} have changed"));
        } else if !(before + 1..).zip(added).all(|(rid, cells)| new.tables.cells(table, rid).is_some_and(|found| found == cells))
        {
            return Err(format!("a new row of {table} is not the one that was added"));
        }
    }
    if let Some((at, _)) = additions
        .blob_changes()
        .iter()
        .find(|(at, bytes)| !new.blobs.bytes.get(*at as usize..).is_some_and(|found| found.starts_with(bytes)))
    {
        return Err(format!("at {at:#x} of #Blob is not what was put there"));
    }
    for (name, added) in additions.heaps() {
        let behind = stream(new, name).get(stream(old, name).len()..).unwrap_or_default();
        if behind.strip_prefix(added).is_none_or(|rest| rest.iter().any(|byte| *byte != 0)) {
            return Err(format!("behind what {} had is not what was added", String::from_utf8_lossy(name)));
        }
    }
    Ok(())
}

/// The first stream of a name; no bytes if there is none.
fn stream<'a>(metadata: &Metadata<'a>, name: &[u8]) -> &'a [u8] {
    metadata.streams.iter().find(|stream| stream.name == name).map_or(&[], |stream| stream.bytes)
}

/// A sorted table has its old rows in their order, the added ones among them, and those where their keys belong (II.22).
fn check_inserted(table: Table, new: &Metadata<'_>, old: &Metadata<'_>, additions: &Additions) -> Result<(), String> {
    let (before, after) = (old.tables.count(table), new.tables.count(table));
    let mut added: Vec<&[u32]> = additions.rows(table).collect();
    let mut old_row = 1;
    for rid in 1..=after {
        if old_row <= before && has_rows(new, rid - 1, old, old_row - 1..old_row, table) {
            old_row += 1;
            continue;
        }
        let cells = new.tables.cells(table, rid).unwrap_or_default();
        let Some(place) = added.iter().position(|row| *row == cells) else {
            return Err(format!("row {rid} of {table} is neither the input's nor an added one"));
        };
        added.swap_remove(place);
        let key = |rid: u32| new.tables.sort_key(table, rid);
        let is_above = rid == 1 || key(rid - 1) <= key(rid);
        let is_below = rid == after || key(rid) <= key(rid + 1);
        if !(is_above && is_below) {
            return Err(format!("row {rid} of {table} is not where its key belongs"));
        }
    }
    if old_row <= before { Err(format!("row {old_row} of {table} is gone")) } else { Ok(()) }
}

/// A woven module says that it is woven, and under which key; and that it is another version.
fn check_mark(metadata: &Metadata<'_>, woven: &Woven<'_>) -> Result<(), String> {
    if woven.bodies.is_empty() {
        return Ok(());
    }
    if Mark::read(metadata).map(|mark| mark.module_key) != Some(woven.module_key) {
        return Err("the mark is not this module's".into());
    }
    // A module that had no version identifier has none.
    let mvid = metadata.mvid().map_err(|error| error.to_string())?;
    if [woven.mvid, [0; 16]].contains(&mvid) { Ok(()) } else { Err("its MVID is not the new one".into()) }
}

/// What a fat body at this place of the file has for its locals (II.25.4.3).
fn local_var_sig(output: &[u8], body: &Range<usize>) -> Option<Token> {
    let token = output.get(body.start + MethodBody::LOCAL_VAR_SIG_AT..)?.first_chunk()?;
    Some(Token(u32::from_le_bytes(*token)))
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
                // A body without locals has none.
                let locals = local_var_sig(self.image.bytes(), expected).unwrap_or_default();
                let sig = locals.rid_in::<StandAloneSig>().map(|sig| self.metadata.row(sig));
                if locals != Token::default() && !matches!(sig, Some(Ok(_))) {
                    return Err("it has no signature of its locals".into());
                }
                Ok(())
            }
            // No body, whatever a section at that address holds.
            Err(_) if before.rva == 0 && after.rva == 0 => Ok(()),
            Err(_) if (before.rva == 0) == (after.rva == 0) && body(self.input.0, before.rva) == body(self.image, after.rva) => {
                let locals = local_sigs::of_body(self.input.0, before.rva).and_then(Token::rid_in);
                // Of rows that there were: what led nowhere is looked at where references may come to lead somewhere.
                let locals = locals.filter(|rid| self.input.1.row::<StandAloneSig>(*rid).is_ok());
                if locals.is_none_or(|rid| is_same_sig(self.metadata, self.input.1, rid)) {
                    Ok(())
                } else {
                    Err("it was to be left alone, and its locals have changed".into())
                }
            }
            // Junk that leads into the headers, which do change, is junk still.
            Err(_) if self.is_in_headers(before.rva) => Ok(()),
            Err(_) => Err("it was to be left alone, and its body has changed".into()),
        }
    }
}

impl Reader<'_, '_> {
    /// Whether it lies in the PE headers or the CLI header, be it in part.
    fn is_in_headers(&self, rva: u32) -> bool {
        let input = self.input.0;
        let start = input.cli_header_offset().0;
        let body = body(input, rva).map_or(0, |body| body.len() as u64);
        let offset = input.offset_of(Rva(rva)).map_or(u64::MAX, |offset| offset.0);
        let is_in_cli_header = offset < start + CliHeader::SIZE as u64 && offset.saturating_add(body) > start;
        is_in_cli_header || offset < input.size_of_headers().into()
    }
}

/// The bytes of a body; none if it cannot be read.
fn body<'a>(image: &Image<'a>, rva: u32) -> Option<&'a [u8]> {
    let cursor = image.cursor_at(Rva(rva)).ok()?;
    cursor.rest().get(..MethodBody::measure(cursor).ok()?)
}
