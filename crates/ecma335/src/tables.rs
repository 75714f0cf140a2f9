//! The #~ stream (II.24.2.6): row counts, column widths, rows.

use std::borrow::Cow;

use little_endian::{ByteOrder, LE, PutNumbers};

use crate::{
    cursor::{Cursor, pad_to},
    error::{Error, ErrorKind, Result, malformed},
    schema::{ColumnKind, HasCustomDebugInformation, Row, Table},
    token::{FileOffset, Rid, Token},
};

/// The upper bound of table numbers, exclusive.
const TABLES: usize = 64;
/// The maximum number of columns of a table.
pub(crate) const COLUMNS: usize = {
    let (mut most, mut table) = (0, 0);
    while table < Table::ALL.len() {
        let columns = Table::ALL[table].columns().len();
        most = if columns > most { columns } else { most };
        table += 1;
    }
    most
};

/// The number of rows of each table.
pub type RowCounts = [u32; TABLES];

/// The `HeapSizes` bits (II.24.2.6): whether an index into a heap has four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WideHeaps(pub u8);

impl WideHeaps {
    const STRINGS: u8 = 1;
    const GUID: u8 = 2;
    const BLOB: u8 = 4;

    /// The bits for heaps of these sizes in bytes.
    pub fn for_sizes(strings: usize, guid: usize, blob: usize) -> Self {
        let bit = |wide: bool, bit: u8| if wide { bit } else { 0 };
        Self(
            bit(strings >= 1 << 16, Self::STRINGS)
                // #GUID is indexed by number, from 1.
                | bit(guid / 16 >= 1 << 16, Self::GUID)
                | bit(blob >= 1 << 16, Self::BLOB),
        )
    }
}

/// The widths of all columns in a file (II.24.2.6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Widths {
    columns: [[u8; COLUMNS]; TABLES],
    rows: [usize; TABLES],
}

impl Widths {
    /// The widths for these sizes. A portable PDB also counts the rows of the assembly's tables.
    pub fn new(counts: &RowCounts, heaps: WideHeaps) -> Self {
        let index = |wide: bool| if wide { 4 } else { 2 };
        let count = |table: Table| counts.get(table as usize).copied().unwrap_or(0);
        let mut widths = Self { columns: [[0; COLUMNS]; TABLES], rows: [0; TABLES] };
        for table in Table::ALL {
            let at = *table as usize;
            for (width, column) in widths.columns[at].iter_mut().zip(table.columns()) {
                *width = match column.kind {
                    ColumnKind::Fixed(bytes) => bytes,
                    ColumnKind::Str => index(heaps.0 & WideHeaps::STRINGS != 0),
                    ColumnKind::Guid => index(heaps.0 & WideHeaps::GUID != 0),
                    ColumnKind::Blob => index(heaps.0 & WideHeaps::BLOB != 0),
                    ColumnKind::Rid(table) => index(count(table) >= 1 << 16),
                    ColumnKind::Coded(coded) => {
                        let most = coded.tables.iter().map(|(_, table)| count(*table)).max().unwrap_or(0);
                        index(most >= 1 << (16 - coded.tag_bits))
                    }
                };
                widths.rows[at] += usize::from(*width);
            }
        }
        widths
    }

    /// The size of one row in bytes.
    pub fn row_size(&self, table: Table) -> usize {
        self.rows[table as usize]
    }

    /// The widths of a table's columns, in file order.
    pub fn columns(&self, table: Table) -> &[u8] {
        &self.columns[table as usize][..table.columns().len()]
    }

    /// Appends the cells of one row.
    pub(crate) fn put_row(&self, table: Table, cells: impl IntoIterator<Item = u32>, out: &mut Vec<u8>) {
        for (cell, width) in cells.into_iter().zip(self.columns(table)) {
            debug_assert!(*width == 4 || cell >> (u32::from(*width) * 8) == 0, "{table}: {cell:#x} in {width} bytes");
            match width {
                1 => out.push(cell as u8),
                2 => out.put_u16(cell as u16),
                _ => out.put_u32(cell),
            }
        }
    }
}

/// The tables of a file, as views of its bytes.
#[derive(Clone, Debug)]
pub struct Tables<'a> {
    /// The version of the schema.
    pub version: (u8, u8),
    /// The `HeapSizes` byte in the file, including its other flags.
    pub heap_sizes: u8,
    /// The following byte, which the standard reserves: the logarithm of the largest row number.
    pub log2_rid: u8,
    /// The tables with the sorted flag, a bit each.
    pub sorted: u64,
    /// Four bytes that some writers put after the row counts, if bit 0x40 of `HeapSizes` is set.
    pub extra: Option<u32>,
    counts: RowCounts,
    external: RowCounts,
    widths: Widths,
    rows: [&'a [u8]; TABLES],
    offsets: [FileOffset; TABLES],
}

