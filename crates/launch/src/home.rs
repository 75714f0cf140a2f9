//! A program woven where it is, for as long as it runs.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::Write as _,
    path::{Path, PathBuf},
};

use instrument::{Failure, Restored, failure::about, is_woven_in_place, restore};
use sha2::{Digest as _, Sha256};

use crate::cache::{Cache, is_at};

/// A folder that is ours to weave in place and to put back: a file in the cache says so, and its lock that we live.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    file: File,
    path: PathBuf,
    /// Whether it was put back first: whoever wove it was killed.
    pub was_left: bool,
}

impl Home {
    /// Takes a folder. What a run that was killed has left woven there is put back first.
    ///
    /// # Errors
    /// If another run has it, or the user has woven it in place.
    pub fn take(cache: &Cache, folder: &Path) -> instrument::Result<Self> {
        cache.make_folder()?;
        let mut name = hex::encode(Sha256::digest(folder.as_os_str().as_encoded_bytes()));
        name.truncate(32);
        let path = cache.folder().join(name).with_extension("home");
        let unwritable = |error: &std::io::Error| Failure::unwritable(about(&path, error));
        let shown = folder.display();
        let file = loop {
            let file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(|error| unwritable(&error))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => break file,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let text = format_args!("{shown}: another `ilinst run --in-place` uses this folder");
                    return Err(Failure::usage(text));
                }
                Err(TryLockError::Error(error)) => return Err(unwritable(&error)),
            }
        };
        let was_ours = file.metadata().is_ok_and(|file| file.len() > 0);
        let mut home = Self { folder: folder.to_owned(), file, path, was_left: false };
        if is_woven_in_place(folder) {
            if !was_ours {
                home.forget();
                let text = format_args!("{shown}: it is instrumented in place already; to restore it: ilinst restore {shown}");
                return Err(Failure::usage(text));
            }
            restore(folder)?;
            home.was_left = true;
        }
        let said = home.file.write_all(folder.as_os_str().as_encoded_bytes());
        said.map_err(|error| Failure::unwritable(about(&home.path, &error)))?;
        Ok(home)
    }

    /// Puts back what was there.
    ///
    /// # Errors
    /// If it cannot be put back.
    pub fn put_back(self) -> instrument::Result<Restored> {
        let restored = restore(&self.folder)?;
        self.forget();
        Ok(restored)
    }

    /// Gives the folder up, in which nothing was woven.
    pub fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }
}
