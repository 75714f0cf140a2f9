//! Folders that only this user can change: programs are run from them.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use instrument::{Failure, failure::about};

/// A folder in the temporary one that no other user may enter, as long as this lives.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// One that nobody had before: a path in it is nobody else's link. `ilinst report` looks at profiles in those of this name, also
    /// while the program runs.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn folder() -> instrument::Result<Self> {
        for number in 0_usize.. {
            let folder = env::temp_dir().join(format!("ilinst-run-{}-{number}", std::process::id()));
            match builder().create(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::unwritable(about(&folder, &error))),
                Ok(()) => return Ok(Self(folder)),
            }
        }
        unreachable!("there is no last number")
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a folder that only this user may enter, and those above it.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    builder().recursive(true).create(folder)
}

fn builder() -> fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "Windows has no modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Whether no other user can change a folder, nor put another in its place, as far as it is there: each folder of its path, which
/// has no links, is the user's or the system's, and nobody else may write there. The reason, if one can.
#[cfg(unix)]
pub(crate) fn check(folder: &Path) -> io::Result<Result<(), String>> {
    let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    for path in folder.ancestors() {
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if let Some(reason) = changed_by_others(&metadata, path != folder) {
            return Ok(Err(format!("{}: {reason}", path.display())));
        }
        // Whoever can put another home in this one's place needs no cache for it.
        if home.as_deref() == Some(path) && is_own(&metadata) {
            break;
        }
    }
    Ok(Ok(()))
}

/// Folders are as private as the user's profile, in which they are.
#[cfg(not(unix))]
pub(crate) fn check(_: &Path) -> io::Result<Result<(), String>> {
    Ok(Ok(()))
}

/// Whether a folder is this user's, and no other may enter it.
pub(crate) fn is_closed(folder: &Path) -> bool {
    #[cfg(unix)]
    let is_closed = |metadata: &fs::Metadata| is_own(metadata) && std::os::unix::fs::MetadataExt::mode(metadata) & 0o077 == 0;
    #[cfg(not(unix))]
    let is_closed = |_: &fs::Metadata| true;
    fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir() && is_closed(&metadata))
}

#[cfg(unix)]
fn is_own(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == nix::unistd::geteuid().as_raw()
}

/// Why other users can change a folder, or, of one above it, what lies there.
#[cfg(unix)]
fn changed_by_others(metadata: &fs::Metadata, is_above: bool) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    /// Root, and whoever a container shows as the owner of a folder from outside.
    const OF_SYSTEM: [u32; 2] = [0, 65534];
    const STICKY: u32 = 0o1000;
    const OTHERS: u32 = 0o002;
    const GROUP: u32 = 0o020;
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if !metadata.is_dir() {
        return Some("it is no folder".into());
    }
    let is_trusted = is_own(metadata) || is_above && OF_SYSTEM.contains(&owner);
    if !is_trusted {
        return Some(format!("it belongs to another user ({owner}), who could change the programs that ilinst runs there"));
    }
    // Where each user has a group of their own, it has the user's number.
    let is_shared_group = mode & GROUP != 0 && metadata.gid() != owner;
    // In a sticky folder, as /tmp, others cannot rename this user's.
    let keeps = is_above && mode & STICKY != 0;
    let is_writable = (mode & OTHERS != 0 || is_shared_group) && !keeps;
    is_writable.then(|| {
        let mode = mode & 0o7777;
        format!("other users can write to it (mode {mode:04o}), and could change the programs that ilinst runs there")
    })
}
