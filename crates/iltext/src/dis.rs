//! An assembly as IL assembly that Mono's ilasm takes again; what it cannot take is a comment.

pub(crate) mod blocks;
pub(crate) mod bodies;
mod debug;
mod flags;
mod generics;
pub(crate) mod lines;
pub(crate) mod manifest;
mod marshal;
pub(crate) mod members;
pub(crate) mod names;
mod order;
mod preamble;
pub(crate) mod printer;
mod security;
mod types;
mod value_types;
pub(crate) mod values;

use std::io;

use ecma335::{Image, Metadata, Result, Rid, schema::TypeDef};

pub use self::{
    debug::{DebugInfo, ReadSource},
    printer::Options,
};
use self::{lines::Lines, names::Names, printer::Printer};
use crate::filter::Filter;

/// Prints a module, or some of its types and methods.
pub struct Disassembler<'a, 'm> {
    names: Names<'a, 'm>,
    /// Full names without quotes by TypeDef row number less one, for patterns.
    type_names: Vec<String>,
    /// What to show beside the module itself.
    pub options: Options,
    /// What to show of the module.
    pub filter: Filter,
    /// What its PDB says: names of locals, and source lines.
    pub debug: Option<DebugInfo<'m>>,
}

impl<'a, 'm> Disassembler<'a, 'm> {
    /// Reads a module's names.
    ///
    /// # Errors
    /// If the name of a type cannot be read.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Result<Self> {
        let (names, type_names) = (Names::new(image, metadata), metadata.type_names()?);
        Ok(Self { names, type_names, options: Options::default(), filter: Filter::default(), debug: None })
    }

    /// Prints the manifest, then type by type, whole lines at a time; says whether there was anything to print.
    ///
    /// # Errors
    /// If it cannot be written. What of the module cannot be read is said in a comment.
    pub fn print(&self, out: &mut impl io::Write) -> io::Result<bool> {
        let mut printer = Printer::new(&self.names, self.options, &self.filter, &self.type_names);
        printer.debug = self.debug.as_ref();
        let mut lines = Lines::default();
        let mut found = self.filter.is_empty();
        if found {
            manifest::print(&printer, &mut lines);
        }
        out.write_all(lines.take().as_bytes())?;
        for (index, outer) in self.names.metadata.enclosing_types().iter().enumerate() {
            if outer.is_none() {
                printer.print(Rid::<TypeDef>::new(index as u32 + 1), 0, &mut lines);
                members::data(&mut printer, &mut lines);
                let text = lines.take();
                found |= !text.is_empty();
                out.write_all(text.as_bytes())?;
            }
        }
        Ok(found)
    }

    /// The embedded resources by the names of the files that an assembler reads them from, or why one cannot be read; none
    /// if a filter leaves the manifest out.
    pub fn resources(&self) -> Vec<(String, Result<&'a [u8]>)> {
        if self.filter.is_empty() { manifest::resources(&self.names) } else { Vec::new() }
    }
}
