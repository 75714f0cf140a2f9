//! The findings of a check.

use std::fmt;

use ecma335::Token;

use crate::rule::{Level, Rule};

/// The options of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether to report findings below [`Level::Error`] too.
    pub pedantic: bool,
    /// The number of findings to keep for each rule. The others are counted.
    pub limit: usize,
    /// Whether to report every instruction with a finding below [`Level::Error`], not only the first for each rule and
    /// body.
    pub every: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { pedantic: false, limit: 1000, every: false }
    }
}

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The broken rule.
    pub rule: &'static Rule,
    /// The row. A null token stands for the file itself.
    pub token: Token,
    /// The row's full name: `Namespace.Type::Member`. Empty if it has none.
    pub member: String,
    /// The IL offset, for an instruction.
    pub offset: Option<u32>,
    /// The details of the case. Empty if the rule's text says all.
    pub detail: String,
}

impl Finding {
    /// The rule's text, with the details.
    pub fn message(&self) -> String {
        let broken = format!("breaks \"{}\"", self.rule.text);
        if self.detail.is_empty() { broken } else { format!("{broken} ({})", self.detail) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rule.level.name(), self.rule.number)?;
        if self.token != Token::default() {
            write!(f, " {}", self.token)?;
        }
        if !self.member.is_empty() {
            write!(f, " {}", self.member)?;
        }
        if let Some(offset) = self.offset {
            write!(f, " IL_{offset:04x}")?;
        }
        write!(f, ": {}", self.message())
    }
}

/// The outcome for one assembly.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The findings, in the order of the checks.
    pub findings: Vec<Finding>,
    /// The number of findings beyond the limit.
    pub omitted: usize,
    /// The number of checked bodies.
    pub bodies: usize,
    /// The number of values whose types only an absent assembly defines. They were assumed to fit.
    pub assumed: usize,
}

impl Report {
    /// Whether no finding is an error.
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.rule.level != Level::Error)
    }
}
