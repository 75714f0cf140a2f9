//! What printing a module's types has at hand.

use std::collections::{BTreeMap, BTreeSet};

use ecma335::{Rid, schema::TypeDef};

use super::{debug::DebugInfo, names::Names};
use crate::filter::Filter;

/// What to show beside the module itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Addresses and sizes of methods.
    pub offsets: bool,
    /// Bytes of instructions.
    pub bytes: bool,
    /// Tokens of definitions and operands.
    pub tokens: bool,
    /// No addresses, and accessors in an order of their own: text that is the same wherever rows and bytes lie.
    pub position_independent: bool,
}

/// Prints types, and keeps in mind the data their fields point to.
pub(crate) struct Printer<'n, 'a, 'm> {
    pub(crate) names: &'n Names<'a, 'm>,
    pub(crate) options: Options,
    /// What the PDB says, if there is one.
    pub(crate) debug: Option<&'n DebugInfo<'n>>,
    pub(crate) filter: &'n Filter,
    type_names: &'n [String],
    /// The sizes of the data that fields point to, by address, as far as it was not printed yet.
    pub(crate) data: BTreeMap<u32, u32>,
    /// The addresses whose data was printed.
    pub(crate) printed: BTreeSet<u32>,
}

impl<'n, 'a, 'm> Printer<'n, 'a, 'm> {
    /// Prints types of a module; `type_names` are their full names without quotes, by row number less one.
    pub(crate) fn new(names: &'n Names<'a, 'm>, options: Options, filter: &'n Filter, type_names: &'n [String]) -> Self {
        Self { names, options, debug: None, filter, type_names, data: BTreeMap::new(), printed: BTreeSet::new() }
    }

    /// A type's full name without quotes.
    pub(crate) fn type_name(&self, rid: Rid<TypeDef>) -> &'n str {
        (rid.get() as usize).checked_sub(1).and_then(|index| self.type_names.get(index)).map_or("", String::as_str)
    }
}
