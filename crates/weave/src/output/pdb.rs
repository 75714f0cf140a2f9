//! Updates the portable PDB: each IL offset of a woven method moves with its instruction.

mod deflate;
mod link;
mod new_pdb;

use std::ops::Range;

use little_endian::PutNumbers;

use ecma335::{
    Budget, Cursor, Error, ErrorKind, FileOffset, Metadata, MetadataBuilder, Rid, Table, Token,
    cursor::put_compressed_u32,
    pdb::{SequencePoint, SequencePoints, custom_debug_information as kinds},
    schema::{Blob, CustomDebugInformation, LocalScope, MethodDebugInformation, MethodDef},
    tables::RowCounts,
    vacancy::vacant_blobs,
};
use ilrewrite::{
    code::{Code, Instruction},
    layout::Layout,
};

pub(crate) use self::link::{DebugInfo, DebugOutput};
pub use self::link::{PdbReference, find};
pub(crate) use self::new_pdb::NewPdb;

/// A portable PDB, with its rows grouped by method.
#[derive(Debug)]
pub(crate) struct Pdb<'a> {
    pub(crate) metadata: Metadata<'a>,
    /// The index of each method's first scope, by MethodDef row number. One more entry ends the last method's scopes.
    scopes: Vec<u32>,
    /// The custom debug information with offsets: method, row and kind, sorted by method.
    custom: Vec<(u32, Rid<CustomDebugInformation>, [u8; 16])>,
}

/// The records of one woven method.
#[derive(Debug)]
pub(crate) struct MethodDebug {
    method: Rid<MethodDef>,
    /// The old signature of locals, and the sequence points in blob format. `None` if the method had none.
    points: Option<(u32, Vec<u8>)>,
    scopes: Vec<(Rid<LocalScope>, LocalScope)>,
    custom: Vec<(Rid<CustomDebugInformation>, Vec<u8>)>,
}

impl<'a> Pdb<'a> {
    /// Reads a PDB and groups its rows by method.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let metadata = Metadata::parse(Cursor::new(bytes, FileOffset(0)))?;
        let methods = metadata.tables.count(Table::MethodDebugInformation);
        let mut scopes = Vec::with_capacity(methods as usize + 2);
        // LocalScope is sorted by method.
        for (rid, row) in metadata.tables.rows::<LocalScope>() {
            while scopes.len() <= row.method.get().min(methods) as usize {
                scopes.push(rid.get());
            }
        }
        scopes.resize(methods as usize + 2, metadata.tables.count(Table::LocalScope) + 1);
        let mut custom = Vec::new();
        for (rid, row) in metadata.tables.rows::<CustomDebugInformation>() {
            let Some(method) = row.parent.token().and_then(Token::rid_in::<MethodDef>) else { continue };
            let Some(kind) = metadata.guids.guid(row.kind)? else { continue };
            if kind == kinds::STATE_MACHINE_HOISTED_LOCAL_SCOPES || kind == kinds::ASYNC_METHOD_STEPPING {
                custom.push((method.get(), rid, kind));
            }
        }
        custom.sort_unstable_by_key(|(method, ..)| *method);
        Ok(Self { metadata, scopes, custom })
    }

    fn scopes_of(&self, method: Rid<MethodDef>) -> Range<u32> {
        let at = |index: u32| self.scopes.get(index as usize).copied().unwrap_or(0);
        at(method.get())..at(method.get() + 1)
    }

    /// The records of a method with its new offsets.
    pub(crate) fn follow(
        &self,
        method: Rid<MethodDef>,
        code: &Code,
        layout: &Layout,
        old_size: u32,
        budget: &Budget,
    ) -> Result<MethodDebug, Error> {
        // A record that several methods share is read and written once for each.
        let blob = |index: Blob| {
            let blob = self.metadata.blobs.blob(index)?;
            budget.spend(Budget::cost(blob.rest().len()));
            if budget.is_overdrawn() { Err(Error::new(ErrorKind::Limit("records in all"))) } else { Ok(blob) }
        };
        let map = OffsetMap::new(code, layout, old_size);
        let row: MethodDebugInformation = self.metadata.row(Rid::new(method.get()))?;
        let old = blob(row.sequence_points)?;
        let old_length = old.rest().len();
        let old = SequencePoints::parse(old, row.document)?;
        let mut points = None;
        if !old.points.is_empty() {
            // Sequence points in memory take ten times their size in a blob. The probe adds a few.
            let (_, bytes) = points.insert((old.local_signature, Vec::with_capacity(old_length + 16)));
            SequencePoints { points: map.points(&old.points), ..old }.write_points(row.document, bytes)?;
        }
        let mut scopes = Vec::new();
        for rid in self.scopes_of(method).map(Rid::<LocalScope>::new) {
            let mut scope = self.metadata.row(rid)?;
            let end = map.offset(scope.start_offset.saturating_add(scope.length));
            scope.start_offset = map.offset(scope.start_offset);
            scope.length = end.saturating_sub(scope.start_offset);
            scopes.push((rid, scope));
        }
        let mut custom = Vec::new();
        let first = self.custom.partition_point(|(of, ..)| *of < method.get());
        for (_, rid, kind) in self.custom.iter().skip(first).take_while(|(of, ..)| *of == method.get()) {
            let value = blob(self.metadata.row(*rid)?.value)?;
            let moved =
                if *kind == kinds::ASYNC_METHOD_STEPPING { map.async_stepping(value)? } else { map.hoisted_scopes(value)? };
            custom.push((*rid, moved));
        }
        Ok(MethodDebug { method, points, scopes, custom })
    }
}

