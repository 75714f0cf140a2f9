//! Works through the files of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use ecma335::{Image, Metadata};
use indicatif::{ProgressBar, ProgressStyle};
use weave::{Options, Refusal, StrongNameKey, Tracker, Weave, Woven, output_check::Fault};

use super::{
    Opts,
    beside::write_beside,
    summary::{Done, Outcome, method_name, names_of_findings},
};
use crate::{
    companions::{companions, is_deps_json},
    failure::Failure,
    io::{Input, Outputs},
    manifest::{FileIdentity, Manifest},
    pdb::Pdb,
};

/// A file to be written.
pub(super) struct Job {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    /// Whether the user named it: then it has to be an assembly.
    pub(super) named: bool,
    /// Where its output leads, if it is a link in a folder.
    pub(super) link: Option<PathBuf>,
    /// Where its PDB is, and what the woven one will be called.
    pub(super) pdb: Option<Pdb>,
}

impl Job {
    pub(super) fn new(input: PathBuf, output: PathBuf, named: bool) -> Self {
        Self { input, output, named, link: None, pdb: None }
    }

    pub(super) fn may_be_an_assembly(&self) -> bool {
        self.named || (has_assembly_name(&self.input) && self.link.is_none())
    }
}

/// What all files are woven with.
pub(super) struct Shared<'a> {
    pub(super) tracker: &'a Tracker,
    pub(super) options: &'a Options,
    pub(super) keys: &'a [StrongNameKey],
    pub(super) opts: &'a Opts,
    pub(super) threads: usize,
}

/// Works through the files: many with a thread each, and each with those of the pool that have nothing to do.
pub(super) fn process<'j>(jobs: &'j [Job], shared: &Shared<'_>) -> anyhow::Result<(Vec<Done>, Outputs)> {
    let (assemblies, others): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.may_be_an_assembly());
    let (modules, assemblies): (Vec<&Job>, Vec<&Job>) = assemblies.into_iter().partition(|job| is_module(&job.input));
    let (mut done, mut outputs) = process_all(&modules, shared, &[])?;
    let hashes: Vec<_> = done.iter().filter_map(|done| Some((file_name(&done.output), done.module_hash?))).collect();
    let (woven, files) = process_all(&assemblies, shared, &hashes)?;
    if !woven.is_empty() {
        done.iter_mut().for_each(Done::belongs_to_an_assembly);
    }
    done.extend(woven);
    outputs.append(files);
    // The PDB and the manifest of what was woven take the places of those that were there.
    let processed = done.iter().filter(|done| matches!(done.outcome, Outcome::Processed { .. }));
    let made: BTreeSet<PathBuf> =
        processed.flat_map(|done| done.pdb.clone().into_iter().chain([manifest_path(&done.output)])).collect();
    let others: Vec<&Job> = others.into_iter().filter(|job| !made.contains(&job.output)).collect();
    let (copied, copies) = process_all(&others, shared, &[])?;
    done.extend(copied);
    outputs.append(copies);
    let places: BTreeMap<&Path, usize> = jobs.iter().enumerate().map(|(index, job)| (job.input.as_path(), index)).collect();
    done.sort_by_key(|done| places.get(done.input.as_path()).copied());
    let beside = write_beside(jobs, &mut done, shared.opts, &mut outputs)?;
    let read_by_jobs = |job: &'j Job| [Some(job.input.as_path()), job.pdb.as_ref().and_then(|pdb| pdb.path.as_deref())];
    let read_beside = beside.iter().chain(&shared.opts.snk).map(PathBuf::as_path);
    let read = jobs.iter().flat_map(read_by_jobs).flatten().chain(read_beside);
    outputs.check(read.filter(|_| !shared.opts.in_place))?;
    Ok((done, outputs))
}

