//! What is to be done: a file to be written, and what it is made from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{failure::Result, input::Input, pdb::Pdb};

/// A file to be written.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it is made from.
    pub input: PathBuf,
    /// Its path; in place, the input's.
    pub output: PathBuf,
    /// Whether the request names it: then it has to be an assembly.
    pub is_named: bool,
    /// Whether it is the program that a folder was named for: then it is woven whoever has signed it.
    pub is_program: bool,
    /// Where its output leads, if it is a link in a folder.
    pub link: Option<PathBuf>,
    /// Where its PDB is, and what the woven one will be called.
    pub pdb: Option<Pdb>,
    /// What is in the input, if it is read already.
    pub(crate) bytes: Option<Arc<Input>>,
}

impl Job {
    pub(crate) fn new(input: PathBuf, output: PathBuf, is_named: bool) -> Self {
        Self { input, output, is_named, is_program: false, link: None, pdb: None, bytes: None }
    }

    /// Whether it is read as an assembly.
    pub fn may_be_an_assembly(&self) -> bool {
        self.is_named || (self.link.is_none() && is_assembly_name(&self.input))
    }

    /// What is in its input.
    pub(crate) fn read(&self) -> Result<Arc<Input>> {
        self.bytes.as_ref().map_or_else(|| Input::open(&self.input).map(Arc::new), |bytes| Ok(Arc::clone(bytes)))
    }

    /// Whether it is one of the lesser modules of an assembly (II.6.1).
    pub(crate) fn is_module(&self) -> bool {
        has_extension(&self.input, &["netmodule"])
    }
}

/// Whether a file's name is that of an assembly, or of a module of one.
pub(crate) fn is_assembly_name(path: &Path) -> bool {
    has_extension(path, &["dll", "exe", "netmodule"])
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|extension| extensions.iter().any(|other| extension.eq_ignore_ascii_case(other)))
}
