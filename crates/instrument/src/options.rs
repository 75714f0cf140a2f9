//! The options of a run.

use std::path::PathBuf;

use crate::hook_assembly::HookAssembly;

/// The options by which files of a run are instrumented.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The options that determine the bytes of instrumented modules.
    pub weave: weave::Options,
    /// The assemblies that contain the hooks of these options.
    pub hook_assemblies: Vec<HookAssembly>,
    /// Files of strong name key pairs. An assembly is signed with the key pair of its public key.
    pub keys: Vec<PathBuf>,
    /// Whether assemblies of the framework in a folder are instrumented, too. A pattern that names an assembly selects that one.
    pub all_assemblies: bool,
    /// Whether of a folder whose `deps.json` lists projects nothing else is woven, as of tests, beside which test frameworks lie.
    pub projects_alone: bool,
    /// Whether methods that are left alone as expected (no body, excluded) are reported by name too.
    pub names_expected: bool,
}
