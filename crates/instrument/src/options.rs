//! How files are instrumented.

use std::path::PathBuf;

use crate::hook_assembly::HookAssembly;

/// How the files of a run are instrumented.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What decides the bytes of woven modules.
    pub weave: weave::Options,
    /// The assemblies that its hooks are in.
    pub hook_assemblies: Vec<HookAssembly>,
    /// Files of key pairs to sign strong names with: an assembly is signed with the one whose public key it has.
    pub keys: Vec<PathBuf>,
    /// Whether what is of the framework is woven, too, in a folder; patterns that name an assembly say so of that one.
    pub all_assemblies: bool,
    /// Whether of a folder whose `deps.json` lists projects nothing else is woven, as of tests, beside which test frameworks lie.
    pub projects_alone: bool,
    /// Whether methods that are left alone as expected (no body, excluded) are reported by name too.
    pub names_expected: bool,
}
