//! Dangling references. Appended items could give one a meaning, so a caller that appends checks for them first.

use std::{ops::Range, sync::OnceLock};

use little_endian::NumbersAt;

use crate::{
    body::{ClauseKind, MethodBody},
    cursor::pad_to,
    element::ElementType,
    error::{Error, ErrorKind, Place, Result},
    heap::Heap,
    metadata::Metadata,
    schema::{Blob, CodedIndex, ColumnKind, Table, TypeDefOrRef},
    signature::outline::{walk_signature, walk_type_spec},
    tables::RowCounts,
    token::Token,
};

/// The rows and bytes appended to a file's tables and heaps.
#[derive(Debug)]
pub struct Growth<'a, 'm> {
    metadata: &'m Metadata<'a>,
    before: RowCounts,
    after: RowCounts,
    strings: HeapGrowth<'a>,
    user_strings: HeapGrowth<'a>,
    blobs: HeapGrowth<'a>,
    guids: HeapGrowth<'a>,
}

impl<'a, 'm> Growth<'a, 'm> {
    /// Compares the row counts before and after, with bytes appended to #Strings, #US, #Blob and #GUID.
    pub(crate) fn new(metadata: &'m Metadata<'a>, before: RowCounts, after: RowCounts, heaps: [Vec<u8>; 4]) -> Self {
        let [strings, user_strings, blobs, guids] = heaps;
        Self {
            metadata,
            before,
            after,
            strings: HeapGrowth::new(metadata.strings, strings),
            user_strings: HeapGrowth::new(metadata.user_strings, user_strings),
            blobs: HeapGrowth::new(metadata.blobs, blobs),
            guids: HeapGrowth::new(metadata.guids, guids),
        }
    }

    /// Adapts this to a portable PDB whose assembly also gets more rows.
    #[must_use]
    pub fn beside(mut self, before: &RowCounts, after: &RowCounts) -> Self {
        for table in Table::ALL.iter().map(|table| *table as usize) {
            if self.after[table] == 0 {
                (self.before[table], self.after[table]) = (before[table], after[table]);
            }
        }
        self
    }

    /// Whether a dangling token would gain a meaning.
    pub fn revives(&self, token: Token) -> bool {
        match token.table() {
            Some(table) => self.new_rows(table).contains(&token.rid()),
            None => token.kind() == Token::USER_STRING && self.user_strings.revives_blob(token.rid()),
        }
    }

    /// Checks all columns, and the signatures they refer to, for dangling references that would gain a meaning.
    ///
    /// # Errors
    /// The place of the first one.
    pub fn check_tables(&self) -> Result<()> {
        if self.strings.added_any() && self.strings.heap.bytes.last().is_some_and(|last| *last != 0) {
            return dangling(Place::LastName);
        }
        for table in Table::ALL.iter().copied().filter(|table| !self.metadata.tables.bytes(*table).is_empty()) {
            let mut at = 0;
            for (column, width) in table.columns().iter().zip(self.metadata.tables.widths().columns(table)) {
                let cells = Cells { growth: self, table, at, width: *width };
                if let Some(row) = cells.find(column.kind) {
                    return dangling(Place::Cell { table, row, column: column.name });
                }
                at += usize::from(*width);
            }
        }
        self.check_signatures()
    }

    /// Checks a body for tokens that would gain a meaning.
    ///
    /// # Errors
    /// If there is one, or might be one in IL that cannot be decoded.
    pub fn check_body(&self, method: Token, body: &MethodBody<'_>) -> Result<()> {
        let catches = body.clauses.iter().filter_map(|clause| match clause.kind {
            ClauseKind::Catch(class) => Some(class),
            _ => None,
        });
        let mut is_revived = catches.chain([body.local_var_sig]).any(|token| self.revives(token));
        for instruction in body.instructions() {
            is_revived |= match instruction {
                Ok(instruction) => instruction.info.operand.is_token() && self.revives(instruction.token()),
                // Another decoder may find a token at any offset.
                Err(_) => body.il.windows(4).any(|bytes| {
                    let number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
                    self.revives(Token(number))
                }),
            };
        }
        if is_revived { dangling(Place::Body(method)) } else { Ok(()) }
    }

    fn new_rows(&self, table: Table) -> Range<u32> {
        self.before[table as usize] + 1..self.after[table as usize] + 1
    }

