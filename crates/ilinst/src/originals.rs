//! The originals of what was woven in place: a folder beside the files, with a list of what to put back and what to
//! remove.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, about},
    io::Outputs,
};

/// The folder's name. It lies in every folder that something was woven in.
const FOLDER: &str = ".ilinst-originals";
/// The list in it.
const LIST: &str = "originals.json";

/// What was done to the files of one folder, by their names.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct List {
    /// Files whose originals are kept.
    replaced: BTreeSet<String>,
    /// Files that were not there.
    created: BTreeSet<String>,
}

/// Whether a folder holds originals, and so is none of the program's own.
pub(crate) fn is_folder_of_originals(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == FOLDER)
}

/// Keeps the originals of all files that are to be replaced, then replaces them. Nothing is replaced before all that it
/// takes to put the originals back is there.
pub(crate) fn commit(outputs: Outputs) -> anyhow::Result<()> {
    let (replaced, created) = outputs.paths();
    let mut lists: BTreeMap<PathBuf, List> = BTreeMap::new();
    for (paths, is_new) in [(&replaced, false), (&created, true)] {
        for path in paths {
            let (folder, name) = split(path);
            let list = match lists.entry(folder.clone()) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => entry.insert(List::read(&folder)?.unwrap_or_default()),
            };
            // What an earlier run wrote has no other original than that run's.
            if list.replaced.contains(&name) || list.created.contains(&name) {
                continue;
            }
            if is_new {
                list.created.insert(name);
                continue;
            }
            let kept = folder.join(FOLDER).join(&name);
            let unwritable = |error: std::io::Error| Failure::unwritable(about(&kept, &error));
            fs::create_dir_all(folder.join(FOLDER)).map_err(unwritable)?;
            fs::copy(path, &kept).map_err(unwritable)?;
            list.replaced.insert(name);
        }
    }
    for (folder, list) in &lists {
        list.write(folder)?;
    }
    outputs.commit()
}

/// Puts back what was woven in place in a folder and those below it. Gives how many files were put back, and how many were
/// removed.
pub(crate) fn restore(folder: &Path) -> anyhow::Result<(usize, usize)> {
    let (mut put_back, mut removed) = (0, 0);
    if let Some(list) = List::read(folder)? {
        let originals = folder.join(FOLDER);
        let missing = list.replaced.iter().map(|name| originals.join(name)).find(|kept| !kept.is_file());
        if let Some(missing) = missing {
            return Err(Failure::no_originals(format_args!("{}: it is gone, so nothing was put back", missing.display())));
        }
        for name in &list.replaced {
            let path = folder.join(name);
            fs::rename(originals.join(name), &path).map_err(|error| Failure::unwritable(about(&path, &error)))?;
            put_back += 1;
        }
        for name in &list.created {
            removed += usize::from(fs::remove_file(folder.join(name)).is_ok());
        }
        fs::remove_file(originals.join(LIST)).map_err(|error| Failure::unwritable(about(&originals, &error)))?;
        // Not if the user put something of his own there.
        let _ = fs::remove_dir(&originals);
    }
    let entries = fs::read_dir(folder).map_err(|error| Failure::unreadable(about(folder, &error)))?;
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let (more_put_back, more_removed) = restore(&entry.path())?;
        put_back += more_put_back;
        removed += more_removed;
    }
    Ok((put_back, removed))
}

impl List {
    fn path(folder: &Path) -> PathBuf {
        folder.join(FOLDER).join(LIST)
    }

    fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = Self::path(folder);
        let Ok(text) = fs::read(&path) else { return Ok(None) };
        let list: Self = serde_json::from_slice(&text)
            .map_err(|error| Failure::no_originals(format_args!("{}: it cannot be read: {error}", path.display())))?;
        // Names of files here, never paths to somewhere else.
        let is_plain = |name: &String| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
        if !list.replaced.iter().chain(&list.created).all(is_plain) {
            return Err(Failure::no_originals(format_args!("{}: it names files of other folders", path.display())));
        }
        Ok(Some(list))
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = Self::path(folder);
        let mut outputs = Outputs::default();
        let text = serde_json::to_vec_pretty(self)?;
        outputs.write(&path, |file| file.write_all(&text))?;
        outputs.commit()
    }
}

fn split(path: &Path) -> (PathBuf, String) {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    (folder.to_owned(), path.file_name().unwrap_or_default().to_string_lossy().into_owned())
}
