//! Staging of files until they get their final names: a folder beside them, removed at the end of its run. The next run into the
//! same folder removes the leftovers of a killed one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::paths::without_links;

/// Paths that exist only until a commit: folders of temporary files, and folders created for outputs. The holder of the write
/// lock cannot be interrupted. A thread that creates a temporary file holds the read lock.
pub(crate) type Unfinished = BTreeSet<PathBuf>;

static UNFINISHED: RwLock<Unfinished> = RwLock::new(Unfinished::new());

/// Waits for commits in progress; until the guard is dropped, [`abandon`] waits.
pub(crate) fn uninterrupted() -> RwLockWriteGuard<'static, Unfinished> {
    UNFINISHED.write().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all uncommitted files of this process, which is about to end, for example on a signal. Waits for a commit in progress.
/// Later writers wait forever.
pub fn abandon() {
    let unfinished = uninterrupted();
    remove_all(&unfinished);
    std::mem::forget(unfinished);
}

/// Removes staging folders, then the folders created for outputs, inner ones first.
fn remove_all(unfinished: &Unfinished) {
    for folder in unfinished.iter().filter(|folder| is_staging(folder)) {
        let _ = remove(folder);
    }
    for made in unfinished.iter().rev().filter(|folder| !is_staging(folder)) {
        let _ = fs::remove_dir(made);
    }
}

/// The temporary files of a run, and the folders that it created.
#[derive(Default)]
pub(crate) struct Staging {
    /// A folder that contains all outputs, at any depth, and its resolved path.
    root: Option<(PathBuf, PathBuf)>,
    /// Folders of temporary files, by the folder that contains them, unresolved.
    folders: Mutex<BTreeMap<PathBuf, Arc<Folder>>>,
    /// Folders created for outputs.
    made: Mutex<Vec<PathBuf>>,
}

/// A folder of temporary files.
struct Folder {
    path: PathBuf,
    /// Locked while the run lives, so that no other run takes the folder for a leftover.
    _lock: File,
    next: AtomicUsize,
}

/// The file in each folder whose lock shows that its run lives.
const LOCK: &str = "lock";

impl Staging {
    /// Creates a staging whose temporary files are below a folder, for all outputs below it.
    pub(crate) fn below(root: &Path) -> Self {
        Self { root: Some((root.to_owned(), without_links(root))), folders: Mutex::default(), made: Mutex::default() }
    }

    /// Creates a temporary file for an output, and the folders it needs. Returns its name and the result of `make`.
    pub(crate) fn make<T>(&self, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
        let parent = parent(path);
        let root = self.root.as_ref().filter(|(root, real)| parent.starts_with(root) || parent.starts_with(real));
        let root = root.map_or(parent, |(root, _)| root);
        self.make_folder(parent)?;
        self.make_folder(root)?;
        let known = lock(&self.folders).get(root).cloned();
        let folder = match known {
            Some(folder) => folder,
            None => self.folder_in(root, &mut uninterrupted())?,
        };
        let _no_one_removes_it = UNFINISHED.read().unwrap_or_else(PoisonError::into_inner);
        let temporary = folder.next();
        let made = make(&temporary)?;
        Ok((temporary, made))
    }

    /// Gives a file its final name. Returns the name under which the replaced file, if any, is kept for a rollback. The path
    /// never lacks a file.
    pub(crate) fn replace(&self, temporary: &Path, path: &Path, unfinished: &mut Unfinished) -> io::Result<Option<PathBuf>> {
        let former = if path.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
            Some(self.keep(temporary, path, unfinished)?)
        } else {
            None
        };
        match fs::rename(temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let beside = self.folder_in(parent(path), unfinished)?.next();
                copy(temporary, &beside, path)?;
                fs::rename(beside, path)?;
            }
            renamed => renamed?,
        }
        Ok(former)
    }

    /// Gives the file at a path a second name on its own file system, or copies it.
    fn keep(&self, temporary: &Path, path: &Path, unfinished: &mut Unfinished) -> io::Result<PathBuf> {
        let former = temporary.with_extension("former");
        // Windows removes no name of a file that is open or running; the second name would stay behind.
        if cfg!(windows) {
            return copy(path, &former, path).map(|()| former);
        }
        match fs::hard_link(path, &former) {
            Ok(()) => Ok(former),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let former = self.folder_in(parent(path), unfinished)?.next();
                fs::hard_link(path, &former).or_else(|_| copy(path, &former, path))?;
                Ok(former)
            }
            // Some file systems have no hard links.
            Err(_) => copy(path, &former, path).map(|()| former),
        }
    }

    /// Keeps the folders created for outputs.
    pub(crate) fn keep_folders(&self, unfinished: &mut Unfinished) {
        let made = std::mem::take(&mut *lock(&self.made));
        unfinished.retain(|folder| !made.contains(folder));
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let mut unfinished = uninterrupted();
        let missing = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        unfinished.extend(missing.iter().cloned());
        lock(&self.made).extend(missing);
        fs::create_dir_all(folder)
    }

    /// Returns the folder for temporary files in another folder.
    fn folder_in(&self, folder: &Path, unfinished: &mut Unfinished) -> io::Result<Arc<Folder>> {
        let mut folders = lock(&self.folders);
        if let Some(made) = folders.get(folder) {
            return Ok(Arc::clone(made));
        }
        let real = without_links(folder);
        let made = match folders.get(&real) {
            Some(made) => Arc::clone(made),
            None => {
                remove_leftovers(folder);
                let made = Arc::new(Folder::make(folder)?);
                unfinished.insert(made.path.clone());
                folders.insert(real, Arc::clone(&made));
                made
            }
        };
        folders.insert(folder.to_owned(), Arc::clone(&made));
        Ok(made)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let folders = std::mem::take(&mut *lock(&self.folders));
        let staged = folders.values().map(|folder| folder.path.clone());
        let mine: Unfinished = staged.chain(std::mem::take(&mut *lock(&self.made))).collect();
        if mine.is_empty() {
            return;
        }
        let mut unfinished = uninterrupted();
        // Closes the lock files: removing folders opens files, too, and their number is limited.
        drop(folders);
        remove_all(&mine);
        unfinished.retain(|folder| !mine.contains(folder));
    }
}

