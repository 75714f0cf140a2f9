//! `ilinst list`: what is in an assembly, and what becomes of each method.

#[path = "../../iltext/src/list/attributes.rs"]
mod attributes;
#[path = "../../iltext/src/list/decisions.rs"]
mod decisions;
#[path = "../../iltext/src/list/json.rs"]
mod json;
#[path = "../../iltext/src/list/literals.rs"]
mod literals;
#[path = "../../iltext/src/list/module.rs"]
mod module;
#[path = "../../iltext/src/list/owners.rs"]
mod owners;
#[path = "../../iltext/src/list/references.rs"]
mod references;
#[path = "../../iltext/src/list/tree.rs"]
mod tree;

use std::{cmp::Reverse, fmt::Display, io::Write, path::PathBuf};

use ::instrument::{Input, TRACKER, not_an_assembly, read_assembly};
use clap::{Args, ValueEnum};
use ecma335::{
    Rid, Token,
    schema::{MethodDef, TypeSpec},
    signature::{TypeNames as _, TypeSig},
};
use serde::Serializer;

use self::{
    decisions::Decisions,
    module::Module,
    tree::{Shape, Tree},
};
use crate::arguments::SelectionArgs;

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

impl Sort {
    /// Sorts what is in the order of tokens by the name and size that `key` gives.
    fn apply<T>(self, items: &mut [T], key: impl Fn(&T) -> (&str, u64)) {
        match self {
            Self::Token => {}
            Self::Name => items.sort_by(|one, other| key(one).0.cmp(key(other).0)),
            Self::Size => items.sort_by_key(|item| Reverse(key(item).1)),
        }
    }
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.input)?;
        let (image, metadata) = read_assembly(&self.input, &bytes)?;
        let in_file = |error: ecma335::Error| not_an_assembly(&self.input, error);
        let module = Module::new(&image, &metadata).map_err(in_file)?;
        let listing = self.listing(&module).map_err(in_file)?;
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.json {
            serde_json::to_writer_pretty(&mut out, &self.to_json(&module, &listing).map_err(in_file)?)?;
            writeln!(out)?;
        } else {
            self.print(&module, &listing, &mut out)?;
        }
        out.flush()?;
        Ok(0)
    }

    /// Whether the tree is asked for: if nothing else is.
    fn shows_tree(&self) -> bool {
        !(self.methods || self.refs || self.strings || self.attributes)
    }

    /// Reads what is asked for.
    fn listing(&self, module: &Module<'_, '_>) -> Result<Listing, ecma335::Error> {
        let shows_methods = self.methods || self.shows_tree();
        Ok(Listing {
            decisions: shows_methods.then(|| Decisions::new(self, module.image, module.metadata)).transpose()?,
            shape: shows_methods.then(|| Shape::new(module)).transpose()?,
            references: self.refs.then(|| references::read(self, module)).transpose()?,
            strings: self.strings.then(|| literals::read(self, module)),
            attributes: self.attributes.then(|| attributes::read(self, module)).transpose()?,
        })
    }

    /// Methods in the order asked for.
    fn order(&self, module: &Module<'_, '_>, methods: &[Rid<MethodDef>]) -> Vec<Rid<MethodDef>> {
        let size = |rid: Rid<MethodDef>| u64::from(module.method(rid).and_then(|method| method.il_size).unwrap_or(0));
        let mut methods: Vec<_> = methods.iter().map(|rid| (*rid, module.method_name(*rid), size(*rid))).collect();
        self.sort.apply(&mut methods, |(_, name, size)| (name, *size));
        methods.into_iter().map(|(rid, ..)| rid).collect()
    }

    fn print(&self, module: &Module<'_, '_>, listing: &Listing, out: &mut impl Write) -> anyhow::Result<()> {
        if let (Some(decisions), Some(shape)) = (&listing.decisions, &listing.shape) {
            if self.shows_tree() {
                writeln!(out, "{}", module.metadata.display_name())?;
                if let Some((tool, options)) = &decisions.mark {
                    writeln!(out, "woven by {tool} {options}")?;
                }
                if let Some(refusal) = decisions.refusal.as_ref().filter(|_| decisions.mark.is_none()) {
                    writeln!(out, "not to be woven: {refusal}")?;
                }
                tree::print(&Tree::new(self, module, decisions, shape).nodes(), "", out)?;
                decisions.summary().map(|summary| writeln!(out, "{summary}")).transpose()?;
            } else {
                for rid in self.order(module, &module.all_methods()) {
                    let line = module.method_line(rid, decisions, self.il_size, |method| module.full_signature(method));
                    writeln!(out, "{line}")?;
                }
            }
        }
        listing.references.as_ref().map(|references| references::print(references, out)).transpose()?;
        listing.strings.as_ref().map(|strings| literals::print(strings, out)).transpose()?;
        listing.attributes.as_ref().map(|attributes| attributes::print(attributes, out)).transpose()?;
        Ok(())
    }

    fn to_json(&self, module: &Module<'_, '_>, listing: &Listing) -> Result<serde_json::Value, ecma335::Error> {
        let mut value = json::header(module, listing.decisions.as_ref())?;
        let mut put = |key: &str, part: serde_json::Value| {
            if let Some(value) = value.as_object_mut() {
                value.insert(key.into(), part);
            }
        };
        if let (Some(decisions), Some(shape)) = (&listing.decisions, &listing.shape) {
            if self.shows_tree() {
                put("types", json::types(self, module, decisions, shape)?);
            } else {
                put("methods", json::methods(module, decisions, shape, &self.order(module, &module.all_methods())));
            }
        }
        if let Some(references) = &listing.references {
            put("references", serde_json::json!(references));
        }
        if let Some(strings) = &listing.strings {
            put("strings", serde_json::json!(strings));
        }
        if let Some(attributes) = &listing.attributes {
            put("attributes", serde_json::json!(attributes));
        }
        Ok(value)
    }
}

/// What is asked for.
struct Listing {
    decisions: Option<Decisions>,
    shape: Option<Shape>,
    references: Option<Vec<references::Reference>>,
    strings: Option<Vec<literals::Literal>>,
    attributes: Option<Vec<attributes::Attribute>>,
}

/// A type by its token: its name, or a TypeSpec written out.
fn type_text(module: &Module<'_, '_>, token: Token) -> String {
    let spec = token.rid_in::<TypeSpec>().and_then(|rid| {
        let blob = module.metadata.blobs.blob(module.metadata.row(rid).ok()?.signature).ok()?;
        Some(TypeSig::parse(blob).ok()?.display(module).to_string())
    });
    spec.unwrap_or_else(|| module.type_name(token))
}

/// Serializes what is shown as its text.
fn shown<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
