//! The information from a PDB: names of locals, and source lines.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use ecma335::{
    Cursor, FileOffset, Metadata, Result, Rid,
    pdb::{SequencePoint, SequencePoints, document_name},
    schema::{Document, LocalScope, LocalVariable, MethodDebugInformation, MethodDef},
};

use crate::parent_index::ParentIndex;

/// Reads a source file by its path in the PDB. None if it is not found.
pub type ReadSource<'p> = dyn Fn(&str) -> Option<Vec<u8>> + 'p;

/// A portable PDB, and its source files.
pub struct DebugInfo<'p> {
    metadata: Metadata<'p>,
    scopes: ParentIndex,
    /// None if source lines are not requested.
    source: Option<Box<ReadSource<'p>>>,
    files: RefCell<BTreeMap<Rid<Document>, Rc<File>>>,
}

/// A document: its file name without folders, and its lines if it was found.
struct File {
    name: String,
    lines: Vec<String>,
}

/// The PDB's information on one method.
#[derive(Default)]
pub struct MethodDebug {
    /// Names of locals by slot. They are unique.
    pub locals: BTreeMap<u16, String>,
    /// Source lines by the offset of the following instruction.
    pub lines: BTreeMap<u32, String>,
}

impl<'p> DebugInfo<'p> {
    /// Reads a portable PDB.
    ///
    /// # Errors
    /// If its headers or streams cannot be read.
    pub fn parse(bytes: &'p [u8]) -> Result<Self> {
        let metadata = Metadata::parse(Cursor::new(bytes, FileOffset(0)))?;
        let scopes = ParentIndex::new(&metadata, |row: &LocalScope| row.method.get());
        Ok(Self { metadata, scopes, source: None, files: RefCell::default() })
    }

    /// Also shows source lines, from files that `read` finds.
    pub fn with_source(self, read: impl Fn(&str) -> Option<Vec<u8>> + 'p) -> Self {
        Self { source: Some(Box::new(read)), ..self }
    }

    /// The information on a method. Unreadable parts are omitted.
    pub fn method(&self, method: Rid<MethodDef>) -> MethodDebug {
        let lines = self.source.as_ref().map(|read| self.lines(read, method).unwrap_or_default());
        MethodDebug { locals: self.locals(method), lines: lines.unwrap_or_default() }
    }

    /// Each slot gets its first name. A name that another slot has gets a number.
    fn locals(&self, method: Rid<MethodDef>) -> BTreeMap<u16, String> {
        let mut names = BTreeMap::new();
        for scope in self.scopes.children::<LocalScope>(method.get()) {
            for variable in self.metadata.children::<LocalScope, LocalVariable>(scope) {
                let Ok(row) = self.metadata.row(variable) else { continue };
                let name = self.metadata.name(row.name).unwrap_or_default();
                if !name.is_empty() {
                    names.entry(row.index).or_insert(name);
                }
            }
        }
        let mut taken: BTreeSet<String> = names.values().cloned().collect();
        let mut seen = BTreeSet::new();
        for name in names.values_mut().filter(|name| !seen.insert((*name).clone())) {
            let numbered = (2..).map(|number| format!("{name}_{number}")).find(|numbered| !taken.contains(numbered));
            *name = numbered.unwrap_or_default();
            taken.insert(name.clone());
        }
        names
    }

    fn lines(&self, read: &ReadSource<'_>, method: Rid<MethodDef>) -> Result<BTreeMap<u32, String>> {
        let row: MethodDebugInformation = self.metadata.row(Rid::new(method.get()))?;
        let points = SequencePoints::parse(self.metadata.blobs.blob(row.sequence_points)?, row.document)?;
        let mut shown = BTreeSet::new();
        let line = |point: &SequencePoint| {
            let is_new = point.span.is_none_or(|span| shown.insert((point.document, span.start, span.end)));
            (point.offset, self.line(read, point, is_new))
        };
        Ok(points.points.iter().map(line).collect())
    }

    /// `Order.cs:12  return total;`: the position, and the part of the line between the columns. That part is omitted
    /// if it was shown before.
    fn line(&self, read: &ReadSource<'_>, point: &SequencePoint, is_new: bool) -> String {
        let Some(span) = point.span else { return "hidden".into() };
        let mut files = self.files.borrow_mut();
        let file = files.entry(point.document).or_insert_with(|| Rc::new(self.file(read, point.document)));
        let ((line, column), (end_line, end_column)) = (span.start, span.end);
        let text = (line as usize).checked_sub(1).and_then(|index| file.lines.get(index)).map_or("", String::as_str);
        let end = if end_line == line { end_column } else { u32::MAX };
        let text = if is_new { columns(text, column.into(), end.into()) } else { String::new() };
        let place = format!("{}:{line}", file.name);
        if text.is_empty() { place } else { format!("{place}  {text}") }
    }

    fn file(&self, read: &ReadSource<'_>, document: Rid<Document>) -> File {
        let path = self.metadata.row(document).and_then(|row| document_name(&self.metadata, &row)).unwrap_or_default();
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let text = read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        File { name, lines: text.trim_start_matches('\u{feff}').lines().map(str::to_owned).collect() }
    }
}

/// The part of a line between two columns, which count UTF-16 units from 1. The whole line, if the part is empty.
fn columns(text: &str, start: u64, end: u64) -> String {
    let mut column = 1;
    let is_within = |character: &char| {
        let at = column;
        column += character.len_utf16() as u64;
        (start..end).contains(&at)
    };
    let part: String = text.chars().filter(is_within).collect();
    if part.trim().is_empty() { text.trim().to_owned() } else { part.trim().to_owned() }
}