impl Folder {
    fn make(folder: &Path) -> io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id()));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let lock = match File::create_new(path.join(LOCK)) {
                // Before the lock is taken, another run may remove the folder as a leftover.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
                Ok(lock) => lock,
            };
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => {}
                Ok(()) if !path.join(LOCK).exists() => {}
                // Without locks on the file system, no run removes leftovers.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Self { path, _lock: lock, next: AtomicUsize::new(0) }),
            }
        }
    }

    fn next(&self) -> PathBuf {
        self.path.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

const PREFIX: &str = ".ilinst-";
const SUFFIX: &str = ".tmp";

/// Returns whether a folder has the name of a staging folder, of any run.
pub(crate) fn is_staging(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Removes the staging folders of dead runs in a folder.
pub(crate) fn remove_leftovers(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| is_staging(Path::new(&entry.file_name())));
    for entry in folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let lock = entry.path().join(LOCK);
        match fs::symlink_metadata(&lock) {
            Ok(metadata) if metadata.is_file() => {
                let lock = OpenOptions::new().write(true).open(lock);
                if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_ok()) {
                    let _ = remove(&entry.path());
                }
            }
            // The run is about to lock it, or was killed before.
            Err(error) if error.kind() == io::ErrorKind::NotFound => drop(fs::remove_dir(entry.path())),
            _ => {}
        }
    }
}

/// Removes a staging folder, or as many of its files as possible: Windows keeps open and mapped files. The lock file goes last,
/// so that a remainder is still a leftover for the next run.
fn remove(folder: &Path) -> io::Result<()> {
    let mut result = Ok(());
    // If too many files are open, there may be fewer a moment later.
    for entry in fs::read_dir(folder).or_else(|_| fs::read_dir(folder))? {
        let file = entry?.path();
        if !file.ends_with(LOCK) {
            result = fs::remove_file(file).and(result);
        }
    }
    result?;
    let _ = fs::remove_file(folder.join(LOCK));
    fs::remove_dir(folder)
}

/// Copies a file with its permissions, or a link that will be moved to `place`.
fn copy(from: &Path, to: &Path, place: &Path) -> io::Result<()> {
    match from.read_link() {
        Ok(target) => make_link(&target, to, place),
        Err(_) => fs::copy(from, to).map(drop),
    }
}

/// Creates a link that will be moved.
#[cfg(unix)]
pub(crate) fn make_link(target: &Path, path: &Path, _place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Windows distinguishes links to files and links to folders.
#[cfg(windows)]
pub(crate) fn make_link(target: &Path, path: &Path, place: &Path) -> io::Result<()> {
    use std::os::windows::fs::{symlink_dir, symlink_file};
    if parent(place).join(target).is_dir() { symlink_dir(target, path) } else { symlink_file(target, path) }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If one file of a leftover cannot be removed, the others are. The lock file stays, so that the next run tries again.
    #[test]
    fn what_cannot_be_removed_keeps_nothing_else() {
        let folder = std::env::temp_dir().join(format!("ilinst-leftovers-{}", std::process::id()));
        let leftover = folder.join(".ilinst-1-0.tmp");
        // A folder, so that removing it as a file fails.
        let stuck = leftover.join("4");
        fs::create_dir_all(&stuck).unwrap();
        for file in ["0", "1", "2", "3", "5", "6", "7", "8", LOCK] {
            fs::write(leftover.join(file), "").unwrap();
        }
        remove_leftovers(&folder);
        let mut left: Vec<_> = fs::read_dir(&leftover).unwrap().flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["4", LOCK]);
        fs::remove_dir(&stuck).unwrap();
        remove_leftovers(&folder);
        assert!(!leftover.exists());
        fs::remove_dir(&folder).unwrap();
    }
}
