//! `ilinst report`: shows a profile.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::{ArgAction, Args, ValueEnum};
use identity::Visible;
use profile::{Column, End, Profile, TreeOptions, report::SortBy};

use crate::{
    profiles, symbols,
    terminal::{Terminal, complain},
};

/// How often a profile is read that is being watched.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show a profile: a table of methods, or the call tree.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// What a woven program writes (.ilprof), or the id of its process; else the newest here or in the temporary folder
    #[arg(value_name = "FILE|PID")]
    profile: Option<PathBuf>,

    /// Show the call tree
    #[arg(long)]
    tree: bool,

    /// Leave out paths of the tree that took less than this part of what ran, waited or was awaited
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1, requires = "tree")]
    min_percent: f64,

    /// In the tree, count calls of a method by itself to the outermost one; the default
    #[arg(long, requires = "tree", overrides_with = "no_fold_recursion")]
    fold_recursion: bool,

    /// In the tree, show each level of a recursion
    #[arg(long, requires = "tree", action = ArgAction::SetTrue)]
    no_fold_recursion: bool,

    /// Show threads; with --tree, a tree for each
    #[arg(long)]
    threads: bool,

    /// Show a phase alone: from the mark of this name to the next
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,

    /// Show what was recorded: with the probes' own time, and with what compilers made without a body of the user's
    #[arg(long)]
    raw: bool,

    /// Read it again each second, until the program ends
    #[arg(long, conflicts_with = "json")]
    watch: bool,

    /// What the table is sorted by
    #[arg(long, value_enum, default_value_t, value_name = "COLUMN")]
    sort: Sort,

    /// The columns of the table, by commas: calls, self, self%, total, total%, waiting, average, min, p50, p95, p99, max,
    /// first, latency, latency-p95, running, awaiting, exceptions, cpu, samples
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["tree", "threads", "json"])]
    columns: Vec<Column>,

    /// How many rows to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,

    /// Where woven files are, which names are taken from; else where the program loaded them, and beside the profile
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,

    /// Print all methods as JSON
    #[arg(long, conflicts_with_all = ["tree", "threads", "limit"])]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst report app-1234.ilprof                    the methods that took the most time themselves
  ilinst report                                    the newest profile
  ilinst report 1234 --watch                       process 1234, while it runs
  ilinst report --sort calls --limit 0
  ilinst report --columns calls,average,p50,p99,max,first
  ilinst report --tree                             who called whom
  ilinst report --json | jq '.methods[] | select(.calls > 1000) | .name'

self and total are what ran: without waiting, without what the probes took (--raw), in percent of all threads.
p50 to p99 are within 12 %. Of async methods, all that is by call is from start to completion.";

/// `--sort`.
#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum Sort {
    /// Running in the method alone
    #[default]
    #[value(name = "self")]
    SelfTime,
    /// Running, with callees
    Total,
    /// Waiting, with callees
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
        let path = profiles::find(self.profile.as_deref())?;
        if self.profile.as_deref() != Some(&*path) {
            complain(format_args!("note: this is {}", path.display()));
        }
        if self.watch {
            return self.watch(&path);
        }
        let profile = self.read(&path)?;
        if self.json {
            let mut out = Terminal::json();
            serde_json::to_writer_pretty(&mut out, &profile.document(self.sort.into()))?;
            writeln!(out)?;
            out.close()?;
            return Ok(0);
        }
        print(&self.text(&profile))?;
        Ok(0)
    }

    fn read(&self, path: &Path) -> anyhow::Result<Profile> {
        let mut profile = profiles::read(path, self.phase.as_deref())?;
        symbols::name(&mut profile, path, &self.symbols);
        if self.raw {
            profile.keep_probes();
        } else {
            profile.fold_made();
        }
        Ok(profile)
    }

    /// Prints the report each second, until the program has ended.
    fn watch(&self, path: &Path) -> anyhow::Result<u8> {
        loop {
            let profile = self.read(path)?;
            Terminal::clear()?;
            print(&self.text(&profile))?;
            if profile.end != End::Running {
                return Ok(0);
            }
            thread::sleep(INTERVAL);
        }
    }

    fn text(&self, profile: &Profile) -> String {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let phase = self.phase.as_ref().map(|name| format!("phase {}: ", Visible(name))).unwrap_or_default();
        let head = phase + &profile.head();
        let fold_recursion = self.fold_recursion || !self.no_fold_recursion;
        let text = match (self.tree, self.threads) {
            (true, by_thread) => profile.tree_text(TreeOptions { min_percent: self.min_percent, fold_recursion, by_thread }),
            (false, true) => profile.thread_table(),
            (false, false) if self.columns.is_empty() => profile.table(self.sort.into(), limit),
            (false, false) => profile.table_with(&self.columns, self.sort.into(), limit),
        };
        head + &text
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = Terminal::text();
    out.write_all(text.as_bytes())?;
    out.close()
}
