//! Opens a module, whatever contains it: a PE file, or an image mapped by a loader. RVAs mean the same in both, and
//! [`Image`] finds their bytes. Support for another container, such as Webcil, belongs here.

use std::path::{Path, PathBuf};

use crate::{error::Result, image::Image, metadata::Metadata};

/// Opens the module in a file.
///
/// # Errors
/// If the bytes are in no known container, or the headers or the metadata are damaged.
pub fn open(bytes: &[u8]) -> Result<(Image<'_>, Metadata<'_>)> {
    with_metadata(Image::parse(bytes)?)
}

/// Opens a module that a loader has mapped, from its load address to its end. It cannot be written back to a file.
///
/// # Errors
/// As for [`open`].
pub fn open_loaded(bytes: &[u8]) -> Result<(Image<'_>, Metadata<'_>)> {
    with_metadata(Image::parse_loaded(bytes)?)
}

fn with_metadata(image: Image<'_>) -> Result<(Image<'_>, Metadata<'_>)> {
    let metadata = Metadata::parse(image.metadata()?)?;
    Ok((image, metadata))
}

/// The kind of a module that the name of its file ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// `.dll`
    Library,
    /// `.exe`
    Program,
    /// `.netmodule`: a module of an assembly other than its main one (II.6.1).
    Module,
}

impl FileKind {
    const ALL: [Self; 3] = [Self::Library, Self::Program, Self::Module];
    const ASSEMBLIES: [Self; 2] = [Self::Library, Self::Program];

    /// The ending, without its dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Library => "dll",
            Self::Program => "exe",
            Self::Module => "netmodule",
        }
    }

    /// The kind that a path ends with, in upper or lower case.
    pub fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        Self::ALL.into_iter().find(|kind| extension.eq_ignore_ascii_case(kind.extension()))
    }

    /// The paths that an assembly may have, by one without its ending.
    pub fn assemblies(stem: &Path) -> [PathBuf; 2] {
        Self::ASSEMBLIES.map(|kind| {
            let mut path = stem.as_os_str().to_owned();
            path.push(".");
            path.push(kind.extension());
            path.into()
        })
    }
}

/// Whether a file's name is that of an assembly.
pub fn is_named_as_assembly(path: &Path) -> bool {
    FileKind::by_name(path).is_some_and(|kind| FileKind::ASSEMBLIES.contains(&kind))
}
