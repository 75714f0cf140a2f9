//! What was woven, kept: a folder for each program, by the hash of what was woven and how.
//!
//! ```text
//! KEY.lock      held for reading by who runs what is there, for writing by who makes or removes it
//! KEY/made.json what it is, and each file with its hash; written last
//! KEY/program/  the files
//! ```

use std::{
    env,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use instrument::{Failure, Input, Unmatched, failure::about};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::inputs::Inputs;

/// Names what holds the cache.
const VARIABLE: &str = "ILINST_CACHE";
const MADE: &str = "made.json";
const PROGRAM: &str = "program";
const LOCK: &str = "lock";
/// What was made of one program with other options, or before it was built anew, is kept so many times.
const KEPT_OF_ONE: usize = 4;
/// What was not used for so long goes.
const UNUSED: Duration = Duration::from_secs(60 * 60 * 24 * 30);

/// Where woven programs are kept.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// What a cache says of an entry: `made.json`.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Made {
    /// The folder of the program that it was made from.
    pub home: PathBuf,
    /// The assembly that is started, by its name in that folder.
    pub program: PathBuf,
    /// How it was woven, in words.
    pub options: String,
    /// The patterns that named nothing when it was made.
    #[serde(default)]
    pub unmatched: Vec<Unmatched>,
    /// Its files, in order.
    files: Vec<KeptFile>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct KeptFile {
    name: PathBuf,
    size: u64,
    sha256: String,
}

/// An entry that is in use as long as this lives.
#[derive(Debug)]
pub struct Entry {
    /// The woven program's folder.
    pub folder: PathBuf,
    /// Whether it was made just now.
    pub is_new: bool,
    /// What it is.
    pub made: Made,
    _lock: File,
}

/// An entry as it is listed.
#[derive(Debug)]
pub struct Kept {
    /// What it is; none if it is damaged or unfinished.
    pub made: Option<Made>,
    /// The folder with all of it.
    pub folder: PathBuf,
    /// In bytes.
    pub size: u64,
    /// When it was used last.
    pub used: SystemTime,
    /// Whether a program runs in it.
    pub is_used: bool,
}

/// What was removed.
#[derive(Default, Debug)]
pub struct Cleared {
    /// How many entries.
    pub entries: usize,
    /// In bytes.
    pub size: u64,
    /// How many were left, as programs run in them.
    pub in_use: usize,
}

impl Cache {
    /// The user's: where `ILINST_CACHE` says, else where the system has caches.
    ///
    /// # Errors
    /// If neither says where.
    pub fn of_user() -> instrument::Result<Self> {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let folder = if let Some(folder) = variable(VARIABLE) {
            Some(std::path::absolute(&folder).unwrap_or(folder))
        } else if cfg!(windows) {
            absolute("LOCALAPPDATA").map(|folder| folder.join("ilinst").join("cache"))
        } else if cfg!(target_os = "macos") {
            absolute("HOME").map(|home| home.join("Library/Caches/ilinst"))
        } else {
            absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))).map(|folder| folder.join("ilinst"))
        };
        let none = || Failure::usage(format_args!("no folder for what is woven: {VARIABLE} can name one"));
        folder.map(|folder| Self { folder }).ok_or_else(none)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry for a program and options, made if it is not there whole. `words` are what decides the bytes beside the
    /// inputs; `make` writes the program into a folder that is not there yet, and gives the patterns that name nothing.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn entry(
        &self,
        inputs: &Inputs,
        (home, program, options): (&Path, &Path, &str),
        words: &[&[u8]],
        make: impl Fn(&Path) -> instrument::Result<Vec<Unmatched>>,
    ) -> instrument::Result<Entry> {
        self.make_folder()?;
        let key = inputs.key(words);
        for number in 0_usize.. {
            // A damaged entry that somebody runs is left to them.
            let name = if number == 0 { key.clone() } else { format!("{key}-{number}") };
            let folder = self.folder.join(&name);
            let (lock, is_locked) = self.lock(&name)?;
            let mut is_new = false;
            if is_locked && Made::whole(&folder).is_none() {
                remove(&folder)?;
                let unmatched = make(&folder.join(PROGRAM))?;
                Made { home: home.into(), program: program.into(), options: options.into(), unmatched, files: Vec::new() }
                    .write(&folder)?;
                is_new = true;
            }
            drop(lock);
            // Waits for who is making it. Not all systems have one handle change from one lock to the other.
            let lock = self.open(&self.lock_path(&name))?;
            lock.lock_shared().map_err(|error| self.unwritable(&error))?;
            let made = if is_new { Made::read(&folder) } else { Made::whole(&folder) };
            let Some(made) = made.filter(|_| is_at(&lock, &self.lock_path(&name))) else { continue };
            // When it was used last.
            let _ = lock.set_modified(SystemTime::now());
            if is_new {
                self.prune(home, &name);
            }
            return Ok(Entry { folder: folder.join(PROGRAM), is_new, made, _lock: lock });
        }
        Err(Failure::unwritable(self.folder.display()))
    }

    /// All entries, the latest used first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn entries(&self) -> instrument::Result<Vec<Kept>> {
        let mut kept = Vec::new();
        for name in self.names()? {
            let folder = self.folder.join(&name);
            let lock = OpenOptions::new().read(true).write(true).open(self.lock_path(&name)).ok();
            let is_used = lock.as_ref().is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
            let used = lock.and_then(|lock| lock.metadata().ok()?.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
            kept.push(Kept { made: Made::read(&folder), size: size_of(&folder), folder, used, is_used });
        }
        kept.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        Ok(kept)
    }

    /// Removes all entries but those that programs run in.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn clear(&self) -> instrument::Result<Cleared> {
        let mut cleared = Cleared::default();
        for name in self.names()? {
            let size = size_of(&self.folder.join(&name));
            if self.remove(&name)? {
                cleared.entries += 1;
                cleared.size += size;
            } else {
                cleared.in_use += 1;
            }
        }
        Ok(cleared)
    }

    /// What else was made of the same program goes, but for the latest; so does what nobody uses.
    fn prune(&self, home: &Path, own: &str) {
        let now = SystemTime::now();
        let mut of_same = 1;
        for entry in self.entries().unwrap_or_default() {
            let name = entry.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name == own {
                continue;
            }
            let is_old = now.duration_since(entry.used).is_ok_and(|since| since > UNUSED);
            let is_same = entry.made.is_some_and(|made| made.home == home);
            of_same += usize::from(is_same);
            if is_old || is_same && of_same > KEPT_OF_ONE {
                // Whatever cannot be removed now is the next run's.
                let _ = self.remove(&name);
            }
        }
    }

    /// Removes an entry, unless it is in use.
    fn remove(&self, name: &str) -> instrument::Result<bool> {
        let (_lock, is_locked) = self.lock(name)?;
        if !is_locked {
            return Ok(false);
        }
        remove(&self.folder.join(name))?;
        fs::remove_file(self.lock_path(name)).map_err(|error| self.unwritable(&error))?;
        Ok(true)
    }

    /// The names of all entries.
    fn names(&self) -> instrument::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Failure::unreadable(about(&self.folder, &error))),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned)).collect();
        names.sort();
        Ok(names)
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension(LOCK)
    }

    /// Opens the file whose lock says whether an entry is in use, and locks it for writing, unless somebody else has it.
    fn lock(&self, name: &str) -> instrument::Result<(File, bool)> {
        let path = self.lock_path(name);
        loop {
            let file = self.open(&path)?;
            let is_locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(self.unwritable(&error)),
            };
            // Whoever removed the entry meanwhile has removed the file, too.
            if is_at(&file, &path) {
                return Ok((file, is_locked));
            }
        }
    }

    fn open(&self, path: &Path) -> instrument::Result<File> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        file.map_err(|error| self.unwritable(&error))
    }

    /// What is run from it is nobody else's to write.
    pub(crate) fn make_folder(&self) -> instrument::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::unwritable(format_args!("{}; {VARIABLE} can name another folder", about(&self.folder, error)))
    }
}

