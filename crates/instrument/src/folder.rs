//! The files of a folder. Links to folders are not followed: their targets may be anywhere, and occur twice. A link to a file
//! outside stands for that file, as in folders that Bazel and Nix create.

use std::path::{Component, Path, PathBuf};

use crate::{
    failure::{Failure, Result, about},
    originals::is_folder_of_originals,
    paths::without_links,
    staging::is_staging,
};

/// The file that marks a folder as a cache (<https://bford.info/cachedir/>). `ilinst` writes [`CACHE_TAG`] into its own.
pub const CACHE_TAG_FILE: &str = "CACHEDIR.TAG";
/// The content of [`CACHE_TAG_FILE`].
pub const CACHE_TAG: &str = "\
Signature: 8a477f597d28d172789f06886806bc55
# ilinst made this folder for the programs that it runs. `ilinst cache clear` removes them.
";

/// Returns whether a folder is a cache of `ilinst`.
pub fn is_cache(folder: &Path) -> bool {
    let tag = folder.join(CACHE_TAG_FILE);
    // Another file of this name may be a pipe, or large.
    let may_be = std::fs::symlink_metadata(&tag).is_ok_and(|file| file.is_file() && file.len() == CACHE_TAG.len() as u64);
    may_be && std::fs::read(&tag).is_ok_and(|tag| tag == CACHE_TAG.as_bytes())
}

/// Returns all files and links below a folder, sorted by name. Omits originals, temporary files of runs, and caches.
///
/// # Errors
/// If the folder, or a folder in it, cannot be read.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect_files(folder, &mut files)?;
    Ok(files)
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = |error: std::io::Error| Failure::unreadable(about(folder, &error));
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()
        .map_err(unreadable)?;
    entries.sort();
    for path in entries {
        if path.is_symlink() || !path.is_dir() {
            files.push(path);
        } else if !is_folder_of_originals(&path) && !is_staging(&path) && !is_cache(&path) {
            collect_files(&path, files)?;
        }
    }
    Ok(())
}

/// Returns whether a path in a folder is a link to a file outside of that folder.
pub fn is_link_out(folder: &Path, path: &Path) -> bool {
    let is_outside = |file: PathBuf| file.is_file() && !file.starts_with(without_links(folder));
    path.is_symlink() && path.canonicalize().is_ok_and(is_outside)
}

/// Returns whether a path is a folder or lies in it, and in no cache there.
pub(crate) fn lies_below(folder: &Path, path: &Path) -> bool {
    path.starts_with(folder) && !path.ancestors().take_while(|between| *between != folder).any(is_cache)
}

/// Returns the target for the copy of a link. A relative target within the folder stays, and so leads to the copied file. A
/// target outside the folder becomes absolute.
pub(crate) fn copied_target(folder: &Path, link: &Path, target: PathBuf) -> PathBuf {
    let Some(parent) = link.parent() else { return target };
    let levels = parent.strip_prefix(folder).map_or(0, |path| path.components().count());
    let level = target.components().try_fold(levels, |level, component| match component {
        Component::ParentDir => level.checked_sub(1),
        Component::CurDir => Some(level),
        Component::Normal(_) | Component::Prefix(_) | Component::RootDir => Some(level + 1),
    });
    if level.is_none() { without_links(&without_links(parent).join(target)) } else { target }
}
