//! `ilinst list`: an assembly's types and methods as a tree, and what becomes of each.

use std::{io::Write, path::PathBuf};

use clap::Args;
use ecma335::{
    Image, Metadata, Rid, Table, Token,
    cursor::Cursor,
    schema::{MethodDef, TypeDef},
    signature::Signature,
};
use serde_json::{Value, json};
use weave::{Plan, Reason, Shape, Tracker, Weave, Woven};

use crate::{
    arguments::SelectionArgs,
    companions::TRACKER,
    failure::Failure,
    io::Input,
    manifest::{assembly_name, guid},
};

/// Show types and methods with their tokens, and what would be woven.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The assembly
    #[arg(value_name = "ASSEMBLY")]
    input: PathBuf,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst list app.dll
  ilinst list app.dll --include 'Shop.*'           what this pattern would weave
  ilinst list app.dll --json | jq '.types[].methods[] | select(.decision != \"woven\")'";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.input)?;
        let in_file = |error: ecma335::Error| Failure::not_an_assembly(format_args!("{}: {error}", self.input.display()));
        let image = Image::parse(&bytes).map_err(in_file)?;
        let metadata = Metadata::parse(image.metadata().map_err(in_file)?).map_err(in_file)?;
        let tracker = Tracker::read(TRACKER)?;
        let refusal = weave::plan::refusal(&image, &metadata, &tracker);
        let methods = match refusal {
            Some(_) => None,
            None => Some(self.decide(&image, &metadata, &tracker).map_err(in_file)?.methods),
        };
        let refusal = refusal.map(|refusal| refusal.to_string());
        let listing = Listing { metadata: &metadata, refusal, methods, types: metadata.type_names().map_err(in_file)? };
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.json {
            serde_json::to_writer_pretty(&mut out, &listing.to_json().map_err(in_file)?)?;
            writeln!(out)?;
        } else {
            listing.print(&mut out)?;
        }
        out.flush()?;
        Ok(0)
    }

    /// Weaves without writing: only that tells what would be left alone.
    fn decide<'a>(&self, image: &Image<'a>, metadata: &Metadata<'a>, tracker: &Tracker) -> Result<Woven<'a>, ecma335::Error> {
        let plan = Plan::new(image, metadata, &self.selection.selection())?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let how = Weave { leave: self.selection.leave.into(), threads, ..Weave::new(tracker) };
        weave::weave(image, metadata, plan, &how)
    }
}

struct Listing<'a, 'm> {
    metadata: &'m Metadata<'a>,
    refusal: Option<String>,
    /// What becomes of each method; none if the file is refused.
    methods: Option<Vec<Result<Shape, Reason>>>,
    types: Vec<String>,
}

impl Listing<'_, '_> {
    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        writeln!(out, "{}", assembly_name(self.metadata))?;
        if let Some(refusal) = &self.refusal {
            writeln!(out, "not to be woven: {refusal}")?;
        }
        for (index, type_name) in self.types.iter().enumerate() {
            let type_rid = Rid::<TypeDef>::new(index as u32 + 1);
            let methods = self.metadata.methods_of(type_rid)?;
            let branch = if index + 1 == self.types.len() { "└─" } else { "├─" };
            writeln!(out, "{branch} {type_name}  {}", Token::new(Table::TypeDef, type_rid.get()))?;
            let trunk = if index + 1 == self.types.len() { "  " } else { "│ " };
            for (number, method) in methods.iter().enumerate() {
                let branch = if number + 1 == methods.len() { "└─" } else { "├─" };
                let decision = self.decision(*method);
                let signature = self.signature(*method)?;
                let token = Token::new(Table::MethodDef, method.get());
                let source = profile::source_name(type_name, &self.name(*method)?)
                    .map(|source| format!("  = {source}"))
                    .unwrap_or_default();
                writeln!(out, "{trunk} {branch} {token}  {decision:<12}  {signature}{source}")?;
            }
        }
        if let Some(methods) = &self.methods {
            let woven = methods.iter().filter(|method| method.is_ok()).count();
            writeln!(out, "{} methods, {woven} to be woven", methods.len())?;
        }
        Ok(())
    }

    fn to_json(&self) -> Result<Value, ecma335::Error> {
        let mut types = Vec::new();
        for (index, type_name) in self.types.iter().enumerate() {
            let type_rid = Rid::<TypeDef>::new(index as u32 + 1);
            let mut methods = Vec::new();
            for method in self.metadata.methods_of(type_rid)? {
                let name = self.name(method)?;
                methods.push(json!({
                    "token": Token::new(Table::MethodDef, method.get()).to_string(),
                    "name": name,
                    "signature": self.signature(method)?,
                    "source": profile::source_name(type_name, &name).map(|source| source.to_string()),
                    "decision": self.decision(method),
                }));
            }
            types.push(
                json!({ "token": Token::new(Table::TypeDef, type_rid.get()).to_string(), "name": type_name, "methods": methods }),
            );
        }
        Ok(json!({
            "assembly": assembly_name(self.metadata),
            "mvid": guid(&self.metadata.mvid()?),
            "refusal": self.refusal,
            "types": types,
        }))
    }

    /// `woven`, or the code of the reason why not.
    fn decision(&self, method: Rid<MethodDef>) -> &'static str {
        let decisions = self.methods.as_ref().and_then(|methods| methods.get((method.get() as usize).checked_sub(1)?));
        match decisions {
            Some(Ok(_)) => "woven",
            Some(Err(reason)) => reason.code(),
            None => "-",
        }
    }

    fn name(&self, method: Rid<MethodDef>) -> Result<String, ecma335::Error> {
        self.metadata.name(self.metadata.row(method)?.name)
    }

    /// `instance void Add(int32)`; the name alone if the signature cannot be read.
    fn signature(&self, method: Rid<MethodDef>) -> Result<String, ecma335::Error> {
        let name = self.name(method)?;
        let blob: Cursor<'_> = self.metadata.blobs.blob(self.metadata.row(method)?.signature)?;
        Ok(match Signature::parse(blob) {
            Ok(Signature::Method(signature)) => {
                let shown = signature.display(self.metadata).to_string();
                let params = signature.display_params(self.metadata);
                format!("{}{name}{params}", shown.strip_suffix(&params).unwrap_or_default())
            }
            _ => name,
        })
    }
}
