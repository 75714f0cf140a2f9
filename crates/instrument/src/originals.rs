//! The originals of files instrumented in place: a folder beside them, with a list of the files written there.

use std::{
    collections::{BTreeMap, btree_map},
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use framework::is_deps_json;
use names::Mark;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, Result, about},
    file_identity::FileIdentity,
    input::{Input, read_assembly},
    outputs::Outputs,
    paths::place,
    staging::{remove_leftovers, uninterrupted},
    tracker::TRACKER_FILE,
};

/// The folder's name. Each folder with files instrumented in place has one.
const FOLDER: &str = ".ilinst-originals";
/// The list of files in it.
const LIST: &str = "originals.json";

/// The written files of one folder, sorted by name.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct List {
    files: Vec<Written>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    name: Name,
    /// The hash of the written file. A file with another hash was changed since, and belongs to the user.
    sha256: String,
    /// Whether the file replaced another, whose original has the same name.
    is_kept: bool,
}

/// A file name: text in JSON if it is valid Unicode.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Other(OsString),
}

/// Refuses a link in place of the folder of originals. Files of another folder would be overwritten, and removed when originals
/// are restored.
fn refuse_link(folder: &Path) -> Result<()> {
    let originals = folder.join(FOLDER);
    if fs::symlink_metadata(&originals).is_ok_and(|metadata| !metadata.is_dir()) {
        let text =
            format_args!("{}: it is no folder of its own, and originals are kept in one: move it away", originals.display());
        return Err(Failure::no_originals(text));
    }
    Ok(())
}

/// The result of restoring files.
#[derive(Default)]
pub struct Restored {
    /// The number of restored originals.
    pub put_back: usize,
    /// The number of removed files that had no original.
    pub removed: usize,
    /// Files changed since, which are kept, with the paths of their originals if they have one.
    pub changed: Vec<(PathBuf, Option<PathBuf>)>,
}

/// Returns whether a folder contains originals, and so is not the program's own.
pub(crate) fn is_folder_of_originals(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == FOLDER)
}

/// Returns whether a folder has originals that [`restore`] can put back.
pub fn is_woven_in_place(folder: &Path) -> bool {
    folder.join(FOLDER).join(LIST).exists()
}

/// Keeps the originals of all files to replace, then replaces these. The originals and their list are complete before the first
/// file is replaced.
pub(crate) fn commit(outputs: Outputs) -> Result<()> {
    let mut lists: BTreeMap<PathBuf, List> = BTreeMap::new();
    let mut originals = outputs.more();
    for (temporary, path) in outputs.pending() {
        // Different paths may lead to two files of one folder.
        let place = place(path);
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { continue };
        let list = match lists.entry(folder.to_owned()) {
            btree_map::Entry::Occupied(entry) => entry.into_mut(),
            btree_map::Entry::Vacant(entry) => entry.insert(List::read(folder)?.unwrap_or_default()),
        };
        let index = list.files.iter().position(|file| file.name.as_os_str() == name);
        let is_kept = match index.and_then(|index| list.files.get(index)) {
            // A file of an earlier run keeps that run's original.
            Some(file) if file.is_as_written(path)? => file.is_kept,
            _ => keep(path, &folder.join(FOLDER).join(name), &mut originals)?,
        };
        let file = Written { name: Name::new(name), sha256: sha256(temporary)?, is_kept };
        match index.and_then(|index| list.files.get_mut(index)) {
            Some(before) => *before = file,
            None => list.files.push(file),
        }
    }
    for (folder, list) in &mut lists {
        list.files.sort_by(|one, other| one.name.as_os_str().cmp(other.name.as_os_str()));
        originals.write(&folder.join(FOLDER).join(LIST), |file| list.write(file))?;
    }
    originals.append(outputs);
    originals.commit()
}

/// Keeps the file at a path, if there is one.
fn keep(path: &Path, kept: &Path, originals: &mut Outputs) -> Result<bool> {
    if let Ok(target) = fs::read_link(path) {
        // The link has its own target again once it is restored.
        originals.link(&target, kept)?;
        return Ok(true);
    }
    let is_there = path.exists();
    if is_there {
        originals.copy(path, kept)?;
    }
    Ok(is_there)
}

/// Restores the originals of files instrumented in place, in a folder and below it. Keeps files that were changed since.
///
/// # Errors
/// If originals cannot be read or restored. A missing original is found before any file is restored.
pub fn restore(folder: &Path) -> Result<Restored> {
    let mut lists = Vec::new();
    find_lists(folder, &mut lists)?;
    for (folder, list) in &lists {
        for file in list.files.iter().filter(|file| file.is_kept) {
            let kept = file.kept(folder);
            if kept.symlink_metadata().is_err() && file.is_as_written(&file.path(folder))? {
                return Err(Failure::no_originals(format_args!("{}: it is gone, so nothing was put back", kept.display())));
            }
        }
    }
    let mut restored = Restored::default();
    for (folder, list) in lists {
        restore_files(&folder, list, &mut restored)?;
    }
    Ok(restored)
}

