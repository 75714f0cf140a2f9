//! The woven file beside its code: the embedded tracker, locals, the PDB, headers, the strong name, and the check of all.

pub mod check;
pub(crate) mod dangling;
pub(crate) mod embed;
pub(crate) mod headers;
pub(crate) mod lines_type;
pub(crate) mod local_sigs;
pub mod note;
pub mod pdb;
pub mod strong_name;
pub(crate) mod woven;
