//! Instruments one file.

use std::{
    fs::File,
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use ecma335::{Image, Metadata, Segments};
use framework::is_deps_json;
use weave::{
    Note, Pattern, Refusal, Tracker, Weave, Woven, WovenBodies,
    matches::are_used,
    output_check::{Fault, check_contents},
    refusal, strong_name,
};

use crate::{
    browser,
    companions::{is_program, mdb_path, modules, references, settings},
    context::RunContext,
    deps_json::lists_that_name,
    failure::{Failure, Result, about},
    file_identity::FileIdentity,
    input::{Input, host_hint, not_an_assembly},
    job::Job,
    manifest::{Manifest, manifest_path},
    outputs::Outputs,
    paths::file_name,
    pdb::Pdb,
    report::{FileReport, Outcome, left_alone, name_methods},
    tracker::TOOL,
};

/// The result of a job, with the facts that other jobs need.
pub(crate) struct Instrumented {
    pub(crate) report: FileReport,
    /// The SHA-1 of a module, which its assembly's manifest states.
    pub(crate) module_hash: Option<[u8; 20]>,
    /// The companions of a named input, with their destinations.
    pub(crate) companions: Vec<(PathBuf, PathBuf)>,
    /// By pattern of the options: whether it matches anything in the file; empty if the file was not searched.
    pub(crate) used: Vec<bool>,
    /// Whether one of the given keys belongs to its public key. Also set if nothing is instrumented and the signature stays
    /// valid.
    pub(crate) has_key: bool,
}

/// The file size in bytes from which a second thread pays off.
const LARGE: u64 = 128 << 10;

/// Executes a job, and adds written files to the outputs.
pub(crate) fn instrument_file(job: &Job, context: &RunContext<'_>, outputs: &mut Outputs) -> Result<Instrumented> {
    let started = Instant::now();
    let mut file = if let Some(target) = &job.link {
        if context.writes() && !context.request.is_in_place() {
            outputs.link(target, &job.output)?;
        }
        unread(job, Outcome::Link(target.clone()))
    } else if !job.is_named && !job.input.is_file() {
        unread(job, Outcome::LeftOut)
    } else if !job.may_be_an_assembly() {
        // A `deps.json` gets its entry later, when it is known which files are instrumented.
        if context.writes() && !is_deps_json(&job.input) {
            outputs.copy(&job.input, &job.output)?;
        }
        unread(job, Outcome::Copied)
    } else {
        instrument_assembly(job, context, outputs)?
    };
    file.report.duration = started.elapsed();
    Ok(file)
}

/// Returns the result of a file that is not read as an assembly.
fn unread(job: &Job, outcome: Outcome) -> Instrumented {
    let report = FileReport {
        input: job.input.clone(),
        output: job.output.clone(),
        outcome,
        input_size: 0,
        output_size: 0,
        duration: Duration::ZERO,
        pdb: None,
        copied: Vec::new(),
        warnings: Vec::new(),
    };
    Instrumented { report, module_hash: None, companions: Vec::new(), used: Vec::new(), has_key: false }
}

/// The result of a step that the file may not get past: the outcome says why it stays as it is.
type Step<T> = Result<std::result::Result<T, Outcome>>;

/// An assembly to instrument.
struct Assembly<'a> {
    bytes: &'a [u8],
    image: Image<'a>,
    metadata: Metadata<'a>,
}

/// An instrumented assembly, not yet written.
struct WovenAssembly<'a> {
    woven: Woven<'a>,
    /// The input, for the manifest. `None` if no file is to be written.
    identity: Option<FileIdentity>,
    pdb_output: Option<PathBuf>,
}

/// The result for an assembly that was written, if files are written.
struct WrittenAssembly<'a> {
    woven: Woven<'a>,
    size: u64,
    module_hash: Option<[u8; 20]>,
    pdb_output: Option<PathBuf>,
}

fn instrument_assembly(job: &Job, context: &RunContext<'_>, outputs: &mut Outputs) -> Result<Instrumented> {
    let input = job.read()?;
    let mut skip = |outcome| skip(job, context, input.len() as u64, outcome, outputs);
    let assembly = match open_assembly(job, context, &input)? {
        Ok(assembly) => assembly,
        Err(outcome) => return skip(outcome),
    };
    let woven = match weave_assembly(job, context, &assembly)? {
        Ok(woven) => woven,
        Err(outcome) => return skip(outcome),
    };
    let written = write_assembly(job, context, &assembly, woven, outputs)?;
    describe(job, context, &assembly, written)
}

/// Copies a file as it is.
fn skip(job: &Job, context: &RunContext<'_>, size: u64, outcome: Outcome, outputs: &mut Outputs) -> Result<Instrumented> {
    if context.writes() {
        outputs.copy(&job.input, &job.output)?;
    }
    let file = unread(job, outcome);
    Ok(Instrumented { report: FileReport { input_size: size, output_size: size, ..file.report }, ..file })
}

