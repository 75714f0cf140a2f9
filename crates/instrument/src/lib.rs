//! Instruments files: weaves assemblies, and writes them with all that goes beside.

pub mod companions;
pub mod failure;
pub mod io;
pub mod manifest;
pub mod originals;
pub mod pdb;
