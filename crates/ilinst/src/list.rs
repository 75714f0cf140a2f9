//! `ilinst list`: what is in an assembly, and what becomes of each method.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use ::instrument::{Input, Pdb, TRACKER, not_an_assembly, read_assembly};
use clap::{Args, ValueEnum};
use disasm::list::{self, Listing, Methods, Options};
use ecma335::Image;
use names::Visible;
use weave::Tracker;

use serde_json::json;

use crate::{
    arguments::SelectionArgs,
    inputs::{Links, assemblies, may_be_many},
    terminal::{Terminal, print_json},
};

/// List types and methods of assemblies, and show which would be instrumented
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Assemblies, or folders of them
    #[arg(value_name = "ASSEMBLY", required = true)]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Print methods only, one a line, with full names
    #[arg(long)]
    methods: bool,

    /// Print the referenced assemblies, modules and native libraries
    #[arg(long)]
    refs: bool,

    /// With --refs, also print the types and members that are used
    #[arg(short, long, requires = "refs")]
    verbose: bool,

    /// Print string literals and where they are used
    #[arg(long)]
    strings: bool,

    /// Print custom attributes with their targets and arguments
    #[arg(long)]
    attributes: bool,

    /// Show the size of each method's IL in bytes
    #[arg(long)]
    il_size: bool,

    /// Sort by this key
    #[arg(long, value_enum, default_value_t, value_name = "KEY")]
    sort: Sort,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst list app.dll
  ilinst list publish/ --methods                   each assembly of a folder
  ilinst list app.dll --include 'Shop.*'           the effect of a pattern
  ilinst list app.dll --methods | grep Order       full names with tokens
  ilinst list app.dll --il-size --sort size        the largest first
  ilinst list app.dll --refs -v                    used types and members
  ilinst list app.dll --strings | grep -i password
  ilinst list woven/app.dll                        instrumented methods, and
                                                   the options used
  ilinst list app.dll --json | jq '.types[].methods[].decision'";

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
        let tracker = Tracker::read(TRACKER)?;
        let files = assemblies(&self.inputs, Links::LeadingOut)?;
        let are_many = may_be_many(&self.inputs);
        if self.json {
            let mut values = Vec::new();
            for file in &files {
                let mut value = self.list(&file.path, &tracker, list::to_json)?;
                if are_many {
                    value["file"] = file.path.to_string_lossy().into();
                }
                values.push(value);
            }
            let value = if are_many { json!({ "files": values }) } else { values.pop().unwrap_or_default() };
            print_json(&value)?;
            return Ok(0);
        }
        let mut out = Terminal::text();
        for (place, file) in files.iter().enumerate() {
            if are_many {
                writeln!(out, "{}{}:", if place > 0 { "\n" } else { "" }, Visible(file.path.display()))?;
            }
            self.list(&file.path, &tracker, |listing| Ok(list::print(listing, self.il_size, &mut out)))??;
        }
        out.close()?;
        Ok(0)
    }

    /// Reads a listing, and does something with it.
    fn list<T>(
        &self,
        path: &Path,
        tracker: &Tracker,
        show: impl FnOnce(&Listing<'_, '_>) -> ecma335::Result<T>,
    ) -> anyhow::Result<T> {
        let bytes = Input::open(path)?;
        let (image, metadata) = read_assembly(path, &bytes)?;
        let listing = Listing::read(&image, &metadata, &self.options(path, &image)?, tracker);
        Ok(listing.and_then(|listing| show(&listing)).map_err(|error| not_an_assembly(path, error))?)
    }

    fn options(&self, path: &Path, image: &Image<'_>) -> anyhow::Result<Options> {
        // The tree is what is shown if nothing else is asked for.
        let as_tree = !(self.methods || self.refs || self.strings || self.attributes);
        let pdb = Pdb::read(Pdb::find(path, None, image).as_ref()).ok().flatten().map(|pdb| pdb.to_vec());
        let methods = Methods { as_tree, weave: self.selection.resolve(&[path])?.options.weave, pdb };
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