/// Returns a refusal as the outcome of the file. It is a failure of a file that was named.
fn refuse<T>(job: &Job, context: &RunContext<'_>, refusal: Refusal) -> Step<T> {
    if job.is_named && !(context.request.is_in_place() && refusal == Refusal::AlreadyWoven) {
        return Err(Failure::refused(format_args!("{}: {refusal}", job.input.display())));
    }
    Ok(Err(Outcome::Refused(refusal)))
}

/// Returns an error of weaving as the outcome of the file. It is a failure of a file that was named.
fn not_woven<T>(job: &Job, context: &RunContext<'_>, error: &ecma335::Error) -> Step<T> {
    match Refusal::from_error(error) {
        Some(refusal) => refuse(job, context, refusal),
        None if job.is_named => Err(not_an_assembly(&job.input, error)),
        None => Ok(Err(Outcome::NotAnAssembly(error.to_string()))),
    }
}

fn open_assembly<'a>(job: &Job, context: &RunContext<'_>, bytes: &'a [u8]) -> Step<Assembly<'a>> {
    let (image, metadata) = match ecma335::open(bytes) {
        Ok(read) => read,
        Err(error) if job.is_named => {
            return Err(not_an_assembly(&job.input, format_args!("{error}{}", host_hint(&job.input, bytes))));
        }
        Err(error) => return Ok(Err(Outcome::NotAnAssembly(error.to_string()))),
    };
    let embeds = context.options.weave.embed;
    let for_embedding = || embeds.then(|| refusal::for_embedding(&metadata, context.tracker)).flatten();
    if let Some(refusal) = refusal::for_file(&image, &metadata, context.tracker).or_else(for_embedding) {
        return refuse(job, context, refusal);
    }
    let framework = context.framework.as_ref().filter(|_| !job.is_program);
    if framework.is_some_and(|framework| framework.has(&job.input, &metadata, include(context))) {
        return Ok(Err(Outcome::Framework));
    }
    Ok(Ok(Assembly { bytes, image, metadata }))
}

fn weave_assembly<'a>(job: &Job, context: &RunContext<'_>, assembly: &Assembly<'a>) -> Step<WovenAssembly<'a>> {
    let Assembly { bytes, image, metadata } = assembly;
    let pdb = Pdb::read(job.pdb.as_ref())?;
    let pdb_name = job.pdb.as_ref().map(|pdb| pdb.name.as_str());
    let own_tracker = own_tracker(job, context)?;
    let weaving = Weave {
        tracker: own_tracker.as_ref().unwrap_or(context.tracker),
        options: &context.options.weave,
        tool: TOOL,
        pdb: pdb.as_deref(),
        pdb_name,
        modules: &context.modules,
        keys: context.keys,
    };
    let hash = || context.writes().then(|| FileIdentity::new(file_name(&job.input), std::iter::once(*bytes)));
    // Instrumenting bodies keeps all processors busy, but the final assembly only one: another can hash the input then.
    let bodies = match WovenBodies::new(image, metadata, &weaving) {
        Ok(bodies) => bodies,
        Err(error) => return not_woven(job, context, &error),
    };
    let (woven, identity) = join(bytes.len() as u64 >= LARGE, || bodies.finish(), hash);
    let mut woven = match woven {
        Ok(woven) => woven,
        Err(error) => return not_woven(job, context, &error),
    };
    let has_woven = woven.methods.iter().any(std::result::Result::is_ok);
    if let Some(listed) = has_woven.then(|| browser::listed(&job.input, bytes)).flatten() {
        let (file, list) = (job.input.display(), file_name(&listed.list));
        let text = format_args!("{file}: {list} has its SHA-256, and browsers load no other file; {}", browser::IN_ITS_BUILD);
        return Err(Failure::refused(text));
    }
    if has_woven && mdb_path(&job.input).is_file() {
        woven.notes.push(if context.request.is_in_place() { Note::MdbStale } else { Note::MdbLeftOut });
    }
    // In place, a file without instrumented methods is its own output.
    let identity = identity.filter(|_| !context.request.is_in_place() || has_woven);
    let pdb_output = woven.pdb.as_ref().and(pdb_name).map(|name| job.output.with_file_name(name));
    Ok(Ok(WovenAssembly { woven, identity, pdb_output }))
}

/// Returns the tracker for the program's own .NET, if the code depends on it: an embedded one, and one for a .NET without the
/// methods of spans. If that .NET lacks an essential part, writing the file reports it.
fn own_tracker(job: &Job, context: &RunContext<'_>) -> Result<Option<Tracker>> {
    let beside = || context.trackers.beside(&job.input, &job.output);
    if context.options.weave.embed {
        return beside()?.read().map(Some);
    }
    let lacks_spans = context.options.weave.capture_values() && beside().is_ok_and(|tracker| !tracker.has_spans);
    Ok(lacks_spans.then(|| context.tracker.clone().without_spans()))
}