fn process_all(jobs: &[&Job], shared: &Shared<'_>, modules: &[(String, [u8; 20])]) -> anyhow::Result<(Vec<Done>, Outputs)> {
    let workers = if jobs.len() < 8 { 1 } else { shared.threads.min(jobs.len()) };
    let progress = progress_bar(jobs.len(), shared.opts);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, anyhow::Result<Done>)>> = Mutex::default();
    let all_outputs: Mutex<Vec<Outputs>> = Mutex::default();
    let work = || {
        let mut outputs = Outputs::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { break };
            let done = process_file(job, shared, modules, &mut outputs);
            if done.is_err() {
                // Nothing will be written, so nobody need go on.
                next.store(jobs.len(), Ordering::Relaxed);
            }
            progress.inc(1);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, done));
        }
        all_outputs.lock().unwrap_or_else(PoisonError::into_inner).push(outputs);
    };
    if workers == 1 {
        work();
    } else {
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    }
    progress.finish_and_clear();
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    // All in one: if there was an error, a folder is removed when there is nothing left in it.
    let mut outputs = Outputs::default();
    all_outputs.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().for_each(|other| outputs.append(other));
    let done: Vec<Done> = results.into_iter().map(|(_, done)| done).collect::<Result<_, _>>()?;
    Ok((done, outputs))
}

fn process_file(job: &Job, shared: &Shared<'_>, modules: &[(String, [u8; 20])], outputs: &mut Outputs) -> anyhow::Result<Done> {
    let started = Instant::now();
    let finish = |outcome: Outcome, bytes: (u64, u64), pdb: Option<PathBuf>| {
        let (input, output) = (job.input.clone(), job.output.clone());
        let seconds = started.elapsed().as_secs_f64();
        Ok(Done { input, output, outcome, bytes, seconds, pdb, module_hash: None, companions: Vec::new(), warnings: Vec::new() })
    };
    if let Some(target) = &job.link {
        if !shared.opts.dry_run && !shared.opts.in_place {
            outputs.link(target, &job.output)?;
        }
        return finish(Outcome::Link(target.clone()), (0, 0), None);
    }
    if !job.named && !job.input.is_file() {
        return finish(Outcome::LeftOut, (0, 0), None);
    }
    if !job.may_be_an_assembly() {
        // Whether a list is told about the tracker depends on what is woven.
        if !shared.opts.dry_run && !is_deps_json(&job.input) {
            outputs.copy(&job.input, &job.output)?;
        }
        return finish(Outcome::Copied, (0, 0), None);
    }
    let input = Input::open(&job.input)?;
    let size = input.len() as u64;
    let mut leave_as_it_is = |outcome: Outcome| {
        if !shared.opts.dry_run {
            outputs.copy(&job.input, &job.output)?;
        }
        finish(outcome, (size, size), None)
    };
    let image = match read(&input) {
        Ok(image) => image,
        Err(error) if job.named => {
            return Err(Failure::not_an_assembly(format_args!("{}: {error}{}", job.input.display(), host_hint(&job.input))));
        }
        Err(error) => return leave_as_it_is(Outcome::NotAnAssembly(error.to_string())),
    };
    let (image, metadata) = image;
    if let Some(refusal) = weave::plan::refusal(&image, &metadata, shared.tracker) {
        return if job.named && !(shared.opts.in_place && refusal == Refusal::AlreadyWoven) {
            Err(Failure::refused(format_args!("{}: {refusal}", job.input.display())))
        } else {
            leave_as_it_is(Outcome::Refused(refusal))
        };
    }
    let in_file = |error: ecma335::Error| Failure::not_an_assembly(format_args!("{}: {error}", job.input.display()));
    let pdb = Pdb::read(job.pdb.as_ref())?;
    let pdb_name = job.pdb.as_ref().map(|pdb| pdb.name.as_str());
    let how = Weave {
        tracker: shared.tracker,
        options: shared.options,
        tool: concat!("ilinst ", env!("CARGO_PKG_VERSION")),
        pdb: pdb.as_deref(),
        pdb_name,
        modules,
        keys: shared.keys,
    };
    let bytes: &[u8] = &input;
    let hash = || (!shared.opts.dry_run).then(|| FileIdentity::of(file_name(&job.input), std::iter::once(bytes)));
    let (woven, identity) = rayon::join(|| weave::weave(&image, &metadata, &how), hash);
    let woven = woven.map_err(in_file)?;
    // In place, a file with nothing to weave is its own output.
    let identity = identity.filter(|_| !shared.opts.in_place || woven.methods.iter().any(Result::is_ok));
    let bytes = (size, woven.file.len() as u64);
    let pdb_output = woven.pdb.as_ref().and(pdb_name).map(|name| job.output.with_file_name(name));
    if let Some(identity) = identity {
        write_woven(job, shared, identity, (&image, &metadata), &woven, outputs)?;
        if let (Some(path), Some(content)) = (&pdb_output, &woven.pdb) {
            let from = job.pdb.as_ref().and_then(|pdb| pdb.path.as_deref()).unwrap_or(&job.input);
            outputs.write_like(from, path, |file| file.write_all(content))?;
        }
    }
    let companions = if job.named { companions(&job.input, &job.output, &metadata) } else { Vec::new() };
    let names = names_of_findings(&metadata, &woven.methods, shared.opts.verbose);
    let module_hash = is_module(&job.input).then(|| woven.sha1());
    let done = finish(Outcome::Processed { methods: woven.methods, names, notes: woven.notes }, bytes, pdb_output)?;
    Ok(Done { module_hash, companions, ..done })
}

