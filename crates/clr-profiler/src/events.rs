//! Callbacks of the runtime other than hooks: they may wait, and query the runtime.

pub(crate) mod at_load;
pub(crate) mod exceptions;
pub(crate) mod functions;