/// The bit of `HeapSizes` that announces four extra bytes.
const EXTRA_DATA: u8 = 0x40;

impl<'a> Tables<'a> {
    /// Reads the stream's header and locates the tables. For a portable PDB, `external` counts the rows of the
    /// assembly's tables. Otherwise it is all zeros.
    pub fn parse(mut cursor: Cursor<'a>, external: &RowCounts) -> Result<Self> {
        cursor.u32()?;
        let version = (cursor.u8()?, cursor.u8()?);
        let heap_sizes = cursor.u8()?;
        let log2_rid = cursor.u8()?;
        let valid = cursor.u64()?;
        let sorted = cursor.u64()?;
        let mut counts = [0; TABLES];
        for (number, count) in counts.iter_mut().enumerate() {
            if valid >> number & 1 == 0 {
                continue;
            }
            let offset = cursor.offset();
            *count = cursor.u32()?;
            if Table::from_number(number as u8).is_none() && *count > 0 {
                return malformed(offset, "rows of a table that the standard does not have");
            }
            if *count > 0x00FF_FFFF {
                return malformed(offset, "more rows than a token can count");
            }
        }
        let extra = if heap_sizes & EXTRA_DATA != 0 { Some(cursor.u32()?) } else { None };
        let widths = Widths::new(&with_external(counts, external), WideHeaps(heap_sizes));
        let mut rows = [&[][..]; TABLES];
        let mut offsets = [FileOffset(0); TABLES];
        for table in Table::ALL {
            let at = *table as usize;
            offsets[at] = cursor.offset();
            let size = widths.row_size(*table).saturating_mul(counts[at] as usize);
            rows[at] = cursor.bytes(size).map_err(|error| error.in_cell(table))?;
        }
        Ok(Self { version, heap_sizes, log2_rid, sorted, extra, counts, external: *external, widths, rows, offsets })
    }

    /// The number of rows of a table.
    #[inline]
    pub fn count(&self, table: Table) -> u32 {
        self.counts[table as usize]
    }

    /// The number of rows of each table.
    pub fn counts(&self) -> &RowCounts {
        &self.counts
    }

    /// The column widths.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// The bytes of a table's rows in the file.
    pub fn bytes(&self, table: Table) -> &'a [u8] {
        self.rows[table as usize]
    }

    /// Whether a table has the sorted flag.
    pub fn is_sorted(&self, table: Table) -> bool {
        self.sorted >> (table as u8) & 1 != 0
    }

    /// One row, by its number from 1.
    #[inline]
    pub fn row<R: Row>(&self, rid: Rid<R>) -> Result<R> {
        let at = R::TABLE as usize;
        let size = self.widths.rows[at];
        let row = (rid.get() as usize).checked_sub(1).and_then(|index| {
            let start = index.checked_mul(size)?;
            self.rows[at].get(start..start + size)
        });
        let Some(row) = row else {
            return Err(Error::new(ErrorKind::BadRow { rid: rid.get(), rows: self.counts[at] }).in_cell(R::TABLE));
        };
        Ok(read_row(row, &self.widths.columns[at]))
    }

    /// The raw cells of one row.
    pub fn cells(&self, table: Table, rid: u32) -> Option<Vec<u32>> {
        let size = self.widths.row_size(table);
        let start = (rid as usize).checked_sub(1)?.checked_mul(size)?;
        let mut row = self.bytes(table).get(start..start + size)?;
        Some(self.widths.columns(table).iter().map(|width| take(&mut row, *width)).collect())
    }

    /// The sort key of one row: the cells of the sort columns, most significant first.
    pub fn sort_key(&self, table: Table, rid: u32) -> Option<Vec<u32>> {
        Some(pick(&self.cells(table, rid)?, &sort_columns(table)))
    }

    /// All rows of a table, with their numbers.
    pub fn rows<R: Row>(&self) -> impl ExactSizeIterator<Item = (Rid<R>, R)> + use<'_, 'a, R> {
        let at = R::TABLE as usize;
        // A table without rows may have a row size of 0, which `chunks` does not take.
        self.rows[at]
            .chunks_exact(self.widths.rows[at].max(1))
            .enumerate()
            .map(move |(index, row)| (Rid::new(index as u32 + 1), read_row(row, &self.widths.columns[at])))
    }

    /// The file offset of a row.
    pub fn offset<R: Row>(&self, rid: Rid<R>) -> FileOffset {
        let at = R::TABLE as usize;
        FileOffset(self.offsets[at].0 + u64::from(rid.get().saturating_sub(1)) * self.widths.rows[at] as u64)
    }
}

