//! Runs jobs: modules first, since their assemblies contain hashes of them; then files that no job has written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use framework::Framework;
use rayon::prelude::*;
use weave::StrongNameKey;

use crate::{
    browser,
    companions::mdb_path,
    context::RunContext,
    deploy::deploy,
    failure::{Failure, Result},
    file::{Instrumented, instrument_file},
    input::read_small,
    job::Job,
    manifest::manifest_path,
    options::Options,
    originals,
    outputs::Outputs,
    paths::file_name,
    patterns::unmatched,
    report::{FileReport, Outcome, Report, Unmatched},
    request::Request,
    tracker::{Trackers, read_tracker},
};

/// Called for each completed file, from any thread.
pub type Progress<'p> = &'p (dyn Fn(&FileReport) + Sync);

/// A run whose outputs have temporary names. [`Run::commit`] gives them their final names; dropping the run removes them.
pub struct Run {
    /// The result of each file, in the order of the jobs.
    pub files: Vec<FileReport>,
    /// Every file that was read, each once: inputs, PDBs, companions, keys, and the libraries read for trackers.
    pub read: Vec<PathBuf>,
    /// The patterns that match nothing.
    pub unmatched: Vec<Unmatched>,
    outputs: Outputs,
    is_in_place: bool,
}

impl Run {
    /// Returns the path of every output, and of the tracker even if it already existed.
    pub fn written(&self) -> impl Iterator<Item = &Path> {
        self.outputs.paths()
    }

    /// Writes a further file, which gets its name with the others. Not for runs in place, which would restore the file.
    ///
    /// # Errors
    /// If the file cannot be written, or another output has its path.
    pub fn write(&mut self, path: &Path, put: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        self.outputs.write(path, put)?;
        self.outputs.check(self.read.iter().cloned())
    }

    /// Gives every output its final name, or none of them. In place, the originals are kept first.
    ///
    /// # Errors
    /// If an output cannot be written: all files are then as before.
    pub fn commit(self) -> Result<Report> {
        let written = self.written().map(Path::to_owned).collect();
        if self.is_in_place {
            originals::commit(self.outputs)?;
        } else {
            self.outputs.commit()?;
        }
        Ok(Report { files: self.files, unmatched: self.unmatched, written })
    }
}

/// Executes the jobs of a request: instruments, checks, and writes all outputs under temporary names. The threads of the caller's
/// rayon pool share the work; the outputs do not depend on their number.
///
/// # Errors
/// The first failure in the order of the jobs; all temporary files are removed then.
pub fn run(request: &Request, jobs: &[Job], options: &Options, progress: Progress<'_>) -> Result<Run> {
    let tracker = read_tracker()?;
    let keys = options.keys.iter().map(|path| read_key(path)).collect::<Result<Vec<_>>>()?;
    let trackers = Trackers::new(request.roots());
    let leaves_framework = request.is_of_folder() && !options.all_assemblies;
    let read = || Framework::read(jobs.iter().map(|job| job.input.as_path())).with_projects_alone(options.projects_alone);
    let framework = leaves_framework.then(read);
    let (tracker, trackers, keys) = (&tracker, &trackers, &*keys);
    let context = RunContext { request, options, tracker, trackers, keys, framework, modules: Vec::new() };
    if !jobs.iter().any(Job::may_be_an_assembly)
        && let Some((folder, _)) = request.roots()
        && let Some(why) = browser::why_no_assembly(folder)
    {
        return Err(Failure::refused(format_args!("{}: {why}; {}", folder.display(), browser::IN_ITS_BUILD)));
    }
    let (files, outputs, mut read) = run_jobs(jobs, context, progress)?;
    read.extend(trackers.read());
    let mut seen = BTreeSet::new();
    read.retain(|path| seen.insert(path.clone()));
    let unmatched = unmatched(&files, jobs, &options.weave);
    let files = files.into_iter().map(|file| file.report).collect();
    Ok(Run { files, read, unmatched, outputs, is_in_place: request.is_in_place() })
}

/// The largest size of a key pair file, in bytes; key pairs have a few hundred bytes.
pub const LARGEST_KEY: u64 = 1 << 20;

fn read_key(path: &Path) -> Result<StrongNameKey> {
    let bytes = read_small(path, LARGEST_KEY)?;
    StrongNameKey::parse(&bytes).map_err(|error| Failure::bad_key(format_args!("{}: {error}", path.display())))
}

