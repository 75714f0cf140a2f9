//! Arguments that several subcommands share.

use clap::{Args, ValueEnum};
use weave::{LeaveMode, Pattern, plan::Selection};

/// Which methods.
#[derive(Args, Debug, Default)]
pub(crate) struct SelectionArgs {
    /// Weave only what the pattern names (may be repeated): a glob over Namespace.Type::Method, where * is anything;
    /// without :: it names types; `re:` before a regular expression; `[Assembly]Type` names an assembly too
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<Pattern>,

    /// Leave alone what the pattern names (may be repeated); wins over --include
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<Pattern>,

    /// How the leave probe is reached
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    pub(crate) leave: Leave,
}

/// `--leave`.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Leave {
    /// In a finally block: it runs however the method ends
    #[default]
    Finally,
    /// Before each ret: smaller, but an exception passes it by
    Return,
}

impl From<Leave> for LeaveMode {
    fn from(leave: Leave) -> Self {
        match leave {
            Leave::Finally => Self::Finally,
            Leave::Return => Self::Return,
        }
    }
}

impl SelectionArgs {
    /// The patterns.
    pub(crate) fn selection(&self) -> Selection {
        Selection { include: self.include.clone(), exclude: self.exclude.clone() }
    }

    /// The options in words: what a woven module's mark and the manifest say.
    pub(crate) fn in_words(&self) -> String {
        let mut words = vec![format!("--leave={}", if self.leave == Leave::Finally { "finally" } else { "return" })];
        words.extend(self.include.iter().map(|pattern| format!("--include={}", pattern.as_str())));
        words.extend(self.exclude.iter().map(|pattern| format!("--exclude={}", pattern.as_str())));
        words.join(" ")
    }
}
