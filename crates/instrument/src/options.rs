//! How files are instrumented.

use std::{num::NonZero, path::PathBuf};

/// How the files of a run are instrumented.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What decides the bytes of woven modules.
    pub weave: weave::Options,
    /// Files of key pairs to sign strong names with: an assembly is signed with the one whose public key it has.
    pub keys: Vec<PathBuf>,
    /// How many threads work; the output does not depend on it. None for those of the rayon pool that the caller is in.
    pub threads: Option<NonZero<usize>>,
    /// Whether methods that are left alone as expected (no body, excluded) are reported by name too.
    pub names_expected: bool,
}
