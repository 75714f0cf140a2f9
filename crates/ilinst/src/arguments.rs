//! Arguments that several subcommands share.

use clap::{Args, ValueEnum};
use weave::{LeaveMode, Options, Pattern, plan::Selection};

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
    /// What is to be woven, and how.
    pub(crate) fn options(&self, keep_layout: bool) -> Options {
        let selection = Selection { include: self.include.clone(), exclude: self.exclude.clone() };
        Options { leave: self.leave.into(), selection, keep_layout }
    }
}

/// `--threads`: the size of the pool that all work is shared by.
pub(crate) fn limit_threads(threads: Option<u16>) {
    if let Some(threads) = threads {
        // The one error is that there is a pool already, and only this makes one.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
}
