//! The counters of lines: one for each visible sequence point of the PDB, and the table of their places for the mark.

use std::collections::HashSet;

use ecma335::{
    Budget, Error, Image, Metadata, Rid,
    pdb::{SequencePoints, document_name},
    schema::{Document, MethodDebugInformation, MethodDef, Module},
};
use ilrewrite::CountedPlace;
use indexmap::IndexMap;
use names::{CountedPoint, LineDocument, LineTable, MethodId, Symbol, Symbols, TableMethod, module_key};

use super::plan::Plan;
use crate::output::pdb::Pdb;

/// The numbers of counters, before it is known which of them can be placed.
pub(super) struct LineCounters {
    /// The first counter of each method, by row number minus one, and the number of all.
    first: Vec<u32>,
}

impl LineCounters {
    /// Gives a counter to each visible sequence point of the plan's methods. The size of the PDB limits the records read in total.
    pub(super) fn new(pdb: &Pdb<'_>, size: usize, plan: &Plan) -> Self {
        let budget = Budget::for_file(size);
        let mut first = vec![0];
        let mut next = 0;
        for rid in (1..=plan.methods.len() as u32).map(Rid::new) {
            if plan.has_lines(rid) && !budget.is_overdrawn() {
                next += points(pdb, rid, 0, Some(&budget)).len() as u32;
            }
            first.push(next);
        }
        Self { first }
    }

    /// The number of counters.
    pub(super) fn count(&self) -> u32 {
        self.first.last().copied().unwrap_or(0)
    }

    /// The places in a method that are counted.
    pub(super) fn places(&self, pdb: &Pdb<'_>, method: Rid<MethodDef>) -> Vec<CountedPlace> {
        let points = self.points(pdb, method).into_iter();
        points.map(|LinePoint { offset, point, .. }| CountedPlace { offset, counter: point.counter }).collect()
    }

    fn points(&self, pdb: &Pdb<'_>, method: Rid<MethodDef>) -> Vec<LinePoint> {
        let index = (method.get() as usize).wrapping_sub(1);
        match self.first.get(index..).unwrap_or_default() {
            [first, end, ..] if first < end => points(pdb, method, *first, None),
            _ => Vec::new(),
        }
    }

    /// The table of the counters that were placed, by method.
    pub(super) fn table(
        &self,
        (image, metadata): (&Image<'_>, &Metadata<'_>),
        (pdb, pdb_bytes): (&Pdb<'_>, &[u8]),
        placed: &[(Rid<MethodDef>, Vec<u32>)],
    ) -> Result<LineTable, Error> {
        let key = module_key(metadata)?;
        let symbols = Symbols::read(image.bytes(), Some(pdb_bytes), key)?;
        let assembly = match metadata.assembly() {
            Some(assembly) => metadata.name(assembly.name)?,
            None => metadata.name(metadata.row(Rid::<Module>::new(1))?.name)?,
        };
        let mut documents: IndexMap<Rid<Document>, LineDocument> = IndexMap::new();
        let mut methods = Vec::new();
        let mut room = image.bytes().len().saturating_mul(4).max(MIN_ROOM);
        for (rid, counters) in placed {
            let symbol = symbols.as_ref().and_then(|symbols| symbols.symbol(MethodId::new(key, rid.get())));
            let Symbol { type_name, member, .. } = symbol.filter(|symbol| fits(symbol, &mut room)).unwrap_or_default();
            // A state machine's steps are the lines of the method that it was made for.
            let name = member.replace(" [steps]", "");
            let counters: HashSet<u32> = counters.iter().copied().collect();
            let mut by_document: IndexMap<usize, Vec<CountedPoint>> = IndexMap::new();
            for line in self.points(pdb, *rid).into_iter().filter(|line| counters.contains(&line.point.counter)) {
                let document = documents.entry(line.document);
                let index = document.index();
                document.or_insert_with(|| line_document(pdb, line.document).unwrap_or_default());
                by_document.entry(index).or_default().push(line.point);
            }
            methods.extend(by_document.into_iter().map(|(document, points)| TableMethod {
                assembly: assembly.clone(),
                type_name: type_name.clone(),
                name: name.clone(),
                document,
                points,
            }));
        }
        Ok(LineTable { documents: documents.into_values().collect(), methods })
    }
}

/// The bytes that the names of a small module's methods may take.
const MIN_ROOM: usize = 1 << 20;

/// Whether there is room for a method's names. Small modules can have large ones, where types are nested.
fn fits(symbol: &Symbol, room: &mut usize) -> bool {
    let left = room.checked_sub(symbol.type_name.len() + symbol.member.len());
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// A visible sequence point with its counter.
struct LinePoint {
    offset: u32,
    document: Rid<Document>,
    point: CountedPoint,
}

/// The visible sequence points of a method, with counters from `first` on. A record that cannot be read has none.
fn points(pdb: &Pdb<'_>, method: Rid<MethodDef>, first: u32, budget: Option<&Budget>) -> Vec<LinePoint> {
    let read = || {
        let row: MethodDebugInformation = pdb.metadata.row(Rid::new(method.get()))?;
        let blob = pdb.metadata.blobs.blob(row.sequence_points)?;
        budget.into_iter().for_each(|budget| budget.spend(Budget::cost(blob.rest().len())));
        SequencePoints::parse(blob, row.document)
    };
    let points = read().map(|points| points.points).unwrap_or_default();
    let visible = points.into_iter().filter_map(|point| {
        let span = point.span?;
        let counted = CountedPoint { counter: 0, start: span.start, end: span.end };
        Some(LinePoint { offset: point.offset, document: point.document, point: counted }).filter(|_| counted.is_within_limits())
    });
    let numbered = (first..).zip(visible);
    numbered.map(|(counter, line)| LinePoint { point: CountedPoint { counter, ..line.point }, ..line }).collect()
}

/// The source file of a row.
fn line_document(pdb: &Pdb<'_>, rid: Rid<Document>) -> Result<LineDocument, Error> {
    let metadata = &pdb.metadata;
    let row = metadata.row(rid)?;
    let (algorithm, hash) = (metadata.guids.guid(row.hash_algorithm)?, metadata.blob(row.hash)?);
    let hash = algorithm.filter(|_| !hash.is_empty()).map(|algorithm| (algorithm, hash.to_vec()));
    Ok(LineDocument { path: document_name(metadata, &row)?, hash })
}
