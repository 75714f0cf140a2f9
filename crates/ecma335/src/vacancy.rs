//! What of #Blob nothing refers to any more where rows get other blobs: what is added can lie there.

use std::ops::Range;

use crate::{
    cursor::Cursor,
    error::{Error, ErrorKind, Result},
    metadata::Metadata,
    pdb,
    schema::{Blob, ColumnKind, Document, ImportScope, Table},
};

/// A blob begins here that a row refers to which stays.
const KEPT: u8 = 1;
/// One begins here that a row refers to which gets another.
const LEFT: u8 = 2;
/// The blobs are looked into that are named in this one.
const READ: u8 = 4;
/// Blobs that lie in each other could be read for ever: at most so many times the heap is.
const MAX_READ: usize = 8;

/// The bytes of #Blob that are those of rows which get other blobs, and of nothing else, in order. `is_replaced` is asked for
/// rows by their numbers: all blobs of one are replaced.
pub fn vacant_blobs(metadata: &Metadata<'_>, is_replaced: impl Fn(Table, u32) -> bool) -> Vec<Range<u32>> {
    let heap = metadata.blobs;
    let mut marks = vec![0; heap.bytes.len()];
    for table in Table::ALL.iter().copied().filter(|table| !metadata.tables.bytes(*table).is_empty()) {
        let widths = metadata.tables.widths();
        let mut at = 0;
        for (column, width) in table.columns().iter().zip(widths.columns(table)) {
            let place = at..at + usize::from(*width);
            at = place.end;
            if column.kind != ColumnKind::Blob {
                continue;
            }
            let rows = metadata.tables.bytes(table).chunks_exact(widths.row_size(table));
            for (rid, row) in (1..).zip(rows) {
                let cell = match row[place.clone()] {
                    [low, high] => usize::from(u16::from_le_bytes([low, high])),
                    [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
                    _ => unreachable!("an index has two bytes or four"),
                };
                if let Some(mark) = marks.get_mut(cell) {
                    *mark |= if is_replaced(table, rid) { LEFT } else { KEPT };
                }
            }
        }
    }
    if mark_named(metadata, &mut marks).is_err() {
        return Vec::new();
    }
    let end = |start: usize| {
        let blob = heap.blob(Blob(start as u32)).ok()?;
        Some((blob.offset().0 - heap.offset.0) as usize + blob.rest().len())
    };
    let mut vacant: Vec<Range<u32>> = Vec::new();
    // The first byte is the empty blob.
    let (mut kept_to, mut left_to) = (1, 0);
    let mut add = |from: usize, to: usize| {
        if from < to {
            match vacant.last_mut().filter(|last| last.end == from as u32) {
                Some(last) => last.end = to as u32,
                None => vacant.push(from as u32..to as u32),
            }
        }
    };
    // From one mark to the next, what holds before it.
    let mut from = 0;
    for (at, mark) in marks.iter().enumerate().filter(|(_, mark)| **mark & (KEPT | LEFT) != 0) {
        add(from.max(kept_to), at.min(left_to));
        from = at;
        if mark & KEPT != 0 {
            // What cannot be read stays so.
            kept_to = kept_to.max(end(at).unwrap_or(heap.bytes.len()));
        }
        if mark & LEFT != 0 {
            left_to = left_to.max(end(at).unwrap_or(at));
        }
    }
    add(from.max(kept_to), left_to);
    vacant
}

/// Marks what names of documents and imports in a portable PDB are put together of.
fn mark_named(metadata: &Metadata<'_>, marks: &mut [u8]) -> Result<()> {
    let mut left = MAX_READ * marks.len();
    let mut once = |blob: Blob, marks: &mut [u8]| -> Result<Option<Cursor<'_>>> {
        match marks.get_mut(blob.0 as usize) {
            Some(mark) if *mark & READ == 0 => *mark |= READ,
            _ => return Ok(None),
        }
        let blob = metadata.blobs.blob(blob)?;
        left = left
            .checked_sub(blob.rest().len())
            .ok_or_else(|| Error::new(ErrorKind::Unsupported("names that lie in each other")))?;
        Ok(Some(blob))
    };
    for (_, row) in metadata.tables.rows::<Document>() {
        if let Some(mut name) = once(row.name, marks)? {
            name.u8()?;
            while !name.is_empty() {
                keep(name.compressed_u32()?, marks);
            }
        }
    }
    for (_, row) in metadata.tables.rows::<ImportScope>() {
        if let Some(imports) = once(row.imports, marks)? {
            pdb::names_of_imports(imports, |name| keep(name.0, marks))?;
        }
    }
    Ok(())
}

fn keep(offset: u32, marks: &mut [u8]) {
    if let Some(mark) = marks.get_mut(offset as usize) {
        *mark |= KEPT;
    }
}
