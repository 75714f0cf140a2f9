//! The parameters of weaving a module.

use crate::{
    output::strong_name::StrongNameKey,
    probes::tracker::Tracker,
    select::options::{self, Options},
};

/// The parameters of instrumenting a module.
#[derive(Clone)]
pub struct Weave<'t> {
    /// The tracker whose methods the probes call.
    pub tracker: &'t Tracker,
    /// The options that determine the output's bytes. The mark records them.
    pub options: &'t Options,
    /// The name and version of the tool, for the mark.
    pub tool: &'t str,
    /// The PDB of the image, if it has one.
    pub pdb: Option<&'t [u8]>,
    /// The file name of the PDB beside the woven file. `None` keeps the original name.
    pub pdb_name: Option<&'t str>,
    /// The file names and SHA-1 hashes of the assembly's other modules. They were woven before this one.
    pub modules: &'t [(String, [u8; 20])],
    /// The strong-name keys. An assembly is signed with the key that matches its public key.
    pub keys: &'t [StrongNameKey],
}

impl<'t> Weave<'t> {
    /// Default parameters.
    pub fn new(tracker: &'t Tracker) -> Self {
        Self { tracker, options: &options::DEFAULT, tool: "", pdb: None, pdb_name: None, modules: &[], keys: &[] }
    }
}
