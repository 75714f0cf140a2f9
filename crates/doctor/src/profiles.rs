//! Findings in a profile, about itself and about the files it was recorded from.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use instrument::Input;
use names::Mark;
use profile::{End, Profile, SampleType, model::Mode};
use report::{losses, missing_names};

use crate::{
    finding::{Code, Finding},
    folder::Folder,
};

/// Trackers that may not write where they are asked to write into a folder of this name below the temporary one.
const FALLBACK: &str = "ilinst-";

/// The faults of a profile. With the instrumented folder, also the assemblies that did not run.
pub fn of_profile(path: &Path, profile: &Profile, folder: Option<&Folder>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |code, place: &Path, what: String, advice: &str| findings.push(Finding::new(code, place, what, advice));
    if profile.end == End::Unknown {
        let what = "the program was cut off: what it did up to then is there, but for names of the last tenth of a second";
        find(
            Code::Killed,
            path,
            what.into(),
            "nothing, unless names are missing: then add --symbols DIR with the instrumented files",
        );
    }
    if profile.disk_was_full {
        let what = "the disk was full: the call paths that came last are missing, with their time";
        find(Code::DiskFull, path, what.into(), "ILINST_OUTPUT names a place with more room; ILINST_MAX_NODES makes it smaller");
    }
    let losses = losses(profile);
    if losses.overflow > 0 {
        let what = format!("{} calls beyond the limit of {} call paths have no callers", losses.overflow, profile.max_nodes);
        find(Code::Limit, path, what, "ILINST_MAX_NODES raises the limit");
    }
    if profile.is_paused || profile.paused > 0 {
        let what = match profile.is_paused {
            true => "nothing is recorded, as the program was started or asked to pause".to_owned(),
            false => format!("nothing was recorded for {:.1} ms, while it was paused", profile.milliseconds(profile.paused)),
        };
        find(Code::Paused, path, what, "ilinst resume PID, or Ilinst.Profile.Resume(); start without ILINST_START=paused");
    }
    if profile.mode == Mode::Count {
        let what = "only calls were counted: there are no times and no callers";
        find(Code::CountOnly, path, what.into(), "start without ILINST_MODE=count");
    }
    if let Some(missing) = missing_names(profile) {
        find(Code::NoNames, path, missing, "ilinst report --symbols DIR");
    }
    if folder_name(path).is_some_and(|name| name.starts_with(FALLBACK)) {
        let what = "it is below the temporary folder, as it could not be written where it was wanted";
        find(Code::NotWritable, path, what.into(), "ILINST_OUTPUT names a folder that the program may write to");
    }
    let files: BTreeSet<PathBuf> = profile.modules.iter().map(|module| PathBuf::from(&module.path)).collect();
    for module in profile.modules.iter().filter(|module| Path::new(&module.path).is_file()) {
        if !has_key(Path::new(&module.path), module.key) {
            let what = "it is no longer the file that the program ran: another one has been put there since";
            find(Code::CopiedBack, Path::new(&module.path), what.into(), "instrument again; names come from the profile itself");
        }
    }
    for woven in folder.iter().flat_map(|folder| &folder.woven) {
        if profile.modules.iter().any(|module| module.key == woven.module_key) {
            continue;
        }
        let same_name = files.iter().find(|file| file.file_name() == woven.path.file_name());
        match same_name {
            Some(other) => {
                let what = format!("the program ran another file of this name: {}", other.display());
                find(Code::OtherFileLoaded, &woven.path, what, "start the program from the instrumented folder");
            }
            // Nothing was to be recorded.
            None if profile.is_paused => {}
            None => {
                let what = "none of its methods is in the profile: it was not loaded, or none of them was called";
                find(Code::NotCalled, &woven.path, what.into(), "nothing, if this run had no need of it");
            }
        }
    }
    if profile.sum(SampleType::CALLS) == 0 && profile.functions.is_empty() && !profile.is_paused {
        let what = "it has no call: the tracker was started, and no instrumented method ran after that";
        find(Code::NotCalled, path, what.into(), "ilinst reset begins a profile anew: it holds what came after that");
    }
    findings
}

/// Whether method ids of the woven file at a path begin with this.
fn has_key(path: &Path, key: u64) -> bool {
    let Ok(bytes) = Input::open(path) else { return false };
    ecma335::open(&bytes).is_ok_and(|(_, metadata)| Mark::read_all(&metadata).any(|mark| mark.module_key == key))
}

fn folder_name(path: &Path) -> Option<String> {
    Some(path.canonicalize().ok()?.parent()?.file_name()?.to_string_lossy().into_owned())
}
