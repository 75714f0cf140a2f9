//! `ilinst report`: shows a profile.

use std::{io::Write as _, path::PathBuf};

use ::instrument::Input;
use clap::{Args, ValueEnum};
use profile::{Profile, report::SortBy};

use crate::{failure::Failure, terminal::Terminal};

/// Show a profile: a table of methods, or the call tree.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// What a woven program wrote (.ilprof)
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,

    /// Show the call tree
    #[arg(long)]
    tree: bool,

    /// Leave out paths of the tree that took less than this part of the run
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1, requires = "tree")]
    min_percent: f64,

    /// What the table is sorted by
    #[arg(long, value_enum, default_value_t, value_name = "COLUMN")]
    sort: Sort,

    /// How many rows to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,

    /// Print all methods as JSON
    #[arg(long, conflicts_with_all = ["tree", "limit"])]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst report app-1234.ilprof                    the methods that took the most time themselves
  ilinst report app-1234.ilprof --sort calls --limit 0
  ilinst report app-1234.ilprof --tree             who called whom
  ilinst report app-1234.ilprof --json | jq '.methods[] | select(.calls > 1000) | .name'";

/// `--sort`.
#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum Sort {
    /// Time in the method alone
    #[default]
    #[value(name = "self")]
    SelfTime,
    /// Time with callees
    Total,
    /// Time waited, with callees
    Waiting,
    /// Number of calls
    Calls,
    /// Name
    Name,
}

impl From<Sort> for SortBy {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::SelfTime => Self::SelfTime,
            Sort::Total => Self::Total,
            Sort::Waiting => Self::Waiting,
            Sort::Calls => Self::Calls,
            Sort::Name => Self::Name,
        }
    }
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.profile)?;
        let path = self.profile.display();
        let profile = Profile::parse(&bytes).map_err(|error| Failure::bad_profile(format_args!("{path}: {error}")))?;
        if self.json {
            let mut out = Terminal::json();
            serde_json::to_writer_pretty(&mut out, &profile.document(self.sort.into()))?;
            writeln!(out)?;
            out.close()?;
            return Ok(0);
        }
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let text = if self.tree {
            profile.tree_text(profile::TreeOptions { min_percent: self.min_percent, fold_recursion: true, by_thread: false })
        } else {
            profile.table(self.sort.into(), limit)
        };
        let mut out = Terminal::text();
        out.write_all((profile.head() + &text).as_bytes())?;
        out.close()?;
        Ok(0)
    }
}
