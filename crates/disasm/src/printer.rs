//! The state for printing a module's types.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{debug::DebugInfo, lines::Lines, names::Names};
use crate::filter::Filter;

/// The details to show besides the module itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Addresses and sizes of methods.
    pub offsets: bool,
    /// Bytes of instructions.
    pub bytes: bool,
    /// Tokens of definitions and operands.
    pub tokens: bool,
    /// Omits addresses, and sorts accessors: the text does not depend on the positions of rows and bytes.
    pub position_independent: bool,
    /// Makes labels that do not depend on the rest of a method, only for branch targets. Omits parts that each build
    /// generates anew.
    pub stable: bool,
}

/// Prints types, and records the data of their fields.
pub struct Printer<'n, 'a, 'm> {
    /// The names of the module.
    pub names: &'n Names<'a, 'm>,
    /// The details to show.
    pub options: Options,
    /// The PDB, if there is one.
    pub debug: Option<&'n DebugInfo<'n>>,
    /// The types and methods to show.
    pub filter: &'n Filter,
    /// File names that no resource can have.
    pub reserved: &'n [String],
    /// The output for printed lines, so that not too many are held.
    sink: Option<&'n mut (dyn io::Write + 'n)>,
    /// Whether lines were passed on, or the error of doing so.
    passed_on: io::Result<bool>,
    /// The sizes of field data that is not printed yet, by address.
    pub data: BTreeMap<u32, u32>,
    /// The addresses of the printed data.
    pub printed: BTreeSet<u32>,
}

impl<'n, 'a, 'm> Printer<'n, 'a, 'm> {
    /// A printer of a module.
    pub fn new(names: &'n Names<'a, 'm>, options: Options, filter: &'n Filter) -> Self {
        Self {
            names,
            options,
            debug: None,
            filter,
            reserved: &[],
            sink: None,
            passed_on: Ok(false),
            data: BTreeMap::new(),
            printed: BTreeSet::new(),
        }
    }

    /// Sets the output.
    pub fn to(self, sink: &'n mut (dyn io::Write + 'n)) -> Self {
        Self { sink: Some(sink), ..self }
    }

    /// Passes printed lines on, if they are large.
    pub fn pass_on(&mut self, lines: &mut Lines) {
        if let (Some(sink), Ok(_)) = (&mut self.sink, &self.passed_on)
            && let Some(text) = lines.take_much()
        {
            self.passed_on = sink.write_all(text.as_bytes()).map(|()| true);
        }
    }

    /// Passes all printed lines on. Returns whether there were any since the last time.
    pub fn pass_all_on(&mut self, lines: &mut Lines) -> io::Result<bool> {
        let has_passed = std::mem::replace(&mut self.passed_on, Ok(false))?;
        let text = lines.take();
        if let Some(sink) = &mut self.sink {
            sink.write_all(text.as_bytes())?;
        }
        Ok(has_passed || !text.is_empty())
    }
}