/// The map from the original IL offsets to the new ones.
struct OffsetMap<'c> {
    code: &'c Code,
    layout: &'c Layout,
    /// The old and new offset of each original instruction.
    own: Vec<(u32, u32)>,
    /// The end of the original code, and its end now.
    end: (u32, u32),
}

impl<'c> OffsetMap<'c> {
    fn new(code: &'c Code, layout: &'c Layout, old_size: u32) -> Self {
        let is_own = |instruction: &Instruction| instruction.origin != Instruction::NO_ORIGIN;
        let own = code.instructions.iter().zip(&layout.offsets).filter(|(instruction, _)| is_own(instruction));
        let last = code.instructions.iter().rposition(is_own);
        let end = last.and_then(|last| layout.offsets.get(last + 1)).copied().unwrap_or(0);
        Self { code, layout, own: own.map(|(instruction, new)| (instruction.origin, *new)).collect(), end: (old_size, end) }
    }

    /// The new offset of the instruction at an old one. The old end maps to the end of the method's own code.
    fn offset(&self, old: u32) -> u32 {
        let found = self.own.get(self.own.partition_point(|(origin, _)| *origin < old));
        found.filter(|_| old < self.end.0).map_or(self.end.1, |(_, new)| *new)
    }

    /// The sequence points at their new offsets. A probe between instructions of one point splits it: the point is repeated
    /// after the probe.
    fn points(&self, old: &[SequencePoint]) -> Vec<SequencePoint> {
        let mut points: Vec<SequencePoint> = Vec::with_capacity(old.len() + 3);
        let Some(first) = old.first() else { return points };
        // The current point in the new code: none yet, a probe, or one of the old points.
        let mut last: Option<Option<usize>> = None;
        // The number of points up to the instruction. It mostly stays the same or grows by one.
        let mut passed = 0;
        for (instruction, offset) in self.code.instructions.iter().zip(&self.layout.offsets) {
            let now = if instruction.origin == Instruction::NO_ORIGIN {
                None
            } else {
                let is_passed = |point: &SequencePoint| point.offset <= instruction.origin;
                passed += usize::from(old.get(passed).is_some_and(is_passed));
                let is_right = passed.checked_sub(1).is_none_or(|last| is_passed(&old[last]));
                if !is_right || old.get(passed).is_some_and(is_passed) {
                    passed = old.partition_point(is_passed);
                }
                match passed.checked_sub(1) {
                    Some(index) => Some(index),
                    None => continue,
                }
            };
            if last != Some(now) {
                let hidden = SequencePoint { offset: 0, document: points.last().unwrap_or(first).document, span: None };
                let point = now.and_then(|index| old.get(index)).copied().unwrap_or(hidden);
                points.push(SequencePoint { offset: *offset, ..point });
                last = Some(now);
            }
        }
        points
    }

