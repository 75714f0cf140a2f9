//! Output files: all get their final names, or none does.

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    failure::{Failure, Result, about},
    input::of_file,
    paths::folder_of,
    staging::{Staging, make_link, uninterrupted},
};

/// Files with temporary names, which get their final names when the last one is complete. If dropped before, the files are
/// removed, and so are the folders created for them.
#[derive(Default)]
pub struct Outputs {
    pending: Vec<(PathBuf, PathBuf)>,
    /// Existing files that equal their output.
    kept: Vec<PathBuf>,
    staging: Arc<Staging>,
}

impl Outputs {
    /// Creates outputs below a folder, which contains all temporary files.
    pub(crate) fn below(root: &Path) -> Self {
        Self { staging: Arc::new(Staging::below(root)), ..Self::default() }
    }

    /// Creates further outputs of the same run.
    pub(crate) fn more(&self) -> Self {
        Self { staging: Arc::clone(&self.staging), ..Self::default() }
    }

    /// Writes a file under a temporary name.
    pub fn write(&mut self, path: &Path, put: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        self.write_with(path, None, put)
    }

    /// Writes a file under a temporary name, with the permissions of the file it comes from.
    pub fn write_like(&mut self, from: &Path, path: &Path, put: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        self.write_with(path, Some(for_an_output(of_file(from)?.permissions())), put)
    }

    fn write_with(
        &mut self,
        path: &Path,
        permissions: Option<Permissions>,
        put: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<()> {
        let unwritable = |error: io::Error| Failure::unwritable(about(path, &error));
        let refuse = |why: &str| Err(Failure::unwritable(format_args!("{}: {why}", path.display())));
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => return refuse("it is a folder; name a file in it, or end it with /"),
            Ok(there) if !there.is_file() => return refuse("it is no regular file, and would be replaced by one; name another"),
            Ok(there) if there.permissions().readonly() => {
                return refuse("it is there and is read-only; make it writable, or write elsewhere");
            }
            _ => {}
        }
        let (temporary, mut file) = self.staging.make(path, |temporary| File::create_new(temporary)).map_err(unwritable)?;
        self.pending.push((temporary, path.to_owned()));
        // Permissions are set before the file has contents that others could read.
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)).map_err(unwritable)?;
        put(&mut file).and_then(|()| file.flush()).map_err(unwritable)
    }

    /// Returns the temporary name of the last written file.
    pub(crate) fn last_written(&self) -> Option<PathBuf> {
        self.pending.last().map(|(temporary, _)| temporary.clone())
    }

    /// Cancels the output to a path.
    pub fn forget(&mut self, path: &Path) {
        self.pending.retain(|(temporary, other)| {
            let is_other = other != path;
            if !is_other {
                let _ = fs::remove_file(temporary);
            }
            is_other
        });
    }

    /// Moves some files to the end of the order of renaming. If the run is killed, the files renamed so far do not need these.
    pub(crate) fn put_last(&mut self, is_last: impl Fn(&Path) -> bool) {
        self.pending.sort_by_key(|(_, path)| is_last(path));
    }

    /// Takes over the files of other outputs.
    pub fn append(&mut self, mut other: Self) {
        self.pending.append(&mut other.pending);
        self.kept.append(&mut other.kept);
    }

    /// Records an existing file that equals its output.
    pub(crate) fn keep(&mut self, path: &Path) {
        self.kept.push(path.to_owned());
    }

    /// Returns the paths of all files, including existing ones.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.pending.iter().map(|(_, path)| path).chain(&self.kept).map(PathBuf::as_path)
    }

    /// Returns the temporary and the final name of every file.
    pub fn pending(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.pending.iter().map(|(temporary, path)| (temporary.as_path(), path.as_path()))
    }

    /// Copies a file with its permissions. Does nothing if both paths are the same file.
    pub fn copy(&mut self, from: &Path, to: &Path) -> Result<()> {
        if from == to {
            return Ok(());
        }
        self.write_like(from, to, |out| io::copy(&mut File::open(from)?, out).map(drop))
    }

    /// Creates a link.
    pub fn link(&mut self, target: &Path, path: &Path) -> Result<()> {
        let unwritable = |error: io::Error| Failure::unwritable(about(path, &error));
        let make = |temporary: &Path| make_link(target, temporary, path);
        let (temporary, ()) = self.staging.make(path, make).map_err(unwritable)?;
        self.pending.push((temporary, path.to_owned()));
        Ok(())
    }

    /// Checks that no two files have the same path, and that none replaces a file that was read.
    pub(crate) fn check(&self, read: impl Iterator<Item = PathBuf>) -> Result<()> {
        let mut places = BTreeMap::new();
        let mut existing = BTreeMap::new();
        let mut folders = BTreeMap::new();
        for (_, path) in &self.pending {
            // Many files are in one folder, and following links takes long.
            let folder: &PathBuf = folders.entry(path.parent()).or_insert_with(|| folder_of(path));
            if let Some(other) = places.insert(folder.join(path.file_name().unwrap_or_default()), path) {
                let text = format_args!("{}: two files would be written there; choose another -o", other.display());
                return Err(Failure::usage(text));
            }
            // A link is replaced, not its target.
            if path.symlink_metadata().is_ok_and(|there| !there.is_symlink()) {
                existing.extend(fs::canonicalize(path).ok().map(|there| (there, path)));
            }
        }
        if existing.is_empty() {
            return Ok(());
        }
        for input in read {
            if let Some(output) = fs::canonicalize(input).ok().and_then(|input| existing.get(&input)) {
                let text = format_args!("{}: the output would overwrite what is read; choose another -o", output.display());
                return Err(Failure::output_is_input(text));
            }
        }
        Ok(())
    }

    /// Gives every file its final name, or none of them.
    pub fn commit(self) -> Result<()> {
        let mut unfinished = uninterrupted();
        let mut done: Vec<(&Path, Option<PathBuf>)> = Vec::new();
        for (temporary, path) in &self.pending {
            match self.staging.replace(temporary, path, &mut unfinished) {
                Ok(former) => done.push((path, former)),
                Err(error) => {
                    done.iter().rev().for_each(|(path, former)| match former {
                        Some(former) => drop(fs::rename(former, path)),
                        None => drop(fs::remove_file(path)),
                    });
                    return Err(Failure::unwritable(format_args!("{}{}", about(path, &error), in_use(path, &error))));
                }
            }
        }
        self.staging.keep_folders(&mut unfinished);
        Ok(())
    }
}

