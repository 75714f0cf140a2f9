//! `ilinst instrument`: weaves files, or every assembly of a folder.

use std::{
    collections::BTreeMap,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use clap::Args;
use ecma335::{Image, Metadata, Table, Token};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use weave::{Note, Plan, Reason, Refusal, Shape, Tracker, Weave, Woven, plan::Selection};

use crate::{
    arguments::SelectionArgs,
    companions::{TRACKER, copy_companions, copy_deps_json, is_deps_json, write_tracker},
    failure::{EXIT_LEFT_ALONE, Failure, about},
    io::{Input, Outputs, is_same_file},
    manifest::{FileIdentity, Manifest, MethodLines},
    text::{count, size},
};

/// Weave enter and leave probes into assemblies.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Assemblies (.dll, .exe), or one folder
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Where to write: a file for one input; a folder for several, or for a folder
    #[arg(short, long, value_name = "FILE|DIR", required_unless_present = "dry_run")]
    output: Option<PathBuf>,

    #[command(flatten)]
    selection: SelectionArgs,

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
  ilinst instrument app.dll --dry-run -v                   what would be left alone, and why

Run the result as you would run the original. When it ends it writes <program>-<pid>.ilprof to the current
folder, or to where the environment variable ILINST_OUTPUT says; show it with `ilinst report`.";

/// What became of one file.
struct Done {
    input: PathBuf,
    output: PathBuf,
    outcome: Outcome,
    bytes: (u64, u64),
    seconds: f64,
}

enum Outcome {
    /// It was woven, or had nothing to weave; by MethodDef row number less one, what became of each method.
    Processed { methods: Vec<Result<Shape, Reason>>, names: Vec<(usize, String)>, notes: Vec<Note> },
    /// It was copied: it is an assembly that must not be woven.
    Refused(Refusal),
    /// It was copied: it is no assembly, though its name says so.
    NotAnAssembly(String),
    /// It was copied.
    Copied,
}

/// A file to be written.
struct Job {
    input: PathBuf,
    output: PathBuf,
    /// Whether the user named it: then it has to be an assembly.
    named: bool,
}

/// What all files are woven with.
struct Shared<'a> {
    tracker: &'a Tracker,
    selection: &'a Selection,
    options: &'a str,
    opts: &'a Opts,
    threads: usize,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let started = Instant::now();
        let tracker = Tracker::read(TRACKER)?;
        let jobs = self.jobs()?;
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.map_or(processors, usize::from);
        let options = self.selection.in_words();
        let selection = self.selection.selection();
        let shared = Shared { tracker: &tracker, selection: &selection, options: &options, opts: &self, threads };
        let (done, outputs) = process(&jobs, &shared)?;
        if !self.dry_run {
            outputs.into_iter().try_for_each(Outputs::commit)?;
        }
        self.print(&done, started.elapsed().as_secs_f64())?;
        let left_alone = done.iter().any(|done| done.findings().next().is_some());
        Ok(if self.strict && left_alone { EXIT_LEFT_ALONE } else { 0 })
    }

    /// Which file is to be written where.
    fn jobs(&self) -> anyhow::Result<Vec<Job>> {
        let output = self.output.clone().unwrap_or_else(|| PathBuf::from("."));
        if let [folder] = &self.inputs[..]
            && folder.is_dir()
        {
            return self.folder_jobs(folder, &output);
        }
        if let Some(folder) = self.inputs.iter().find(|input| input.is_dir()) {
            return Err(Failure::usage(format_args!("{}: a folder has to be the only input", folder.display())));
        }
        let ends_with_separator = output.as_os_str().to_string_lossy().ends_with(['/', '\\']);
        let is_folder = self.inputs.len() > 1 || output.is_dir() || ends_with_separator;
        let mut jobs: Vec<Job> = Vec::new();
        for input in &self.inputs {
            let output = if is_folder { output.join(input.file_name().unwrap_or_default()) } else { output.clone() };
            if !self.dry_run && is_same_file(input, &output) {
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
            jobs.push(Job { input: input.clone(), output, named: true });
        }
        Ok(jobs)
    }

    fn folder_jobs(&self, folder: &Path, output: &Path) -> anyhow::Result<Vec<Job>> {
        if !self.dry_run {
            let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            if is_same_file(folder, output) || absolute(output).starts_with(absolute(folder)) {
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
                Job { input, output, named: false }
            })
            .collect())
    }
}

