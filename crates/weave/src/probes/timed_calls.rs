//! `--calls`: the calls of other assemblies' members that have probes of their own.

use std::{fmt, str::FromStr};

use crate::patterns::pattern::{Pattern, PatternError};

/// The calls of other assemblies' members that have probes of their own.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Whether calls that wait have probes.
    pub waits: bool,
    /// Patterns for further methods whose calls have probes.
    pub named: Vec<Pattern>,
}

impl Calls {
    /// The default: calls that wait have probes.
    pub const WAITS: Self = Self { waits: true, named: Vec::new() };
}

impl Default for Calls {
    fn default() -> Self {
        Self::WAITS
    }
}

/// A word of `--calls`.
#[derive(Clone, Debug)]
pub enum CallsWord {
    /// `none`: no probes for the calls that wait.
    None,
    /// A pattern for further methods whose calls have probes.
    Named(Box<Pattern>),
}

impl fmt::Display for CallsWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => NO_CALLS,
            Self::Named(pattern) => pattern.as_str(),
        })
    }
}

impl FromStr for CallsWord {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Ok(if text == NO_CALLS { Self::None } else { Self::Named(Box::new(text.parse()?)) })
    }
}

/// The word that turns off the probes that calls have by default.
pub(crate) const NO_CALLS: &str = "none";

impl Calls {
    /// Applies a word.
    pub fn add(&mut self, word: CallsWord) {
        match word {
            CallsWord::None => self.waits = false,
            CallsWord::Named(pattern) => self.named.push(*pattern),
        }
    }
}
