//! The cache of instrumented programs: a folder for each, named by a hash of its inputs and options.
//!
//! ```text
//! CACHEDIR.TAG  marks a folder made by ilinst: entries are written and removed only there
//! KEY.lock      read lock: held while the entry runs; write lock: held to make or remove it
//! KEY/made.json marks an entry: its description, and, once it is complete, each file with its hash
//! KEY/program/  the files
//! ```

use std::{
    env,
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use instrument::{CACHE_TAG, CACHE_TAG_FILE, Failure, Input, Unmatched, failure::about, is_cache, without_links};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    inputs::{Inputs, KEY_LENGTH},
    private,
};

/// The variable that names the parent of the cache's folder.
pub(crate) const VARIABLE: &str = "ILINST_CACHE";
/// The cache's own folder. Its parent may be a folder of the user with other content.
const FOLDER: &str = "ilinst-cache";
const MADE: &str = "made.json";
const PROGRAM: &str = "program";
const LOCK: &str = "lock";
/// The number of entries kept for one program: from other options, or earlier builds.
const KEPT_OF_ONE: usize = 4;
/// Advice for a folder that cannot be used.
const OTHER_FOLDER: &str = "set ILINST_CACHE to a folder of your own";
/// Entries unused for this long are removed.
const UNUSED: Duration = Duration::from_secs(60 * 60 * 24 * 30);

/// Where woven programs are kept.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// The description of an entry: `made.json`.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct EntryDescription {
    /// The folder of the original program.
    #[serde(with = "any_path")]
    pub home: PathBuf,
    /// The assembly to start, relative to that folder.
    #[serde(with = "any_path")]
    pub program: PathBuf,
    /// The options of the instrumentation, in words.
    pub options: String,
    /// The messages on the instrumentation.
    #[serde(flatten)]
    pub said: Said,
    /// Its files, in order; `None` until all are complete.
    files: Vec<KeptFile>,
}

/// Messages on the instrumentation of a program, which hold for each of its runs.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub struct Said {
    /// The patterns without a match.
    #[serde(default)]
    pub unmatched: Vec<Unmatched>,
    /// The notes on what the program lacks while it runs.
    #[serde(default)]
    pub losses: Vec<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct KeptFile {
    #[serde(with = "any_path")]
    name: PathBuf,
    size: u64,
    sha256: String,
}

/// An entry, locked as in use until dropped.
#[derive(Debug)]
pub struct Entry {
    /// The folder of the instrumented program.
    pub folder: PathBuf,
    /// Whether this call made it.
    pub is_new: bool,
    /// Its description.
    pub description: EntryDescription,
    _lock: File,
}

/// An entry as it is listed.
#[derive(Debug)]
pub struct Kept {
    /// Its description; `None` if the entry is damaged or unfinished.
    pub description: Option<EntryDescription>,
    /// The folder with all of it.
    pub folder: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// The time of its last use.
    pub used: SystemTime,
    /// Whether a program runs in it.
    pub is_used: bool,
}

/// The result of a removal.
#[derive(Default, Debug)]
pub struct Cleared {
    /// The number of removed entries.
    pub entries: usize,
    /// The removed bytes.
    pub size: u64,
    /// The number of entries kept because programs run in them.
    pub in_use: usize,
}

