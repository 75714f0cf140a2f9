//! The options of each method, after rules.

use ecma335::{Rid, schema::MethodDef};
use ilrewrite::LeaveMode;

use super::options::{DecidedBy, Options};
use crate::probes::captured::Captured;

/// The options of a selected method, each with its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodOptions {
    /// The place of the `--include` pattern that names the method, if there are such patterns.
    pub included: Option<usize>,
    /// The way to the method's leave probe.
    pub leave: (LeaveMode, DecidedBy),
    /// The source of the decision about the method's hooks.
    pub hooks: DecidedBy,
    /// The values captured from the method's calls.
    pub capture: (Captured, DecidedBy),
    /// Whether the method's bytes are its own. If not, they are its caller's.
    pub allocations: (bool, DecidedBy),
    /// The condition for the method's body to be worth a probe.
    pub body_filter: (BodyFilter, DecidedBy),
}

/// The bodies that are worth a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyFilter {
    /// All bodies: `--all`.
    All,
    /// Bodies from source code with more than this many bytes of IL, or with a loop or a call: `--min-il`.
    Above(u32),
}

impl MethodOptions {
    /// The options of a method that no rule names.
    pub(crate) fn without_rules(options: &Options) -> Self {
        Self {
            included: None,
            leave: (options.leave, DecidedBy::Option),
            hooks: DecidedBy::Option,
            capture: (options.capture, DecidedBy::Option),
            allocations: (options.allocations || !options.counts_bytes(), DecidedBy::Option),
            body_filter: (BodyFilter::new(options.all, options.min_il), DecidedBy::Option),
        }
    }
}

impl BodyFilter {
    pub(crate) fn new(all: bool, min_il: u32) -> Self {
        if all { Self::All } else { Self::Above(min_il) }
    }
}

/// The options that hold for each selected method.
#[derive(Clone, Debug)]
pub(crate) struct OptionsByMethod {
    /// The options of each method, by MethodDef row number minus one. Empty if the same options hold for all.
    by_method: Vec<MethodOptions>,
    for_all: MethodOptions,
}

impl OptionsByMethod {
    /// The same options for all methods.
    pub(crate) fn same(options: MethodOptions) -> Self {
        Self { by_method: Vec::new(), for_all: options }
    }

    /// The options of each method, to change them.
    pub(crate) fn by_method_mut(&mut self, count: usize) -> &mut [MethodOptions] {
        self.by_method.resize(count, self.for_all);
        &mut self.by_method
    }

    /// The options that hold for a method.
    pub(crate) fn get(&self, method: Rid<MethodDef>) -> MethodOptions {
        let index = (method.get() as usize).wrapping_sub(1);
        self.by_method.get(index).copied().unwrap_or(self.for_all)
    }
}
