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

    /// Lets it outlive this value; returns where it is.
    pub fn keep(self) -> PathBuf {
        std::mem::take(&mut std::mem::ManuallyDrop::new(self).0)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a folder that only this user may enter, and those above it. Each is made in the open folder above it, so a link that
/// another user plants meanwhile is an error, and nothing is made behind it. The path has no links.
#[cfg(unix)]
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    use nix::{
        errno::Errno,
        fcntl::{AT_FDCWD, OFlag, openat},
        sys::stat::{Mode, mkdirat},
    };
    // Folders above a home may be closed to reading.
    #[cfg(target_os = "linux")]
    const ENTERED: OFlag = OFlag::O_PATH;
    #[cfg(not(target_os = "linux"))]
    const ENTERED: OFlag = OFlag::O_RDONLY;
    let flags = ENTERED | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut above: Option<fs::File> = None;
    for part in folder.components() {
        let name = Path::new(part.as_os_str());
        let open = |above: &Option<fs::File>| match above {
            Some(above) => openat(above, name, flags, Mode::empty()),
            None => openat(AT_FDCWD, name, flags, Mode::empty()),
        };
        let opened = match (open(&above), &above) {
            (Err(Errno::ENOENT), Some(parent)) => {
                if let Some(reason) = changed_by_others(&parent.metadata()?, true) {
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
                }
                // Another run may be faster.
                mkdirat(parent, name, Mode::S_IRWXU).or_else(|error| if error == Errno::EEXIST { Ok(()) } else { Err(error) })?;
                open(&above)
            }
            (opened, _) => opened,
        };
        above = Some(opened?.into());
    }
    Ok(())
}

/// Makes a folder and those above it. Windows gives them the rights of the user's profile.
#[cfg(not(unix))]
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Makes a folder in the system's cache that all users may enter. Root's programs may start others as another user, who cannot
/// enter root's own cache. `None` for other users, if `ILINST_CACHE` names a cache, or if the folder cannot be made.
#[cfg(unix)]
pub(crate) fn folder_of_all_users(name: &str) -> Option<PathBuf> {
    const OF_SYSTEM: &str = "/var/cache";
    if !nix::unistd::geteuid().is_root() || env::var_os(crate::cache::VARIABLE).is_some() || !Path::new(OF_SYSTEM).is_dir() {
        return None;
    }
    let own = Path::new(OF_SYSTEM).join("ilinst");
    let folder = own.join(name);
    fs::create_dir_all(&folder).ok()?;
    let is_private = check(&folder).ok()?.is_ok();
    (is_private && show_to_all_users(&own).is_ok() && show_to_all_users(&folder).is_ok()).then_some(folder)
}

#[cfg(not(unix))]
pub(crate) fn folder_of_all_users(_: &str) -> Option<PathBuf> {
    None
}

/// Lets all users read a file, or enter a folder. Only its owner may change it.
#[cfg(unix)]
pub(crate) fn show_to_all_users(path: &Path) -> io::Result<()> {
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn show_to_all_users(_: &Path) -> io::Result<()> {
    Ok(())
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
    const STICKY: u32 = 0o1000;
    const OTHERS: u32 = 0o002;
    const GROUP: u32 = 0o020;
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if !metadata.is_dir() {
        return Some("it is no folder".into());
    }
    let is_trusted = is_own(metadata) || is_above && is_of_system(owner);
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

/// Whether a user is root, or stands for all users whom the user namespace of this process does not map, such as the owners of
/// what a container gets from outside (user_namespaces(7)). Where a user of that number is mapped, it is a user as any other.
#[cfg(unix)]
fn is_of_system(user: u32) -> bool {
    const UNMAPPED: u32 = 65534;
    user == 0 || user == UNMAPPED && fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !is_mapped(user, &map))
}

/// Whether a map of users (`first, first outside, count` in each line) has a user.
#[cfg(unix)]
fn is_mapped(user: u32, map: &str) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if user.checked_sub(first).is_some_and(|place| place < count))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::{env, fs, os::unix::fs::symlink, process};

    use super::{is_mapped, make};

    /// A link that another user plants between the check of a path and its use leads nowhere.
    #[test]
    fn nothing_is_made_behind_a_link() {
        let folder = env::temp_dir().canonicalize().expect("it is there").join(format!("ilinst-private-{}", process::id()));
        make(&folder.join("elsewhere")).expect("it can be made");
        symlink("elsewhere", folder.join("link")).expect("a link can be made");
        let behind = make(&folder.join("link/ilinst-cache/trackers"));
        let at_it = make(&folder.join("link"));
        let made = fs::read_dir(folder.join("elsewhere")).expect("it is there").count();
        let again = make(&folder.join("made/twice")).and_then(|()| make(&folder.join("made/twice")));
        fs::remove_dir_all(&folder).expect("it is ours");
        assert!(behind.is_err() && at_it.is_err() && again.is_ok(), "{behind:?} {at_it:?} {again:?}");
        assert_eq!(made, 0);
    }

    #[test]
    fn a_user_is_mapped_by_a_line_of_the_map() {
        // The machine itself, a container with 65,536 users, one with a single user, and one with two ranges.
        let whole = "         0          0 4294967295\n";
        for (map, has) in [(whole, true), ("0 100000 65536\n", true), ("0 1000 1\n", false), ("", false)] {
            assert_eq!(is_mapped(65534, map), has, "{map}");
        }
        let ranges = "0 1000 1\n1 100000 65534\n";
        assert!(is_mapped(65534, ranges) && !is_mapped(65535, ranges));
        assert!(!is_mapped(65534, "0 100000 65534\n") && !is_mapped(0, "1 100000 65534\n"));
    }
}
