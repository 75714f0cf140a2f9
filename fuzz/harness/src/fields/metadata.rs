//! Metadata of assemblies and PDBs (II.24): the root, stream headers, the header of the tables, cells and heaps.

use ecma335::{Metadata, Table, metadata::Stream, schema::ColumnKind};

use super::{Field, Fields, Kind, RowCountsOrNone, bytes_of, row};

/// Adds the fields; the metadata is a view on these bytes.
pub(super) fn add(bytes: &[u8], metadata: &Metadata<'_>, fields: &mut Fields) {
    let place = |part: &[u8]| part.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
    fields.counts = RowCountsOrNone(*metadata.tables.counts());
    let (mut streams, mut header) = (Vec::new(), Vec::new());
    let root = metadata.root.offset().0 as usize;
    let version = row(root, &[4, 2, 2, 4, 4], Kind::Number, &mut streams);
    let mut at = row(version + metadata.version.len(), &[2, 2], Kind::Number, &mut streams);
    for stream in &metadata.streams {
        at = row(at, &[4, 4], Kind::UpTo(stream.bytes.len() as u32), &mut streams);
        streams.extend(bytes_of(at..at + stream.name.len(), Kind::Text));
        at += (stream.name.len() + 1).next_multiple_of(4);
    }
    let find = |name: &[u8]| metadata.streams.iter().find(|stream| stream.name == name);
    if let Some(tables) = find(b"#~").or_else(|| find(b"#-")) {
        let counts = row(place(tables.bytes), &[4, 1, 1, 1, 1, 8, 8], Kind::Number, &mut header);
        let mut at = counts;
        for count in metadata.tables.counts().iter().filter(|count| **count > 0) {
            at = row(at, &[4], Kind::UpTo(*count), &mut header);
        }
    }
    if let Some(pdb) = find(b"#Pdb") {
        header.extend(bytes_of(place(pdb.bytes)..place(pdb.bytes) + pdb.bytes.len(), Kind::Number));
    }
    fields.add(vec![streams, header]);
    let cells: Vec<Vec<Field>> =
        Table::ALL.iter().map(|table| cells(metadata, *table, place(metadata.tables.bytes(*table)))).collect();
    // Cells are added several times: they are to be changed most.
    fields.add(cells.clone());
    fields.add(cells);
    let heap = |name: &[u8], split: fn(&Stream<'_>, usize) -> Vec<Field>| {
        find(name).map_or_else(Vec::new, |heap| split(heap, place(heap.bytes)))
    };
    fields.add(vec![
        heap(b"#Strings", |heap, at| bytes_of(at..at + heap.bytes.len(), Kind::Text).collect()),
        heap(b"#US", lengths),
        heap(b"#Blob", lengths),
        heap(b"#Blob", contents),
        heap(b"#Blob", contents),
        heap(b"#GUID", |heap, at| bytes_of(at..at + heap.bytes.len(), Kind::Number).collect()),
    ]);
}

/// Returns the cells of a table's rows.
fn cells(metadata: &Metadata<'_>, table: Table, start: usize) -> Vec<Field> {
    let tables = &metadata.tables;
    let widths = tables.widths().columns(table);
    let mut group = Vec::new();
    for rid in 0..tables.count(table) as usize {
        let mut at = start + rid * tables.widths().row_size(table);
        for (column, width) in table.columns().iter().zip(widths) {
            let kind = match column.kind {
                ColumnKind::Fixed(_) => Kind::Number,
                ColumnKind::Str => Kind::UpTo(metadata.strings.bytes.len() as u32),
                ColumnKind::Guid => Kind::UpTo((metadata.guids.bytes.len() / 16) as u32),
                ColumnKind::Blob => Kind::UpTo(metadata.blobs.bytes.len() as u32),
                ColumnKind::Rid(of) => Kind::UpTo(tables.count(of)),
                ColumnKind::Coded(coded) => Kind::Coded(coded),
            };
            group.push(Field { at, width: usize::from(*width), kind });
            at += usize::from(*width);
        }
    }
    group
}

/// Returns the items of a blob heap: the size of the length prefix, and the range of the item.
fn items(heap: &[u8]) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(first) = heap.get(at) {
        let wide = usize::from(*first);
        let byte = |index: usize| heap.get(at + index).copied().map_or(0, usize::from);
        let (size, length) = match wide {
            0..=0x7F => (1, wide),
            0x80..=0xBF => (2, (wide & 0x3F) << 8 | byte(1)),
            _ => (4, (wide & 0x1F) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3)),
        };
        let start = at + size;
        let end = start.saturating_add(length).min(heap.len());
        items.push((at, start..end));
        at = end.max(start);
    }
    items
}

fn lengths(heap: &Stream<'_>, start: usize) -> Vec<Field> {
    items(heap.bytes).into_iter().map(|(at, _)| Field { at: start + at, width: 1, kind: Kind::Number }).collect()
}

fn contents(heap: &Stream<'_>, start: usize) -> Vec<Field> {
    let bytes = |item: std::ops::Range<usize>| bytes_of(start + item.start..start + item.end, Kind::Signature);
    items(heap.bytes).into_iter().flat_map(|(_, item)| bytes(item)).collect()
}
