//! Paths and their targets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Returns a path with links in its folder resolved. The file itself may be a link, which is replaced as such.
pub(crate) fn place(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::canonicalize(folder).map_or_else(|_| path.to_owned(), |folder| folder.join(name))
}

/// Returns whether two paths lead to the same file, also through links.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Returns the resolved folder of a file.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    place(path).parent().unwrap_or_else(|| Path::new("")).to_owned()
}

/// Returns the resolved folders of files, each once.
pub(crate) fn folders_of<'p>(files: impl Iterator<Item = &'p Path>) -> BTreeSet<PathBuf> {
    // Most paths spell a folder in the same way, and following links takes long.
    let one_of_each: BTreeMap<Option<&Path>, &Path> = files.map(|file| (file.parent(), file)).collect();
    one_of_each.into_values().map(folder_of).collect()
}

/// Returns an absolute path; links are resolved as far as the path exists.
pub fn without_links(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = |there: &Path| {
        let (real, rest) = (there.canonicalize().ok()?, path.strip_prefix(there).ok()?);
        Some(real.components().chain(rest.components()).collect())
    };
    path.ancestors().find_map(real).unwrap_or_else(|| path.clone())
}

/// Returns a file's name as text, without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
