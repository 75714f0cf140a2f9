//! The content of a program's folder, hashed: it identifies the instrumented copy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use instrument::Failure;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

/// A folder that is larger is no program's: by how many files, and bytes.
const MANY_FILES: usize = 20_000;
const MANY_BYTES: u64 = 8 << 30;

/// How long keys are: hexadecimal digits.
pub(crate) const KEY_LENGTH: usize = 32;

/// The files of a program's folder, by their hashes.
pub struct Inputs {
    hash: Sha256,
}

impl Inputs {
    /// Reads a program's folder: all files but profiles, which programs leave there.
    ///
    /// # Errors
    /// If it cannot be read, or is so large that it can hardly be one program's.
    pub fn read(folder: &Path) -> instrument::Result<Self> {
        let mut files = instrument::files_below(folder)?;
        files.retain(|file| !Self::is_profile(file));
        let size = |file: &PathBuf| fs::metadata(file).map_or(0, |file| file.len());
        let bytes: u64 = files.iter().map(size).sum();
        if files.len() > MANY_FILES || bytes > MANY_BYTES {
            let (path, files, gib) = (folder.display(), files.len(), bytes >> 30);
            return Err(Failure::usage(format_args!(
                "{path}: {files} files, {gib} GiB: it holds more than a program; put the program in a folder of its own, or run \
                 it where it is, with --in-place"
            )));
        }
        let hashes: Vec<[u8; 32]> = files.par_iter().map(|file| hash_file(folder, file)).collect::<instrument::Result<_>>()?;
        let mut hash = Sha256::new();
        hashes.iter().for_each(|one| hash.update(one));
        Ok(Self { hash })
    }

    /// Whether a file is a profile that a program left, and none of its own.
    pub fn is_profile(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == "ilprof")
    }

    /// The name that this has in a cache, with what else decides what is woven.
    pub(crate) fn key(&self, words: &[&[u8]]) -> String {
        let mut hash = self.hash.clone();
        for word in words {
            hash.update((word.len() as u64).to_le_bytes());
            hash.update(word);
        }
        let mut key = hex::encode(hash.finalize());
        key.truncate(KEY_LENGTH);
        key
    }
}

/// Its path in the folder, its permissions and content; for a link also its target.
fn hash_file(folder: &Path, file: &Path) -> instrument::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let name = file.strip_prefix(folder).unwrap_or(file).as_os_str().as_encoded_bytes();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name);
    if let Ok(target) = file.read_link() {
        hash.update(target.as_os_str().as_encoded_bytes());
    }
    if file.is_file() {
        #[cfg(unix)]
        if let Ok(there) = fs::metadata(file) {
            hash.update(std::os::unix::fs::PermissionsExt::mode(&there.permissions()).to_le_bytes());
        }
        hash.update(Sha256::digest(&*instrument::Input::open(file)?));
    }
    Ok(hash.finalize().into())
}
