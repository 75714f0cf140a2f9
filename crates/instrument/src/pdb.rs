//! The PDB of an assembly, and its path.

use std::path::{Path, PathBuf};

use ecma335::{Image, debug::DebugEntry};
use weave::pdb::PdbReference;

use crate::{failure::Result, input::Input};

/// The PDB that an image names.
#[derive(Clone, Debug)]
pub struct Pdb {
    /// The file name in the image. Once outputs are planned, the name of the instrumented PDB.
    pub name: String,
    /// The path of the PDB, if it was found.
    pub path: Option<PathBuf>,
}

impl Pdb {
    /// Finds the PDB at the path that the user gives, or beside the image. Returns `None` if the image names no PDB.
    pub fn find(input: &Path, given: Option<&Path>, image: &Image<'_>) -> Option<Self> {
        let reference = DebugEntry::read_all(image).ok().and_then(|entries| PdbReference::find(&entries))?;
        let beside = [input.with_file_name(&reference.name), input.with_extension("pdb")];
        let path = given.or_else(|| beside.iter().map(PathBuf::as_path).find(|path| path.is_file()));
        Some(Self { path: path.map(Path::to_owned), name: reference.name })
    }

    /// Reads the PDB; `None` if there is none, or it was not found.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(pdb: Option<&Self>) -> Result<Option<Input>> {
        pdb.and_then(|pdb| pdb.path.as_deref()).map(Input::open).transpose()
    }
}
