//! The context of a check: the assembly, and the report for findings.

use std::{
    cell::RefCell,
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    ops::Deref,
};

use ecma335::Token;

use crate::{
    assembly::Assembly,
    report::{Finding, Report},
    rule::Rule,
};

/// The assembly under check and the current report. Each thread has its own context.
pub(crate) struct Context<'m> {
    assembly: &'m Assembly<'m>,
    report: RefCell<Report>,
    counts: RefCell<BTreeMap<&'static str, usize>>,
}

impl<'m> Deref for Context<'m> {
    type Target = Assembly<'m>;

    fn deref(&self) -> &Assembly<'m> {
        self.assembly
    }
}

impl<'m> Context<'m> {
    pub(crate) fn new(assembly: &'m Assembly<'m>) -> Self {
        Self { assembly, report: RefCell::default(), counts: RefCell::default() }
    }

    /// The assembly under check.
    pub(crate) fn assembly(&self) -> &'m Assembly<'m> {
        self.assembly
    }

    /// Reports a broken rule if the condition is false.
    #[inline]
    pub(crate) fn require(&self, is_well: bool, rule: &'static Rule, token: Token) {
        if !is_well {
            self.report(rule, token, "");
        }
    }

    /// Reports a broken rule with its details.
    #[cold]
    pub(crate) fn report(&self, rule: &'static Rule, token: Token, detail: impl fmt::Display) {
        self.put(rule, token, None, detail);
    }

    /// Reports a broken rule at an instruction.
    #[cold]
    pub(crate) fn report_at(&self, rule: &'static Rule, token: Token, offset: u32, detail: impl fmt::Display) {
        self.put(rule, token, Some(offset), detail);
    }

    fn put(&self, rule: &'static Rule, token: Token, offset: Option<u32>, detail: impl fmt::Display) {
        if self.wants(rule) && self.counts(rule) {
            let finding = Finding { rule, token, member: self.full_name(token), offset, detail: detail.to_string() };
            self.report.borrow_mut().findings.push(finding);
        }
    }

    /// Counts a finding, and returns whether it is within the limit.
    fn counts(&self, rule: &'static Rule) -> bool {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry(rule.number).or_default();
        *count += 1;
        let is_within = *count <= self.options.limit;
        self.report.borrow_mut().omitted += usize::from(!is_within);
        is_within
    }

    /// Adds the findings of another context for this assembly.
    pub(crate) fn absorb(&self, other: Report) {
        for finding in other.findings {
            if self.counts(finding.rule) {
                self.report.borrow_mut().findings.push(finding);
            }
        }
        let mut report = self.report.borrow_mut();
        report.omitted += other.omitted;
        report.bodies += other.bodies;
        report.assumed += other.assumed;
    }

    /// Counts a body.
    pub(crate) fn count_body(&self) {
        self.report.borrow_mut().bodies += 1;
    }

    /// Counts values that were assumed to fit.
    pub(crate) fn count_assumed(&self, values: usize) {
        self.report.borrow_mut().assumed += values;
    }

    /// Takes the findings since the last call.
    pub(crate) fn take_report(&self) -> Report {
        self.counts.take();
        self.report.take()
    }

    /// The rows with a key that an earlier row has, each with the earlier row. Rows are given by token.
    pub(crate) fn duplicates<K: Ord>(&self, items: impl Iterator<Item = (Token, K)>) -> Vec<(Token, Token)> {
        let mut seen = BTreeMap::new();
        let mut found = Vec::new();
        for (token, key) in items {
            match seen.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(token);
                }
                Entry::Occupied(first) => found.push((token, *first.get())),
            }
        }
        found
    }

    /// Reports every row with a key that an earlier row has.
    pub(crate) fn require_unique<K: Ord>(&self, rule: &'static Rule, items: impl Iterator<Item = (Token, K)>) {
        if self.wants(rule) {
            for (token, first) in self.duplicates(items) {
                self.report(rule, token, format_args!("{first} is the same"));
            }
        }
    }
}
