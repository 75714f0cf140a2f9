//! What every check is given, and where it puts what it finds.

use std::{cell::RefCell, collections::BTreeMap, fmt};

use ecma335::{
    Image, Metadata, Rid, Table, Token,
    schema::{Blob, Row, Str},
};

use crate::{
    model::Model,
    names::Names,
    report::{Finding, Options, Report},
    rule::{Level, Rule},
    types::library::Scope,
};

/// An assembly under check.
pub(crate) struct Context<'a, 'm> {
    pub(crate) image: &'m Image<'a>,
    pub(crate) metadata: &'m Metadata<'a>,
    pub(crate) model: &'m Model,
    /// Whether its tables are the unordered kind of an editor or of edit-and-continue (`#-`).
    pub(crate) is_uncompressed: bool,
    pub(crate) options: Options,
    /// Where types are found, if they are checked.
    pub(crate) scope: Option<Scope<'m>>,
    names: Names<'a, 'm>,
    report: RefCell<Report>,
    counts: RefCell<BTreeMap<&'static str, usize>>,
}

impl<'a, 'm> Context<'a, 'm> {
    pub(crate) fn new(
        image: &'m Image<'a>,
        metadata: &'m Metadata<'a>,
        model: &'m Model,
        options: &Options,
        scope: Option<Scope<'m>>,
    ) -> Self {
        let has_stream = |name: &[u8]| metadata.streams.iter().any(|stream| stream.name == name);
        Self {
            image,
            metadata,
            model,
            is_uncompressed: has_stream(b"#-") && !has_stream(b"#~"),
            options: *options,
            scope,
            names: Names::new(metadata, model),
            report: RefCell::default(),
            counts: RefCell::default(),
        }
    }

    /// Whether findings of this rule are wanted: then it is worth looking for them.
    pub(crate) fn wants(&self, rule: &Rule) -> bool {
        rule.level == Level::Error || self.options.pedantic || self.scope.is_some() && rule.level == Level::Unverifiable
    }

    /// Notes a broken rule, unless all is well.
    #[inline]
    pub(crate) fn expect(&self, is_well: bool, rule: &'static Rule, token: Token) {
        if !is_well {
            self.find(rule, token, "");
        }
    }

    /// Notes a broken rule, with what is the case.
    #[cold]
    pub(crate) fn find(&self, rule: &'static Rule, token: Token, detail: impl fmt::Display) {
        self.put(rule, token, None, detail);
    }

    /// Notes a broken rule at an instruction.
    #[cold]
    pub(crate) fn find_at(&self, rule: &'static Rule, token: Token, offset: u32, detail: impl fmt::Display) {
        self.put(rule, token, Some(offset), detail);
    }

    fn put(&self, rule: &'static Rule, token: Token, offset: Option<u32>, detail: impl fmt::Display) {
        if !self.wants(rule) {
            return;
        }
        if self.counts(rule) {
            let finding = Finding { rule, token, member: self.names.of(token), offset, detail: detail.to_string() };
            self.report.borrow_mut().findings.push(finding);
        }
    }

    /// Counts a finding; whether it is within the limit.
    fn counts(&self, rule: &'static Rule) -> bool {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry(rule.number).or_default();
        *count += 1;
        let is_within = *count <= self.options.limit;
        self.report.borrow_mut().omitted += usize::from(!is_within);
        is_within
    }

    /// Takes over what another context of this assembly has found.
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

    /// Counts values that were taken to fit.
    pub(crate) fn count_assumed(&self, values: usize) {
        self.report.borrow_mut().assumed += values;
    }

    /// What was found since the last time.
    pub(crate) fn take_report(&self) -> Report {
        self.counts.take();
        self.report.take()
    }

    pub(crate) fn into_report(self) -> Report {
        self.report.into_inner()
    }

    /// A name's bytes; empty where it lies outside of its heap, which is another rule's matter.
    pub(crate) fn name(&self, index: Str) -> &'a [u8] {
        self.metadata.strings.string_bytes(index).unwrap_or_default()
    }

    /// A row's full name, for findings.
    pub(crate) fn full_name(&self, token: Token) -> String {
        self.names.of(token)
    }

    /// A blob's bytes; empty where it lies outside of its heap.
    pub(crate) fn blob(&self, index: Blob) -> &'a [u8] {
        self.metadata.blob(index).unwrap_or_default()
    }

    /// All rows of a table, with their tokens.
    pub(crate) fn rows<R: Row>(&self) -> impl Iterator<Item = (Token, R)> + use<'m, 'a, R> {
        self.metadata.tables.rows::<R>().map(|(rid, row)| (token(rid), row))
    }

    /// Whether a token names a row that is there.
    pub(crate) fn is_row(&self, token: Token) -> bool {
        token.table().is_some_and(|table| (1..=self.metadata.tables.count(table)).contains(&token.rid()))
    }

    /// The first row of each that has a key an earlier one has, by their tokens.
    pub(crate) fn duplicates<K: Ord>(&self, items: impl Iterator<Item = (Token, K)>) -> Vec<(Token, Token)> {
        let mut seen = BTreeMap::new();
        let mut found = Vec::new();
        for (token, key) in items {
            match seen.entry(key) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(token);
                }
                std::collections::btree_map::Entry::Occupied(first) => found.push((token, *first.get())),
            }
        }
        found
    }

    /// Notes every row whose key an earlier one has.
    pub(crate) fn expect_unique<K: Ord>(&self, rule: &'static Rule, items: impl Iterator<Item = (Token, K)>) {
        if self.wants(rule) {
            for (token, first) in self.duplicates(items) {
                self.find(rule, token, format_args!("{first} is the same"));
            }
        }
    }
}

/// The token of a row.
pub(crate) fn token<R: Row>(rid: Rid<R>) -> Token {
    Token::new(R::TABLE, rid.get())
}

/// The token of a type definition.
pub(crate) fn type_token(rid: u32) -> Token {
    Token::new(Table::TypeDef, rid)
}