/// Restores the files of one folder. Steps that an interrupted run completed are skipped.
fn restore_files(folder: &Path, mut list: List, restored: &mut Restored) -> Result<()> {
    let mut rest = List::default();
    // Instrumented assemblies are restored first, so that they never lack the files they need to run.
    list.files.sort_by_key(|file| is_needed_to_run(&file.path(folder)));
    let mut is_woven_still = false;
    for file in &list.files {
        let path = file.path(folder);
        is_woven_still |= !file.is_as_written(&path)? && is_woven(&path);
    }
    let unfinished = uninterrupted();
    for file in list.files {
        let (path, kept) = (file.path(folder), file.kept(folder));
        if is_woven_still && is_needed_to_run(&path) {
            // Kept for other files that still need it, such as an assembly that was signed since.
            rest.files.push(file);
            continue;
        }
        let unwritable = |error: io::Error| Failure::unwritable(about(&path, &error));
        let is_same = || Result::Ok(is_file(&path)? && is_file(&kept)? && sha256(&path)? == sha256(&kept)?);
        if file.is_as_written(&path)? {
            if file.is_kept {
                fs::rename(&kept, &path).map_err(unwritable)?;
                restored.put_back += 1;
            } else if is_file(&path)? {
                fs::remove_file(&path).map_err(unwritable)?;
                restored.removed += 1;
            }
        } else if file.is_kept && (kept.symlink_metadata().is_err() || is_same()?) {
            let _ = fs::remove_file(&kept);
        } else {
            restored.changed.push((path, file.is_kept.then_some(kept)));
            rest.files.extend(file.is_kept.then_some(file));
        }
    }
    drop(unfinished);
    let originals = folder.join(FOLDER);
    if rest.files.is_empty() {
        fs::remove_file(originals.join(LIST)).map_err(|error| Failure::unwritable(about(&originals, &error)))?;
        // Fails if the user has put a file there, which stays.
        let _ = fs::remove_dir(&originals);
        return Ok(());
    }
    let mut outputs = Outputs::default();
    outputs.write(&originals.join(LIST), |file| rest.write(file))?;
    outputs.commit()
}

/// Returns whether instrumented assemblies need a file to run.
fn is_needed_to_run(path: &Path) -> bool {
    path.ends_with(TRACKER_FILE) || is_deps_json(path)
}

fn find_lists(folder: &Path, lists: &mut Vec<(PathBuf, List)>) -> Result<()> {
    remove_leftovers(folder);
    match List::read(folder)? {
        Some(list) => lists.push((folder.to_owned(), list)),
        // A killed run may have left the folder empty. The folder is kept if the user has files in it.
        None => drop(fs::remove_dir(folder.join(FOLDER))),
    }
    let entries = fs::read_dir(folder).map_err(|error| Failure::unreadable(about(folder, &error)))?;
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        find_lists(&entry.path(), lists)?;
    }
    Ok(())
}

impl List {
    fn read(folder: &Path) -> Result<Option<Self>> {
        refuse_link(folder)?;
        let path = folder.join(FOLDER).join(LIST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::no_originals(about(&path, &error))),
        };
        let list: Self = serde_json::from_slice(&text)
            .map_err(|error| Failure::no_originals(format_args!("{}: it cannot be read: {error}", path.display())))?;
        // The list may contain plain file names only, never paths to other folders.
        let is_plain = |file: &Written| Path::new(file.name.as_os_str()).file_name() == Some(file.name.as_os_str());
        if !list.files.iter().all(is_plain) {
            return Err(Failure::no_originals(format_args!("{}: it names files of other folders", path.display())));
        }
        Ok(Some(list))
    }

    fn write(&self, file: &mut fs::File) -> io::Result<()> {
        file.write_all(&serde_json::to_vec_pretty(self)?)
    }
}

impl Written {
    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.name.as_os_str())
    }

    fn kept(&self, folder: &Path) -> PathBuf {
        folder.join(FOLDER).join(self.name.as_os_str())
    }

    /// Returns whether a file is unchanged since it was written, or is gone: then no change of the user's can be lost.
    fn is_as_written(&self, path: &Path) -> Result<bool> {
        Ok(if is_file(path)? { sha256(path)? == self.sha256 } else { path.symlink_metadata().is_err() })
    }
}

impl Name {
    fn new(name: &OsStr) -> Self {
        name.to_str().map_or_else(|| Self::Other(name.to_owned()), |text| Self::Text(text.to_owned()))
    }

    fn as_os_str(&self) -> &OsStr {
        match self {
            Self::Text(text) => text.as_ref(),
            Self::Other(name) => name,
        }
    }
}

/// Returns whether a file is an instrumented assembly.
pub(crate) fn is_woven(path: &Path) -> bool {
    let input = Input::open(path);
    input.is_ok_and(|input| read_assembly(path, &input).is_ok_and(|(_, metadata)| Mark::read(&metadata).is_some()))
}

/// Returns whether a path is a file, and no link to one.
fn is_file(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::unreadable(about(path, &error))),
    }
}

fn sha256(path: &Path) -> Result<String> {
    Ok(FileIdentity::new(String::new(), std::iter::once(&*Input::open(path)?)).sha256)
}
