//! The lines of several profiles together.

use std::{
    collections::BTreeMap,
    path::{self, Path, PathBuf},
    time::SystemTime,
};

use names::Visible;
use profile::{
    Profile,
    lines::{self, SourceFile},
};

use crate::{failure::Failure, lines::HOW_TO_RECORD, profiles, sources, terminal::complain};

/// Files of profiles, each with the time of its last change.
#[derive(PartialEq)]
pub(crate) struct Profiles(BTreeMap<PathBuf, Option<SystemTime>>);

impl Profiles {
    pub(crate) fn of_files(paths: Vec<PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| (path.clone(), profiles::modified(&path))).collect())
    }
}

/// Adds up the lines of profiles: in the newest profile that has any, whose path is returned too.
pub(crate) fn read(files: &Profiles, root: Option<&Path>, is_quiet: bool) -> Result<(PathBuf, Profile), Failure> {
    let mut all = Vec::new();
    for path in files.0.keys() {
        let profile = profiles::read(path, None)?;
        profiles::warn_of_damage(path, &profile);
        if profile.lines.is_empty() {
            if files.0.len() == 1 {
                return Err(Failure::usage(format_args!("{}: {HOW_TO_RECORD}", path.display())));
            }
            if !is_quiet {
                complain(format_args!("note: {}: {HOW_TO_RECORD}", path.display()));
            }
            continue;
        }
        all.push((path.clone(), profile));
    }
    all.sort_by_key(|(_, profile)| profile.start_time);
    let of_newest = newest_versions(all.iter_mut().rev().map(|(path, profile)| (&**path, std::mem::take(&mut profile.lines))));
    let Some((path, mut profile)) = all.pop() else {
        return Err(Failure::usage(format_args!("none of the profiles has counts of lines; {HOW_TO_RECORD}")));
    };
    profile.lines = lines::merge(of_newest.into_iter().map(|file| moved(file, root)));
    Ok((path, profile))
}

/// The files of all profiles, the newest first. Of a file that has changed between them, only the newest version is kept: lines of
/// two versions cannot be added.
fn newest_versions<'p>(all: impl Iterator<Item = (&'p Path, Vec<SourceFile>)>) -> Vec<SourceFile> {
    let mut kept: Vec<SourceFile> = Vec::new();
    let mut hashes = BTreeMap::new();
    for (path, files) in all {
        for file in files {
            let hash = file.hash.as_ref().map(|hash| hash.bytes.clone());
            if *hashes.entry(file.path.clone()).or_insert_with(|| hash.clone()) == hash {
                kept.push(file);
            } else {
                let (profile, file) = (path.display(), Visible(&file.path));
                complain(format_args!("warning: {profile}: not added: counts of {file}, which has changed since that run"));
            }
        }
    }
    kept
}

/// A file with the path that it has now, if that is under the root.
fn moved(file: SourceFile, root: Option<&Path>) -> SourceFile {
    let Some(root) = root else { return file };
    let place = sources::place_of(&file.path, Some(root)).and_then(|place| path::absolute(place).ok());
    let path = place.and_then(|place| place.to_str().map(str::to_owned)).unwrap_or_else(|| file.path.clone());
    SourceFile { path, ..file }
}