impl Cache {
    /// The user's cache: in a subfolder of `ILINST_CACHE` if set, else of the system's cache folder.
    ///
    /// # Errors
    /// If neither is known.
    pub fn of_user() -> instrument::Result<Self> {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let folder = if let Some(folder) = variable(VARIABLE) {
            Some(folder)
        } else if cfg!(windows) {
            absolute("LOCALAPPDATA").map(|folder| folder.join("ilinst").join("cache"))
        } else if cfg!(target_os = "macos") {
            absolute("HOME").map(|home| home.join("Library/Caches/ilinst"))
        } else {
            absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))).map(|folder| folder.join("ilinst"))
        };
        let none = || Failure::usage(format_args!("there is no folder for the cache: name one with {VARIABLE}"));
        let own = |folder: PathBuf| dunce::simplified(&without_links(&folder)).join(FOLDER);
        folder.map(|folder| Self { folder: own(folder) }).ok_or_else(none)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry for a program and options; makes it if there is no complete one. `words` are the inputs other than
    /// files that determine the output. `make` writes the program into a new folder, and returns the messages on it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn entry(
        &self,
        inputs: &Inputs,
        (home, program, options): (&Path, &Path, &str),
        words: &[&[u8]],
        make: impl Fn(&Path) -> instrument::Result<Said>,
    ) -> instrument::Result<Entry> {
        self.make_folder()?;
        let key = inputs.key(words);
        for number in 0_usize.. {
            // A damaged entry in use is left in place.
            let place = self.folder.join(if number == 0 { key.clone() } else { format!("{key}-{number}") });
            let (lock, is_locked) = self.lock(&place)?;
            let mut is_new = false;
            if is_locked && EntryDescription::whole(&place, program).is_none() {
                remove_folder(&place)?;
                let files = Vec::new();
                let description = EntryDescription {
                    home: home.into(),
                    program: program.into(),
                    options: options.into(),
                    said: Said::default(),
                    files,
                };
                if let Err(failure) = description.make(&place, &make) {
                    let _ = self.remove_locked(&place);
                    return Err(failure);
                }
                is_new = true;
            }
            drop(lock);
            // Waits while another process makes it. Some systems cannot change a lock's mode.
            let lock = self.open(&lock_path(&place))?;
            lock.lock_shared().map_err(|error| self.unwritable(&error))?;
            let description = if is_new { EntryDescription::read(&place) } else { EntryDescription::whole(&place, program) };
            let Some(description) = description.filter(|_| is_at(&lock, &lock_path(&place))) else { continue };
            // Records the time of last use.
            let _ = lock.set_modified(SystemTime::now());
            if is_new {
                self.prune(home, &place);
            }
            return Ok(Entry { folder: place.join(PROGRAM), is_new, description, _lock: lock });
        }
        Err(Failure::unwritable(self.folder.display()))
    }

    /// All entries, the latest used first.
    ///
    /// # Errors
    /// If the folder cannot be read, or is no cache of this user's.
    pub fn entries(&self) -> instrument::Result<Vec<Kept>> {
        let mut kept = Vec::new();
        for folder in self.places()? {
            let lock = OpenOptions::new().read(true).write(true).open(lock_path(&folder)).ok();
            let is_used = lock.as_ref().is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
            let used = lock.and_then(|lock| lock.metadata().ok()?.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
            let description = EntryDescription::read(&folder).filter(|made| !made.files.is_empty());
            kept.push(Kept { description, size: size_of(&folder), folder, used, is_used });
        }
        kept.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        Ok(kept)
    }

    /// Removes all entries except those in use.
    ///
    /// # Errors
    /// If an entry cannot be removed, or the folder is not a cache of this user.
    pub fn clear(&self) -> instrument::Result<Cleared> {
        let mut cleared = Cleared::default();
        for place in self.places()? {
            let size = size_of(&place);
            if self.remove(&place)? {
                cleared.entries += 1;
                cleared.size += size;
            } else {
                cleared.in_use += 1;
            }
        }
        Ok(cleared)
    }

    /// Removes older entries of the same program, and entries unused for long.
    fn prune(&self, home: &Path, own: &Path) {
        let now = SystemTime::now();
        let mut of_same = 1;
        for entry in self.entries().unwrap_or_default() {
            if entry.folder == own {
                continue;
            }
            let is_old = now.duration_since(entry.used).is_ok_and(|since| since > UNUSED);
            let is_same = entry.description.is_some_and(|description| description.home == home);
            of_same += usize::from(is_same);
            if is_old || is_same && of_same > KEPT_OF_ONE {
                // The next run tries again.
                let _ = self.remove(&entry.folder);
            }
        }
    }

    /// Removes an entry, unless it is in use.
    fn remove(&self, place: &Path) -> instrument::Result<bool> {
        let (_lock, is_locked) = self.lock(place)?;
        if is_locked {
            self.remove_locked(place)?;
        }
        Ok(is_locked)
    }

    fn remove_locked(&self, place: &Path) -> instrument::Result<()> {
        remove_folder(place)?;
        fs::remove_file(lock_path(place)).map_err(|error| self.unwritable(&error))
    }

    /// The folders of all entries, also of those that lie where ilinst kept them before it had a folder of its own.
    fn places(&self) -> instrument::Result<Vec<PathBuf>> {
        let entries_in = |folder: &Path| {
            let entries = fs::read_dir(folder).map_err(|error| Failure::unreadable(about(folder, &error)))?;
            Ok(entries.flatten().map(|entry| entry.path()).filter(|path| is_entry(path)))
        };
        let mut places = Vec::new();
        if fs::symlink_metadata(&self.folder).is_ok() {
            self.check_private()?;
            if !self.is_marked() {
                return Err(self.not_a_cache());
            }
            places.extend(entries_in(&self.folder)?);
        }
        let before = self.folder.parent().filter(|folder| folder.is_dir() && matches!(private::check(folder), Ok(Ok(()))));
        if let Some(before) = before {
            places.extend(entries_in(before)?.filter(|place| EntryDescription::read(place).is_some()));
        }
        places.sort();
        Ok(places)
    }

    /// Opens an entry's lock file, and takes the write lock if no other process holds a lock.
    fn lock(&self, place: &Path) -> instrument::Result<(File, bool)> {
        let path = lock_path(place);
        loop {
            let file = self.open(&path)?;
            let is_locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(self.unwritable(&error)),
            };
            // A process that removed the entry meanwhile has removed the lock file, too.
            if is_at(&file, &path) {
                return Ok((file, is_locked));
            }
        }
    }

    fn open(&self, path: &Path) -> instrument::Result<File> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        file.map_err(|error| self.unwritable(&error))
    }

    /// Makes the folder, or finds the one that ilinst made.
    pub(crate) fn make_folder(&self) -> instrument::Result<()> {
        // Never creates anything in another user's folder.
        self.check_private()?;
        private::make(&self.folder).map_err(|error| self.unwritable(&error))?;
        self.check_private()?;
        if is_cache(&self.folder) {
            return Ok(());
        }
        if !self.is_marked() {
            return Err(self.not_a_cache());
        }
        // Written atomically: another run may do the same.
        let tag = self.folder.join(CACHE_TAG_FILE);
        let temporary = tag.with_extension(std::process::id().to_string());
        let written = fs::write(&temporary, CACHE_TAG).and_then(|()| fs::rename(&temporary, &tag));
        written.map_err(|error| self.unwritable(&error))
    }

    /// Whether ilinst made the folder: it has the tag, or a run is about to write it.
    fn is_marked(&self) -> bool {
        let is_tag = |name: &OsStr| Path::new(name).file_stem() == Path::new(CACHE_TAG_FILE).file_stem();
        let has_tags_alone = || {
            let files = fs::read_dir(&self.folder);
            files.is_ok_and(|mut files| files.all(|file| file.is_ok_and(|file| is_tag(&file.file_name()))))
        };
        // Another run writes the tag, and then its entry. If both came since the first look, the second finds the tag.
        is_cache(&self.folder) || has_tags_alone() || is_cache(&self.folder)
    }

    /// Programs run from it, so nobody else may write to it.
    fn check_private(&self) -> instrument::Result<()> {
        let checked = private::check(&self.folder).map_err(|error| self.unwritable(&error))?;
        checked.map_err(|reason| Failure::unwritable(format_args!("{reason}; {OTHER_FOLDER}")))
    }

    fn not_a_cache(&self) -> Failure {
        let folder = self.folder.display();
        Failure::unwritable(format_args!(
            "{folder}: ilinst did not make this folder ({CACHE_TAG_FILE} is missing); {OTHER_FOLDER}"
        ))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::unwritable(format_args!("{}; {OTHER_FOLDER}", about(&self.folder, error)))
    }
}