/// Whether tokens can name a table's rows. Rows that can have custom debug information can be named. No other sorted
/// table has named rows.
pub(crate) fn is_named(table: Table) -> bool {
    HasCustomDebugInformation::new(Token::new(table, 1)).is_some()
}

/// Whether added rows are inserted by their keys, even if the table lacks the sorted flag. That misleads no reader,
/// and runtimes search these tables as if they were sorted.
pub fn is_ordered(table: Table) -> bool {
    !table.sort_keys().is_empty() && !is_named(table)
}

/// In a portable PDB, the column widths depend on the assembly's tables too.
fn with_external(mut counts: RowCounts, external: &RowCounts) -> RowCounts {
    counts.iter_mut().zip(external).for_each(|(count, external)| *count = (*count).max(*external));
    counts
}

fn read_row<R: Row>(mut row: &[u8], widths: &[u8; COLUMNS]) -> R {
    let mut column = 0;
    R::from_cells(|| {
        let width = widths.get(column).copied().unwrap_or(0);
        column += 1;
        take(&mut row, width)
    })
}

/// Takes the next cell off a row.
#[inline]
fn take(row: &mut &[u8], width: u8) -> u32 {
    let (cell, rest) = row.split_at_checked(usize::from(width)).unwrap_or_default();
    *row = rest;
    match *cell {
        [a] => u32::from(a),
        [_, _] => LE::read_u16(cell).into(),
        [_, _, _, _] => LE::read_u32(cell),
        _ => 0,
    }
}

/// Rows added to the input's own, and rows that replace some of them.
#[derive(Clone, Debug)]
pub(crate) struct AppendedRows {
    cells: [Vec<u32>; TABLES],
    /// By table: row numbers, and the cells of each.
    replaced: [(Vec<u32>, Vec<u32>); TABLES],
    /// The row counts of a portable PDB's assembly, if they have changed.
    pub(crate) external: Option<RowCounts>,
}

impl Default for AppendedRows {
    fn default() -> Self {
        Self { cells: std::array::from_fn(|_| Vec::new()), replaced: std::array::from_fn(|_| <_>::default()), external: None }
    }
}

impl AppendedRows {
    pub(crate) fn push<R: Row>(&mut self, row: &R) {
        let cells = &mut self.cells[R::TABLE as usize];
        row.for_each_cell(|cell| cells.push(cell));
    }

    /// The cells of each row added to a table.
    pub(crate) fn rows_of(&self, table: Table) -> impl ExactSizeIterator<Item = &[u32]> {
        self.cells[table as usize].chunks_exact(table.columns().len())
    }

    /// Whether a row sorts after all others, so that no row gets another number.
    pub(crate) fn comes_last<R: Row>(&self, tables: &Tables<'_>, row: &R) -> bool {
        let mut cells = Vec::new();
        row.for_each_cell(|cell| cells.push(cell));
        let columns = sort_columns(R::TABLE);
        let last = self.rows_of(R::TABLE).last().map(|cells| pick(cells, &columns));
        let last = last.or_else(|| tables.sort_key(R::TABLE, tables.count(R::TABLE)));
        !tables.is_sorted(R::TABLE) || last.is_none_or(|last| last <= pick(&cells, &columns))
    }

    pub(crate) fn replace<R: Row>(&mut self, rid: Rid<R>, row: &R) {
        let (rids, cells) = &mut self.replaced[R::TABLE as usize];
        rids.push(rid.get());
        row.for_each_cell(|cell| cells.push(cell));
    }

    /// The replacements of the input's rows.
    pub(crate) fn replaced(&self, table: Table) -> impl Iterator<Item = (u32, &[u32])> {
        let (rids, cells) = &self.replaced[table as usize];
        rids.iter().copied().zip(cells.chunks_exact(table.columns().len()))
    }

    pub(crate) fn count(&self, table: Table) -> u32 {
        (self.cells[table as usize].len() / table.columns().len()) as u32
    }
}

