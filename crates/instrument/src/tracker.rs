//! The tracker that woven code calls, as it is written beside each output.

use std::{fs, io::Write as _, path::Path};

use ecma335::schema::AssemblyRef;

use crate::{
    failure::{Failure, Result},
    input::{not_an_assembly, read_assembly},
    outputs::Outputs,
};

/// The assembly.
pub const TRACKER: &[u8] = include_bytes!("../../../tracker-runtime/bin/Ilinst.Tracker.dll");
/// Its file name.
pub const TRACKER_FILE: &str = "Ilinst.Tracker.dll";
/// The tool and its version, as marks and manifests have them.
pub const TOOL: &str = concat!("ilinst ", env!("CARGO_PKG_VERSION"));

/// Reads what weaving has to know of it.
pub(crate) fn read_tracker() -> Result<weave::Tracker> {
    weave::Tracker::read(TRACKER).map_err(in_tracker)
}

/// Writes the tracker to a path, unless it is there already.
pub(crate) fn write_tracker(path: &Path, outputs: &mut Outputs) -> Result<()> {
    if fs::read(path).is_ok_and(|bytes| bytes == TRACKER) {
        return Ok(());
    }
    outputs.write(path, |file| file.write_all(TRACKER))
}

/// The assemblies that the tracker needs and a self-contained program in this folder does not have: such a program has its
/// own core library, and a trimmed one little else.
pub(crate) fn missing_for_tracker(folder: &Path) -> Result<Vec<String>> {
    if !folder.join("System.Private.CoreLib.dll").is_file() {
        return Ok(Vec::new());
    }
    let (_, metadata) = read_assembly(Path::new(TRACKER_FILE), TRACKER)?;
    let references = metadata.tables.rows::<AssemblyRef>().map(|(_, row)| Ok(metadata.name(row.name)? + ".dll"));
    let references: Vec<String> = references.collect::<ecma335::Result<_>>().map_err(in_tracker)?;
    Ok(references.into_iter().filter(|name| !folder.join(name).is_file()).collect())
}

fn in_tracker(error: ecma335::Error) -> Failure {
    not_an_assembly(Path::new(TRACKER_FILE), error)
}
