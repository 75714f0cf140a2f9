//! A pair of items, and the relation of its two sides.

use ecma335::Rid;

/// The relation of two paired items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// Their names are equal or compiler-generated.
    Same,
    /// The names differ.
    Renamed,
    /// The types or namespaces differ.
    Moved,
    /// The signatures differ.
    Resigned,
}

/// An item of both modules, or of one.
#[derive(Debug)]
pub(crate) struct Pair<T> {
    pub(crate) old: Option<Rid<T>>,
    pub(crate) new: Option<Rid<T>>,
    pub(crate) how: How,
    /// The item's number among those of its name, from 1.
    pub(crate) number: usize,
}
