//! The tracker that woven code calls, as it is written beside each output.
//!
//! Its references are to `mscorlib`, which every .NET has: the Frameworks and Mono as their library, .NET as a facade. A
//! self-contained program has its own library, and trimmed no facades: there they are to what the program has.

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

pub use self::references::WITH_FALLBACK;
use self::{
    library::{Library, folder_of_library, has_as_referred},
    references::{Reference, has_fallback, references},
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

/// Its file name.
pub const TRACKER_FILE: &str = "Ilinst.Tracker.dll";
/// The tool and its version, as marks and manifests have them.
pub const TOOL: &str = concat!("ilinst ", env!("CARGO_PKG_VERSION"));

/// How much of what is missing is named.
const MANY: usize = 4;

/// Reads what weaving has to know of it.
pub(crate) fn read_tracker() -> Result<weave::Tracker> {
    weave::Tracker::read(TRACKER).map_err(in_tracker)
}

/// The tracker as it is written.
pub(crate) struct TrackerFile {
    bytes: Cow<'static, [u8]>,
    /// What manifests say of it.
    pub(crate) identity: FileIdentity,
}

impl TrackerFile {
    fn new(bytes: Cow<'static, [u8]>) -> Self {
        let identity = FileIdentity::of(TRACKER_FILE.into(), std::iter::once(&*bytes));
        Self { bytes, identity }
    }

    /// What weaving has to know of it.
    pub(crate) fn read(&self) -> Result<weave::Tracker> {
        weave::Tracker::read(&self.bytes).map_err(in_tracker)
    }

    /// Writes it to a path, unless it is there already.
    pub(crate) fn write(&self, path: &Path, outputs: &mut Outputs) -> Result<()> {
        if fs::read(path).is_ok_and(|bytes| bytes == *self.bytes) {
            outputs.keep(path);
            return Ok(());
        }
        outputs.write(path, |file| file.write_all(&self.bytes))
    }
}

/// The tracker that goes into a folder of a program, whose own .NET, if it brings one, lies there or above it, up to the root.
///
/// # Errors
/// If that .NET has not what the tracker cannot do without.
pub fn tracker_for(folder: &Path, root: &Path) -> Result<Vec<u8>> {
    let (folder, root) = (folder_at(folder), folder_at(root));
    Ok(Trackers::new(Some((&root, &root))).in_folder(&folder, &folder)?.bytes.to_vec())
}

/// The size of the tracker that refers to `mscorlib`, in bytes, and its SHA-256 in hex.
pub fn tracker_identity() -> (u64, String) {
    let TrackerFile { identity, .. } = TrackerFile::new(TRACKER.into());
    (identity.size, identity.sha256)
}

type Made = OnceLock<Result<Arc<TrackerFile>>>;

/// The trackers of a run: one for each library that a program brings with it, made when it is asked for.
#[derive(Default)]
pub(crate) struct Trackers {
    /// The folder that all inputs lie in, and that of all outputs.
    roots: Option<(PathBuf, PathBuf)>,
    /// By the library's folder; the one for programs without their own by none.
    known: Mutex<BTreeMap<Option<PathBuf>, Arc<Made>>>,
}

impl Trackers {
    /// For a run of a folder, or of single files.
    pub(crate) fn new(roots: Option<(&Path, &Path)>) -> Self {
        Self { roots: roots.map(|(from, to)| (folder_at(from), folder_at(to))), known: Mutex::default() }
    }

    /// The one that goes with what is made of a file: the library that it will run with lies where it goes, or where it is
    /// from.
    ///
    /// # Errors
    /// If a library has not what the tracker cannot do without.
    pub(crate) fn beside(&self, input: &Path, output: &Path) -> Result<Arc<TrackerFile>> {
        self.in_folder(&folder_of(input), &folder_of(output))
    }

    /// The assemblies that may have been read for a tracker: all that are beside a library.
    pub(crate) fn read(&self) -> Vec<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys().flatten().flat_map(|folder| library::assemblies(folder)).collect()
    }

    /// The same by the folders.
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

/// The tracker for programs with the library in a folder, or with none of their own.
fn make(library: Option<&Path>) -> Result<TrackerFile> {
    let Some(folder) = library else { return Ok(TrackerFile::new(TRACKER.into())) };
    let (image, metadata) = read_assembly(Path::new(TRACKER_FILE), TRACKER)?;
    let references = references(&image, &metadata).map_err(in_tracker)?;
    let library = Library::find(folder, references.iter().map(|reference| &*reference.name))?;
    let missing = missing(&references, &library);
    if !missing.is_empty() {
        let text = "and the .NET that this self-contained program brings with it does not have that: publish it untrimmed";
        return Err(Failure::refused(format_args!("{}: the tracker needs {}, {text}", folder.display(), in_words(&missing))));
    }
    let is_essential = |reference: &&Reference| !reference.is_attribute && !has_fallback(&reference.name, None);
    if has_as_referred(folder, references.iter().filter(is_essential)) {
        return Ok(TrackerFile::new(TRACKER.into()));
    }
    write_for(&library, &references, (&image, &metadata)).map_err(in_tracker)
}

/// The tracker with its references led to where a library has the types; what it has not is looked for in the core library.
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

/// Some of them by name.
fn in_words(missing: &BTreeSet<String>) -> String {
    let named: Vec<&str> = missing.iter().take(MANY).map(String::as_str).collect();
    let others = missing.len() - named.len();
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    named.join(", ") + &others
}

/// What the tracker cannot do without, and a library does not have.
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
