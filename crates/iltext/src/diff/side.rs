//! One of the two modules: its names, and its things in words.

use std::collections::{BTreeMap, BTreeSet};

use ecma335::{
    MethodBody, Rid, Rva,
    schema::{FieldRva, MethodDef, TypeDef},
};

use super::{debug::Debug, lines::Text};
use crate::dis::{Filter, Show, lines::Lines, names::Names, types::Types};

/// How many bytes of what cannot be read are compared at most.
const MOST_BYTES: usize = 4096;

/// One of the two modules.
pub(crate) struct Side<'n, 'a, 'm> {
    /// Its names.
    pub(crate) names: &'n Names<'a, 'm>,
    /// Prints its types and members.
    pub(crate) types: Types<'n, 'a, 'm>,
    /// What its PDB says, if that is compared.
    pub(crate) debug: Option<&'n Debug<'n>>,
    /// The addresses at which bodies and data start, in order.
    starts: Vec<u32>,
}

impl<'n, 'a, 'm> Side<'n, 'a, 'm> {
    /// A module; `plain_names` are the full names of its types.
    pub(crate) fn new(
        names: &'n Names<'a, 'm>,
        filter: &'n Filter,
        plain_names: &'n [String],
        debug: Option<&'n Debug<'n>>,
    ) -> Self {
        let show = Show { placeless: true, ..Show::default() };
        let types = Types { names, show, filter, plain_names, debug: None, data: BTreeMap::new(), printed: BTreeSet::new() };
        let methods = names.metadata.tables.rows::<MethodDef>().map(|(_, row)| row.rva);
        let mut starts: Vec<u32> = methods.chain(names.metadata.tables.rows::<FieldRva>().map(|(_, row)| row.rva)).collect();
        starts.sort_unstable();
        Self { names, types, debug, starts }
    }

    /// A type's full name without quotes.
    pub(crate) fn plain_name(&self, rid: Rid<TypeDef>) -> &str {
        (rid.get() as usize).checked_sub(1).and_then(|index| self.types.plain_names.get(index)).map_or("", String::as_str)
    }

    /// What is printed, as text.
    pub(crate) fn print(&self, print: impl FnOnce(&Types<'n, 'a, 'm>, &mut Lines)) -> Text {
        let mut lines = Lines::default();
        print(&self.types, &mut lines);
        let mut text = Text::default();
        text.push_printed(&lines.take());
        text
    }

    /// The bytes of a body that can be read.
    pub(crate) fn body_bytes(&self, rva: u32) -> Option<&'a [u8]> {
        let cursor = self.names.image.cursor_at(Rva(rva)).ok()?;
        cursor.rest().get(..MethodBody::measure(cursor).ok()?)
    }

    /// The bytes from an address on, up to where the next body or data starts.
    pub(crate) fn bytes_at(&self, rva: u32) -> &'a [u8] {
        let Ok(cursor) = self.names.image.cursor_at(Rva(rva)) else { return &[] };
        let next = self.starts.get(self.starts.partition_point(|start| *start <= rva));
        let size = next.map_or(MOST_BYTES, |next| (next - rva) as usize).min(MOST_BYTES);
        cursor.rest().get(..size).unwrap_or(cursor.rest())
    }
}
