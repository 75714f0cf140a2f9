//! Compares two modules, such as an original and its instrumented version. The result is a model, or text, JSON or
//! HTML. The crate opens no file.
//!
//! IL is compared by its meaning: tokens by the names of their rows, branches by their target instructions.

pub mod api;

mod aliases;
mod assign;
mod bodies;
mod custom;
mod debug;
mod digest;
mod documents;
mod generated_names;
mod headers;
mod html;
mod ignore;
mod json;
mod lines;
mod manifest;
mod markdown;
mod methods;
mod model;
mod module;
mod native;
mod original;
mod pairs;
mod pdb;
mod shape;
mod text;
mod walk;
mod win32;
pub mod words;

use std::io;

use disasm::{filter::Filter, names::Names};
use ecma335::{Image, Metadata, Result, Table};
use weave::output_check;

pub use self::{
    html::Html,
    ignore::Ignore,
    json::Json,
    lines::{Hunk, LineTag},
    markdown::Markdown,
    model::{Change, Count, Diff, Kind, Status, Sum, Totals, Visitor},
    original::{Original, WovenOriginal},
    text::{Stat, Unified},
    walk::Options,
};
use self::{
    module::Module,
    pdb::Pdb,
    walk::{Relation, Walk},
};

/// One of the two modules.
pub struct Side<'a, 'm> {
    names: Names<'a, 'm>,
    pdb: Option<Pdb<'m>>,
}

impl<'a, 'm> Side<'a, 'm> {
    /// Reads the ownership of rows in a module.
    ///
    /// # Errors
    /// If the name of a type cannot be read.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Result<Self> {
        metadata.check_type_names()?;
        Ok(Self { names: Names::new(image, metadata).for_comparison(), pdb: None })
    }

    /// Hides differences of these kinds.
    pub(crate) fn ignore(&self, ignored: &[Ignore]) {
        self.names.hidden.replace(ignore::attributes(ignored));
        self.names.hides_init.set(ignored.contains(&Ignore::LocalsInit));
    }

    /// Treats types of equal names as the same, whichever assemblies they come from.
    #[must_use]
    pub fn without_scopes(self) -> Self {
        Self { names: self.names.without_scopes(), ..self }
    }

    /// Also compares the module's portable PDB, if the other side has one.
    ///
    /// # Errors
    /// If its headers or streams cannot be read.
    pub fn with_pdb(self, bytes: &'m [u8]) -> Result<Self> {
        Ok(Self { pdb: Some(Pdb::parse(bytes)?), ..self })
    }
}

/// Compares two modules.
pub fn compare(old: &Side<'_, '_>, new: &Side<'_, '_>, options: &Options<'_>) -> Diff {
    struct Keep(Vec<Change>);

    impl Visitor for Keep {
        fn change(&mut self, change: &Change) -> io::Result<()> {
            self.0.push(change.clone());
            Ok(())
        }
    }

    let mut changes = Keep(Vec::new());
    let totals = visit(old, new, options, &mut changes).unwrap_or_default();
    Diff { changes: changes.0, totals }
}

/// Compares two modules and passes the totals, then each change, to a visitor. No difference is stored, so the
/// modules are compared twice.
///
/// # Errors
/// If the visitor cannot write.
pub fn visit(old: &Side<'_, '_>, new: &Side<'_, '_>, options: &Options<'_>, visitor: &mut dyn Visitor) -> io::Result<Totals> {
    let all = Filter::default();
    let mut old_module = Module::new(&old.names, old.pdb.as_ref(), &all);
    let mut new_module = Module::new(&new.names, new.pdb.as_ref(), &all);
    let (old_metadata, new_metadata) = (old.names.metadata, new.names.metadata);
    let is_extended = output_check::extends(new_metadata, old_metadata);
    let is_same = is_extended
        && output_check::extends(old_metadata, new_metadata)
        && old_metadata.blobs.bytes == new_metadata.blobs.bytes
        && old_metadata.tables.bytes(Table::StandAloneSig) == new_metadata.tables.bytes(Table::StandAloneSig);
    for names in [&old.names, &new.names] {
        names.aliases.take();
    }
    old.ignore(options.ignore);
    new.ignore(options.ignore);
    let pairs = pairs::pair(&old.names, &new.names, is_extended || options.original.is_some());
    let walk = Walk::new(options, Relation { is_extended, is_same }, &pairs);
    let (totals, places) = walk.count(&mut old_module, &mut new_module);
    visitor.begin(&totals)?;
    walk.show(&places, &mut old_module, &mut new_module, visitor)?;
    visitor.finish(&totals)?;
    Ok(totals)
}
