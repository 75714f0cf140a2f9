//! `ilinst instrument`: weaves files, or every assembly of a folder.

mod canonical;
mod lists;
mod summary;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use ::instrument::{Destination, FileReport, Options, Report, Request};
use clap::{Args, ValueEnum};

pub(crate) use self::summary::{LEFT_ALONE, NOTHING_TO_WEAVE, why_nothing};
use self::{lists::ListArgs, summary::Summary};
use crate::{
    arguments::{WeaveArgs, limit_threads},
    failure::{EXIT_LEFT_ALONE, Failure, printed},
    interrupt::clean_up_when_asked_to_end,
    terminal::{Terminal, progress_bar},
};

/// Write instrumented copies of assemblies, or of a folder
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Assemblies (.dll, .exe), or one folder
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// The folder to write to; for one input, also a file name that ends in .dll or .exe
    #[arg(short, long, value_name = "DIR|FILE")]
    output: Option<PathBuf>,

    /// Replace the files, and keep the originals for `ilinst restore`
    #[arg(long, conflicts_with = "output")]
    in_place: bool,

    #[command(flatten)]
    weave: WeaveArgs,

    /// The PDB of the input, if it is not beside it
    #[arg(long, value_name = "FILE")]
    pdb: Option<PathBuf>,

    /// Also copy the files that the input needs to start [default: true for a program, false for a library]
    ///
    /// These are runtimeconfig.json, deps.json, .config, and referenced assemblies beside the input, with their PDBs and
    /// satellites.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    copy_dependencies: Option<bool>,

    #[command(flatten)]
    lists: ListArgs,

    /// Write no files
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// The format of messages
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with = "json")]
    message_format: MessageFormat,

    /// Print only errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Print each skipped method with the reason
    #[arg(short, long)]
    verbose: bool,

    /// Use N threads [default: one for each processor]; the output is the same for any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// `--message-format`.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MessageFormat {
    /// For people
    #[default]
    Human,
    /// As MSBuild and editors read them: `FILE(LINE): warning CODE: text`
    Msbuild,
}

const EXAMPLES: &str = "\
Examples:
  ilinst instrument app.dll -o woven/
      writes woven/app.dll, its manifest and the tracker
  ilinst instrument app.dll lib.dll -o woven/
  ilinst instrument publish/ -o publish-woven/
      instruments each assembly of a folder, and copies the other files
  ilinst instrument app.dll -o woven/ --include 'Shop.*' --exclude '*::get_*'
  ilinst instrument app.dll -o woven/ --include '[Shop.*]*' --exclude 're:::get'
  ilinst instrument publish/ --in-place
      to undo this: ilinst restore publish/
  ilinst instrument lib.dll -o woven/ --snk lib.snk
      signed with your key
  ilinst instrument app.dll -o woven/ --lines
      also counts how often each statement runs
  ilinst instrument app.dll --dry-run -v
      shows the methods that would be skipped, and why

Run the instrumented program as you run the original. The program writes <program>-<pid>.ilprof to its working directory, or \
to the path in the environment variable ILINST_OUTPUT. `ilinst report` shows this profile.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let is_a_builds = self.is_a_builds();
        self.instrument().map_err(|error| match error.downcast() {
            Ok(failure) if is_a_builds => canonical::name_page(&failure).into(),
            Ok(failure) => failure.into(),
            Err(error) => error,
        })
    }

    fn instrument(self) -> anyhow::Result<u8> {
        let started = Instant::now();
        limit_threads(self.threads)?;
        clean_up_when_asked_to_end()?;
        if self.output.is_none() && !self.in_place && !self.dry_run {
            let text = "no output was given: add -o DIR, or --in-place, or --dry-run to write nothing";
            return Err(Failure::usage(text).into());
        }
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        let weaving = self.weave.resolve(&inputs)?;
        let options = Options { names_expected: self.verbose, ..weaving.options.clone() };
        let request = self.request();
        let jobs = request.jobs()?;
        let progress = progress_bar(jobs.len(), self.quiet || self.json);
        let run = ::instrument::run(&request, &jobs, &options, &|_| progress.inc(1));
        progress.finish_and_clear();
        let mut run = run?;
        run.read.extend(weaving.file.as_ref().map(|config| config.path.clone()));
        self.lists.write(&mut run, &request)?;
        let mut report = run.commit()?;
        // Of a build's options, each is for some of its projects.
        report.unmatched.retain(|unmatched| !self.is_a_builds() && weaving.is_given(&unmatched.option));
        let has_findings = !report.unmatched.is_empty() || report.files.iter().any(FileReport::has_findings);
        let code = if weaving.strict && has_findings { EXIT_LEFT_ALONE } else { 0 };
        printed(self.print(&report, started.elapsed().as_secs_f64(), weaving.strict), code)
    }

    fn print(&self, report: &Report, seconds: f64, is_strict: bool) -> anyhow::Result<()> {
        if !self.is_a_builds() || self.quiet {
            return self.summary().print(report, seconds);
        }
        let mut out = Terminal::text();
        canonical::print(&report.files, is_strict, &mut out)?;
        Ok(out.close()?)
    }

    fn is_a_builds(&self) -> bool {
        self.message_format != MessageFormat::Human
    }

    fn request(&self) -> Request {
        let destination = match &self.output {
            Some(output) => Destination::Path(output.clone()),
            None if self.in_place => Destination::InPlace,
            None => Destination::Nowhere,
        };
        let (inputs, pdb) = (self.inputs.clone(), self.pdb.clone());
        Request { inputs, destination, pdb, copies: self.copy_dependencies, dry_run: self.dry_run }
    }

    fn summary(&self) -> Summary<'_> {
        let Self { dry_run, in_place, json, quiet, verbose, .. } = *self;
        let folder = self.inputs.first().map(PathBuf::as_path).filter(|input| input.is_dir());
        Summary { folder, dry_run, in_place, json, quiet, verbose }
    }
}
