//! Lines of instrumented assemblies that a program did not load: no counters of them are in its profile.

use std::{
    fs::{self, File},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use ::instrument::{Input, failure::about};
use ecma335::is_named_as_assembly;
use names::{LineTable, Mark};
use profile::{
    Profile,
    lines::{SourceFile, missing_in, of_table},
};

use crate::{failure::Failure, profiles};

/// The lines of all instrumented assemblies in a folder and below, none of which ran.
pub(crate) fn lines_below(folder: &Path) -> Result<Vec<SourceFile>, Failure> {
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| Failure::unreadable(about(&folder, &error)))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            match fs::symlink_metadata(&path) {
                Ok(entry) if entry.is_dir() => folders.push(path),
                Ok(_) if is_named_as_assembly(&path) => lines.extend(lines_of(&path)),
                _ => {}
            }
        }
    }
    Ok(lines)
}

/// The lines of an assembly. A file that is no instrumented assembly has none.
fn lines_of(path: &Path) -> Vec<SourceFile> {
    let Ok(file) = Input::open(path) else { return Vec::new() };
    let Ok((_, metadata)) = ecma335::open(&file) else { return Vec::new() };
    let tables = Mark::read_all(&metadata).filter_map(|mark| LineTable::read(mark.lines?).ok());
    tables.filter_map(|table| of_table(table, |_| Some(0))).flatten().collect()
}

/// Adds the lines that a profile lacks of the instrumented assemblies below a folder. Its program must have ended.
pub(crate) fn add_to(profile: &Path, folder: &Path) -> Result<(), Failure> {
    let lines = lines_below(folder)?;
    if lines.is_empty() {
        return Ok(());
    }
    let addition = {
        let file = Input::open(profile)?;
        let unreadable = |error| profiles::bad(profile, error);
        let missing = missing_in(&Profile::parse(&profiles::open(profile)?).map_err(unreadable)?.lines, lines);
        if missing.is_empty() {
            return Ok(());
        }
        profile::added_lines(&file, &missing).map_err(unreadable)?
    };
    let Some((end, bytes)) = addition else { return Ok(()) };
    let write = || {
        let mut file = File::options().write(true).open(profile)?;
        file.seek(SeekFrom::Start(end as u64))?;
        file.write_all(&bytes)
    };
    write().map_err(|error| Failure::unwritable(about(profile, &error)))
}
