//! The context that all files of a run share.

use weave::{StrongNameKey, Tracker};

use framework::Framework;

use crate::{hook_assembly::HookAssembly, options::Options, request::Request, tracker::Trackers};

/// The context that all files of a run share.
pub(crate) struct RunContext<'a> {
    pub(crate) request: &'a Request,
    pub(crate) options: &'a Options,
    pub(crate) tracker: &'a Tracker,
    /// The trackers to write beside instrumented files.
    pub(crate) trackers: &'a Trackers,
    pub(crate) keys: &'a [StrongNameKey],
    /// Identifies the assemblies of the framework, which are skipped; `None` to instrument all.
    pub(crate) framework: Option<Framework>,
    /// The modules of multi-module assemblies that were instrumented before: file name and SHA-1.
    pub(crate) modules: Vec<(String, [u8; 20])>,
}

impl RunContext<'_> {
    /// Returns the assemblies that contain hooks.
    pub(crate) fn hooks(&self) -> &[HookAssembly] {
        &self.options.hook_assemblies
    }

    /// Returns whether the run writes files.
    pub(crate) fn writes(&self) -> bool {
        !self.request.dry_run
    }
}
