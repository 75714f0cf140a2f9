//! Cached facts about a module's list columns, which take long to compute.

use std::sync::OnceLock;

/// The cached facts about one list column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListCache {
    pub(crate) shape: OnceLock<Shape>,
    /// The number of each row's owner, if a search would take long.
    pub(crate) owners: OnceLock<Vec<u32>>,
}

/// The runs of a list column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The first owner whose run is ignored.
    pub(crate) end: u32,
    /// Whether the starts of the runs ascend.
    pub(crate) ascends: bool,
}