    /// Checks the types that signatures name.
    fn check_signatures(&self) -> Result<()> {
        let tables = TypeDefOrRef::INDEX.tables.iter().map(|(_, table)| *table);
        let mut new = tables.flat_map(|table| self.new_rows(table).map(move |row| Token::new(table, row)));
        if !new.any(|token| TypeDefOrRef::new(token).is_some_and(|ty| may_name(self.metadata.blobs.bytes, ty.0))) {
            return Ok(());
        }
        let mut known = Known::new(self.metadata.blobs);
        for table in SIGNATURES {
            let columns = table.columns().iter().zip(self.metadata.tables.widths().columns(table));
            let mut at = 0;
            for (column, width) in columns {
                if column.kind == ColumnKind::Blob {
                    let cells = Cells { growth: self, table, at, width: *width };
                    if let Some(row) = cells.position(|offset| self.is_signature_revived(table, offset, &mut known)) {
                        return dangling(Place::Signature { table, row });
                    }
                }
                at += usize::from(*width);
            }
            // A TypeSpec's blob is a type, not a signature.
            if table == Table::TypeSpec {
                known = Known::new(self.metadata.blobs);
            }
        }
        Ok(())
    }

    fn is_signature_revived(&self, table: Table, offset: u32, known: &mut Known) -> bool {
        if known.put(offset) {
            return false;
        }
        let Ok(blob) = self.metadata.blobs.blob(Blob(offset)) else { return false };
        let mut is_revived = false;
        let mut visit = |ty: TypeDefOrRef| is_revived |= ty.token().is_some_and(|token| self.revives(token));
        // Readers stop at the first byte that breaks the format.
        let _ = if table == Table::TypeSpec { walk_type_spec(blob, &mut visit) } else { walk_signature(blob, &mut visit) };
        is_revived || known.has_overlaps(blob.rest().len())
    }
}

/// The tables with signatures, TypeSpec first.
const SIGNATURES: [Table; 7] =
    [Table::TypeSpec, Table::Field, Table::MethodDef, Table::MemberRef, Table::StandAloneSig, Table::Property, Table::MethodSpec];

/// Whether a signature among these bytes may name a type, by this coded index. For speed, nothing is parsed. So other
/// bytes may match too.
fn may_name(bytes: &[u8], ty: u32) -> bool {
    let is_kind = |byte: u8| {
        (byte == ElementType::Class as u8)
            | (byte == ElementType::ValueType as u8)
            | (byte == ElementType::CModReqd as u8)
            | (byte == ElementType::CModOpt as u8)
    };
    // Without branches, so that the compiler can vectorise it.
    let starts = |first: u8, second: u8| {
        let triples = bytes.iter().zip(bytes.get(1..).unwrap_or_default()).zip(bytes.get(2..).unwrap_or_default());
        triples.fold(false, |found, ((kind, a), b)| found | (is_kind(*kind) & (*a == first) & (*b == second)))
    };
    // A writer may use more bytes than the number needs (II.23.2).
    let in_one = || ty < 0x80 && bytes.windows(2).any(|pair| is_kind(pair[0]) && u32::from(pair[1]) == ty);
    let in_two = || ty < 0x4000 && starts((ty >> 8) as u8 | 0x80, ty as u8);
    in_one() || in_two() || starts((ty >> 24) as u8 | 0xC0, (ty >> 16) as u8)
}

fn dangling<T>(place: Place) -> Result<T> {
    Err(Error::new(ErrorKind::Dangling(place)))
}

/// The offsets of the blobs already checked.
struct Known {
    offsets: Vec<u64>,
    /// The number of bytes left to check. Disjoint blobs have no more than the heap. Overlapping ones could take too
    /// long.
    left: usize,
}

impl Known {
    fn new(heap: Heap<'_>) -> Self {
        Self { offsets: vec![0; heap.bytes.len() / 64 + 1], left: 8 * heap.bytes.len() }
    }

    /// Adds an offset, and returns whether it was known.
    fn put(&mut self, offset: u32) -> bool {
        let Some(word) = self.offsets.get_mut(offset as usize / 64) else { return true };
        let bit = 1 << (offset % 64);
        let is_known = *word & bit != 0;
        *word |= bit;
        is_known
    }

    /// Whether so many bytes were checked that blobs must overlap.
    fn has_overlaps(&mut self, size: usize) -> bool {
        let left = self.left.checked_sub(size);
        self.left = left.unwrap_or(0);
        left.is_none()
    }
}

/// A column of a table. Its cells start at offset `at` of each row.
#[derive(Clone, Copy)]
struct Cells<'g, 'a, 'm> {
    growth: &'g Growth<'a, 'm>,
    table: Table,
    at: usize,
    width: u8,
}

