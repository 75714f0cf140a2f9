//! What goes beside woven files, once it is known which these are: companions, and the tracker.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::{Path, PathBuf},
};

use weave::Refusal;

use super::{
    Opts,
    process::{Job, file_name},
    summary::{Done, Outcome},
};
use crate::{
    companions::{TRACKER_FILE, is_deps_json, lists_that_name, missing_for_tracker, with_tracker, write_tracker},
    failure::Failure,
    io::{Outputs, is_same_file, place},
};

/// Copies the companions, has lists of what may be loaded tell of the tracker, and writes that into every folder where it is
/// looked for. Gives the companions that were read.
pub(super) fn write_beside(
    jobs: &[Job],
    done: &mut [Done],
    opts: &Opts,
    outputs: &mut Outputs,
) -> anyhow::Result<BTreeSet<PathBuf>> {
    // By where they go: a program and its libraries have them in common.
    let mut companions: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for (from, to) in done.iter().flat_map(|done| &done.companions) {
        companions.insert(to.clone(), from.clone());
    }
    jobs.iter().for_each(|job| drop(companions.remove(&job.output)));
    let lists = jobs.iter().filter(|job| job.link.is_none() && is_deps_json(&job.input));
    companions.extend(lists.map(|job| (job.output.clone(), job.input.clone())));

    let mut folders: BTreeSet<PathBuf> = done.iter().filter(|done| done.woven() > 0).map(|done| folder(&done.output)).collect();
    // A list that was written anew beside a file that is woven already is told again.
    let is_woven = |done: &&Done| done.woven() > 0 || matches!(done.outcome, Outcome::Refused(Refusal::AlreadyWoven));
    let woven: BTreeSet<PathBuf> = done.iter().filter(is_woven).map(|done| folder(&done.output)).collect();
    let is_listed_in = |list_folder: &Path| woven.iter().any(|woven| woven.starts_with(list_folder));
    let mut warnings: Vec<(PathBuf, String)> = Vec::new();
    for (to, from) in &companions {
        let list_folder = folder(to);
        let is_same = is_same_file(from, to);
        let is_program_list = is_deps_json(from) && is_listed_in(&list_folder);
        match if is_program_list { with_tracker(from)? } else { Ok(None) } {
            Ok(Some(_)) if is_same && opts.output.is_some() => warnings.push((list_folder, untold(from))),
            Ok(Some(text)) => {
                if !opts.dry_run {
                    outputs.write_like(from, to, |file| file.write_all(&text))?;
                }
                folders.insert(list_folder);
            }
            unchanged => {
                if !opts.dry_run && !is_same {
                    outputs.copy(from, to)?;
                }
                if let Err(why) = unchanged {
                    let why =
                        format!("the tracker could not be added to {}, so the program may not find it: {why}", from.display());
                    warnings.push((list_folder, why));
                }
            }
        }
    }
    // Into a program's folder: its own list is none of the files of this run.
    let named = done.iter().filter(|done| opts.output.is_some() && done.woven() > 0 && jobs.iter().all(|job| job.named));
    let lists: BTreeSet<PathBuf> = named.flat_map(|done| lists_that_name(&done.output)).collect();
    for list in lists.iter().filter(|list| !companions.contains_key(*list)) {
        if let Ok(Some(_)) = with_tracker(list)? {
            warnings.push((folder(list), untold(list)));
        }
    }
    for job in jobs.iter().filter(|job| job.link.is_some() && is_deps_json(&job.input)) {
        let list_folder = folder(&job.output);
        if is_listed_in(&list_folder) && matches!(with_tracker(&job.input), Ok(Ok(Some(_)))) {
            let text = "lists what the program may load, and is a link: add the tracker to what it leads to";
            warnings.push((list_folder, format!("{} {text}", job.input.display())));
        }
    }
    let inputs: BTreeSet<PathBuf> = done.iter().filter(|done| done.woven() > 0).map(|done| folder(&done.input)).collect();
    for input in inputs {
        let missing = missing_for_tracker(&input)?.join(" and ");
        if !missing.is_empty() {
            let text =
                format!("the tracker needs {missing}, which this self-contained program does not have: publish it untrimmed");
            warnings.push((input, text));
        }
    }
    for (place, text) in warnings {
        let is_there = |done: &Done| [&done.output, &done.input].iter().any(|path| folder(path).starts_with(&place));
        if let Some(done) = done.iter_mut().find(|done| done.woven() > 0 && is_there(done)) {
            done.warnings.push(text);
        }
    }
    if !opts.dry_run {
        folders.iter().try_for_each(|folder| put_tracker(folder, done, outputs))?;
    }
    Ok(companions.into_values().collect())
}

fn untold(list: &Path) -> String {
    let text = "lists what its program may load, and is not written here, so the tracker is not in it: weave in place";
    format!("{} {text}", list.display())
}

/// Nothing else may be written in the tracker's place, but the tracker that was there.
fn put_tracker(folder: &Path, done: &[Done], outputs: &mut Outputs) -> anyhow::Result<()> {
    let path = folder.join(TRACKER_FILE);
    let is_there =
        |done: &&Done| file_name(&done.output).eq_ignore_ascii_case(TRACKER_FILE) && self::folder(&done.output) == folder;
    match done.iter().find(is_there) {
        Some(done) if matches!(done.outcome, Outcome::Refused(Refusal::IsTracker)) => outputs.forget(&done.output),
        Some(done) => {
            let text = format_args!("{}: the tracker has to be there, and {} would be", path.display(), done.input.display());
            return Err(Failure::usage(text));
        }
        None => {}
    }
    write_tracker(&path, outputs)
}

/// The folder that a file is in, by whatever path.
fn folder(path: &Path) -> PathBuf {
    place(path).parent().unwrap_or_else(|| Path::new("")).to_owned()
}
