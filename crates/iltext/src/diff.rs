//! What differs between two modules, such as one before and after weaving: as a model, and as text, JSON or HTML.
//!
//! IL is compared by what it means: tokens by the names they stand for, branches by where they lead.

mod bodies;
mod custom;
mod debug;
mod digest;
mod documents;
mod headers;
mod html;
mod json;
mod lines;
mod manifest;
mod methods;
mod model;
mod module;
mod original;
mod pdb;
mod text;
mod walk;
mod win32;

use std::io;

use ecma335::{Image, Metadata, Result};
use weave::output_check;

pub use self::{
    html::Html,
    json::Json,
    lines::{Hunk, LineTag},
    model::{Change, Count, Diff, Kind, Status, Totals, Visitor},
    original::{Original, WovenOriginal},
    text::{Stat, Unified},
    walk::Options,
};
use self::{
    module::Module,
    pdb::Pdb,
    walk::{Relation, Walk},
};
use crate::{dis::names::Names, filter::Filter};

/// One of the two modules.
pub struct Side<'a, 'm> {
    names: Names<'a, 'm>,
    pdb: Option<Pdb<'m>>,
}

impl<'a, 'm> Side<'a, 'm> {
    /// Reads what belongs to what in a module.
    ///
    /// # Errors
    /// If the name of a type cannot be read.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Result<Self> {
        metadata.check_type_names()?;
        Ok(Self { names: Names::new(image, metadata), pdb: None })
    }

    /// Takes types of one name for the same, whichever assemblies they come from.
    #[must_use]
    pub fn without_scopes(self) -> Self {
        Self { names: self.names.without_scopes(), ..self }
    }

    /// Compares what the module's portable PDB says, too, if the other side has one.
    ///
    /// # Errors
    /// If its headers or streams cannot be read.
    pub fn with_pdb(self, bytes: &'m [u8]) -> Result<Self> {
        Ok(Self { pdb: Some(Pdb::parse(bytes)?), ..self })
    }
}

/// Compares two modules.
pub fn compare(old: &Side<'_, '_>, new: &Side<'_, '_>, options: &Options<'_>) -> Diff {
    let mut changes = Vec::new();
    let add = &mut |change| {
        changes.push(change);
        Ok(())
    };
    let totals = compare_each(old, new, options, add).unwrap_or_default();
    Diff { changes, totals }
}

/// Compares two modules and shows each change as it is found, then the totals: no difference is kept that has been shown.
///
/// # Errors
/// If the visitor cannot write.
pub fn visit(old: &Side<'_, '_>, new: &Side<'_, '_>, options: &Options<'_>, visitor: &mut dyn Visitor) -> io::Result<Totals> {
    let totals = compare_each(old, new, options, &mut |change| visitor.change(&change))?;
    visitor.finish(&totals)?;
    Ok(totals)
}

fn compare_each(
    old: &Side<'_, '_>,
    new: &Side<'_, '_>,
    options: &Options<'_>,
    add: &mut dyn FnMut(Change) -> io::Result<()>,
) -> io::Result<Totals> {
    let all = Filter::default();
    let mut old_module = Module::new(&old.names, old.pdb.as_ref(), &all);
    let mut new_module = Module::new(&new.names, new.pdb.as_ref(), &all);
    let (old_metadata, new_metadata) = (old.names.metadata, new.names.metadata);
    let is_extended = output_check::extends(new_metadata, old_metadata);
    let is_same = is_extended && output_check::extends(old_metadata, new_metadata);
    Walk::new(options, Relation { is_extended, is_same }, add).run(&mut old_module, &mut new_module)
}