impl Cells<'_, '_, '_> {
    /// The first row with a cell that would gain a meaning.
    fn find(&self, kind: ColumnKind) -> Option<u32> {
        let growth = self.growth;
        match kind {
            ColumnKind::Fixed(_) => None,
            ColumnKind::Str => self.find_in(growth.strings.new_offsets()),
            // GUIDs are counted from 1, and have 16 bytes each.
            ColumnKind::Guid => {
                let Range { start, end } = growth.guids.new_offsets();
                self.find_in(growth.guids.heap.bytes.len() as u32 / 16 + 1..if start < end { end / 16 + 1 } else { 0 })
            }
            ColumnKind::Blob => {
                let bytes = growth.blobs.heap.bytes;
                self.position(|offset| match bytes.get(offset as usize..) {
                    // Nearly all blobs are short, and end before the heap does.
                    Some([length @ 0..=0x7F, rest @ ..]) if usize::from(*length) <= rest.len() => false,
                    _ => growth.blobs.revives_blob(offset),
                })
            }
            ColumnKind::Rid(table) => {
                let Range { start, end } = growth.new_rows(table);
                // A list that starts after all rows stays empty if the next owner's list starts there too.
                let has_next = self.table.has_list_of(table) && !growth.new_rows(self.table).is_empty();
                self.find_in(start + u32::from(has_next)..end)
            }
            ColumnKind::Coded(index) => self.find_coded(index),
        }
    }

    fn find_in(&self, range: Range<u32>) -> Option<u32> {
        if range.is_empty() || (self.width == 2 && range.start > u16::MAX.into()) {
            return None;
        }
        self.position(|cell| range.contains(&cell))
    }

    fn find_coded(&self, index: &CodedIndex) -> Option<u32> {
        let mut new_rows = [const { 0..0 }; 32];
        for (tag, table) in index.tables {
            new_rows[usize::from(*tag)] = self.growth.new_rows(*table);
        }
        if new_rows.iter().all(Range::is_empty) {
            return None;
        }
        let mask = (1 << index.tag_bits) - 1;
        self.position(|cell| new_rows[(cell & mask) as usize % 32].contains(&(cell >> index.tag_bits)))
    }

    /// The first row, from 1, whose cell matches.
    fn position(&self, mut is_wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let tables = &self.growth.metadata.tables;
        let rows =
            tables.bytes(self.table).get(self.at..).unwrap_or_default().chunks(tables.widths().row_size(self.table).max(1));
        let mut numbers = 1..;
        let mut rows = rows.zip(&mut numbers);
        let found = if self.width == 2 {
            rows.find(|(row, _)| row.u16_at(0).is_some_and(|number| is_wanted(number.into())))
        } else {
            rows.find(|(row, _)| row.u32_at(0).is_some_and(&mut is_wanted))
        };
        found.map(|(_, number)| number)
    }
}

/// A heap and the bytes appended to it: the added items, then zeros up to a multiple of 4.
#[derive(Debug)]
struct HeapGrowth<'a> {
    heap: Heap<'a>,
    added: Vec<u8>,
    grown: OnceLock<Vec<u8>>,
}

impl<'a> HeapGrowth<'a> {
    fn new(heap: Heap<'a>, added: Vec<u8>) -> Self {
        Self { heap, added, grown: OnceLock::new() }
    }

    fn added_any(&self) -> bool {
        !self.new_offsets().is_empty()
    }

    /// The dangling offsets that would gain a meaning. Offset 0 has no meaning in any heap.
    fn new_offsets(&self) -> Range<u32> {
        if self.added.is_empty() {
            return 0..0;
        }
        let end = (self.heap.bytes.len() + self.added.len()).next_multiple_of(4);
        self.heap.bytes.len().max(1) as u32..end as u32
    }

    /// Whether an unreadable blob becomes readable, or starts in the appended bytes.
    fn revives_blob(&self, offset: u32) -> bool {
        if self.added.is_empty() || self.heap.blob(Blob(offset)).is_ok() {
            return false;
        }
        if self.new_offsets().contains(&offset) {
            return true;
        }
        let bytes = self.grown.get_or_init(|| {
            let mut bytes = [self.heap.bytes, &self.added].concat();
            pad_to(&mut bytes, 4);
            bytes
        });
        Heap { bytes, ..self.heap }.blob(Blob(offset)).is_ok()
    }
}
