//! What is compared: two files, the assemblies of two folders or packages, or what git has of one file.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    ops::Deref,
    path::{Path, PathBuf},
};

use ::instrument::Input;
use zip::ZipArchive;

use crate::{failure::Failure, inputs::assemblies};

/// No assembly of a package is larger than this.
const MOST_BYTES: u64 = 1 << 30;
/// What git has for a file that is on one side alone.
const NOTHING: &str = "/dev/null";

/// An assembly that can be read.
#[derive(Debug)]
pub(super) struct Source {
    /// What it is called in what is shown.
    pub(super) shown: String,
    /// The file; of what is in a package, the package.
    pub(super) path: PathBuf,
    /// What it is in a package.
    entry: Option<String>,
}

/// The bytes of an assembly.
pub(super) enum Bytes {
    File(Input),
    Packed(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(input) => input,
            Self::Packed(bytes) => bytes,
        }
    }
}

impl Source {
    fn file(path: &Path) -> Self {
        Self { shown: path.display().to_string(), path: path.to_owned(), entry: None }
    }

    /// Whether what lies beside it can be found.
    pub(super) fn is_file(&self) -> bool {
        self.entry.is_none()
    }

    pub(super) fn read(&self) -> Result<Bytes, Failure> {
        let Some(entry) = &self.entry else { return Ok(Bytes::File(Input::open(&self.path)?)) };
        let trouble = |error: &dyn std::fmt::Display| Failure::unreadable(format_args!("{}: {error}", self.shown));
        let mut archive = open(&self.path)?;
        let file = archive.by_name(entry).map_err(|error| trouble(&error))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| trouble(&error))?;
        Ok(Bytes::Packed(bytes))
    }
}

/// What is on both sides, or on one.
pub(super) type Pair = (Option<Source>, Option<Source>);

/// The pairs that two arguments mean: themselves, or what is in them by its path there.
pub(super) fn pairs(old: &Path, new: &Path) -> Result<Vec<Pair>, Failure> {
    match (is_many(old), is_many(new)) {
        (false, false) => Ok(vec![(Some(Source::file(old)), Some(Source::file(new)))]),
        (true, true) => {
            let (olds, mut news) = (inside(old)?, inside(new)?);
            let mut pairs: Vec<Pair> = olds.into_iter().map(|(below, source)| (Some(source), news.remove(&below))).collect();
            pairs.extend(news.into_values().map(|source| (None, Some(source))));
            Ok(pairs)
        }
        (is_old, _) => {
            let (many, one) = if is_old { (old, new) } else { (new, old) };
            let (many, one) = (many.display(), one.display());
            Err(Failure::usage(format_args!("{many} has many assemblies, and {one} is one: name two of a kind")))
        }
    }
}

/// What git passes to a command that shows how a file differs: its name, then of either side a file, its hash, its mode.
pub(super) fn of_git(name: &Path, old: &Path, new: &Path) -> Pair {
    let side = |prefix: &str, path: &Path| {
        (path != Path::new(NOTHING)).then(|| Source { shown: format!("{prefix}/{}", name.display()), ..Source::file(path) })
    };
    (side("a", old), side("b", new))
}

fn is_package(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("nupkg"))
}

/// Whether there may be more than one assembly in it.
pub(super) fn is_many(path: &Path) -> bool {
    path.is_dir() || is_package(path)
}

fn open(package: &Path) -> Result<ZipArchive<File>, Failure> {
    let trouble = |error: &dyn std::fmt::Display| Failure::unreadable(format_args!("{}: {error}", package.display()));
    let file = File::open(package).map_err(|error| trouble(&error))?;
    ZipArchive::new(file).map_err(|error| trouble(&error))
}

/// The assemblies in a folder or package, by their paths there.
fn inside(path: &Path) -> Result<BTreeMap<PathBuf, Source>, Failure> {
    if !is_package(path) {
        let files = assemblies(&[path.to_owned()])?.into_iter();
        return Ok(files.map(|each| (each.below, Source::file(&each.path))).collect());
    }
    let archive = open(path)?;
    let is_assembly = |name: &&str| [".dll", ".exe", ".netmodule"].iter().any(|end| name.to_lowercase().ends_with(end));
    let source = |name: &str| {
        let shown = format!("{}/{name}", path.display());
        (PathBuf::from(name), Source { shown, path: path.to_owned(), entry: Some(name.to_owned()) })
    };
    let found: BTreeMap<PathBuf, Source> = archive.file_names().filter(is_assembly).map(source).collect();
    match found.is_empty() {
        true => Err(Failure::unreadable(format_args!("{}: no assembly in this package", path.display()))),
        false => Ok(found),
    }
}
