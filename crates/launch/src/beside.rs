//! An instrumented copy of a folder, next to the original, so that relative paths still resolve.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use instrument::{Failure, failure::about};

/// Separates the folder's name from the id of the process that owns the copy.
const MARK: &str = ".ilinst-";

/// Creates an empty folder next to another one, for a process. Removes the copies of killed processes.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn make_beside(folder: &Path, process: u32) -> instrument::Result<PathBuf> {
    let folder = dunce::canonicalize(folder).map_err(|error| Failure::unreadable(about(folder, &error)))?;
    remove_left(&folder);
    for number in 0_usize.. {
        let mut name = begin_of(&folder);
        name.push(if number == 0 { process.to_string() } else { format!("{process}-{number}") });
        let copy = folder.with_file_name(name);
        match fs::create_dir(&copy) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::unwritable(about(&copy, &error))),
            Ok(()) => return Ok(copy),
        }
    }
    unreachable!("there is no last number")
}

fn begin_of(folder: &Path) -> OsString {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(MARK);
    name
}

fn remove_left(folder: &Path) {
    let begin = begin_of(folder);
    let siblings = folder.parent().and_then(|parent| fs::read_dir(parent).ok()).into_iter().flatten().flatten();
    for sibling in siblings {
        let name = sibling.file_name();
        let Some(rest) = name.as_encoded_bytes().strip_prefix(begin.as_encoded_bytes()) else { continue };
        let process = rest.split(|byte| *byte == b'-').next().and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if process.is_some_and(has_ended) {
            let _ = fs::remove_dir_all(sibling.path());
        }
    }
}

#[cfg(unix)]
fn has_ended(process: u32) -> bool {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(process.cast_signed()), None) == Err(nix::errno::Errno::ESRCH)
}

/// Unknown on this system: a copy stays until the user removes it.
#[cfg(not(unix))]
fn has_ended(_: u32) -> bool {
    false
}
