//! What printing a module's types has at hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{debug::DebugInfo, lines::Lines, names::Names};
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
    /// Labels that stay the same when something else in a method changes, only where something leads to, and nothing that
    /// each build makes anew.
    pub stable: bool,
}

/// Prints types, and keeps in mind the data their fields point to.
pub(crate) struct Printer<'n, 'a, 'm> {
    pub(crate) names: &'n Names<'a, 'm>,
    pub(crate) options: Options,
    /// What the PDB says, if there is one.
    pub(crate) debug: Option<&'n DebugInfo<'n>>,
    pub(crate) filter: &'n Filter,
    /// Names that no resource's file can have.
    pub(crate) reserved: &'n [String],
    /// Where to pass on what was printed, before it gets much.
    sink: Option<&'n mut (dyn io::Write + 'n)>,
    /// Whether that was done, or why it could not be.
    passed_on: io::Result<bool>,
    /// The sizes of the data that fields point to, by address, as far as it was not printed yet.
    pub(crate) data: BTreeMap<u32, u32>,
    /// The addresses whose data was printed.
    pub(crate) printed: BTreeSet<u32>,
}

impl<'n, 'a, 'm> Printer<'n, 'a, 'm> {
    /// Prints types of a module.
    pub(crate) fn new(names: &'n Names<'a, 'm>, options: Options, filter: &'n Filter) -> Self {
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

    /// Prints to somewhere.
    pub(crate) fn to(self, sink: &'n mut (dyn io::Write + 'n)) -> Self {
        Self { sink: Some(sink), ..self }
    }

    /// Passes on what was printed, if it is much.
    pub(crate) fn pass_on(&mut self, lines: &mut Lines) {
        if let (Some(sink), Ok(_)) = (&mut self.sink, &self.passed_on)
            && let Some(text) = lines.take_much()
        {
            self.passed_on = sink.write_all(text.as_bytes()).map(|()| true);
        }
    }

    /// Passes on all that was printed; whether there was anything since the last time.
    pub(crate) fn pass_all_on(&mut self, lines: &mut Lines) -> io::Result<bool> {
        let has_passed = std::mem::replace(&mut self.passed_on, Ok(false))?;
        let text = lines.take();
        if let Some(sink) = &mut self.sink {
            sink.write_all(text.as_bytes())?;
        }
        Ok(has_passed || !text.is_empty())
    }
}
