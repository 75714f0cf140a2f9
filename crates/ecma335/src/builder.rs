//! Appends rows, names and blobs to metadata. The input's own rows and heap items keep their numbers.

use std::{borrow::Cow, ops::Range};

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use little_endian::{ByteOrder, LE, PutNumbers};

use crate::{
    dangling::Growth,
    error::{Error, ErrorKind, Result},
    heap::{Heap, HeapAppend},
    metadata::{Metadata, SIGNATURE},
    pdb_stream::{self, PdbId, PdbStream},
    schema::{Blob, FieldRva, Guid, MethodDef, Module, Row, Str, Table},
    segments::Segments,
    tables::{AppendedRows, COLUMNS, RowCounts, WideHeaps, encode, is_named, is_ordered},
    token::{Rid, Rva, Token},
};

/// Collects additions to a module's metadata, then writes the extended metadata.
#[derive(Debug)]
pub struct MetadataBuilder<'a, 'm> {
    metadata: &'m Metadata<'a>,
    strings: HeapAppend,
    user_strings: HeapAppend,
    blobs: HeapAppend,
    guids: HeapAppend,
    rows: AppendedRows,
    /// The rows added by [`intern`](Self::intern), by their cells.
    known: IndexMap<(Table, [u32; COLUMNS]), Token, RandomState>,
    /// By row number less one. 0 keeps the input's RVA.
    method_rvas: Vec<u32>,
    field_rvas: Vec<u32>,
    mvid: Option<[u8; 16]>,
}

impl<'a, 'm> MetadataBuilder<'a, 'm> {
    /// Starts with the input's metadata and no additions.
    pub fn new(metadata: &'m Metadata<'a>) -> Self {
        Self {
            metadata,
            strings: HeapAppend::behind(metadata.strings),
            user_strings: HeapAppend::behind(metadata.user_strings),
            blobs: HeapAppend::behind(metadata.blobs),
            guids: HeapAppend::behind_guids(metadata.guids),
            rows: AppendedRows::default(),
            known: IndexMap::default(),
            method_rvas: vec![0; metadata.tables.count(Table::MethodDef) as usize],
            field_rvas: vec![0; metadata.tables.count(Table::FieldRva) as usize],
            mvid: None,
        }
    }

    /// Adds a name to #Strings, or finds it among the added ones.
    pub fn string(&mut self, name: &str) -> Result<Str> {
        self.strings.string(name)
    }

    /// Adds a blob to #Blob, or finds it among the added ones.
    pub fn blob(&mut self, blob: &[u8]) -> Result<Blob> {
        self.blobs.blob(blob)
    }

    /// Frees these ranges of the input's #Blob, in order, for [`place_blob`](Self::place_blob). Nothing may refer to
    /// them: see [`vacant_blobs`](crate::vacancy::vacant_blobs). Bytes that stay free become zeros.
    pub fn vacate_blobs(&mut self, places: Vec<Range<u32>>) {
        self.blobs.vacate(places);
    }

    /// Adds a blob to #Blob, in a freed range if one is large enough. Equal blobs in freed ranges are not shared.
    pub fn place_blob(&mut self, blob: &[u8]) -> Result<Blob> {
        self.blobs.place_blob(blob)
    }

    /// Adds a string literal to #US, or finds it among the added ones. Returns its token for `ldstr`.
    ///
    /// # Errors
    /// If its offset exceeds a token's range, 2^24 bytes.
    pub fn user_string(&mut self, text: &str) -> Result<Token> {
        let offset = self.user_strings.user_string(text)?;
        if offset > MAX_ROW {
            return Err(Error::new(ErrorKind::Limit("a #US heap of 2^24 bytes")));
        }
        Ok(Token(u32::from(Token::USER_STRING) << 24 | offset))
    }

    /// Adds a GUID to #GUID, or finds it among the added ones.
    pub fn guid(&mut self, guid: [u8; 16]) -> Result<Guid> {
        self.guids.guid(guid)
    }

    /// Appends a row and returns its token.
    ///
    /// The position of a member decides its owner. A MethodDef, Field or Param belongs to the last owner, existing or
    /// added, whose list begins before it (II.22.37).
    ///
    /// # Errors
    /// If the table is full (2^24 - 1 rows), or is sorted: rows of sorted tables have no stable numbers, see
    /// [`insert`](Self::insert).
    pub fn add<R: Row>(&mut self, row: &R) -> Result<Token> {
        if !R::TABLE.sort_keys().is_empty() {
            return Err(Error::new(ErrorKind::Unsupported("appending to a sorted table")).in_cell(R::TABLE));
        }
        self.push(row)
    }

