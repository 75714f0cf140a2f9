//! `ilinst list`: what is in an assembly, and what becomes of each method.

use std::{io::Write as _, path::PathBuf};

use ::instrument::{Input, TRACKER, not_an_assembly, read_assembly};
use clap::{Args, ValueEnum};
use iltext::list::{self, Listing, Methods, Options};
use weave::Tracker;

use crate::{arguments::SelectionArgs, terminal::Terminal};

/// Show types and methods with their tokens, what would be woven or is, and what else there is to be found.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The assembly
    #[arg(value_name = "ASSEMBLY")]
    input: PathBuf,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Print methods alone, one a line with its full name
    #[arg(long)]
    methods: bool,

    /// Print the assemblies, modules and native libraries it refers to
    #[arg(long)]
    refs: bool,

    /// With --refs: the types and members it uses of each, too
    #[arg(short, long, requires = "refs")]
    verbose: bool,

    /// Print string literals, and where they are used
    #[arg(long)]
    strings: bool,

    /// Print custom attributes, what they are on and what they are given
    #[arg(long)]
    attributes: bool,

    /// Show the size of each method's IL in bytes
    #[arg(long)]
    il_size: bool,

    /// What to sort by
    #[arg(long, value_enum, default_value_t, value_name = "KEY")]
    sort: Sort,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst list app.dll
  ilinst list app.dll --include 'Shop.*'           what this pattern would weave
  ilinst list app.dll --methods | grep Order       full names with tokens
  ilinst list app.dll --il-size --sort size        the largest types and methods first
  ilinst list app.dll --refs -v                    what it uses of which assembly
  ilinst list app.dll --strings | grep -i password
  ilinst list woven/app.dll                        which methods are woven, and with which options
  ilinst list app.dll --json | jq '.types[].methods[] | select(.decision != \"woven\")'";

/// `--sort`.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sort {
    /// By token: the order in the file
    #[default]
    Token,
    /// By name; strings by their text
    Name,
    /// The largest first: the most IL, the longest text, the most members used
    Size,
}

impl From<Sort> for list::Sort {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Token => Self::Token,
            Sort::Name => Self::Name,
            Sort::Size => Self::Size,
        }
    }
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.input)?;
        let (image, metadata) = read_assembly(&self.input, &bytes)?;
        let in_file = |error: ecma335::Error| not_an_assembly(&self.input, error);
        let tracker = Tracker::read(TRACKER)?;
        let listing = Listing::read(&image, &metadata, &self.options()?, &tracker).map_err(in_file)?;
        let mut out;
        if self.json {
            let value = list::to_json(&listing).map_err(in_file)?;
            out = Terminal::json();
            serde_json::to_writer_pretty(&mut out, &value)?;
            writeln!(out)?;
        } else {
            out = Terminal::text();
            list::print(&listing, self.il_size, &mut out)?;
        }
        out.close()?;
        Ok(0)
    }

    fn options(&self) -> anyhow::Result<Options> {
        // The tree is what is shown if nothing else is asked for.
        let as_tree = !(self.methods || self.refs || self.strings || self.attributes);
        let methods = Methods { as_tree, weave: self.selection.resolve(&[&self.input])?.options.weave };
        Ok(Options {
            methods: (self.methods || as_tree).then_some(methods),
            references: self.refs,
            members: self.verbose,
            strings: self.strings,
            attributes: self.attributes,
            sort: self.sort.into(),
        })
    }
}
