//! What all files of a run are instrumented with.

use weave::{StrongNameKey, Tracker};

use crate::{framework::Framework, hook_assembly::HookAssembly, options::Options, request::Request, tracker::Trackers};

/// What all files of a run are instrumented with.
pub(crate) struct RunContext<'a> {
    pub(crate) request: &'a Request,
    pub(crate) options: &'a Options,
    pub(crate) tracker: &'a Tracker,
    /// The tracker as it is written beside what is woven.
    pub(crate) trackers: &'a Trackers,
    pub(crate) keys: &'a [StrongNameKey],
    /// What is of the framework is left as it is; none if all is to be woven.
    pub(crate) framework: Option<Framework>,
    /// The modules of multi-module assemblies that were woven before: file name and SHA-1.
    pub(crate) modules: Vec<(String, [u8; 20])>,
}

impl RunContext<'_> {
    /// The assemblies that hooks are in.
    pub(crate) fn hooks(&self) -> &[HookAssembly] {
        &self.options.hook_assemblies
    }

    /// Whether files are written.
    pub(crate) fn writes(&self) -> bool {
        !self.request.dry_run
    }
}