    /// Appends a row unless an equal one was added here before, and returns its token. The input's own rows are not
    /// searched.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn intern<R: Row>(&mut self, row: &R) -> Result<Token> {
        let mut cells = [0; COLUMNS];
        let mut slots = cells.iter_mut();
        row.for_each_cell(|cell| slots.by_ref().take(1).for_each(|slot| *slot = cell));
        if let Some(token) = self.known.get(&(R::TABLE, cells)) {
            return Ok(*token);
        }
        let token = self.add(row)?;
        self.known.insert((R::TABLE, cells), token);
        Ok(token)
    }

    /// The first row of the input that matches, if any.
    pub fn find<R: Row>(&self, is_it: impl Fn(&Metadata<'a>, &R) -> bool) -> Option<Token> {
        let mut rows = self.metadata.tables.rows::<R>();
        rows.find(|(_, row)| is_it(self.metadata, row)).map(|(rid, _)| Token::new(R::TABLE, rid.get()))
    }

    /// Whether a token names a row of the input.
    pub fn is_of_input(&self, token: Token) -> bool {
        token.table().is_some_and(|table| token.rid() <= self.metadata.tables.count(table))
    }

    /// Inserts a row into a sorted table at its sorted position. The numbers of later rows change.
    ///
    /// # Errors
    /// If the table is full. Also if tokens can name its rows and the position is not the end, because rows must keep
    /// their numbers then.
    pub fn insert<R: Row>(&mut self, row: &R) -> Result<()> {
        if is_named(R::TABLE) && !self.rows.comes_last(&self.metadata.tables, row) {
            return Err(Error::new(ErrorKind::Unsupported("giving rows that can be named other numbers")).in_cell(R::TABLE));
        }
        self.push(row).map(drop)
    }

    fn push<R: Row>(&mut self, row: &R) -> Result<Token> {
        let rid = self.metadata.tables.count(R::TABLE) + self.rows.count(R::TABLE) + 1;
        if rid > MAX_ROW {
            return Err(Error::new(ErrorKind::Limit("2^24 rows")).in_cell(R::TABLE));
        }
        self.rows.push(row);
        Ok(Token::new(R::TABLE, rid))
    }

    /// The additions so far: the written module must contain them besides the input's own rows and heap items.
    pub fn additions(&self) -> Additions {
        let heaps = self.heaps().map(|(name, heap)| (name, heap.bytes().to_vec()));
        Additions { rows: self.rows.clone(), heaps: heaps.into(), blob_changes: self.blobs.changes() }
    }

    /// The additions so far, for checking dangling references of the input against them.
    pub fn growth(&self) -> Growth<'a, 'm> {
        let heaps = self.heaps().map(|(_, heap)| heap.bytes().to_vec());
        Growth::new(self.metadata, *self.metadata.tables.counts(), self.counts(), heaps)
    }

    fn heaps(&self) -> [(&'static [u8], &HeapAppend); 4] {
        [(b"#Strings", &self.strings), (b"#US", &self.user_strings), (b"#Blob", &self.blobs), (b"#GUID", &self.guids)]
    }

    /// Replaces a row of the input. In a sorted table, its sorted position must stay the same.
    pub fn replace<R: Row>(&mut self, rid: Rid<R>, row: &R) {
        self.rows.replace(rid, row);
    }

    /// The resulting row count of each table.
    pub fn counts(&self) -> RowCounts {
        let mut counts = *self.metadata.tables.counts();
        Table::ALL.iter().for_each(|table| counts[*table as usize] += self.rows.count(*table));
        counts
    }

    /// Updates the row counts of the assembly's tables in a portable PDB. Its id becomes zeros.
    pub fn set_assembly_counts(&mut self, counts: RowCounts) {
        self.rows.external = Some(counts);
    }

    /// Sets the RVA of a method's body.
    pub fn set_method_rva(&mut self, method: Rid<MethodDef>, rva: Rva) {
        set(&mut self.method_rvas, method, rva);
    }

    pub(crate) fn metadata(&self) -> &'m Metadata<'a> {
        self.metadata
    }

    /// Whether [`set_method_rva`](Self::set_method_rva) was called for this method.
    pub fn has_new_body(&self, method: Rid<MethodDef>) -> bool {
        self.method_rvas.get((method.get() as usize).wrapping_sub(1)).is_some_and(|rva| *rva != 0)
    }

    /// Sets the RVA of a field's data.
    pub fn set_field_rva(&mut self, field: Rid<FieldRva>, rva: Rva) {
        set(&mut self.field_rvas, field, rva);
    }

    /// Sets the module's version identifier, in place: Mono reads the old place, not the row. A module without one
    /// stays without.
    pub fn set_mvid(&mut self, mvid: [u8; 16]) {
        self.mvid = Some(mvid);
    }

    /// The new metadata root with all its streams, in the input's order.
    pub fn finish(&self) -> Result<Segments<'a>> {
        let metadata = self.metadata;
        let mut appended = self.heaps().map(|(name, heap)| (name, Some(heap.bytes().to_vec())));
        let size = |name: &[u8], heap: Heap<'_>| {
            let added = appended.iter().find(|(of, _)| *of == name).and_then(|(_, bytes)| bytes.as_ref());
            heap.bytes.len() + added.map_or(0, Vec::len)
        };
        let [strings, guids, blobs] =
            [(&b"#Strings"[..], metadata.strings), (b"#GUID", metadata.guids), (b"#Blob", metadata.blobs)]
                .map(|(name, heap)| size(name, heap));
        let wide = WideHeaps::for_sizes(strings, guids, blobs);
        let mut tables = Some(encode(&metadata.tables, &self.rows, wide, |table, row_size, rows| match table {
            Table::MethodDef => patch_rvas(&self.method_rvas, row_size, rows),
            Table::FieldRva => patch_rvas(&self.field_rvas, row_size, rows),
            _ => {}
        }));

        let mut streams: Vec<(&[u8], Segments<'a>)> = Vec::new();
        for stream in &metadata.streams {
            let mut segments = Segments::default();
            let is_tables = stream.name == b"#~" || stream.name == b"#-";
            if let Some(parts) = is_tables.then(|| tables.take()).flatten() {
                parts.into_iter().for_each(|part| segments.push(part));
            } else if let (pdb_stream::NAME, Some(pdb), Some(assembly)) = (stream.name, &metadata.pdb, self.rows.external) {
                segments.push(PdbStream { id: PdbId::default(), assembly, ..pdb.clone() }.to_bytes());
            } else {
                match (stream.name, self.mvid) {
                    (b"#GUID", Some(mvid)) => {
                        let module: Module = metadata.row(Rid::new(1))?;
                        segments.push(with_mvid(metadata.guids, module.mvid, mvid));
                    }
                    (b"#Blob", _) => segments.push(self.blobs.changed(stream.bytes)),
                    _ => segments.push(stream.bytes),
                }
                if let Some((_, append)) = appended.iter_mut().find(|(name, _)| *name == stream.name) {
                    let append = append.take().unwrap_or_default();
                    if !append.is_empty() {
                        segments.push(append);
                        segments.pad_to(4);
                    }
                }
            }
            streams.push((stream.name, segments));
        }
        // Heaps missing in the input come last.
        for (name, append) in appended {
            if let Some(bytes) = append.filter(|bytes| !bytes.is_empty()) {
                let mut segments = Segments::default();
                segments.push(bytes);
                segments.pad_to(4);
                streams.push((name, segments));
            }
        }
        write_root(metadata, streams)
    }
}

