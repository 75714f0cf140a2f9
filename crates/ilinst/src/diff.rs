//! `ilinst diff`: what differs between two assemblies, such as one before and after weaving.

use std::{
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use ::instrument::{Input, Outputs, Pdb, TRACKER, is_same_file, not_an_assembly, read_assembly};
use clap::Args;
use ecma335::{Image, Metadata};
use iltext::{
    diff::{self, Html, Json, Options, Side, Stat, Totals, Unified, Visitor, WovenOriginal},
    filter::{self, method_pattern},
};
use weave::{Pattern, Tracker};

use crate::{
    colours::colour_diff,
    failure::{EXIT_FINDINGS, EXIT_USAGE, Failure, is_closed},
    interrupt::clean_up_when_asked_to_end,
    terminal::Terminal,
};

/// Show what differs between two assemblies: the IL of methods, types, members, references, resources.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The first assembly, as it was before
    #[arg(value_name = "BEFORE")]
    old: PathBuf,

    /// The second assembly, as it is after
    #[arg(value_name = "AFTER")]
    new: PathBuf,

    /// Hide what is exactly what `ilinst instrument` puts in: if nothing is shown, nothing else changed
    #[arg(long)]
    only_probes: bool,

    /// Compare what the portable PDBs say, too: source lines, locals, scopes, imports, async steps, documents
    #[arg(long)]
    debug_info: bool,

    /// Take types of one name for the same, whichever assemblies they come from: for builds for different frameworks
    #[arg(long, conflicts_with = "only_probes")]
    ignore_scopes: bool,

    /// Compare only methods the pattern names (may be repeated): a glob over Namespace.Type::Method, or over the
    /// method's name alone
    #[arg(long = "method", value_name = "PATTERN", value_parser = method_pattern)]
    methods: Vec<Pattern>,

    /// Show a line for each method that changed, and the totals
    #[arg(long)]
    stat: bool,

    /// Print it as JSON
    #[arg(long, conflicts_with = "stat")]
    json: bool,

    /// Write it to an HTML file, side by side
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stat", "json"])]
    html: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst diff app.dll woven/app.dll --method Shop.Order::Total
      the probes in one method
  ilinst diff app.dll woven/app.dll --only-probes
      prints nothing: nothing else changed
  ilinst diff app.dll woven/app.dll --only-probes --debug-info
      nor does it in the PDB
  ilinst diff lib-1.0.dll lib-1.1.dll --stat
  ilinst diff lib-1.0.dll lib-1.1.dll --html changes.html
  ilinst diff net48/lib.dll net8.0/lib.dll --ignore-scopes
  ilinst diff a.dll b.dll --json | jq -r '.changes[].name'

IL is compared by what it means: tokens by the names they stand for, branches by where they lead.

Exit codes: 0 nothing differs; 1 something does; 2 trouble.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        match self.compare() {
            Ok(totals) => Ok(if totals.is_same() { 0 } else { EXIT_FINDINGS }),
            // What was closed before its end had more to say than nothing.
            Err(error) if is_closed(&error) => Ok(EXIT_FINDINGS),
            Err(error) => Err(trouble(error)),
        }
    }

    fn compare(&self) -> anyhow::Result<Totals> {
        let (old_bytes, new_bytes) = (Input::open(&self.old)?, Input::open(&self.new)?);
        let (old_image, old) = read_assembly(&self.old, &old_bytes)?;
        let (new_image, new) = read_assembly(&self.new, &new_bytes)?;
        let (old_pdb, new_pdb) = (self.pdb(&self.old, &old_image)?, self.pdb(&self.new, &new_image)?);
        let new_side = with_pdb(self.side(&self.new, &new_image, &new)?, &self.new, new_pdb.as_deref())?;
        let woven = if self.only_probes {
            WovenOriginal::new(&old_image, &old, &new, &Tracker::read(TRACKER)?, old_pdb.as_deref())
                .map_err(|error| Failure::refused(format_args!("{}: --only-probes: {error}", self.new.display())))?
        } else {
            None
        };
        let totals = self.print(|printer| {
            let Some(woven) = &woven else {
                let old_side = with_pdb(self.side(&self.old, &old_image, &old)?, &self.old, old_pdb.as_deref())?;
                return Ok(diff::visit(&old_side, &new_side, &Options { methods: &self.methods, original: None }, printer)?);
            };
            let (image, metadata) = read_assembly(&self.old, &woven.file)?;
            let pdb = woven.pdb(&image).filter(|_| self.debug_info);
            let old_side = with_pdb(self.side(&self.old, &image, &metadata)?, &self.old, pdb.as_deref())?;
            Ok(diff::visit(
                &old_side,
                &new_side,
                &Options { methods: &self.methods, original: Some(woven.original(&old_image)) },
                printer,
            )?)
        })?;
        if !self.methods.is_empty() && totals.compared == 0 && totals.is_same() {
            let patterns = filter::describe(&self.methods);
            return Err(Failure::usage(format_args!("no method of either is named {patterns}")).into());
        }
        Ok(totals)
    }

    fn side<'a, 'm>(&self, path: &Path, image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> anyhow::Result<Side<'a, 'm>> {
        let side = Side::new(image, metadata).map_err(|error| not_an_assembly(path, error))?;
        Ok(if self.ignore_scopes { side.without_scopes() } else { side })
    }

    /// The bytes of a file's PDB, if it is to be compared.
    fn pdb(&self, path: &Path, image: &Image<'_>) -> anyhow::Result<Option<Vec<u8>>> {
        if !self.debug_info {
            return Ok(None);
        }
        let pdb = Pdb::read(Pdb::find(path, None, image).as_ref())?;
        match weave::pdb::find(image, pdb.as_deref()) {
            Ok(Some(bytes)) => Ok(Some(bytes.into_owned())),
            Ok(None) => Err(no_pdb(path, "the assembly names no PDB")),
            Err(trouble) => Err(no_pdb(path, trouble)),
        }
    }

    /// Opens what was asked for, has it written, and closes it.
    fn print(&self, run: impl FnOnce(&mut dyn Visitor) -> anyhow::Result<Totals>) -> anyhow::Result<Totals> {
        let files = [&self.old, &self.new].map(|path| path.display().to_string());
        if let Some(path) = &self.html {
            if is_same_file(path, &self.old) || is_same_file(path, &self.new) {
                return Err(Failure::output_is_input(format_args!("{}: it would overwrite the input", path.display())).into());
            }
            clean_up_when_asked_to_end()?;
            let mut outputs = Outputs::default();
            let mut totals = None;
            outputs.write(path, |file| {
                let run = run(&mut Html::new(BufWriter::new(file), &files)?);
                totals = Some(run);
                Ok(())
            })?;
            let totals = totals.unwrap_or_else(|| Ok(Totals::default()))?;
            outputs.commit()?;
            return Ok(totals);
        }
        if self.json {
            let mut terminal = Terminal::json();
            let totals = run(&mut Json::new(&mut terminal, &files)?)?;
            return printed(terminal, totals);
        }
        let mut terminal = Terminal::paged(colour_diff);
        let totals = if self.stat { run(&mut Stat::new(&mut terminal)) } else { run(&mut Unified::new(&mut terminal, files)) };
        printed(terminal, totals?)
    }
}

/// The totals, if all could be printed; or nobody wanted to see the last of it.
fn printed(terminal: Terminal, totals: Totals) -> anyhow::Result<Totals> {
    match terminal.close() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(totals),
    }
}

fn with_pdb<'a, 'm>(side: Side<'a, 'm>, path: &Path, bytes: Option<&'m [u8]>) -> anyhow::Result<Side<'a, 'm>> {
    let Some(bytes) = bytes else { return Ok(side) };
    side.with_pdb(bytes).map_err(|error| no_pdb(path, error))
}

fn no_pdb(path: &Path, why: impl std::fmt::Display) -> anyhow::Error {
    Failure::unreadable(format_args!("{}: no debug information: {why}", path.display())).into()
}

/// A failure with the exit code that means trouble here.
fn trouble(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => anyhow::Error::new(Failure { exit: EXIT_USAGE, ..failure }),
        Err(error) => trouble(Failure::unwritable(format_args!("{error:#}")).into()),
    }
}
