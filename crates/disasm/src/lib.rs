//! Prints assemblies: as IL assembly that Mono's ilasm or .NET's accepts ([`Disassembler`]), and as lists of their contents ([`list`]).
//!
//! Each module reads the caller's bytes, makes a model, and has printers for that model. The crate opens no file, and
//! writes only to the given outputs. Unreadable parts are reported as an [`ecma335::Error`] with its file offset. Parts that
//! ilasm cannot accept become comments.

mod attribute_values;
pub mod blocks;
pub mod bodies;
mod debug;
pub mod filter;
mod flags;
pub mod generics;
pub mod ilasm;
pub mod lines;
pub mod list;
pub mod manifest;
mod marshal;
pub mod members;
pub mod names;
mod order;
pub mod parent_index;
mod preamble;
pub mod printer;
pub mod quote;
mod security;
mod types;
mod value_types;
pub mod values;

use std::io;

use ecma335::{Image, Metadata, Result, Rid, schema::TypeDef};

pub use self::{
    debug::{DebugInfo, ReadSource},
    ilasm::Ilasm,
    manifest::Resource,
    printer::Options,
};
use self::{filter::Filter, lines::Lines, names::Names, printer::Printer};

/// Prints a module, or some of its types and methods.
pub struct Disassembler<'a, 'm> {
    names: Names<'a, 'm>,
    /// The details to show besides the module itself.
    pub options: Options,
    /// The types and methods to show.
    pub filter: Filter,
    /// File names that no resource can have, because others use them. Such a resource becomes a comment.
    pub reserved: Vec<String>,
    /// The PDB's names of locals and source lines.
    pub debug: Option<DebugInfo<'m>>,
}

impl<'a, 'm> Disassembler<'a, 'm> {
    /// Reads the ownership of rows in a module.
    ///
    /// # Errors
    /// If the name of a type cannot be read.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Result<Self> {
        metadata.check_type_names()?;
        let names = Names::new(image, metadata);
        Ok(Self { names, options: Options::default(), filter: Filter::default(), reserved: Vec::new(), debug: None })
    }

    /// Sets the assembler that the text is for. Without it, the module's core library decides.
    pub fn write_for(&mut self, ilasm: Ilasm) {
        self.names.ilasm = ilasm;
    }

    /// Prints the manifest, then type by type, in whole lines. Returns whether there was anything to print.
    ///
    /// # Errors
    /// If writing fails. Unreadable parts of the module become comments.
    pub fn print(&self, out: &mut impl io::Write) -> io::Result<bool> {
        let mut printer = Printer::new(&self.names, self.options, &self.filter).to(out);
        printer.debug = self.debug.as_ref();
        printer.reserved = &self.reserved;
        let mut lines = Lines::default();
        let mut found = self.filter.is_empty();
        if found {
            manifest::print(&printer, &mut lines);
        }
        printer.pass_all_on(&mut lines)?;
        for (index, outer) in self.names.metadata.enclosing_types().iter().enumerate() {
            if outer.is_none() {
                printer.print(Rid::<TypeDef>::new(index as u32 + 1), 0, &mut lines);
                members::data(&mut printer, &mut lines);
                found |= printer.pass_all_on(&mut lines)?;
            }
        }
        Ok(found)
    }

    /// The embedded resources. None if a filter excludes the manifest.
    pub fn resources(&self) -> Vec<Resource<'a>> {
        if self.filter.is_empty() { manifest::resources(&self.names, &self.reserved).into_values().collect() } else { Vec::new() }
    }
}
