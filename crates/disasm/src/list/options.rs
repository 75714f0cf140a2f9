//! The content and the order of a listing.

use std::cmp::Reverse;

/// The parts to list.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Methods, and whether they are shown in a tree with their types.
    pub methods: Option<Methods>,
    /// The referenced assemblies, modules and native libraries.
    pub references: bool,
    /// With references: the types and members used from each.
    pub members: bool,
    /// String literals and their uses.
    pub strings: bool,
    /// Custom attributes, their owners and their values.
    pub attributes: bool,
    /// The order of all lists.
    pub sort: Sort,
}

/// The way to list methods.
#[derive(Clone, Debug)]
pub struct Methods {
    /// In a tree with types, properties and events.
    pub as_tree: bool,
    /// The options for instrumenting.
    pub weave: weave::Options,
    /// The PDB of the module, if there is one, because patterns may name source files.
    pub pdb: Option<Vec<u8>>,
}

/// The sort key of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By token, the order in the file.
    #[default]
    Token,
    /// By name. Strings are sorted by their text.
    Name,
    /// The largest first: the most IL, the longest text, or the most used members.
    Size,
}

impl Sort {
    /// Sorts items in token order by the name and size from `key`.
    pub(crate) fn apply<T>(self, items: &mut [T], key: impl Fn(&T) -> (&str, u64)) {
        match self {
            Self::Token => {}
            Self::Name => items.sort_by(|one, other| key(one).0.cmp(key(other).0)),
            Self::Size => items.sort_by_key(|item| Reverse(key(item).1)),
        }
    }
}