/// The maximum total size of overlapping streams, in multiples of the metadata's size.
const MAX_SHARED: usize = 8;

/// The largest row number of a token.
const MAX_ROW: u32 = 0x00FF_FFFF;

/// The rows and bytes added to a module's metadata.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    rows: AppendedRows,
    /// By the stream's name: the bytes appended to it.
    heaps: Vec<(&'static [u8], Vec<u8>)>,
    /// By offset: the new bytes of reused ranges of #Blob.
    blob_changes: Vec<(u32, Vec<u8>)>,
}

impl Additions {
    /// The rows added to a table, as cells, in the order of their addition.
    pub fn rows(&self, table: Table) -> impl ExactSizeIterator<Item = &[u32]> {
        self.rows.rows_of(table)
    }

    /// Whether a table's added rows are sorted in among the input's by their keys. Otherwise they come after those.
    pub fn is_ordered(&self, table: Table) -> bool {
        is_ordered(table)
    }

    /// The replaced rows of the input, by their numbers, in the order of replacement.
    pub fn replaced(&self, table: Table) -> impl Iterator<Item = (u32, &[u32])> {
        self.rows.replaced(table)
    }

    /// The new bytes of the freed ranges of the input's #Blob, by ascending offsets.
    pub fn blob_changes(&self) -> &[(u32, Vec<u8>)] {
        &self.blob_changes
    }