/// Encodes a table stream in the widths for the new sizes. The `appended` rows come after the input's, or among them
/// in a sorted table. `patch` may change the encoded rows of the input, given the row size.
pub(crate) fn encode<'a>(
    tables: &Tables<'a>,
    appended: &AppendedRows,
    heaps: WideHeaps,
    mut patch: impl FnMut(Table, usize, &mut Cow<'a, [u8]>),
) -> Vec<Cow<'a, [u8]>> {
    let mut counts = tables.counts;
    let (mut valid, mut sorted) = (0_u64, tables.sorted);
    for table in Table::ALL {
        // A table that was empty gets sorted rows, and the sorted flag.
        if counts[*table as usize] == 0 && appended.count(*table) > 0 && !table.sort_keys().is_empty() {
            sorted |= 1 << (*table as u8);
        }
        counts[*table as usize] += appended.count(*table);
        if counts[*table as usize] > 0 {
            valid |= 1 << (*table as u8);
        }
    }
    // Never narrower than in the input, so that a file without additions is encoded unchanged.
    let heaps = WideHeaps(heaps.0 | tables.heap_sizes);
    let widths = Widths::new(&with_external(counts, appended.external.as_ref().unwrap_or(&tables.external)), heaps);

    let mut header = Vec::new();
    header.extend_from_slice(&[0; 4]);
    header.extend_from_slice(&[tables.version.0, tables.version.1, heaps.0, tables.log2_rid]);
    header.put_u64(valid);
    header.put_u64(sorted);
    for table in Table::ALL.iter().filter(|table| counts[**table as usize] > 0) {
        header.put_u32(counts[*table as usize]);
    }
    if let Some(extra) = tables.extra {
        header.put_u32(extra);
    }
    let mut stream = vec![Cow::Owned(header)];
    for table in Table::ALL.iter().copied().filter(|table| counts[*table as usize] > 0) {
        let mut rows = encode_own(tables, table, appended, &widths);
        patch(table, widths.row_size(table), &mut rows);
        put_added(table, appended, &widths, &mut rows);
        stream.push(rows);
    }
    let length: usize = stream.iter().map(|part| part.len()).sum();
    let mut padding = Vec::new();
    pad_to(&mut padding, 4);
    padding.resize(length.next_multiple_of(4) - length, 0);
    stream.push(Cow::Owned(padding));
    stream
}

/// The input's rows, at their old numbers.
fn encode_own<'a>(tables: &Tables<'a>, table: Table, appended: &AppendedRows, widths: &Widths) -> Cow<'a, [u8]> {
    let row_size = widths.row_size(table);
    let mut out = Cow::Borrowed(tables.bytes(table));
    if widths.columns(table) != tables.widths.columns(table) {
        let mut rows = Vec::with_capacity(row_size * (tables.count(table) + appended.count(table)) as usize);
        for rid in 1..=tables.count(table) {
            widths.put_row(table, tables.cells(table, rid).unwrap_or_default(), &mut rows);
        }
        out = Cow::Owned(rows);
    }
    let (rids, cells) = &appended.replaced[table as usize];
    let mut row = Vec::with_capacity(row_size);
    for (rid, cells) in rids.iter().zip(cells.chunks_exact(table.columns().len())) {
        row.clear();
        widths.put_row(table, cells.iter().copied(), &mut row);
        let start = (*rid as usize).saturating_sub(1) * row_size;
        if let Some(place) = out.to_mut().get_mut(start..start + row_size) {
            place.copy_from_slice(&row);
        }
    }
    out
}

/// Adds rows after the input's, or among them.
fn put_added(table: Table, appended: &AppendedRows, widths: &Widths, rows: &mut Cow<'_, [u8]>) {
    let added = appended.rows_of(table);
    if added.len() == 0 {
        return;
    }
    let row_size = widths.row_size(table);
    let out = rows.to_mut();
    out.reserve(row_size * added.len());
    // Rows that can be named were only accepted for the end.
    let keys = if is_ordered(table) { sort_columns(table) } else { Vec::new() };
    for row in added {
        let end = out.len();
        widths.put_row(table, row.iter().copied(), out);
        if !keys.is_empty() {
            // Inserts after all rows whose key is not greater.
            let place =
                row_size * upper_bound(&out[..end], row_size, |bytes| key(bytes, widths.columns(table), &keys), row, &keys);
            out[place..].rotate_right(row_size);
        }
    }
}

/// The number of rows whose key is not greater than that of `row`.
fn upper_bound(rows: &[u8], row_size: usize, key: impl Fn(&[u8]) -> Vec<u32>, row: &[u32], keys: &[usize]) -> usize {
    let wanted = pick(row, keys);
    let (mut low, mut high) = (0, rows.len() / row_size.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        let bytes = rows.get(middle * row_size..).unwrap_or_default();
        if key(bytes) <= wanted { low = middle + 1 } else { high = middle }
    }
    low
}

/// The sort key of a row.
fn key(mut row: &[u8], widths: &[u8], keys: &[usize]) -> Vec<u32> {
    let cells: Vec<u32> = widths.iter().map(|width| take(&mut row, *width)).collect();
    pick(&cells, keys)
}

fn pick(cells: &[u32], columns: &[usize]) -> Vec<u32> {
    columns.iter().filter_map(|column| cells.get(*column).copied()).collect()
}

/// The positions of a table's sort columns.
fn sort_columns(table: Table) -> Vec<usize> {
    let position = |key: &&str| table.columns().iter().position(|column| column.name == *key);
    table.sort_keys().iter().filter_map(position).collect()
}
