//! Deployment: the files beside instrumented files, written once these are known. These are companions, and the tracker in each
//! folder where a program looks for it. Each `deps.json` there gets an entry for the tracker.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::{Path, PathBuf},
};

use framework::is_deps_json;
use weave::Refusal;

use crate::{
    context::RunContext,
    deps_json::{lists_that_name, with_tracker},
    failure::{Failure, Result},
    file::Instrumented,
    job::Job,
    outputs::Outputs,
    paths::{file_name, folder_of, folders_of, is_same_file},
    report::{FileReport, Outcome},
    request::Destination,
    tracker::{TRACKER_FILE, TrackerFile},
};

/// Writes all files that go beside instrumented files, and warns of programs that will not find the tracker. Returns the
/// companions that were read.
pub(crate) fn deploy(
    jobs: &[Job],
    files: &mut [Instrumented],
    context: &RunContext<'_>,
    outputs: &mut Outputs,
) -> Result<BTreeSet<PathBuf>> {
    let companions = companions_by_place(jobs, files);
    for file in files.iter_mut() {
        let copied = file.companions.iter().filter(|(from, to)| companions.get(to) == Some(from) && !is_same_file(from, to));
        file.report.copied = copied.map(|(from, _)| from.clone()).collect();
    }
    let reports = || files.iter().map(|file| &file.report);
    let is_woven = |file: &&FileReport| file.woven() > 0;
    // A `deps.json` that is rewritten beside an already instrumented file needs the entry again.
    let is_woven_still = |file: &&FileReport| is_woven(file) || matches!(file.outcome, Outcome::Refused(Refusal::AlreadyWoven));
    let mut deployment = Deployment {
        jobs,
        context,
        woven: reports().filter(is_woven).collect(),
        woven_folders: folders_of(reports().filter(is_woven_still).map(|file| &*file.output)),
        warnings: Vec::new(),
    };
    // The folders where the tracker is looked for, each with the folder of its inputs.
    let mut tracker_folders = deployment.woven_by_folder();
    for (to, from) in &companions {
        if let Some(folder) = deployment.write_companion(from, to, outputs)? {
            tracker_folders.entry(folder).or_insert_with(|| folder_of(from));
        }
    }
    deployment.check_lists_of_others(&companions)?;
    deployment.check_linked_lists();
    let reports: Vec<&FileReport> = reports().collect();
    for (folder, from) in &tracker_folders {
        let tracker = (!context.options.weave.embed).then(|| context.trackers.in_folder(from, folder)).transpose()?;
        if context.writes() {
            tracker.iter().try_for_each(|tracker| put_tracker(folder, tracker, &reports, outputs))?;
            context.hooks().iter().try_for_each(|hooks| hooks.write(folder, outputs))?;
        }
    }
    for (place, text) in deployment.warnings {
        let is_there = |file: &FileReport| [&file.output, &file.input].iter().any(|path| folder_of(path).starts_with(&place));
        if let Some(file) = files.iter_mut().map(|file| &mut file.report).find(|file| file.woven() > 0 && is_there(file)) {
            file.warnings.push(text);
        }
    }
    Ok(companions.into_values().collect())
}

/// Returns the source of each companion, by destination: a program and its libraries may share companions.
fn companions_by_place(jobs: &[Job], files: &[Instrumented]) -> BTreeMap<PathBuf, PathBuf> {
    let named = files.iter().flat_map(|file| &file.companions);
    let mut companions: BTreeMap<PathBuf, PathBuf> = named.map(|(from, to)| (to.clone(), from.clone())).collect();
    let outputs = files.iter().flat_map(|file| [Some(&file.report.output), file.report.pdb.as_ref()]).flatten();
    outputs.for_each(|output| drop(companions.remove(output)));
    let lists = jobs.iter().filter(|job| job.link.is_none() && is_deps_json(&job.input));
    companions.extend(lists.map(|job| (job.output.clone(), job.input.clone())));
    companions
}

struct Deployment<'a> {
    jobs: &'a [Job],
    context: &'a RunContext<'a>,
    woven: Vec<&'a FileReport>,
    /// The folders with outputs that are instrumented, by this run or an earlier one.
    woven_folders: BTreeSet<PathBuf>,
    /// By folder: the reason why a program there will not find the tracker.
    warnings: Vec<(PathBuf, String)>,
}

