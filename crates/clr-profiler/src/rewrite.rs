//! Methods that `weave` instruments: when their module is loaded, and while the program runs.

pub(crate) mod at_load;
pub(crate) mod attached;
