//! `ilinst instrument`: weaves files, or every assembly of a folder.

mod beside;
mod folder;
mod pdbs;
mod process;
mod summary;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use weave::{StrongNameKey, Tracker};

use self::{
    folder::{collect_files, copied_target, without_links},
    pdbs::name_pdbs,
    process::{Job, Shared, process},
    summary::Done,
};
use crate::{
    arguments::SelectionArgs,
    companions::TRACKER,
    failure::{EXIT_LEFT_ALONE, Failure, about},
    io::is_same_file,
    originals,
};

/// Weave enter and leave probes into assemblies.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Assemblies (.dll, .exe), or one folder
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Where to write: a file for one input; a folder for several, or for a folder
    #[arg(short, long, value_name = "FILE|DIR", required_unless_present_any = ["dry_run", "in_place"])]
    output: Option<PathBuf>,

    /// Weave files where they are; the originals are kept beside them, and `ilinst restore` puts them back
    #[arg(long, conflicts_with = "output")]
    in_place: bool,

    #[command(flatten)]
    selection: SelectionArgs,

    /// The PDB of the input, if it is not beside it
    #[arg(long, value_name = "FILE")]
    pdb: Option<PathBuf>,

    /// Sign strong names again with this key pair (may be repeated), as `sn -k` writes one
    #[arg(long, value_name = "FILE")]
    snk: Vec<PathBuf>,

    /// Keep the input's layout and put what is new behind it, though the image could be laid out anew
    #[arg(long)]
    keep_layout: bool,

    /// Do everything but write
    #[arg(long)]
    dry_run: bool,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,

    /// Exit with 4 if a method that should have been woven was left alone
    #[arg(long)]
    strict: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Print every method that was left alone, and why
    #[arg(short, long)]
    verbose: bool,

    /// How many threads weave; the output does not depend on it [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst instrument app.dll -o woven/                      writes woven/app.dll, its manifest and the tracker
  ilinst instrument app.dll lib.dll -o woven/
  ilinst instrument publish/ -o publish-woven/             every assembly of a folder; the rest is copied
  ilinst instrument app.dll -o woven/ --include 'Shop.*' --exclude '*::get_*'
  ilinst instrument app.dll -o woven/ --include '[Shop.*]*' --exclude 're:::(Equals|GetHashCode)$'
  ilinst instrument publish/ --in-place                    and later: ilinst restore publish/
  ilinst instrument lib.dll -o woven/ --snk lib.snk        signed again with your own key
  ilinst instrument app.dll --dry-run -v                   what would be left alone, and why

Run the result as you would run the original. When it ends it writes <program>-<pid>.ilprof to the current
folder, or to where the environment variable ILINST_OUTPUT says; show it with `ilinst report`.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let started = Instant::now();
        let tracker = Tracker::read(TRACKER)?;
        let mut jobs = self.jobs()?;
        name_pdbs(&mut jobs, &self);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.map_or(processors, usize::from);
        if self.threads.is_some() {
            // An error says that there is a pool already, and here is the one place that makes one.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        }
        let options = self.selection.options(self.keep_layout);
        let keys = self.snk.iter().map(|path| read_key(path)).collect::<anyhow::Result<Vec<_>>>()?;
        let shared = Shared { tracker: &tracker, options: &options, keys: &keys, opts: &self, threads };
        let (done, outputs) = process(&jobs, &shared)?;
        if !keys.is_empty() && !done.iter().any(Done::is_signed) {
            return Err(Failure::usage("--snk: no assembly that was woven has the public key of a key that was given"));
        }
        if !self.dry_run {
            if self.in_place { originals::commit(outputs)? } else { outputs.commit()? }
        }
        self.print(&done, started.elapsed().as_secs_f64())?;
        let left_alone = done.iter().any(|done| done.findings().next().is_some());
        Ok(if self.strict && left_alone { EXIT_LEFT_ALONE } else { 0 })
    }

    /// Which file is to be written where.
    fn jobs(&self) -> anyhow::Result<Vec<Job>> {
        if self.pdb.is_some() && (self.inputs.len() > 1 || self.inputs.iter().any(|input| input.is_dir())) {
            return Err(Failure::usage("--pdb: it is of one input, and there are several"));
        }
        let output = self.output.clone().unwrap_or_else(|| PathBuf::from("."));
        if let [folder] = &self.inputs[..]
            && folder.is_dir()
        {
            return self.folder_jobs(folder, if self.in_place { folder } else { &output });
        }
        if let Some(folder) = self.inputs.iter().find(|input| input.is_dir()) {
            return Err(Failure::usage(format_args!("{}: a folder has to be the only input", folder.display())));
        }
        let ends_with_separator = output.as_os_str().to_string_lossy().ends_with(['/', '\\']);
        let is_folder = self.inputs.len() > 1 || output.is_dir() || ends_with_separator;
        let mut jobs: Vec<Job> = Vec::new();
        for input in &self.inputs {
            let output = if self.in_place {
                if let Ok(target) = input.read_link() {
                    let (input, target) = (input.display(), target.display());
                    return Err(Failure::usage(format_args!("{input}: it is a link to {target}: name what is to be woven")));
                }
                input.clone()
            } else if is_folder {
                output.join(input.file_name().unwrap_or_default())
            } else {
                output.clone()
            };
            if !self.dry_run && !self.in_place && is_same_file(input, &output) {
                let text = format_args!("{}: the output would overwrite the input; choose another -o", output.display());
                return Err(Failure::output_is_input(text));
            }
            if let Some(other) = jobs.iter().find(|job| job.output == output) {
                let text = format_args!(
                    "{} and {} would both be written to {}",
                    other.input.display(),
                    input.display(),
                    output.display()
                );
                return Err(Failure::usage(text));
            }
            jobs.push(Job::new(input.clone(), output, true));
        }
        Ok(jobs)
    }

    fn folder_jobs(&self, folder: &Path, output: &Path) -> anyhow::Result<Vec<Job>> {
        if !self.dry_run && !self.in_place {
            if without_links(output).starts_with(without_links(folder)) {
                let text = format_args!("{}: the output folder would be the input folder or lie in it", output.display());
                return Err(Failure::output_is_input(text));
            }
            if output.is_file() {
                return Err(Failure::unwritable(format_args!("{}: it is a file, and a folder was asked for", output.display())));
            }
        }
        let mut files = Vec::new();
        collect_files(folder, &mut files)?;
        Ok(files
            .into_iter()
            .map(|input| {
                let output = output.join(input.strip_prefix(folder).unwrap_or(&input));
                let target = input.read_link().ok();
                let link = if self.in_place { target } else { target.map(|target| copied_target(folder, &input, target)) };
                Job { link, ..Job::new(input, output, false) }
            })
            .collect())
    }
}

fn read_key(path: &Path) -> anyhow::Result<StrongNameKey> {
    let bytes = std::fs::read(path).map_err(|error| Failure::unreadable(about(path, &error)))?;
    StrongNameKey::parse(&bytes).map_err(|error| Failure::bad_key(format_args!("{}: {error}", path.display())))
}