fn read(input: &Input) -> Result<(Image<'_>, Metadata<'_>), ecma335::Error> {
    let image = Image::parse(input)?;
    let metadata = Metadata::parse(image.metadata()?)?;
    Ok((image, metadata))
}

/// A .NET Core program is a library, beside a native host of the same name: people name the host.
fn host_hint(path: &Path) -> String {
    let library = path.with_extension("dll");
    let is_host = library != path && library.is_file();
    if is_host { format!("; it may be the host that starts {}: weave that", library.display()) } else { String::new() }
}

/// Whether it is one of the lesser modules of an assembly.
fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("netmodule"))
}

fn has_assembly_name(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    matches!(extension.as_deref(), Some("dll" | "exe" | "netmodule"))
}

/// Writes the woven file and reads it again; its manifest is written beside that.
fn write_woven(
    job: &Job,
    shared: &Shared<'_>,
    identity: FileIdentity,
    input: (&Image<'_>, &Metadata<'_>),
    woven: &Woven<'_>,
    outputs: &mut Outputs,
) -> anyhow::Result<()> {
    let manifest = Manifest {
        options: &shared.options.to_string(),
        input: identity,
        module_key: woven.module_key,
        mvid: woven.mvid,
        notes: &woven.notes,
        methods: &woven.methods,
    };
    let mut manifest_file = Outputs::default();
    let written = std::thread::scope(|scope| {
        let identity = scope.spawn(|| FileIdentity::of(file_name(&job.output), woven.file.iter()));
        let manifest_written = scope.spawn(|| {
            manifest_file.write(&manifest_path(&job.output), |file| {
                manifest.write(input.1, || join(identity), file).map_err(std::io::Error::other)
            })
        });
        outputs.write_like(&job.input, &job.output, |file| woven.file.write_to(file))?;
        let written = outputs.read_last()?;
        weave::output_check::check(&written, woven, shared.tracker, input).map_err(|fault| broken(job, input.1, &fault))?;
        join(manifest_written)
    });
    outputs.append(manifest_file);
    written
}

fn manifest_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".ilinst.json");
    path.into()
}

/// The output check found something: nothing is written, and the method named is what a report of it has to name.
fn broken(job: &Job, metadata: &Metadata<'_>, fault: &Fault) -> anyhow::Error {
    let index = fault.method.map(|method| method.get() as usize - 1);
    let name = index.map(|index| format!("{}: ", method_name(metadata, index)));
    Failure::broken_output(format_args!(
        "{}: {}{fault}; this is a fault of ilinst, so nothing was written: please report it, and --exclude the method meanwhile",
        job.output.display(),
        name.unwrap_or_default()
    ))
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a thread came to; if it panicked, so do we.
fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn progress_bar(files: usize, opts: &Opts) -> ProgressBar {
    if files < 8 || opts.quiet || opts.json {
        return ProgressBar::hidden();
    }
    // Drawn on stderr, and only if that is a terminal.
    let style =
        ProgressStyle::with_template("{bar:40} {pos}/{len} files  {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(files as u64).with_style(style)
}