impl Deployment<'_> {
    /// Copies a companion, or writes it with an entry for the tracker. Returns the folder of a changed `deps.json`.
    fn write_companion(&mut self, from: &Path, to: &Path, outputs: &mut Outputs) -> Result<Option<PathBuf>> {
        let list_folder = folder_of(to);
        let is_same = is_same_file(from, to);
        let is_program_list = is_deps_json(from) && self.is_list_of_woven(&list_folder);
        match if is_program_list { with_tracker(from, self.context.options)? } else { Ok(None) } {
            Ok(Some(_)) if is_same && self.goes_elsewhere() => self.warnings.push((list_folder, untold(from))),
            Ok(Some(text)) => {
                if self.context.writes() {
                    outputs.write_like(from, to, |file| file.write_all(&text))?;
                }
                return Ok(Some(list_folder));
            }
            unchanged => {
                if self.context.writes() && !is_same {
                    outputs.copy(from, to)?;
                }
                if let Err(why) = unchanged {
                    let from = from.display();
                    let text = format!("the tracker could not be added to {from}, so the program may not find it: {why}");
                    self.warnings.push((list_folder, text));
                }
            }
        }
        Ok(None)
    }

    /// Checks the `deps.json` of a program whose folder gets only a library: that file is not part of this run.
    fn check_lists_of_others(&mut self, companions: &BTreeMap<PathBuf, PathBuf>) -> Result<()> {
        if !self.goes_elsewhere() || !self.jobs.iter().all(|job| job.is_named) {
            return Ok(());
        }
        let lists: BTreeSet<PathBuf> = self.woven.iter().flat_map(|file| lists_that_name(&file.output)).collect();
        for list in lists.iter().filter(|list| !companions.contains_key(*list)) {
            if let Ok(Some(_)) = with_tracker(list, self.context.options)? {
                self.warnings.push((folder_of(list), untold(list)));
            }
        }
        // The programs that load a library stay where they are, and so do their `deps.json` files.
        let copied: BTreeSet<&PathBuf> = companions.values().collect();
        for file in &self.woven {
            let lists = lists_that_name(&file.input).into_iter().filter(|list| !copied.contains(list));
            if let Some(list) = lists.into_iter().find(|list| matches!(with_tracker(list, self.context.options), Ok(Ok(Some(_)))))
            {
                let (list, library) = (list.display(), file_name(&file.input));
                let text = format!(
                    "{list} lists {library} but not the tracker, so that program would not find the tracker if you put \
                     {library} back: instrument the program's folder, or use --embed"
                );
                self.warnings.push((folder_of(&file.output), text));
            }
        }
        Ok(())
    }

    fn check_linked_lists(&mut self) {
        for job in self.jobs.iter().filter(|job| job.link.is_some() && is_deps_json(&job.input)) {
            let list_folder = folder_of(&job.output);
            if self.is_list_of_woven(&list_folder) && matches!(with_tracker(&job.input, self.context.options), Ok(Ok(Some(_)))) {
                let text = "lists what the program may load, and is a link: add the tracker to what it leads to";
                self.warnings.push((list_folder, format!("{} {text}", job.input.display())));
            }
        }
    }

    /// Returns the folders with outputs that this run instrumented, each with the folder of the inputs.
    fn woven_by_folder(&self) -> BTreeMap<PathBuf, PathBuf> {
        let folders: BTreeMap<_, _> = self.woven.iter().map(|file| ((file.output.parent(), file.input.parent()), file)).collect();
        folders.into_values().map(|file| (folder_of(&file.output), folder_of(&file.input))).rev().collect()
    }

    fn is_list_of_woven(&self, list_folder: &Path) -> bool {
        self.woven_folders.iter().any(|woven| woven.starts_with(list_folder))
    }

    fn goes_elsewhere(&self) -> bool {
        matches!(self.context.request.destination, Destination::Path(_))
    }
}

fn untold(list: &Path) -> String {
    let text = "lists the files of its program, and is not written to this output, so it lacks the tracker: use --in-place";
    format!("{} {text}", list.display())
}

/// Writes the tracker, and refuses to replace any file but an earlier tracker.
fn put_tracker(folder: &Path, tracker: &TrackerFile, files: &[&FileReport], outputs: &mut Outputs) -> Result<()> {
    let path = folder.join(TRACKER_FILE);
    let is_there =
        |file: &&&FileReport| file_name(&file.output).eq_ignore_ascii_case(TRACKER_FILE) && folder_of(&file.output) == folder;
    match files.iter().find(is_there) {
        Some(file) if matches!(file.outcome, Outcome::Refused(Refusal::IsTracker)) => outputs.forget(&file.output),
        Some(file) => {
            let text = format_args!("{}: the tracker has to be there, and {} would be", path.display(), file.input.display());
            return Err(Failure::usage(text));
        }
        None => {}
    }
    tracker.write(&path, outputs)
}
