//! The signal handler, and what it shares with the sampler's thread. It allocates nothing, and takes no lock.

pub(super) mod event;
pub(super) mod ring;
pub(super) mod signal;
pub(super) mod walk;
