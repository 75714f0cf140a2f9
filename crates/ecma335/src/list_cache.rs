//! What is known of the list columns of a module once it was asked for: looking through them again would take long.

use std::sync::OnceLock;

/// What is known of a list column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListCache {
    pub(crate) shape: OnceLock<Shape>,
    /// The number of each child's owner, where looking for one takes long.
    pub(crate) owners: OnceLock<Vec<u32>>,
}

/// The runs of a list column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The first owner whose run is not looked at any more.
    pub(crate) end: u32,
    /// Whether each run begins where the one before it ends.
    pub(crate) ascends: bool,
}
