//! What was found.

use std::fmt;

use ecma335::Token;

use crate::rule::{Level, Rule};

/// How to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether to report what is no [`Level::Error`] too.
    pub pedantic: bool,
    /// How many findings of one rule to keep; the others are counted.
    pub limit: usize,
    /// Whether to report every instruction that is no [`Level::Error`], not the first of a rule in each body.
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
    /// Which rule.
    pub rule: &'static Rule,
    /// The row; a null token where the file itself is meant.
    pub token: Token,
    /// The row's full name: `Namespace.Type::Member`; empty where it has none.
    pub member: String,
    /// The IL offset, for an instruction.
    pub offset: Option<u32>,
    /// What is the case; empty where the rule says it all.
    pub detail: String,
}

impl Finding {
    /// The rule, with what is the case.
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
    /// What was found, in the order of the checks.
    pub findings: Vec<Finding>,
    /// How many more there were than the limit keeps.
    pub omitted: usize,
    /// How many bodies were checked.
    pub bodies: usize,
    /// How many values are of types that only another assembly tells: they were taken to fit.
    pub assumed: usize,
}

impl Report {
    /// Whether nothing is an error.
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.rule.level != Level::Error)
    }
}
