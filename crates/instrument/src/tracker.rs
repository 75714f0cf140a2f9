//! The tracker that instrumented code calls, as a file beside each output.
//!
//! It refers to `mscorlib`, which every .NET has: as the library of .NET Framework and Mono, as a facade in .NET. A
//! self-contained program brings its own library, possibly without facades. There the references lead to the assemblies that the
//! program has.

mod library;
mod references;
mod retarget;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ecma335::{Image, Metadata};
use weave::spans;

pub use self::references::WITH_FALLBACK;
use self::{
    library::{Library, folder_of_library, has_as_referred},
    references::{Reference, has_fallback, member_text, references},
    retarget::retarget,
};
use crate::{
    failure::{Failure, Result},
    file_identity::FileIdentity,
    input::{not_an_assembly, read_assembly},
    outputs::Outputs,
    paths::folder_of,
};
pub use tracker_runtime::ASSEMBLY as TRACKER;

/// The file name of the tracker.
pub const TRACKER_FILE: &str = "Ilinst.Tracker.dll";
/// The tool and its version, as written in marks and manifests.
pub const TOOL: &str = concat!("ilinst ", env!("CARGO_PKG_VERSION"));

/// The most missing types and members that an error lists.
const MANY: usize = 4;

/// Reads the facts about the tracker that instrumenting needs.
pub(crate) fn read_tracker() -> Result<weave::Tracker> {
    weave::Tracker::read(TRACKER).map_err(in_tracker)
}

/// The tracker as a file.
pub(crate) struct TrackerFile {
    bytes: Cow<'static, [u8]>,
    /// Its identity, for manifests.
    pub(crate) identity: FileIdentity,
    /// Whether the program's library has the methods of spans.
    pub(crate) has_spans: bool,
}

impl TrackerFile {
    fn new(bytes: Cow<'static, [u8]>) -> Self {
        let identity = FileIdentity::new(TRACKER_FILE.into(), std::iter::once(&*bytes));
        Self { bytes, identity, has_spans: true }
    }

    /// Reads the facts about the tracker that instrumenting needs.
    pub(crate) fn read(&self) -> Result<weave::Tracker> {
        let tracker = weave::Tracker::read(&self.bytes).map_err(in_tracker)?;
        Ok(if self.has_spans { tracker } else { tracker.without_spans() })
    }

    /// Writes the tracker to a path, unless it is already there.
    pub(crate) fn write(&self, path: &Path, outputs: &mut Outputs) -> Result<()> {
        if fs::read(path).is_ok_and(|bytes| bytes == *self.bytes) {
            outputs.keep(path);
            return Ok(());
        }
        outputs.write(path, |file| file.write_all(&self.bytes))
    }
}

/// Returns the tracker for a program's folder. A .NET that the program brings along is in that folder or above it, up to `root`.
///
/// # Errors
/// If that .NET lacks a type or member that the tracker needs.
pub fn tracker_for(folder: &Path, root: &Path) -> Result<Vec<u8>> {
    let (folder, root) = (folder_at(folder), folder_at(root));
    Ok(Trackers::new(Some((&root, &root))).in_folder(&folder, &folder)?.bytes.to_vec())
}

/// Returns the size in bytes, and the SHA-256 in hex, of the tracker that refers to `mscorlib`.
pub fn tracker_identity() -> (u64, String) {
    let TrackerFile { identity, .. } = TrackerFile::new(TRACKER.into());
    (identity.size, identity.sha256)
}

type LazyTracker = OnceLock<Result<Arc<TrackerFile>>>;

/// The trackers of a run, one for each library that a program brings along, created on demand.
#[derive(Default)]
pub(crate) struct Trackers {
    /// The folder that contains all inputs, and the one that contains all outputs.
    roots: Option<(PathBuf, PathBuf)>,
    /// Trackers by the folder of the library; `None` for programs without their own.
    known: Mutex<BTreeMap<Option<PathBuf>, Arc<LazyTracker>>>,
}

impl Trackers {
    /// Creates the trackers for a run on a folder, or on single files.
    pub(crate) fn new(roots: Option<(&Path, &Path)>) -> Self {
        Self { roots: roots.map(|(from, to)| (folder_at(from), folder_at(to))), known: Mutex::default() }
    }

    /// Returns the tracker for an output. The library that the output will run with is beside the output or beside its input.
    ///
    /// # Errors
    /// If a library lacks a type or member that the tracker needs.
    pub(crate) fn beside(&self, input: &Path, output: &Path) -> Result<Arc<TrackerFile>> {
        self.in_folder(&folder_of(input), &folder_of(output))
    }