/// Returns a hint for Windows, which does not let a file that a program has open be replaced, and does not state that reason.
fn in_use(path: &Path, error: &io::Error) -> &'static str {
    /// `ERROR_SHARING_VIOLATION`.
    const SHARING_VIOLATION: i32 = 32;
    let is_refused = error.kind() == io::ErrorKind::PermissionDenied || error.raw_os_error() == Some(SHARING_VIOLATION);
    if cfg!(windows) && is_refused && path.exists() { "; is it open in another program, or does it run?" } else { "" }
}

/// Returns the permissions of an output: those of the file it comes from, but writable for the next run.
fn for_an_output(mut permissions: Permissions) -> Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        permissions.set_mode(permissions.mode() & 0o777 | 0o200);
    }
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    permissions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last of three files cannot be renamed: the first is restored, the second is removed.
    #[test]
    fn all_files_get_their_names_or_none_does() {
        let folder = std::env::temp_dir().join(format!("ilinst-io-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [old, new, blocked] = ["old", "new", "blocked"].map(|name| folder.join(name));
        fs::write(&old, "before").unwrap();
        let mut outputs = Outputs::default();
        for path in [&old, &new, &blocked] {
            outputs.write(path, |file| file.write_all(b"after")).unwrap();
        }
        fs::create_dir(&blocked).unwrap();
        assert!(outputs.commit().is_err());
        assert_eq!(fs::read(&old).unwrap(), b"before");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
