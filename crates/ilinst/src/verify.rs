//! `ilinst verify`: is an assembly valid? Findings as text, JSON or SARIF.

mod output;
mod references;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ::instrument::{Input, TRACKER_FILE, read_assembly};
use ::verify::{Finding, Level, Options, Report, Scope};
use clap::Args;
use ecma335::{Image, Metadata, schema::MethodDef};
use rayon::prelude::*;

use crate::{
    arguments::limit_threads,
    failure::{EXIT_BAD_INPUT, EXIT_FINDINGS, Failure, printed},
    inputs::{Assembly, Links, assemblies, may_be_many},
    terminal::{Terminal, complain, print_json},
    verify::{
        output::{Checked, Layout},
        references::Files,
    },
};

/// Check assemblies against the rules of ECMA-335
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Assemblies, or folders of them
    #[arg(value_name = "ASSEMBLY", required = true)]
    inputs: Vec<PathBuf>,

    /// Also report violations that runtimes accept, and code that is valid but not provably type-safe
    #[arg(long)]
    pedantic: bool,

    /// Also check the types of values, and report code that is not provably type-safe
    #[arg(long)]
    types: bool,

    /// Look for referenced assemblies here too, after the assembly's own folder (repeatable)
    ///
    /// Types of an assembly that is not found, in the wanted version or a later one, count as compatible.
    #[arg(long = "ref", value_name = "DIR")]
    references: Vec<PathBuf>,

    /// Report only findings that this original does not have; or a folder of originals, paired by name
    #[arg(long, value_name = "ORIGINAL")]
    compare: Option<PathBuf>,

    /// Report at most N findings of a rule for each file; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Use N threads [default: one for each processor]; the output is the same for any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Print JSON
    #[arg(long, conflicts_with = "sarif")]
    json: bool,

    /// Print SARIF 2.1.0, for code scanning
    #[arg(long)]
    sarif: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst verify app.dll
  ilinst verify app.dll --types --ref packages/ --ref /usr/share/dotnet/shared/
  ilinst verify woven/app.dll --compare app.dll
      findings that instrumenting has added
  ilinst verify woven/ --compare publish/
      each assembly of a folder
  ilinst verify woven/*.dll --sarif > verify.sarif
  ilinst verify app.dll --json | jq '.files[].findings[].rule'

Rules have the paragraphs and numbers of the standard: II.22.26-7a is rule 7a of Partition II, 22.26. If the standard does not \
number a rule, a letter stands for it. --compare pairs findings by rule, member and instruction; offsets may differ.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let started = Instant::now();
        if may_be_many(&self.inputs) && self.compare.as_ref().is_some_and(|original| !original.is_dir()) {
            return Err(
                Failure::usage("--compare: one file cannot be the original of many; name the folder of the originals").into()
            );
        }
        limit_threads(self.threads)?;
        let files = assemblies(&self.inputs, Links::LeadingOut)?;
        let mut checked = Vec::new();
        let mut is_unreadable = false;
        for outcome in self.check_all(&files) {
            match outcome {
                Ok(file) => checked.push(file),
                Err(error) => {
                    is_unreadable = true;
                    complain(format_args!("{error:#}"));
                }
            }
        }
        let has_findings = checked.iter().any(|file| !file.report.findings.is_empty());
        let code = match (is_unreadable, has_findings) {
            (true, _) => EXIT_BAD_INPUT,
            (_, true) => EXIT_FINDINGS,
            _ => 0,
        };
        printed(self.print(&checked, started.elapsed()), code)
    }

    fn print(&self, checked: &[Checked<'_>], elapsed: Duration) -> anyhow::Result<()> {
        if self.json || self.sarif {
            return print_json(&if self.sarif { output::sarif(checked) } else { output::to_json(checked, elapsed) });
        }
        let mut out = Terminal::text();
        let layout = Layout { are_many: may_be_many(&self.inputs), has_types: self.types };
        output::print(&mut out, checked, layout, elapsed)?;
        Ok(out.close()?)
    }

    /// Checks the files, and the bodies of each, in parallel. In the order they were named.
    fn check_all<'f>(&self, inputs: &'f [Assembly]) -> Vec<anyhow::Result<Checked<'f>>> {
        let is_alone = !self.types && self.references.is_empty();
        let files = if is_alone { Files::default() } else { self.read_references(inputs) };
        let library = files.library();
        inputs.par_iter().map(|file| self.check(file, |path| files.scope(&library, path))).collect()
    }

    /// Reads the references of the assemblies and of their originals, as one library. Files next to an original have
    /// priority.
    fn read_references(&self, inputs: &[Assembly]) -> Files {
        let originals: Vec<PathBuf> = inputs.iter().filter_map(|file| self.original_of(file)).collect();
        let beside = originals.iter().filter_map(|original| original.parent()).map(Path::to_owned);
        let mut folders: Vec<PathBuf> = beside.chain(self.references.iter().cloned()).collect();
        folders.dedup();
        Files::read(inputs.iter().map(|file| &file.path).chain(&originals).map(PathBuf::as_path), &folders)
    }

    fn original_of(&self, file: &Assembly) -> Option<PathBuf> {
        let original = self.compare.as_ref()?;
        if !original.is_dir() {
            return Some(original.clone());
        }
        // Files that instrumentation added have no original.
        let original = original.join(&file.below);
        (original.exists() || !file.below.ends_with(TRACKER_FILE)).then_some(original)
    }

    fn check<'p, 'l>(&self, checked: &'p Assembly, scope: impl Fn(&Path) -> Option<Scope<'l>>) -> anyhow::Result<Checked<'p>> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let options = Options { pedantic: self.pedantic, limit, every: false };
        let verify = |path: &Path, (image, metadata): File<'_>, options: &Options| match scope(path) {
            Some(scope) if self.types => ::verify::verify_types(image, options, scope),
            Some(scope) => ::verify::verify_references(image, options, scope),
            None => ::verify::verify(image, metadata, options),
        };
        let path = checked.path.as_path();
        let Some(original) = self.original_of(checked) else {
            return with_file(path, |file| Checked { path, report: verify(path, file, &options), known: None });
        };
        let every = Options { limit: usize::MAX, every: true, ..options };
        with_file(path, |file| {
            with_file(&original, |before| {
                let known = verify(&original, before, &every);
                let mut report = verify(path, file, &every);
                let known = ::verify::leave_new(&mut report, file, &known, before) + leave_own(&mut report, file.1);
                ::verify::abridge(&mut report, &options);
                Checked { path, report, known: Some(known) }
            })
        })?
    }
}

/// Takes out what is said of an embedded tracker that is no error: it works with pointers, and wants to be inlined. Says how
/// much that was.
fn leave_own(report: &mut Report, metadata: &Metadata<'_>) -> usize {
    let Some(first) = names::first_embedded(metadata) else { return 0 };
    let is_own = |finding: &Finding| finding.token.rid_in::<MethodDef>().is_some_and(|method| method >= first);
    let before = report.findings.len();
    report.findings.retain(|finding| finding.rule.level == Level::Error || !is_own(finding));
    before - report.findings.len()
}

/// An assembly, read.
type File<'f> = (&'f Image<'f>, &'f Metadata<'f>);

/// Reads an assembly, for as long as it is looked at.
fn with_file<T>(path: &Path, look: impl FnOnce(File<'_>) -> T) -> anyhow::Result<T> {
    let bytes = Input::open(path)?;
    let (image, metadata) = read_assembly(path, &bytes)?;
    Ok(look((&image, &metadata)))
}
