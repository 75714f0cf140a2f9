//! Committed files of the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The assembly that seeds of bodies come from, and that bodies are put into.
pub(crate) const HOST: &str = "samples/shapes/bin/shapes.exe";

/// Returns the repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(path: &str) -> Vec<u8> {
    fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
