//! One of the two modules: its names, and its items as text.

use ecma335::{
    MethodBody, Rva,
    schema::{FieldRva, MethodDef},
};

use super::{lines::Text, pdb::Pdb};
use disasm::{
    filter::Filter,
    lines::Lines,
    names::Names,
    printer::{Options, Printer},
};

/// The maximum number of compared bytes of an unreadable item.
const MOST_BYTES: usize = 4096;

pub(crate) struct Module<'n, 'a, 'm> {
    pub(crate) names: &'n Names<'a, 'm>,
    pub(crate) printer: Printer<'n, 'a, 'm>,
    /// The PDB, if it is compared.
    pub(crate) pdb: Option<&'n Pdb<'m>>,
    /// The RVAs of bodies and data, in order.
    starts: Vec<u32>,
}

impl<'n, 'a, 'm> Module<'n, 'a, 'm> {
    /// Prepares a module. `all` is a filter that includes everything.
    pub(crate) fn new(names: &'n Names<'a, 'm>, pdb: Option<&'n Pdb<'m>>, all: &'n Filter) -> Self {
        let options = Options { position_independent: true, ..Options::default() };
        let printer = Printer::new(names, options, all);
        let methods = names.metadata.tables.rows::<MethodDef>().map(|(_, row)| row.rva);
        let mut starts: Vec<u32> = methods.chain(names.metadata.tables.rows::<FieldRva>().map(|(_, row)| row.rva)).collect();
        starts.sort_unstable();
        Self { names, printer, pdb, starts }
    }

    /// The printed lines, as text.
    pub(crate) fn print(&self, print: impl FnOnce(&Printer<'n, 'a, 'm>, &mut Lines)) -> Text {
        let mut lines = Lines::default();
        print(&self.printer, &mut lines);
        let mut text = Text::default();
        text.push_printed(&lines.take());
        text
    }

    /// The bytes of a readable body.
    pub(crate) fn body_bytes(&self, rva: u32) -> Option<&'a [u8]> {
        let cursor = self.names.image.cursor_at(Rva(rva)).ok()?;
        cursor.rest().get(..MethodBody::measure(cursor).ok()?)
    }

    /// The bytes from an RVA on, up to the next body or data.
    pub(crate) fn bytes_at(&self, rva: u32) -> &'a [u8] {
        let Ok(cursor) = self.names.image.cursor_at(Rva(rva)) else { return &[] };
        let next = self.starts.get(self.starts.partition_point(|start| *start <= rva));
        let size = next.map_or(MOST_BYTES, |next| (next - rva) as usize).min(MOST_BYTES);
        cursor.rest().get(..size).unwrap_or(cursor.rest())
    }
}
