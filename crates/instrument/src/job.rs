//! Jobs: a file to write, and its input.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ecma335::FileKind;

use crate::{failure::Result, input::Input, pdb::Pdb};

/// A job: a file to write.
#[derive(Clone, Debug)]
pub struct Job {
    /// The path of the input.
    pub input: PathBuf,
    /// The path of the output; the input's in place.
    pub output: PathBuf,
    /// Whether the request names the file, which then must be an assembly.
    pub is_named: bool,
    /// Whether it is the program of a folder, which is instrumented whatever key has signed it.
    pub is_program: bool,
    /// The target of the output, if it is a link in a folder.
    pub link: Option<PathBuf>,
    /// The path of its PDB, and the name of the instrumented one.
    pub pdb: Option<Pdb>,
    /// The input's contents, if they are read already.
    pub(crate) bytes: Option<Arc<Input>>,
}

impl Job {
    pub(crate) fn new(input: PathBuf, output: PathBuf, is_named: bool) -> Self {
        Self { input, output, is_named, is_program: false, link: None, pdb: None, bytes: None }
    }

    /// Returns whether the input is read as an assembly.
    pub fn may_be_an_assembly(&self) -> bool {
        self.is_named || (self.link.is_none() && is_named_as_module(&self.input))
    }

    /// Returns the input's contents.
    pub(crate) fn read(&self) -> Result<Arc<Input>> {
        self.bytes.as_ref().map_or_else(|| Input::open(&self.input).map(Arc::new), |bytes| Ok(Arc::clone(bytes)))
    }

    /// Returns whether the input is a module of an assembly other than its main one (II.6.1).
    pub(crate) fn is_module(&self) -> bool {
        FileKind::by_name(&self.input) == Some(FileKind::Module)
    }
}

/// Returns whether a file's name is that of an assembly, or of a module of one.
pub(crate) fn is_named_as_module(path: &Path) -> bool {
    FileKind::by_name(path).is_some()
}
