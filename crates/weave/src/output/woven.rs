//! A woven module: the file to write, and the facts about it.

use std::ops::Range;

use ecma335::{Additions, Rid, Segments, schema::MethodDef};
use ilrewrite::Shape;
use sha1::{Digest as _, Sha1};

use super::note::Note;
use crate::{probes::call_sites::CallTarget, select::reason::Reason};

/// A woven module.
#[derive(Debug)]
pub struct Woven<'a> {
    /// The contents of the woven file.
    pub file: Segments<'a>,
    /// Each woven body: its method and its byte range in the file.
    pub bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    /// The shape of each woven method, or the reason for skipping it. Indexed by MethodDef row number minus one.
    pub methods: Vec<Result<Shape, Reason>>,
    /// The methods of other assemblies whose calls have probes.
    pub calls: Vec<CallTarget>,
    /// The metadata that was added. Empty if no method was woven.
    pub additions: Additions,
    /// The common first part of the method ids.
    pub module_key: u64,
    /// The MVID of the woven module.
    pub mvid: [u8; 16],
    /// The PDB to write beside the file. `None` if the original has no PDB that can be updated, or if the PDB is embedded.
    pub pdb: Option<Vec<u8>>,
    /// The notes to report to the user.
    pub notes: Vec<Note>,
}

impl Woven<'_> {
    /// The SHA-1 hash of the module for the File table of its assembly's manifest (II.22.19).
    pub fn sha1(&self) -> [u8; 20] {
        let mut hash = Sha1::new();
        self.file.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }
}
