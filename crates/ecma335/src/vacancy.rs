//! Finds the bytes of #Blob that nothing refers to once rows get other blobs. Added blobs can reuse them.

use std::ops::Range;

use little_endian::{ByteOrder, LE};

use crate::{
    cursor::Cursor,
    error::{Error, ErrorKind, Result},
    metadata::Metadata,
    pdb,
    schema::{Blob, ColumnKind, Document, ImportScope, Table},
};

/// A blob starts here, and a row that stays refers to it.
const KEPT: u8 = 1;
/// A blob starts here, and a replaced row refers to it.
const LEFT: u8 = 2;
/// The blobs that this one names were visited.
const READ: u8 = 4;
/// The maximum number of bytes to read, in multiples of the heap. Overlapping blobs could otherwise take too long.
const MAX_READ: usize = 8;

/// The ranges of #Blob that only replaced rows refer to, in order. `is_replaced` is asked for rows by their numbers.
/// All blobs of a replaced row count as replaced.
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
                // An index has two bytes or four.
                let cell = LE::read_uint(&row[place.clone()], place.len()) as usize;
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
    // Between two marks, the state after the first one applies.
    let mut from = 0;
    for (at, mark) in marks.iter().enumerate().filter(|(_, mark)| **mark & (KEPT | LEFT) != 0) {
        add(from.max(kept_to), at.min(left_to));
        from = at;
        if mark & KEPT != 0 {
            // Unreadable blobs stay unchanged.
            kept_to = kept_to.max(end(at).unwrap_or(heap.bytes.len()));
        }
        if mark & LEFT != 0 {
            left_to = left_to.max(end(at).unwrap_or(at));
        }
    }
    add(from.max(kept_to), left_to);
    vacant
}

/// Marks the blobs that the names of documents and imports in a portable PDB consist of.
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
