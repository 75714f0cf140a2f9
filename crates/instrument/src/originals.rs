//! The originals of what was woven in place: a folder beside the files, with a list of what was written there.

use std::{
    collections::{BTreeMap, btree_map},
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use weave::tracker::Mark;

use crate::{
    deps_json::is_deps_json,
    failure::{Failure, Result, about},
    file_identity::FileIdentity,
    input::{Input, read_assembly},
    outputs::Outputs,
    paths::place,
    staging::{remove_leftovers, uninterrupted},
    tracker::TRACKER_FILE,
};

/// The folder's name. It lies in every folder that something was woven in.
const FOLDER: &str = ".ilinst-originals";
/// The list in it.
const LIST: &str = "originals.json";

/// The files of one folder that were written, in the order of their names.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct List {
    files: Vec<Written>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    name: Name,
    /// Of what was written: a file with another was changed since, and is the user's.
    sha256: String,
    /// Whether there was a file before, which is kept under the same name.
    is_kept: bool,
}

/// A file's name: text in JSON, unless it is none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Other(OsString),
}

/// Originals are kept beside the files and nowhere else: a link would have files of another folder overwritten, and gone
/// when the originals are put back.
fn refuse_link(folder: &Path) -> Result<()> {
    let originals = folder.join(FOLDER);
    if fs::symlink_metadata(&originals).is_ok_and(|metadata| !metadata.is_dir()) {
        let text =
            format_args!("{}: it is no folder of its own, and originals are kept in one: move it away", originals.display());
        return Err(Failure::no_originals(text));
    }
    Ok(())
}

/// What became of the files that had been written.
#[derive(Default)]
pub struct Restored {
    /// How many got their originals back.
    pub put_back: usize,
    /// How many are gone, as they were not there before.
    pub removed: usize,
    /// Files that were changed since, and left as they are; and where their originals are still kept, if they had one.
    pub changed: Vec<(PathBuf, Option<PathBuf>)>,
}

/// Whether a folder holds originals, and so is none of the program's own.
pub(crate) fn is_folder_of_originals(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == FOLDER)
}

/// Whether originals are kept in a folder, so that [`restore`] has something to put back there.
pub fn is_woven_in_place(folder: &Path) -> bool {
    folder.join(FOLDER).join(LIST).exists()
}

/// Keeps the originals of all files that are to be replaced, then replaces them: nothing is replaced before all that it
/// takes to put the originals back is there.
pub(crate) fn commit(outputs: Outputs) -> Result<()> {
    let mut lists: BTreeMap<PathBuf, List> = BTreeMap::new();
    let mut originals = outputs.more();
    for (temporary, path) in outputs.pending() {
        // Two files of one folder may be named by different paths to it.
        let place = place(path);
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { continue };
        let list = match lists.entry(folder.to_owned()) {
            btree_map::Entry::Occupied(entry) => entry.into_mut(),
            btree_map::Entry::Vacant(entry) => entry.insert(List::read(folder)?.unwrap_or_default()),
        };
        let index = list.files.iter().position(|file| file.name.as_os_str() == name);
        let is_kept = match index.and_then(|index| list.files.get(index)) {
            // What an earlier run wrote has no other original than that run's.
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

/// Keeps what is at a path, if anything is.
fn keep(path: &Path, kept: &Path, originals: &mut Outputs) -> Result<bool> {
    if let Ok(target) = fs::read_link(path) {
        // It leads there again once it is put back.
        originals.link(&target, kept)?;
        return Ok(true);
    }
    let is_there = path.exists();
    if is_there {
        originals.copy(path, kept)?;
    }
    Ok(is_there)
}

/// Puts back what was woven in place in a folder and those below it, but for what was changed since.
///
/// # Errors
/// If originals cannot be read or put back; before anything is put back if one is gone.
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

/// What an interrupted run did already is found done.
fn restore_files(folder: &Path, mut list: List, restored: &mut Restored) -> Result<()> {
    let mut rest = List::default();
    // What is woven is put back first: at no moment does it lack what it needs to run.
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
            // By what was signed since, say.
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
        // Not if the user put something of his own there.
        let _ = fs::remove_dir(&originals);
        return Ok(());
    }
    let mut outputs = Outputs::default();
    outputs.write(&originals.join(LIST), |file| rest.write(file))?;
    outputs.commit()
}

/// Whether a file is what woven assemblies need beside themselves.
fn is_needed_to_run(path: &Path) -> bool {
    path.ends_with(TRACKER_FILE) || is_deps_json(path)
}

fn find_lists(folder: &Path, lists: &mut Vec<(PathBuf, List)>) -> Result<()> {
    remove_leftovers(folder);
    match List::read(folder)? {
        Some(list) => lists.push((folder.to_owned(), list)),
        // A run that was killed may have left it empty; another is the user's.
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
        // Names of files here, never paths to somewhere else.
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

    /// Whether a file is what was written, or is gone: then nothing of the user's is lost with it.
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

/// Whether a file is a woven assembly.
pub(crate) fn is_woven(path: &Path) -> bool {
    let input = Input::open(path);
    input.is_ok_and(|input| read_assembly(path, &input).is_ok_and(|(_, metadata)| Mark::read(&metadata).is_some()))
}

/// Whether it is a file, and no link to one.
fn is_file(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::unreadable(about(path, &error))),
    }
}

fn sha256(path: &Path) -> Result<String> {
    Ok(FileIdentity::of(String::new(), std::iter::once(&*Input::open(path)?)).sha256)
}