impl Entry {
    /// The files that a program has written into the folder that it ran in, or changed there.
    pub fn written(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files_below(&self.folder, &self.folder, &mut found);
        let made = self.folder.parent().and_then(|folder| fs::metadata(folder.join(MADE)).ok()?.modified().ok());
        let is_as_made = |name: &PathBuf| {
            let kept = self.description.files.iter().find(|file| file.name == *name);
            let there = fs::symlink_metadata(self.folder.join(name)).ok();
            let is_older = || made.zip(there.as_ref()?.modified().ok()).map(|(made, changed)| changed <= made);
            kept.zip(there.as_ref()).is_some_and(|(kept, there)| kept.size == there.len()) && is_older() == Some(true)
        };
        found.retain(|name| !is_as_made(name));
        found
    }
}

impl EntryDescription {
    /// Reads an entry's description.
    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MADE)).ok()?).ok()
    }

    /// Like `read`, if the entry is of a program, no other user can change it, and no file has changed.
    fn whole(folder: &Path, program: &Path) -> Option<Self> {
        let made = Self::read(folder).filter(|made| made.program == program && private::is_closed(folder))?;
        let root = folder.join(PROGRAM);
        let is_whole =
            |file: &KeptFile| KeptFile::read(&root, file.name.clone()).is_some_and(|there| there.sha256 == file.sha256);
        let has_program = made.files.iter().any(|file| file.name == program);
        (has_program && made.files.par_iter().all(is_whole)).then_some(made)
    }

    /// Makes an entry in a new folder.
    fn make(mut self, folder: &Path, make: impl Fn(&Path) -> instrument::Result<Said>) -> instrument::Result<()> {
        private::make(folder).map_err(|error| Failure::unwritable(about(folder, &error)))?;
        // From here on it counts as an entry, even if this run fails.
        self.write(folder)?;
        let root = folder.join(PROGRAM);
        self.said = make(&root)?;
        let mut names = Vec::new();
        files_below(&root, &root, &mut names);
        names.sort();
        self.files = names.into_par_iter().filter_map(|name| KeptFile::read(&root, name)).collect();
        self.write(folder)
    }

    fn write(&self, folder: &Path) -> instrument::Result<()> {
        let text =
            serde_json::to_vec(self).map_err(|error| Failure::unwritable(format_args!("{}: {error}", folder.display())))?;
        // Written under another name first, so that the final file is always complete.
        let (path, temporary) = (folder.join(MADE), folder.join("made.tmp"));
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|error| Failure::unwritable(about(&path, &error)))
    }
}

impl KeptFile {
    fn read(root: &Path, name: PathBuf) -> Option<Self> {
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

/// Whether a path is an entry's: one that is named by a key, and says so.
fn is_entry(path: &Path) -> bool {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (key, number) = name.split_once('-').unwrap_or((&name, "0"));
    let is_key = key.len() == KEY_LENGTH && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_key && number.bytes().all(|byte| byte.is_ascii_digit()) && is_folder(path) && is_file(&path.join(MADE))
}

fn lock_path(place: &Path) -> PathBuf {
    place.with_extension(LOCK)
}

fn remove_folder(folder: &Path) -> instrument::Result<()> {
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

/// Paths in JSON: text, or, of one that is none, what the system has.
mod any_path {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Name {
        Text(String),
        Other(OsString),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.to_str().map_or_else(|| Name::Other(path.into()), |text| Name::Text(text.to_owned())).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Name::deserialize(from)? {
            Name::Text(text) => text.into(),
            Name::Other(other) => other.into(),
        })
    }
}

fn size_of(folder: &Path) -> u64 {
    let mut files = Vec::new();
    files_below(folder, folder, &mut files);
    files.iter().filter_map(|name| Some(fs::symlink_metadata(folder.join(name)).ok()?.len())).sum()
}
