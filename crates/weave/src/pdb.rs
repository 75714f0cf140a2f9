//! The portable PDB follows: whatever in it is an IL offset of a woven method moves with the instruction it means.

mod deflate;
mod link;
mod new_pdb;

use std::ops::Range;

use ecma335::{
    Cursor, Error, ErrorKind, FileOffset, Metadata, MetadataBuilder, Rid, Table, Token,
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

pub(crate) use self::link::DebugInfo;
pub use self::link::{PdbReference, find};
use self::new_pdb::NewPdb;
use crate::budget::Budget;

/// A portable PDB, and which of its rows belong to which method.
#[derive(Debug)]
pub(crate) struct Pdb<'a> {
    pub(crate) metadata: Metadata<'a>,
    /// By MethodDef row number: its scopes start at this index; one more entry ends the last.
    scopes: Vec<u32>,
    /// Method, row and kind of the custom debug information that holds offsets, by method.
    custom: Vec<(u32, Rid<CustomDebugInformation>, [u8; 16])>,
}

/// The records of one woven method.
#[derive(Debug)]
pub(crate) struct MethodDebug {
    method: Rid<MethodDef>,
    /// The old signature of locals, and the sequence points as a blob has them behind it; none if the method had none.
    points: Option<(u32, Vec<u8>)>,
    scopes: Vec<(Rid<LocalScope>, LocalScope)>,
    custom: Vec<(Rid<CustomDebugInformation>, Vec<u8>)>,
}

impl<'a> Pdb<'a> {
    /// Reads a PDB and sorts its rows by method.
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

    /// The records of a method by its new offsets.
    pub(crate) fn follow(
        &self,
        method: Rid<MethodDef>,
        code: &Code,
        layout: &Layout,
        old_size: u32,
        budget: &Budget,
    ) -> Result<MethodDebug, Error> {
        // A record that many methods have is read and written for each of them.
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
            // Points take ten times the room that they have in a blob; the probe adds a few.
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

/// Where the IL offsets of the input came to lie.
struct OffsetMap<'c> {
    code: &'c Code,
    layout: &'c Layout,
    /// Old and new offset of each instruction that the input has.
    own: Vec<(u32, u32)>,
    /// Where the input's code ended, and where it ends now.
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

    /// Where the instruction at an offset is now; the end stays the end of what the method's own code is.
    fn offset(&self, old: u32) -> u32 {
        let found = self.own.get(self.own.partition_point(|(origin, _)| *origin < old));
        found.filter(|_| old < self.end.0).map_or(self.end.1, |(_, new)| *new)
    }

    /// The points in their new places. Where a probe stands between instructions of one point, the point is said again
    /// behind it.
    fn points(&self, old: &[SequencePoint]) -> Vec<SequencePoint> {
        let mut points: Vec<SequencePoint> = Vec::with_capacity(old.len() + 3);
        let Some(first) = old.first() else { return points };
        // What is in effect, in the new code: nothing yet, a probe, or one of the old points.
        let mut last: Option<Option<usize>> = None;
        // How many points are at the instruction or before it: mostly as many as at the last one, or one more.
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
            // Zeros stand for a local that has no scope.
            let range = match (start, length) {
                (0, 0) => [0, 0],
                _ => {
                    let new = self.offset(start);
                    [new, self.offset(start.saturating_add(length)).saturating_sub(new)]
                }
            };
            range.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        }
        Ok(out)
    }

    fn async_stepping(&self, mut value: Cursor<'_>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let catch = value.u32()?;
        let catch = catch.checked_sub(1).map_or(0, |offset| self.offset(offset) + 1);
        out.extend_from_slice(&catch.to_le_bytes());
        while !value.is_empty() {
            for offset in [value.u32()?, value.u32()?] {
                out.extend_from_slice(&self.offset(offset).to_le_bytes());
            }
            put_compressed_u32(&mut out, value.compressed_u32()?);
        }
        Ok(out)
    }
}

/// A new PDB in the making.
pub(crate) struct PdbBuilder<'a, 'm> {
    metadata: &'m Metadata<'a>,
    builder: MetadataBuilder<'a, 'm>,
    /// Room for one method's sequence points.
    blob: Vec<u8>,
}

impl<'a, 'm> PdbBuilder<'a, 'm> {
    pub(crate) fn new(pdb: &'m Pdb<'a>) -> Self {
        Self { metadata: &pdb.metadata, builder: MetadataBuilder::new(&pdb.metadata), blob: Vec::new() }
    }

    /// Takes over what is known of all woven methods, whose locals may have new signatures: new records lie where those were
    /// that they stand for.
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

    /// The new PDB, which says how many rows the assembly's tables have now, where they had so many `before`.
    pub(crate) fn finish(mut self, before: &RowCounts, assembly: RowCounts, is_embedded: bool) -> Result<NewPdb, Error> {
        // A row for each method, unless there is none for any.
        let methods = Table::MethodDef as usize;
        if self.metadata.tables.count(Table::MethodDebugInformation) > 0 {
            let nothing = MethodDebugInformation { document: Rid::NONE, sequence_points: Blob::default() };
            (before[methods]..assembly[methods]).try_for_each(|_| self.builder.add(&nothing).map(drop))?;
        }
        self.builder.growth().beside(before, &assembly).check_tables()?;
        self.builder.set_assembly_counts(assembly);
        let bytes = self.builder.finish()?.to_vec();
        // Compressing takes long, and room.
        drop(self);
        NewPdb::new(bytes, is_embedded)
    }
}