fn run_jobs(
    jobs: &[Job],
    mut context: RunContext<'_>,
    progress: Progress<'_>,
) -> Result<(Vec<Instrumented>, Outputs, Vec<PathBuf>)> {
    let (assemblies, others): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.may_be_an_assembly());
    let (modules, assemblies): (Vec<&Job>, Vec<&Job>) = assemblies.into_iter().partition(|job| job.is_module());
    let mut outputs = context.request.root().map_or_else(Outputs::default, Outputs::below);
    let mut files = instrument_files(&modules, &context, progress, &mut outputs)?;
    context.modules = files.iter().filter_map(|file| Some((file_name(&file.report.output), file.module_hash?))).collect();
    if !assemblies.is_empty() {
        files.iter_mut().for_each(|file| file.report.belongs_to_an_assembly());
    }
    files.extend(instrument_files(&assemblies, &context, progress, &mut outputs)?);
    // The PDB and the manifest of an instrumented file replace the ones that existed.
    let processed = files.iter().map(|file| &file.report).filter(|file| matches!(file.outcome, Outcome::Processed { .. }));
    let made: BTreeSet<PathBuf> = processed
        .flat_map(|file| file.pdb.clone().into_iter().chain([manifest_path(&file.output), mdb_path(&file.output)]))
        .collect();
    let others: Vec<&Job> = others.into_iter().filter(|job| !made.contains(&job.output)).collect();
    files.extend(instrument_files(&others, &context, progress, &mut outputs)?);
    let places: BTreeMap<&Path, usize> = jobs.iter().enumerate().map(|(index, job)| (job.input.as_path(), index)).collect();
    files.sort_by_key(|file| places.get(file.report.input.as_path()).copied());

    if !context.keys.is_empty() && !files.iter().any(|file| file.has_key) {
        return Err(Failure::usage("--snk: no instrumented assembly has the public key of one of these keys"));
    }
    let companions = deploy(jobs, &mut files, &context, &mut outputs)?;
    // An instrumented program is never without its tracker.
    let woven = files.iter().map(|file| &file.report).filter(|file| matches!(file.outcome, Outcome::Processed { .. }));
    let woven: BTreeSet<&Path> = woven.map(|file| file.output.as_path()).collect();
    outputs.put_last(|path| woven.contains(path));
    let read_by_job = |job: &'_ Job| [Some(job.input.clone()), job.pdb.as_ref().and_then(|pdb| pdb.path.clone())];
    let read = jobs.iter().flat_map(read_by_job).flatten().chain(companions).chain(context.options.keys.iter().cloned());
    let read = read.chain(context.hooks().iter().filter_map(|hooks| hooks.path.clone()));
    let read: Vec<PathBuf> = read.collect();
    if !context.request.is_in_place() {
        outputs.check(read.iter().cloned())?;
    }
    Ok((files, outputs, read))
}

/// Below this number, files are processed one after another, each by all threads.
const MANY: usize = 8;

fn instrument_files(
    jobs: &[&Job],
    context: &RunContext<'_>,
    progress: Progress<'_>,
    outputs: &mut Outputs,
) -> Result<Vec<Instrumented>> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let instrument = |(index, job): (usize, &&Job)| {
        // After a failure nothing is written, so that later jobs are skipped. Earlier ones go on: the reported failure must not
        // depend on the number of threads.
        if index > first_failed.load(Ordering::Relaxed) {
            return None;
        }
        let mut outputs = outputs.more();
        let file = instrument_file(job, context, &mut outputs);
        match &file {
            Ok(file) => progress(&file.report),
            Err(_) => drop(first_failed.fetch_min(index, Ordering::Relaxed)),
        }
        Some((file, outputs))
    };
    let results: Vec<_> = if jobs.len() < MANY {
        jobs.iter().enumerate().filter_map(instrument).collect()
    } else {
        // A thread takes one file at a time, since file sizes differ widely.
        jobs.par_iter().enumerate().with_max_len(1).filter_map(instrument).collect()
    };
    // All outputs are combined: after a failure, a folder is removed once it is empty.
    let (files, all_outputs): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    all_outputs.into_iter().for_each(|other| outputs.append(other));
    files.into_iter().collect()
}
