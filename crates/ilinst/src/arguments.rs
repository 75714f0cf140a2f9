//! Arguments that several subcommands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weave::{Calls, CallsWord, LeaveMode, Options, Pattern, plan::Selection, policy::MIN_IL};

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

    /// Weave what is left alone by default, too: trivial accessors, short bodies, what the compiler made without a body of
    /// the user's
    #[arg(long)]
    pub(crate) all: bool,

    /// Leave alone bodies of up to so many bytes of IL that have no loop and call nothing; 0: none
    #[arg(long, default_value_t = MIN_IL, conflicts_with = "all", value_name = "N")]
    pub(crate) min_il: u32,

    /// Put probes around calls of what the pattern names in other assemblies (may be repeated), beside those that wait, which
    /// have them by default: Join, Wait, lock, reads ...; `none` switches these off
    #[arg(long, value_name = "PATTERN")]
    pub(crate) calls: Vec<CallsWord>,

    /// How the leave probe is reached
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    pub(crate) leave: Leave,
}

/// How assemblies are woven: what every command takes that weaves.
#[derive(Args, Debug, Default)]
pub(crate) struct WeaveArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    /// Sign strong names again with this key pair (may be repeated), as `sn -k` writes one
    #[arg(long, value_name = "FILE")]
    pub(crate) snk: Vec<PathBuf>,

    /// Keep the input's layout and put what is new behind it, though the image could be laid out anew
    #[arg(long)]
    pub(crate) keep_layout: bool,

    /// Exit with 4 if a method that should have been woven was left alone
    #[arg(long)]
    pub(crate) strict: bool,
}

impl WeaveArgs {
    /// How files are instrumented; with methods that are left alone as expected by name, if that is wanted.
    pub(crate) fn options(&self, names_expected: bool) -> ::instrument::Options {
        let weave = self.selection.options(self.keep_layout);
        ::instrument::Options { weave, keys: self.snk.clone(), names_expected }
    }
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
        let mut calls = Calls::default();
        self.calls.iter().for_each(|word| calls.add(word.clone()));
        Options { leave: self.leave.into(), selection, all: self.all, min_il: self.min_il, calls, keep_layout }
    }
}

/// `--threads`: the size of the pool that all work is shared by.
pub(crate) fn limit_threads(threads: Option<u16>) {
    if let Some(threads) = threads {
        // The one error is that there is a pool already, and only this makes one.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
}