impl Entry {
    /// The files that a program has written into the folder that it ran in, or changed there.
    pub fn written(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files_below(&self.folder, &self.folder, &mut found);
        let made = self.folder.parent().and_then(|folder| fs::metadata(folder.join(MADE)).ok()?.modified().ok());
        let is_as_made = |name: &PathBuf| {
            let kept = self.made.files.iter().find(|file| file.name == *name);
            let there = fs::symlink_metadata(self.folder.join(name)).ok();
            let is_older = || made.zip(there.as_ref()?.modified().ok()).map(|(made, changed)| changed <= made);
            kept.zip(there.as_ref()).is_some_and(|(kept, there)| kept.size == there.len()) && is_older() == Some(true)
        };
        found.retain(|name| !is_as_made(name));
        found
    }
}

impl Made {
    /// What an entry says it is.
    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MADE)).ok()?).ok()
    }

    /// The same, if each file is what it was made as.
    fn whole(folder: &Path) -> Option<Self> {
        let made = Self::read(folder)?;
        let program = folder.join(PROGRAM);
        let is_whole =
            |file: &KeptFile| KeptFile::of(&program, file.name.clone()).is_some_and(|there| there.sha256 == file.sha256);
        made.files.par_iter().all(is_whole).then_some(made)
    }

    /// Writes it, with the files that are there.
    fn write(mut self, folder: &Path) -> instrument::Result<()> {
        let root = folder.join(PROGRAM);
        let mut names = Vec::new();
        files_below(&root, &root, &mut names);
        names.sort();
        self.files = names.into_par_iter().filter_map(|name| KeptFile::of(&root, name)).collect();
        let text =
            serde_json::to_vec(&self).map_err(|error| Failure::unwritable(format_args!("{}: {error}", folder.display())))?;
        // Under another name until it is whole: a file that is cut short is none.
        let (path, temporary) = (folder.join(MADE), folder.join("made.tmp"));
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|error| Failure::unwritable(about(&path, &error)))
    }
}

impl KeptFile {
    fn of(root: &Path, name: PathBuf) -> Option<Self> {
        let path = root.join(&name);
        let size = fs::symlink_metadata(&path).ok()?.len();
        let sha256 = match path.read_link() {
            Ok(target) => hex::encode(Sha256::digest(target.as_os_str().as_encoded_bytes())),
            Err(_) => hex::encode(Sha256::digest(&*Input::open(&path).ok()?)),
        };
        Some(Self { name, size, sha256 })
    }
}

/// Whether a file that is open is the one at a path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let inode = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok();
        inode(file.metadata()) == inode(fs::metadata(path))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

fn remove(folder: &Path) -> instrument::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::unwritable(about(folder, &error))),
        _ => Ok(()),
    }
}

/// Files and links below a folder, by their paths in it.
fn files_below(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files_below(root, &entry.path(), files);
        } else if let Ok(name) = entry.path().strip_prefix(root) {
            files.push(name.to_owned());
        }
    }
}

fn size_of(folder: &Path) -> u64 {
    let mut files = Vec::new();
    files_below(folder, folder, &mut files);
    files.iter().filter_map(|name| Some(fs::symlink_metadata(folder.join(name)).ok()?.len())).sum()
}
