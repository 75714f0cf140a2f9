//! Where the PDB of an assembly is looked for.

use std::path::{Path, PathBuf};

use ecma335::{Image, debug::DebugEntry};
use weave::pdb::PdbReference;

use crate::{failure::Result, input::Input};

/// The PDB that an image names.
#[derive(Clone, Debug)]
pub struct Pdb {
    /// The file name that the image names; once outputs are planned, the one that the woven PDB will have.
    pub name: String,
    /// Where it was found.
    pub path: Option<PathBuf>,
}

impl Pdb {
    /// Looks for it where the user says, or beside the image; none if the image names none.
    pub fn find(input: &Path, given: Option<&Path>, image: &Image<'_>) -> Option<Self> {
        let reference = DebugEntry::read_all(image).ok().and_then(|entries| PdbReference::of(&entries))?;
        let beside = [input.with_file_name(&reference.name), input.with_extension("pdb")];
        let path = given.or_else(|| beside.iter().map(PathBuf::as_path).find(|path| path.is_file()));
        Some(Self { path: path.map(Path::to_owned), name: reference.name })
    }

    /// What is in it, if there is one and it was found.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(pdb: Option<&Self>) -> Result<Option<Input>> {
        pdb.and_then(|pdb| pdb.path.as_deref()).map(Input::open).transpose()
    }
}