    /// The bytes appended to each heap.
    pub fn heaps(&self) -> impl Iterator<Item = (&'static [u8], &[u8])> {
        self.heaps.iter().map(|(name, bytes)| (*name, &bytes[..]))
    }
}

fn set<R>(rvas: &mut [u32], row: Rid<R>, rva: Rva) {
    if let Some(slot) = (row.get() as usize).checked_sub(1).and_then(|index| rvas.get_mut(index)) {
        *slot = rva.0;
    }
}

/// The RVA is the first column of MethodDef and of FieldRVA, and always has four bytes.
fn patch_rvas(rvas: &[u32], row_size: usize, rows: &mut Cow<'_, [u8]>) {
    if rvas.iter().all(|rva| *rva == 0) {
        return;
    }
    for (row, rva) in rows.to_mut().chunks_exact_mut(row_size.max(4)).zip(rvas).filter(|(_, rva)| **rva != 0) {
        LE::write_u32(row, *rva);
    }
}

/// The #GUID heap with another MVID.
fn with_mvid<'a>(heap: Heap<'a>, index: Guid, mvid: [u8; 16]) -> Cow<'a, [u8]> {
    let mut bytes = Cow::Borrowed(heap.bytes);
    let start = (index.0 as usize).checked_sub(1).and_then(|index| index.checked_mul(16));
    if let Some(range) = start.map(|start| start..start + 16).filter(|range| range.end <= heap.bytes.len()) {
        bytes.to_mut()[range].copy_from_slice(&mvid);
    }
    bytes
}

/// Writes the root's header before its streams (II.24.2.1).
fn write_root<'a>(metadata: &Metadata<'a>, streams: Vec<(&[u8], Segments<'a>)>) -> Result<Segments<'a>> {
    // Obfuscators add streams that overlap others. Many of these would turn a small file into a large one.
    let of_input = metadata.streams.iter().map(|stream| stream.bytes.len()).sum::<usize>();
    if of_input / MAX_SHARED > metadata.root.rest().len() {
        return Err(Error::new(ErrorKind::Unsupported("streams that lie in each other, many times their size")));
    }
    let count = u16::try_from(streams.len()).map_err(|_| Error::new(ErrorKind::Limit("65535 streams")))?;
    let padded_name = |name: &[u8]| (name.len() + 1).next_multiple_of(4);
    let header_size = 16 + metadata.version.len() + 4 + streams.iter().map(|(name, _)| 8 + padded_name(name)).sum::<usize>();
    let input = metadata.root.rest();
    let mut header = Vec::with_capacity(header_size);
    header.put_u32(SIGNATURE);
    header.extend_from_slice(input.get(4..12).unwrap_or(&[1, 0, 1, 0, 0, 0, 0, 0]));
    header.put_u32(metadata.version.len() as u32);
    header.extend_from_slice(metadata.version);
    let flags = input.get(16 + metadata.version.len()..).and_then(|rest| rest.get(..2)).unwrap_or(&[0, 0]);
    header.extend_from_slice(flags);
    header.put_u16(count);
    let mut offset = header_size;
    for (name, segments) in &streams {
        // A stream without additions keeps its exact size. Padding would turn reads past its end into zeros.
        let size = segments.len();
        let number = |value: usize| u32::try_from(value).map_err(|_| Error::new(ErrorKind::Limit("metadata of 2^32 bytes")));
        header.put_u32(number(offset)?);
        header.put_u32(number(size)?);
        header.extend_from_slice(name);
        header.resize(header.len() + padded_name(name) - name.len(), 0);
        offset += size.next_multiple_of(4);
    }
    let mut root = Segments::default();
    root.push(Cow::Owned(header));
    for (_, segments) in streams {
        root.append(segments);
        root.pad_to(4);
    }
    Ok(root)
}
