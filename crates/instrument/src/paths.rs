//! What paths lead to.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A path by its true folder; the file itself may be a link, and is what is replaced.
pub(crate) fn place(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::canonicalize(folder).map_or_else(|_| path.to_owned(), |folder| folder.join(name))
}

/// Whether two paths are the same file, also through links.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// The folder that a file is in, by whatever path.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    place(path).parent().unwrap_or_else(|| Path::new("")).to_owned()
}

/// The folders that files are in, each once, by whatever paths.
pub(crate) fn folders_of<'p>(files: impl Iterator<Item = &'p Path>) -> BTreeSet<PathBuf> {
    // Most paths say the same folder in the same way, and following links takes long.
    let one_of_each: BTreeMap<Option<&Path>, &Path> = files.map(|file| (file.parent(), file)).collect();
    one_of_each.into_values().map(folder_of).collect()
}

/// An absolute path without links, as far as it is there.
pub fn without_links(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = |there: &Path| {
        let (real, rest) = (there.canonicalize().ok()?, path.strip_prefix(there).ok()?);
        Some(real.components().chain(rest.components()).collect())
    };
    path.ancestors().find_map(real).unwrap_or_else(|| path.clone())
}

/// A file's name in words, without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