    /// Returns the assemblies that may have been read for a tracker: all those beside a library.
    pub(crate) fn read(&self) -> Vec<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys().flatten().flat_map(|folder| library::assemblies(folder)).collect()
    }

    /// Returns the tracker for an output in `to`, made from an input in `from`.
    pub(crate) fn in_folder(&self, from: &Path, to: &Path) -> Result<Arc<TrackerFile>> {
        let (from_root, to_root) = self.roots.as_ref().map(|(from, to)| (&**from, &**to)).unzip();
        let library = folder_of_library(to, to_root).or_else(|| folder_of_library(from, from_root));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(known.entry(library.clone()).or_default());
        drop(known);
        cell.get_or_init(|| make(library.as_deref()).map(Arc::new)).clone()
    }
}

fn folder_at(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Creates the tracker for programs with the library in a folder, or without a library of their own.
fn make(library: Option<&Path>) -> Result<TrackerFile> {
    let Some(folder) = library else { return Ok(TrackerFile::new(TRACKER.into())) };
    let (image, metadata) = read_assembly(Path::new(TRACKER_FILE), TRACKER)?;
    let references = references(&image, &metadata).map_err(in_tracker)?;
    let spans: Vec<String> = spans::NAMES.iter().map(|(name, _)| format!("System.{name}")).collect();
    let library =
        Library::find(folder, references.iter().map(|reference| &*reference.name).chain(spans.iter().map(|name| &**name)))?;
    let has_spans = spans.iter().all(|name| has_methods_of_span(&library, name));
    let missing = missing(&references, &library);
    if !missing.is_empty() {
        let text = "and the .NET that this self-contained program brings with it does not have that: publish it untrimmed";
        return Err(Failure::refused(format_args!("{}: the tracker needs {}, {text}", folder.display(), in_words(&missing))));
    }
    let is_essential = |reference: &&Reference| !reference.is_attribute && !has_fallback(&reference.name, None);
    if has_as_referred(folder, references.iter().filter(is_essential)) {
        return Ok(TrackerFile { has_spans, ..TrackerFile::new(TRACKER.into()) });
    }
    let written = write_for(&library, &references, (&image, &metadata)).map_err(in_tracker)?;
    Ok(TrackerFile { has_spans, ..written })
}

/// Returns whether a span's type has all methods that captured values need.
fn has_methods_of_span(library: &Library, name: &str) -> bool {
    let text = |(method, signature): &(&str, &str)| member_text((*method).to_owned(), &signature.replace("SPAN", name));
    spans::METHODS.iter().all(|method| library.has(name, &text(method)))
}

/// Creates the tracker with its references to the assemblies of a library that define the types. Types that the library lacks are
/// referred to in the core library.
fn write_for(library: &Library, references: &[Reference], tracker: (&Image<'_>, &Metadata<'_>)) -> ecma335::Result<TrackerFile> {
    let outermost = references.iter().map(|reference| !reference.name.contains('/'));
    let found: Vec<usize> = references.iter().map(|reference| library.assembly_of(&reference.name).unwrap_or(0)).collect();
    let used: BTreeSet<usize> =
        outermost.clone().zip(&found).filter_map(|(is_outermost, index)| is_outermost.then_some(*index)).collect();
    let assemblies: Vec<_> = used.iter().filter_map(|index| library.assemblies.get(*index).cloned()).collect();
    let place = |index: usize| used.iter().position(|other| *other == index);
    let types: Vec<Option<usize>> =
        outermost.zip(found).map(|(is_outermost, index)| place(index).filter(|_| is_outermost)).collect();
    retarget(tracker.0, tracker.1, &assemblies, &types).map(|bytes| TrackerFile::new(bytes.into()))
}

/// Lists some of the missing names.
fn in_words(missing: &BTreeSet<String>) -> String {
    let named: Vec<&str> = missing.iter().take(MANY).map(String::as_str).collect();
    let others = missing.len() - named.len();
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    named.join(", ") + &others
}

/// Returns the types and members that the tracker needs and a library lacks.
fn missing(references: &[Reference], library: &Library) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for Reference { name, members, .. } in references.iter().filter(|reference| !reference.is_attribute) {
        if has_fallback(name, None) {
            continue;
        }
        if library.assembly_of(name).is_none() {
            missing.insert(name.clone());
            continue;
        }
        let essential = members.iter().filter(|member| !has_fallback(name, Some(member)));
        missing.extend(essential.filter(|member| !library.has(name, member)).map(|member| format!("{name}::{member}")));
    }
    missing
}

fn in_tracker(error: ecma335::Error) -> Failure {
    not_an_assembly(Path::new(TRACKER_FILE), error)
}
