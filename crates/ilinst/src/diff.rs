//! `ilinst diff`: what differs between two assemblies, such as one before and after weaving.

mod sources;

use std::{
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use ::instrument::{Outputs, Pdb, TRACKER, TRACKER_FILE, is_same_file, not_an_assembly, read_assembly};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use disasm::filter;
use ecma335::{Image, Metadata};
use ildiff::{Html, Ignore, Json, Markdown, Options, Original, Side, Stat, Totals, Unified, Visitor, WovenOriginal, api::Effect};
use serde_json::json;
use weave::{Pattern, Tracker};

use self::sources::{Pair, Source};

use crate::{
    colours::colour_diff,
    failure::{EXIT_FINDINGS, EXIT_USAGE, Failure, is_closed},
    interrupt::clean_up_when_asked_to_end,
    terminal::{Terminal, complain},
    text::count,
};

/// Compare two assemblies, folders or packages: IL, types, members, references, resources
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The assembly before the change; or a folder, or a NuGet package (.nupkg)
    #[arg(value_name = "BEFORE")]
    old: PathBuf,

    /// The assembly, folder or package after the change
    #[arg(value_name = "AFTER")]
    new: PathBuf,

    /// Further arguments of git's external diff, which has seven in all, or nine if the file was renamed
    #[arg(hide = true)]
    git: Vec<PathBuf>,

    /// Hide the probes that `ilinst instrument` inserts: an empty result means that nothing else changed
    #[arg(long)]
    only_probes: bool,

    /// Also compare portable PDBs: source lines, locals, scopes, imports, async steps, documents
    #[arg(long)]
    debug_info: bool,

    /// Treat types with the same name as equal, whichever assembly they come from
    #[arg(long, conflicts_with = "only_probes")]
    ignore_scopes: bool,

    /// Compare only methods that match (repeatable); see `ilinst help patterns`
    #[arg(long = "method", value_name = "PATTERN", value_parser = Pattern::naming_methods)]
    methods: Vec<Pattern>,

    /// Compare only types that match, with their nested types (repeatable)
    #[arg(long = "type", value_name = "PATTERN")]
    types: Vec<Pattern>,

    /// Leave out types and methods that match (repeatable)
    #[arg(long, value_name = "PATTERN", conflicts_with = "only_probes")]
    exclude: Vec<Pattern>,

    /// Ignore differences of this kind (repeatable, or separated by commas)
    ///
    /// `mvid`: ids that change with each build. `references`: the lists of references. `nullable` and `compiler`: attributes
    /// that compilers add. `debug`: attributes for debuggers. `locals-init`: whether local variables are cleared.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = ignore(), conflicts_with = "only_probes")]
    ignore: Vec<Ignore>,

    /// Show totals, and a line for each method that differs
    #[arg(long)]
    stat: bool,

    /// Show changes of the public API: breaking changes and additions
    #[arg(long, conflicts_with_all = ["stat", "only_probes", "debug_info", "methods", "types", "exclude"])]
    api: bool,

    /// Print JSON; an array for folders and packages
    #[arg(long, conflicts_with = "stat")]
    json: bool,

    /// Print Markdown for a review comment, with a section for each type
    #[arg(long, conflicts_with_all = ["stat", "json", "api"])]
    markdown: bool,

    /// Write a side-by-side HTML file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stat", "json", "markdown", "api"])]
    html: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst diff app.dll woven/app.dll --method Shop.Order::Total
      the probes in one method
  ilinst diff app.dll woven/app.dll --only-probes
      prints nothing if only probes were added
  ilinst diff app.dll woven/app.dll --only-probes --debug-info
      also checks the PDB
  ilinst diff lib-1.0.dll lib-1.1.dll --stat
  ilinst diff lib-1.0.dll lib-1.1.dll --html changes.html
  ilinst diff lib.1.0.nupkg lib.1.1.nupkg --api
      breaking changes
  ilinst diff build1/ build2/ --ignore mvid
      prints nothing if both were built from the same sources
  ilinst diff net48/lib.dll net8.0/lib.dll --ignore-scopes
  ilinst diff a.dll b.dll --json | jq -r '.changes[].name'
  git config diff.ilinst.command 'ilinst diff'
      and `*.dll diff=ilinst` in .gitattributes

IL is compared by meaning: tokens by the names they refer to, branches by their targets. Compiler-generated members are paired by the \
members they belong to. Renamed, moved and changed members are paired by similarity, and marked.

Exit codes: 0 no difference; 1 differences; 2 error. With --api: 0 no change; 10 additions only; 11 breaking changes; 2 error. \
If git runs the command as its external diff: 0 done; 2 error.";

/// Whether it is what weaving puts beside assemblies.
fn is_tracker(pair: &Pair) -> bool {
    let (None, Some(new)) = pair else { return false };
    new.shown.ends_with(TRACKER_FILE) && new.read().is_ok_and(|bytes| *bytes == *TRACKER)
}

/// The exit code if a compiler would see additions alone.
const EXIT_ADDITIVE: u8 = 10;
/// The exit code if something breaks.
const EXIT_BREAKING: u8 = 11;

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        match self.compare() {
            // It would call the command broken.
            Ok(_) if self.is_for_git() => Ok(0),
            Ok(code) => Ok(code),
            // A closed output had more to show, so there was a difference.
            Err(error) if is_closed(&error) => Ok(EXIT_FINDINGS),
            Err(error) => Err(trouble(error)),
        }
    }

    fn is_for_git(&self) -> bool {
        !self.git.is_empty()
    }

    fn pairs(&self) -> Result<Vec<Pair>, Failure> {
        match &self.git[..] {
            [] => sources::pairs(&self.old, &self.new),
            [_, _, new, _, _, ..] if matches!(self.git.len(), 5 | 7) => Ok(vec![sources::of_git(&self.old, &self.new, new)]),
            _ => Err(Failure::usage("two files are compared; git passes seven arguments, or nine")),
        }
    }

    /// Compares all that was named; the exit code.
    fn compare(&self) -> anyhow::Result<u8> {
        let mut pairs = self.pairs()?;
        if self.only_probes {
            pairs.retain(|pair| !is_tracker(pair));
        }
        let is_many = sources::is_many(&self.old);
        if is_many && self.html.is_some() {
            return Err(Failure::usage("--html is for two assemblies: name one in each folder or package").into());
        }
        if let Some(path) = &self.html {
            return self.write_html(path, &pairs);
        }
        let mut terminal = if self.json { Terminal::json() } else { Terminal::paged(colour_diff) };
        let mut code = 0;
        let mut has_named = false;
        let (mut before, between, after) = if is_many && self.json { ("[\n", ",\n", "]\n") } else { ("", "", "") };
        for pair in &pairs {
            terminal.write_all(std::mem::replace(&mut before, between).as_bytes())?;
            code = code.max(match pair {
                (Some(old), Some(new)) if self.api => self.print_api(old, new, &mut terminal)?,
                (Some(old), Some(new)) => {
                    let totals = self.print(old, new, &mut terminal)?;
                    has_named |= totals.has_named;
                    if totals.is_same() { 0 } else { EXIT_FINDINGS }
                }
                (old, new) => self.print_alone(old.as_ref(), new.as_ref(), &mut terminal)?,
            });
        }
        terminal.write_all(after.as_bytes())?;
        match terminal.close() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
        self.check_named(has_named)?;
        Ok(code)
    }

    /// Patterns that name nothing are mistyped.
    fn check_named(&self, has_named: bool) -> Result<(), Failure> {
        let what = match (self.types.is_empty(), self.methods.is_empty()) {
            (true, true) => return Ok(()),
            _ if has_named => return Ok(()),
            (true, false) => "method",
            (false, true) => "type",
            (false, false) => "type or method",
        };
        let patterns = filter::describe(self.types.iter().chain(&self.methods));
        Err(Failure::usage(format_args!("no {what} of either is named {patterns}")))
    }

    /// Opens what was asked for, has it written, and closes it.
    fn write_html(&self, path: &Path, pairs: &[Pair]) -> anyhow::Result<u8> {
        let [(Some(old), Some(new))] = pairs else {
            return Err(Failure::usage("--html is for two assemblies").into());
        };
        if is_same_file(path, &old.path) || is_same_file(path, &new.path) {
            return Err(Failure::output_is_input(format_args!("{}: it would overwrite the input", path.display())).into());
        }
        clean_up_when_asked_to_end()?;
        let mut outputs = Outputs::default();
        let mut totals = None;
        outputs.write(path, |file| {
            let names = [&old.shown, &new.shown].map(Clone::clone);
            let mut page = Html::new(BufWriter::new(file), &names)?;
            totals = Some(self.visit(old, new, &mut page));
            Ok(())
        })?;
        let totals = totals.unwrap_or_else(|| Ok(Totals::default()))?;
        self.check_named(totals.has_named)?;
        outputs.commit()?;
        Ok(if totals.is_same() { 0 } else { EXIT_FINDINGS })
    }

    /// Prints what differs between two assemblies.
    fn print(&self, old: &Source, new: &Source, terminal: &mut Terminal) -> anyhow::Result<Totals> {
        let files = [&old.shown, &new.shown].map(Clone::clone);
        if self.json {
            self.visit(old, new, &mut Json::new(terminal, &files)?)
        } else if self.markdown {
            self.visit(old, new, &mut Markdown::new(terminal, files))
        } else if self.stat {
            self.visit(old, new, &mut Stat::new(terminal))
        } else {
            self.visit(old, new, &mut Unified::new(terminal, files))
        }
    }

    /// Prints that an assembly is on one side alone.
    fn print_alone(&self, old: Option<&Source>, new: Option<&Source>, terminal: &mut Terminal) -> anyhow::Result<u8> {
        let name = |side: Option<&Source>| side.map(|side| side.shown.clone());
        let (code, effect) = if new.is_none() { (EXIT_BREAKING, "breaking") } else { (EXIT_ADDITIVE, "additive") };
        let word = if new.is_none() { "removed" } else { "added" };
        let (old, new) = (name(old), name(new));
        let shown = new.as_deref().or(old.as_deref()).unwrap_or_default();
        match () {
            () if self.json => writeln!(terminal, "{}", json!({ "old": old, "new": new, "change": word }))?,
            () if self.api => writeln!(terminal, "{effect} assembly {shown}: {word}")?,
            () if self.markdown => writeln!(terminal, "### {word}: `{shown}`\n")?,
            () => writeln!(terminal, "{}assembly {shown}", if word == "added" { "+" } else { "-" })?,
        }
        Ok(if self.api { code } else { EXIT_FINDINGS })
    }

    /// Prints what a compiler would see.
    fn print_api(&self, old: &Source, new: &Source, terminal: &mut Terminal) -> anyhow::Result<u8> {
        let (old_bytes, new_bytes) = (old.read()?, new.read()?);
        let (old_image, old_metadata) = read_assembly(old.shown.as_ref(), &old_bytes)?;
        let (new_image, new_metadata) = read_assembly(new.shown.as_ref(), &new_bytes)?;
        let old_side = self.side(old, &old_image, &old_metadata)?;
        let new_side = self.side(new, &new_image, &new_metadata)?;
        let changes = ildiff::api::compare(&old_side, &new_side, &self.ignore)
            .map_err(|error| not_an_assembly(new.shown.as_ref(), error))?;
        let breaking = changes.iter().filter(|change| change.effect == Effect::Breaking).count();
        let additive = changes.len() - breaking;
        if self.json {
            let list: Vec<_> = changes
                .iter()
                .map(|each| {
                    json!({ "effect": each.effect.word(), "kind": each.kind.name(), "name": each.name, "what": each.what })
                })
                .collect();
            let (old, new) = (&old.shown, &new.shown);
            let value = json!({ "old": old, "new": new, "breaking": breaking, "additive": additive, "changes": list });
            writeln!(terminal, "{value:#}")?;
        } else if !changes.is_empty() {
            let breaks = count(breaking, "breaking change");
            writeln!(terminal, "{} and {}: {breaks}, {}", old.shown, new.shown, count(additive, "addition"))?;
            for change in &changes {
                let ildiff::api::ApiChange { effect, kind, name, what } = change;
                writeln!(terminal, "  {} {} {name}: {what}", effect.word(), kind.name())?;
            }
        }
        Ok(match (breaking, additive) {
            (0, 0) => 0,
            (0, _) => EXIT_ADDITIVE,
            _ => EXIT_BREAKING,
        })
    }

    /// Shows what differs between two assemblies.
    fn visit(&self, old: &Source, new: &Source, printer: &mut dyn Visitor) -> anyhow::Result<Totals> {
        let (old_bytes, new_bytes) = (old.read()?, new.read()?);
        let (old_image, old_metadata) = read_assembly(old.shown.as_ref(), &old_bytes)?;
        let (new_image, new_metadata) = read_assembly(new.shown.as_ref(), &new_bytes)?;
        let (old_pdb, new_pdb) = match (self.pdb(old, &old_image), self.pdb(new, &new_image)) {
            (Ok(old), Ok(new)) => (old, new),
            // The other assemblies of a folder may have theirs.
            (Err(trouble), _) | (_, Err(trouble)) if sources::is_many(&self.old) => {
                let text =
                    trouble.downcast_ref::<Failure>().map_or_else(|| format!("{trouble:#}"), |failure| failure.message.clone());
                complain(format_args!("warning: {text}; debug information of this assembly is not compared"));
                (None, None)
            }
            (Err(trouble), _) | (_, Err(trouble)) => return Err(trouble),
        };
        let new_side = with_pdb(self.side(new, &new_image, &new_metadata)?, &new.path, new_pdb.as_deref())?;
        let woven = if self.only_probes {
            let is_needed = old_pdb.is_none() && WovenOriginal::needs_pdb(&new_metadata);
            let pdb_beside = if is_needed { Some(Self::find_pdb(old, &old_image)?) } else { None };
            let pdb = old_pdb.as_deref().or(pdb_beside.as_deref());
            WovenOriginal::new(&old_image, &old_metadata, &new_metadata, &Tracker::read(TRACKER)?, pdb)
                .map_err(|error| Failure::refused(format_args!("{}: --only-probes: {error}", new.shown)))?
        } else {
            None
        };
        let Some(woven) = &woven else {
            let old_side = with_pdb(self.side(old, &old_image, &old_metadata)?, &old.path, old_pdb.as_deref())?;
            return Ok(ildiff::visit(&old_side, &new_side, &self.options(None), printer)?);
        };
        let (image, metadata) = read_assembly(old.shown.as_ref(), &woven.file)?;
        let pdb = woven.pdb(&image).filter(|_| self.debug_info);
        let old_side = with_pdb(self.side(old, &image, &metadata)?, &old.path, pdb.as_deref())?;
        Ok(ildiff::visit(&old_side, &new_side, &self.options(Some(woven.original(&old_image))), printer)?)
    }

    fn options<'o>(&'o self, original: Option<Original<'o>>) -> Options<'o> {
        let Self { methods, types, exclude, ignore, .. } = self;
        Options { methods, types, exclude, ignore, original }
    }

    fn side<'a, 'm>(&self, of: &Source, image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> anyhow::Result<Side<'a, 'm>> {
        let side = Side::new(image, metadata).map_err(|error| not_an_assembly(of.shown.as_ref(), error))?;
        Ok(if self.ignore_scopes { side.without_scopes() } else { side })
    }

    /// The bytes of a file's PDB, if it is to be compared.
    fn pdb(&self, of: &Source, image: &Image<'_>) -> anyhow::Result<Option<Vec<u8>>> {
        if self.debug_info { Self::find_pdb(of, image).map(Some) } else { Ok(None) }
    }

    /// The bytes of a file's PDB.
    fn find_pdb(of: &Source, image: &Image<'_>) -> anyhow::Result<Vec<u8>> {
        let path = &of.path;
        let pdb = if of.is_file() { Pdb::read(Pdb::find(path, None, image).as_ref())? } else { None };
        match weave::pdb::find(image, pdb.as_deref()) {
            Ok(Some(bytes)) => Ok(bytes.into_owned()),
            Ok(None) => Err(no_pdb(path, "the assembly names no PDB")),
            Err(trouble) => Err(no_pdb(path, trouble)),
        }
    }
}

/// The kinds of differences that can be left out, by their words.
fn ignore() -> impl TypedValueParser<Value = Ignore> {
    let word = |word: String| Ignore::ALL.into_iter().find(|each| each.name() == word).ok_or("no such kind");
    PossibleValuesParser::new(Ignore::ALL.map(Ignore::name)).try_map(word)
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