fn write_assembly<'a>(
    job: &Job,
    context: &RunContext<'_>,
    assembly: &Assembly<'a>,
    WovenAssembly { mut woven, identity, pdb_output }: WovenAssembly<'a>,
    outputs: &mut Outputs,
) -> Result<WrittenAssembly<'a>> {
    let module_hash = job.is_module().then(|| woven.sha1());
    let size = woven.file.len() as u64;
    if let Some(identity) = identity {
        write_module(job, context, identity, (&assembly.image, &assembly.metadata), &mut woven, outputs)?;
        if let (Some(path), Some(content)) = (&pdb_output, &woven.pdb) {
            let from = job.pdb.as_ref().and_then(|pdb| pdb.path.as_deref()).unwrap_or(&job.input);
            outputs.write_like(from, path, |file| file.write_all(content))?;
        }
    }
    Ok(WrittenAssembly { woven, size, module_hash, pdb_output })
}

fn describe(
    job: &Job,
    context: &RunContext<'_>,
    Assembly { bytes, image, metadata }: &Assembly<'_>,
    WrittenAssembly { woven, size, module_hash, pdb_output }: WrittenAssembly<'_>,
) -> Result<Instrumented> {
    let has_patterns = context.options.weave.patterns().next().is_some();
    let used = has_patterns.then(|| are_used(metadata, &context.options.weave)).transpose();
    let used = used.map_err(|error| not_an_assembly(&job.input, error))?.unwrap_or_default();
    let left_alone = left_alone(metadata, &woven.methods, context.options.names_expected);
    let file = unread(job, Outcome::Processed { methods: woven.methods, left_alone, notes: woven.notes });
    let report = FileReport { input_size: bytes.len() as u64, output_size: size, pdb: pdb_output, ..file.report };
    let companions = if job.is_named { companions(job, context, image, metadata) } else { Vec::new() };
    let has_key = strong_name::key_of(metadata, context.keys).is_some();
    Ok(Instrumented { report, module_hash, companions, used, has_key })
}

/// Returns the companions of a named input, with their destinations.
fn companions(job: &Job, context: &RunContext<'_>, image: &Image<'_>, metadata: &Metadata<'_>) -> Vec<(PathBuf, PathBuf)> {
    let mut companions = modules(&job.input, &job.output, metadata);
    if context.request.copies.unwrap_or_else(|| is_program(&job.input, image)) {
        companions.extend(settings(&job.input, &job.output));
        companions.extend(references(&job.input, &job.output, metadata));
    }
    if context.request.is_in_place() {
        companions.extend(lists_that_name(&job.input).into_iter().map(|list| (list.clone(), list)));
    }
    companions
}

/// Returns the patterns of `--include`.
fn include<'c>(context: &'c RunContext<'_>) -> &'c [Pattern] {
    &context.options.weave.selection.include
}

/// Writes the woven file and reads it again, instead of what is here of it; its manifest is written beside that.
fn write_module(
    job: &Job,
    context: &RunContext<'_>,
    identity: FileIdentity,
    input: (&Image<'_>, &Metadata<'_>),
    woven: &mut Woven<'_>,
    outputs: &mut Outputs,
) -> Result<()> {
    let tracker = context.trackers.beside(&job.input, &job.output)?;
    let manifest = Manifest {
        options: &context.options.weave.to_string(),
        input: identity,
        tracker: &tracker,
        is_embedded: context.options.weave.embed,
        module_key: woven.module_key,
        mvid: woven.mvid,
        notes: &woven.notes,
        methods: &woven.methods,
        calls: &woven.calls,
    };
    let mut manifest_file = outputs.more();
    let broken = |fault| broken(job, input.1, &fault);
    let write_and_compare = || {
        outputs.write_like(&job.input, &job.output, |file| woven.file.write_to(file))?;
        let written = outputs.last_written().unwrap_or_default();
        let difference = File::open(&written).and_then(|file| woven.file.first_difference(file));
        match difference.map_err(|error| Failure::unreadable(about(&job.output, &error)))? {
            Some(at) => Err(broken(Fault::written_otherwise(at))),
            None => Ok(written),
        }
    };
    let has_methods = !woven.methods.is_empty();
    let write_manifest = || {
        // A satellite assembly has no methods, and so needs no manifest.
        if !has_methods {
            return Ok(());
        }
        let identity = || FileIdentity::new(file_name(&job.output), woven.file.iter());
        manifest_file.write(&manifest_path(&job.output), |file| manifest.write(input.1, identity, file))
    };
    let (written, manifest_written) = join(woven.file.len() as u64 >= LARGE, write_and_compare, write_manifest);
    outputs.append(manifest_file);
    let written = written?;
    manifest_written?;
    // The written file has the same contents, which need not be in memory twice.
    woven.file = Segments::default();
    check_contents(&Input::map(&written)?, woven, input).map_err(broken)
}

/// Returns the failure of an output check, with the method to name in a bug report. Nothing is written in this case.
fn broken(job: &Job, metadata: &Metadata<'_>, fault: &Fault) -> Failure {
    let name = fault.method.map(|method| format!("{}: ", name_methods(metadata)(method)));
    Failure::broken_output(format_args!(
        "{}: {}{fault}; this is a fault of ilinst, so nothing was written: please report it, and --exclude the method meanwhile",
        job.output.display(),
        name.unwrap_or_default()
    ))
}

/// Runs both, in parallel if that pays off.
fn join<A: Send, B: Send>(is_worth_it: bool, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
    if is_worth_it { rayon::join(one, other) } else { (one(), other()) }
}
