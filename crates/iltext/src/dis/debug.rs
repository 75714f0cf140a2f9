//! What a PDB adds to the text: names of locals, and source lines.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use ecma335::{
    Cursor, FileOffset, Metadata, Result, Rid,
    pdb::{SequencePoint, SequencePoints, document_name},
    schema::{Document, LocalScope, LocalVariable, MethodDebugInformation, MethodDef},
};

use crate::rows::{self, Children};

/// No source file is larger than this.
const MAX_SOURCE: u64 = 1 << 26;

/// A portable PDB, and the source files it names.
pub(crate) struct Debug<'p> {
    metadata: Metadata<'p>,
    scopes: Children,
    /// Where source files may be, beside where the PDB says; none if source lines are not asked for.
    source: Option<Source>,
}

/// Where source files are, and what was read of them.
pub(crate) struct Source {
    /// The folder given by `--source-root`.
    root: Option<PathBuf>,
    files: RefCell<BTreeMap<Rid<Document>, Rc<File>>>,
}

/// A document: its name without folders, and its lines if it was found.
struct File {
    name: String,
    lines: Vec<String>,
}

/// What a PDB says of one method.
#[derive(Default)]
pub(crate) struct MethodDebug {
    /// Names of locals by slot: each is there once.
    pub(crate) locals: BTreeMap<u16, String>,
    /// Source lines by the offset of the instruction they stand before.
    pub(crate) lines: BTreeMap<u32, String>,
}

impl<'p> Debug<'p> {
    /// Reads a PDB; with source lines if there is a source.
    pub(crate) fn parse(bytes: &'p [u8], source: Option<Source>) -> Result<Self> {
        let metadata = Metadata::parse(Cursor::new(bytes, FileOffset(0)))?;
        let scopes = Children::new(&metadata, |row: &LocalScope| row.method.get());
        Ok(Self { metadata, scopes, source })
    }

    /// What it says of a method; what cannot be read is left out.
    pub(crate) fn method(&self, method: Rid<MethodDef>) -> MethodDebug {
        let lines = self.source.as_ref().map(|source| self.lines(source, method).unwrap_or_default());
        MethodDebug { locals: self.locals(method), lines: lines.unwrap_or_default() }
    }

    /// A slot has the name that comes first; a name that another slot has gets a number.
    fn locals(&self, method: Rid<MethodDef>) -> BTreeMap<u16, String> {
        let mut names = BTreeMap::new();
        for scope in self.scopes.of::<LocalScope>(method.get()) {
            for variable in rows::run(&self.metadata, scope, |row: &LocalScope| row.variable_list.get()) {
                let Ok(row) = self.metadata.row::<LocalVariable>(variable) else { continue };
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

    fn lines(&self, source: &Source, method: Rid<MethodDef>) -> Result<BTreeMap<u32, String>> {
        let row: MethodDebugInformation = self.metadata.row(Rid::new(method.get()))?;
        let points = SequencePoints::parse(self.metadata.blobs.blob(row.sequence_points)?, row.document)?;
        Ok(points.points.iter().map(|point| (point.offset, self.line(source, point))).collect())
    }

    /// `Order.cs:12  return total;`
    fn line(&self, source: &Source, point: &SequencePoint) -> String {
        let Some(span) = point.span else { return "hidden".into() };
        let mut files = source.files.borrow_mut();
        let file = files.entry(point.document).or_insert_with(|| Rc::new(self.file(source, point.document)));
        let (line, _) = span.start;
        let text = (line as usize).checked_sub(1).and_then(|index| file.lines.get(index)).map_or("", |text| text.trim());
        let place = format!("{}:{line}", file.name);
        if text.is_empty() { place } else { format!("{place}  {text}") }
    }

    fn file(&self, source: &Source, document: Rid<Document>) -> File {
        let path = self.metadata.row(document).and_then(|row| document_name(&self.metadata, &row)).unwrap_or_default();
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let text = source.find(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        File { name, lines: text.trim_start_matches('\u{feff}').lines().map(str::to_owned).collect() }
    }
}

impl Source {
    /// Looks for source files in a folder too, if there is one.
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        Self { root, files: RefCell::default() }
    }

    /// A document's bytes: at its own path, else under the root at as much of its path as is there.
    fn find(&self, path: &str) -> Option<Vec<u8>> {
        let own = read(Path::new(path));
        let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
        let under =
            |root: &PathBuf| (0..parts.len()).find_map(|first| read(&root.join(parts.iter().skip(first).collect::<PathBuf>())));
        own.or_else(|| self.root.as_ref().and_then(under))
    }
}

/// A file's bytes, if it is a file that can be source.
fn read(path: &Path) -> Option<Vec<u8>> {
    let is_source = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_SOURCE);
    is_source.then(|| fs::read(path).ok()).flatten()
}
