//! What is listed, and in which order.

use std::cmp::Reverse;

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Methods, and whether in a tree with their types.
    pub methods: Option<Methods>,
    /// The assemblies, modules and native libraries that are referred to.
    pub references: bool,
    /// With references: the types and members that are used of each.
    pub members: bool,
    /// String literals, and where they are used.
    pub strings: bool,
    /// Custom attributes, what they are on and their values.
    pub attributes: bool,
    /// The order of all lists.
    pub sort: Sort,
}

/// How to list methods.
#[derive(Clone, Debug)]
pub struct Methods {
    /// In a tree with types, properties and events.
    pub as_tree: bool,
    /// What would be woven, and how.
    pub weave: weave::Options,
    /// The PDB beside the module, if there is one: patterns may name source files.
    pub pdb: Option<Vec<u8>>,
}

/// What lists are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By token: the order in the file.
    #[default]
    Token,
    /// By name; strings by their text.
    Name,
    /// The largest first: the most IL, the longest text, the most members used.
    Size,
}

impl Sort {
    /// Sorts what is in the order of tokens by the name and size that `key` gives.
    pub(crate) fn apply<T>(self, items: &mut [T], key: impl Fn(&T) -> (&str, u64)) {
        match self {
            Self::Token => {}
            Self::Name => items.sort_by(|one, other| key(one).0.cmp(key(other).0)),
            Self::Size => items.sort_by_key(|item| Reverse(key(item).1)),
        }
    }
}