    fn hoisted_scopes(&self, mut value: Cursor<'_>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        while !value.is_empty() {
            let (start, length) = (value.u32()?, value.u32()?);
            // Zeros stand for a local without a scope.
            let range = match (start, length) {
                (0, 0) => [0, 0],
                _ => {
                    let new = self.offset(start);
                    [new, self.offset(start.saturating_add(length)).saturating_sub(new)]
                }
            };
            range.iter().for_each(|number| out.put_u32(*number));
        }
        Ok(out)
    }

    fn async_stepping(&self, mut value: Cursor<'_>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let catch = value.u32()?;
        let catch = catch.checked_sub(1).map_or(0, |offset| self.offset(offset) + 1);
        out.put_u32(catch);
        while !value.is_empty() {
            for offset in [value.u32()?, value.u32()?] {
                out.put_u32(self.offset(offset));
            }
            put_compressed_u32(&mut out, value.compressed_u32()?);
        }
        Ok(out)
    }
}

/// A builder for the new PDB.
pub(crate) struct PdbBuilder<'a, 'm> {
    metadata: &'m Metadata<'a>,
    builder: MetadataBuilder<'a, 'm>,
    /// The buffer for one method's sequence points.
    blob: Vec<u8>,
}

impl<'a, 'm> PdbBuilder<'a, 'm> {
    pub(crate) fn new(pdb: &'m Pdb<'a>) -> Self {
        Self { metadata: &pdb.metadata, builder: MetadataBuilder::new(&pdb.metadata), blob: Vec::new() }
    }

    /// Adds the records of all woven methods, whose locals may have new signatures. A new record takes the place of the old
    /// one.
    pub(crate) fn put_all(&mut self, methods: Vec<(MethodDebug, Option<Token>)>) -> Result<(), Error> {
        let count = |table| vec![false; self.metadata.tables.count(table) as usize + 1];
        let (mut points, mut custom) = (count(Table::MethodDebugInformation), count(Table::CustomDebugInformation));
        for (method, _) in &methods {
            let has_points = method.points.is_some();
            points.get_mut(method.method.get() as usize).into_iter().for_each(|is_new| *is_new = has_points);
            for (rid, _) in &method.custom {
                custom.get_mut(rid.get() as usize).into_iter().for_each(|is_new| *is_new = true);
            }
        }
        self.builder.vacate_blobs(vacant_blobs(self.metadata, |table, row| match table {
            Table::MethodDebugInformation => points[row as usize],
            Table::CustomDebugInformation => custom[row as usize],
            _ => false,
        }));
        methods.into_iter().try_for_each(|(method, local_sig)| self.put(method, local_sig))
    }

    fn put(&mut self, method: MethodDebug, local_sig: Option<Token>) -> Result<(), Error> {
        if let Some((old_local_signature, points)) = method.points {
            let rid = Rid::<MethodDebugInformation>::new(method.method.get());
            let row = self.metadata.row(rid)?;
            self.blob.clear();
            put_compressed_u32(&mut self.blob, local_sig.map_or(old_local_signature, Token::rid));
            self.blob.extend_from_slice(&points);
            let sequence_points = self.builder.place_blob(&self.blob)?;
            self.builder.replace(rid, &MethodDebugInformation { sequence_points, ..row });
        }
        method.scopes.iter().for_each(|(rid, scope)| self.builder.replace(*rid, scope));
        for (rid, value) in method.custom {
            let row = self.metadata.row(rid)?;
            let value = self.builder.place_blob(&value)?;
            self.builder.replace(rid, &CustomDebugInformation { value, ..row });
        }
        Ok(())
    }

    /// Finishes the new PDB. It states the row counts of the woven assembly's tables, in place of `before`.
    pub(crate) fn finish(mut self, before: &RowCounts, assembly: RowCounts, is_embedded: bool) -> Result<NewPdb, Error> {
        // Each method has a row, unless no method had one.
        let methods = Table::MethodDef as usize;
        if self.metadata.tables.count(Table::MethodDebugInformation) > 0 {
            let nothing = MethodDebugInformation { document: Rid::NONE, sequence_points: Blob::default() };
            (before[methods]..assembly[methods]).try_for_each(|_| self.builder.add(&nothing).map(drop))?;
        }
        self.builder.growth().beside(before, &assembly).check_tables()?;
        self.builder.set_assembly_counts(assembly);
        let bytes = self.builder.finish()?.to_vec();
        // The memory is freed before the compression, which needs much.
        drop(self);
        NewPdb::new(bytes, is_embedded)
    }
}