/// All files below a folder, in the order of their names.
fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let unreadable = |error: std::io::Error| Failure::unreadable(about(folder, &error));
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    entries.sort();
    for path in entries {
        if path.is_dir() { collect_files(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// Works through the files: one with all threads, or many with a thread each.
fn process(jobs: &[Job], shared: &Shared<'_>) -> anyhow::Result<(Vec<Done>, Vec<Outputs>)> {
    let workers = if jobs.len() < 8 { 1 } else { shared.threads.min(jobs.len()) };
    let threads = if workers == 1 { shared.threads } else { 1 };
    let progress = progress_bar(jobs.len(), shared.opts);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, anyhow::Result<Done>)>> = Mutex::default();
    let all_outputs: Mutex<Vec<Outputs>> = Mutex::default();
    let work = || {
        let mut outputs = Outputs::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { break };
            let done = process_file(job, shared, threads, &mut outputs);
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
    let done: Vec<Done> = results.into_iter().map(|(_, done)| done).collect::<Result<_, _>>()?;
    let mut outputs = all_outputs.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !shared.opts.dry_run {
        outputs.push(write_trackers(&done)?);
    }
    Ok((done, outputs))
}

/// The tracker goes into every folder that a woven file goes into.
fn write_trackers(done: &[Done]) -> anyhow::Result<Outputs> {
    let mut outputs = Outputs::default();
    let mut folders: Vec<&Path> = done.iter().filter(|done| done.woven() > 0).filter_map(|done| done.output.parent()).collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        write_tracker(folder, &mut outputs)?;
    }
    Ok(outputs)
}

fn process_file(job: &Job, shared: &Shared<'_>, threads: usize, outputs: &mut Outputs) -> anyhow::Result<Done> {
    let started = Instant::now();
    let finish = |outcome: Outcome, bytes: (u64, u64)| {
        let (input, output) = (job.input.clone(), job.output.clone());
        Ok(Done { input, output, outcome, bytes, seconds: started.elapsed().as_secs_f64() })
    };
    if !job.named && !has_assembly_name(&job.input) {
        if !shared.opts.dry_run {
            if is_deps_json(&job.input) {
                copy_deps_json(&job.input, &job.output, outputs)?;
            } else {
                outputs.copy(&job.input, &job.output)?;
            }
        }
        return finish(Outcome::Copied, (0, 0));
    }
    let input = Input::open(&job.input)?;
    let size = input.len() as u64;
    let mut leave_as_it_is = |outcome: Outcome| {
        if !shared.opts.dry_run {
            outputs.copy(&job.input, &job.output)?;
        }
        finish(outcome, (size, size))
    };
    let image = match read(&input) {
        Ok(image) => image,
        Err(error) if job.named => return Err(Failure::not_an_assembly(format_args!("{}: {error}", job.input.display()))),
        Err(error) => return leave_as_it_is(Outcome::NotAnAssembly(error.to_string())),
    };
    let (image, metadata) = image;
    if let Some(refusal) = weave::plan::refusal(&image, &metadata, shared.tracker) {
        return if job.named {
            Err(Failure::refused(format_args!("{}: {refusal}", job.input.display())))
        } else {
            leave_as_it_is(Outcome::Refused(refusal))
        };
    }
    let in_file = |error: ecma335::Error| Failure::not_an_assembly(format_args!("{}: {error}", job.input.display()));
    let plan = Plan::new(&metadata, shared.selection).map_err(in_file)?;
    let how = Weave {
        tracker: shared.tracker,
        leave: shared.opts.selection.leave.into(),
        keep_layout: shared.opts.keep_layout,
        threads,
        tool: concat!("ilinst ", env!("CARGO_PKG_VERSION")),
        options: shared.options,
    };
    // Reading, planning and putting together keep one processor busy: the other can hash the input meanwhile.
    let (woven, identity) = std::thread::scope(|scope| {
        let hash = || FileIdentity::of(file_name(&job.input), std::iter::once(&input[..]));
        let identity = (!shared.opts.dry_run).then(|| scope.spawn(hash));
        (weave::weave(&image, &metadata, plan, &how), identity.map(join))
    });
    let woven = woven.map_err(in_file)?;
    let bytes = (size, woven.file.len() as u64);
    if let Some(identity) = identity {
        write_woven(job, shared, identity, &metadata, &woven, outputs)?;
        if job.named {
            copy_companions(&job.input, &job.output, outputs)?;
        }
    }
    let names = names_of_findings(&metadata, &woven.methods, shared.opts.verbose);
    finish(Outcome::Processed { methods: woven.methods, names, notes: woven.notes }, bytes)
}

fn read(input: &Input) -> Result<(Image<'_>, Metadata<'_>), ecma335::Error> {
    let image = Image::parse(input)?;
    let metadata = Metadata::parse(image.metadata()?)?;
    Ok((image, metadata))
}

fn has_assembly_name(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    matches!(extension.as_deref(), Some("dll" | "exe" | "netmodule"))
}

/// Writes the woven file and its manifest. Hashing takes as long as writing, so it goes on beside it.
fn write_woven(
    job: &Job,
    shared: &Shared<'_>,
    input: FileIdentity,
    metadata: &Metadata<'_>,
    woven: &Woven<'_>,
    outputs: &mut Outputs,
) -> anyhow::Result<()> {
    let mut manifest_path = job.output.as_os_str().to_owned();
    manifest_path.push(".ilinst.json");
    let (manifest, lines) = std::thread::scope(|scope| -> anyhow::Result<_> {
        let lines = scope.spawn(|| MethodLines { module_key: woven.module_key, methods: &woven.methods }.to_json(metadata));
        let output = scope.spawn(|| FileIdentity::of(file_name(&job.output), woven.file.iter()));
        outputs.write(&job.output, |file| woven.file.write_to(file))?;
        let manifest = Manifest {
            options: shared.options,
            input,
            output: join(output),
            module_key: woven.module_key,
            mvid: woven.mvid,
            notes: &woven.notes,
        };
        Ok((manifest, join(lines)?))
    })?;
    outputs.write(Path::new(&manifest_path), |file| manifest.write(metadata, &lines, file).map_err(std::io::Error::other))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a thread came to; if it panicked, so do we.
fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The full names of the methods that will be shown.
fn names_of_findings(metadata: &Metadata<'_>, methods: &[Result<Shape, Reason>], all: bool) -> Vec<(usize, String)> {
    let shown: Vec<usize> = methods
        .iter()
        .enumerate()
        .filter(|(_, method)| method.as_ref().is_err_and(|reason| all || !reason.is_expected()))
        .map(|(index, _)| index)
        .collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let (Ok(owners), Ok(types)) = (metadata.method_owners(), metadata.type_names()) else { return Vec::new() };
    let full_name = |index: usize| {
        let owner = owners.get(index).and_then(|owner| types.get((owner.get() as usize).checked_sub(1)?));
        let row = metadata.row(ecma335::Rid::<ecma335::schema::MethodDef>::new(index as u32 + 1)).ok()?;
        Some(format!("{}::{}", owner.map_or("?", String::as_str), metadata.name(row.name).ok()?))
    };
    shown.into_iter().filter_map(|index| Some((index, full_name(index)?))).collect()
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

impl Done {
    fn methods(&self) -> &[Result<Shape, Reason>] {
        match &self.outcome {
            Outcome::Processed { methods, .. } => methods,
            _ => &[],
        }
    }

    fn woven(&self) -> usize {
        self.methods().iter().filter(|method| method.is_ok()).count()
    }

    /// Methods that should have been woven and were not.
    fn findings(&self) -> impl Iterator<Item = (usize, &Reason)> {
        let left_alone = self.methods().iter().enumerate().filter_map(|(index, method)| Some((index, method.as_ref().err()?)));
        left_alone.filter(|(_, reason)| !reason.is_expected())
    }

    fn left_alone(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for reason in self.methods().iter().filter_map(|method| method.as_ref().err()) {
            *reasons.entry(reason.code()).or_default() += 1;
        }
        reasons
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "input": self.input.to_string_lossy(),
            "output": self.output.to_string_lossy(),
            "methods": self.methods().len(),
            "woven": self.woven(),
            "leftAlone": self.left_alone(),
            "bytesIn": self.bytes.0,
            "bytesOut": self.bytes.1,
            "milliseconds": (self.seconds * 1e6).round() / 1e3,
        });
        let (status, detail) = match &self.outcome {
            Outcome::Processed { notes, names, methods } => {
                let notes = notes.iter().map(|note| json!({ "code": note.code(), "text": note.to_string() })).collect::<Vec<_>>();
                let finding = |(index, name): &(usize, String)| {
                    let reason = methods.get(*index)?.as_ref().err()?;
                    let token = Token::new(Table::MethodDef, *index as u32 + 1).to_string();
                    Some(
                        json!({ "code": "ILI0001", "token": token, "method": name, "reason": reason.code(), "text": reason.to_string() }),
                    )
                };
                value["notes"] = notes.into();
                value["findings"] = names.iter().filter_map(finding).collect::<Vec<_>>().into();
                (if self.woven() > 0 { "woven" } else { "nothing-to-weave" }, None)
            }
            Outcome::Refused(refusal) => (refusal.code(), Some(refusal.to_string())),
            Outcome::NotAnAssembly(why) => ("not-an-assembly", Some(why.clone())),
            Outcome::Copied => ("copied", None),
        };
        value["status"] = status.into();
        if let Some(detail) = detail {
            value["detail"] = detail.into();
        }
        value
    }
}

/// Findings shown unless `-v` asks for all.
const SHOWN_FINDINGS: usize = 10;

impl Opts {
    fn print(&self, done: &[Done], seconds: f64) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        if self.json {
            let files = done.iter().map(Done::to_json).collect::<Vec<_>>();
            let value = json!({ "tool": concat!("ilinst ", env!("CARGO_PKG_VERSION")), "dryRun": self.dry_run, "files": files });
            serde_json::to_writer_pretty(&mut out, &value)?;
            writeln!(out)?;
            return Ok(out.flush()?);
        }
        if self.quiet {
            return Ok(());
        }
        for each in done.iter().filter(|done| done.output_is_worth_a_line(self.verbose)) {
            self.print_file(each, &mut out)?;
        }
        if done.len() > 1 {
            let woven = done.iter().filter(|done| done.woven() > 0).count();
            let methods: usize = done.iter().map(Done::woven).sum();
            let sum = |get: fn(&Done) -> u64| done.iter().map(get).sum::<u64>();
            writeln!(
                out,
                "{}: {woven} woven ({}), {} copied; {} -> {} in {:.1} s",
                count(done.len(), "file"),
                count(methods, "method"),
                done.len() - woven,
                size(sum(|done| done.bytes.0)),
                size(sum(|done| done.bytes.1)),
                seconds
            )?;
        }
        Ok(out.flush()?)
    }

    fn print_file(&self, done: &Done, out: &mut impl std::io::Write) -> anyhow::Result<()> {
        let input = done.input.display();
        match &done.outcome {
            Outcome::Processed { methods, names, notes } => {
                let arrow = if self.dry_run { String::new() } else { format!(" -> {}", done.output.display()) };
                let left_alone: usize = done.left_alone().values().sum();
                let reasons =
                    done.left_alone().iter().map(|(code, count)| format!("{count} {code}")).collect::<Vec<_>>().join(", ");
                let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
                writeln!(
                    out,
                    "{input}{arrow}: {}, {} woven, {left_alone} left alone{reasons}; {} -> {} in {:.0} ms",
                    count(methods.len(), "method"),
                    done.woven(),
                    size(done.bytes.0),
                    size(done.bytes.1),
                    done.seconds * 1e3
                )?;
                for note in notes {
                    writeln!(out, "  note {}: {note}", note.code())?;
                }
                let shown = if self.verbose { usize::MAX } else { SHOWN_FINDINGS };
                for (index, name) in names.iter().take(shown) {
                    let Some(Err(reason)) = methods.get(*index) else { continue };
                    let token = Token::new(Table::MethodDef, *index as u32 + 1);
                    let kind = if reason.is_expected() { "left alone" } else { "warning ILI0001" };
                    writeln!(out, "  {kind}: {name} ({token}): {reason} [{}]", reason.code())?;
                }
                if names.len() > shown {
                    writeln!(out, "  and {} more; -v shows all", names.len() - shown)?;
                }
                if done.woven() == 0 {
                    let why = if done.left_alone().contains_key("not-included") {
                        "no pattern names a method with a body"
                    } else {
                        "no method has an IL body"
                    };
                    writeln!(out, "  warning ILI0006: nothing to weave, so the output is the input: {why}")?;
                }
            }
            Outcome::Refused(refusal) => writeln!(out, "{input}: copied: {refusal}")?,
            Outcome::NotAnAssembly(why) => writeln!(out, "{input}: copied: {why}")?,
            Outcome::Copied => writeln!(out, "{input}: copied")?,
        }
        Ok(())
    }
}

impl Done {
    fn output_is_worth_a_line(&self, verbose: bool) -> bool {
        verbose || self.woven() > 0 || !matches!(self.outcome, Outcome::Copied)
    }
}
