//! The SHA-256 of woven assemblies in both leave modes and both layouts, with their PDBs: one line for each file. If two
//! checkouts print the same list, they weave the same bytes.
//!
//! ```text
//! cargo run --release -p ilinst-weave --example woven_hashes -- samples /usr/lib/mono > hashes
//! ```

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use ecma335::{Image, Metadata};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};
use weave::{LeaveMode, Options, Tracker, Weave, Woven};

fn main() -> Result<(), Box<dyn Error>> {
    let tracker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tracker-runtime/bin/Ilinst.Tracker.dll");
    let tracker = Tracker::read(&fs::read(tracker)?)?;
    let mut files = Vec::new();
    for folder in std::env::args_os().skip(1) {
        collect(Path::new(&folder), &mut files)?;
    }
    files.sort();
    let lines: Vec<String> = files.par_iter().filter_map(|file| line(file, &tracker)).collect();
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            collect(&path, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// A file's path and hashes. `None` if it is not an assembly, or is refused.
fn line(path: &Path, tracker: &Tracker) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let image = Image::parse(&bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    if weave::refusal::for_file(&image, &metadata, tracker).is_some() {
        return None;
    }
    let pdb = fs::read(path.with_extension("pdb")).ok();
    let mut line = path.display().to_string();
    for (leave, keep_layout) in
        [LeaveMode::Finally, LeaveMode::Return].into_iter().flat_map(|leave| [(leave, false), (leave, true)])
    {
        let options = Options { leave, keep_layout, ..Options::default() };
        let how = Weave { options: &options, tool: "ilinst", pdb: pdb.as_deref(), ..Weave::new(tracker) };
        line.push(' ');
        line.push_str(&weave::weave(&image, &metadata, &how).map_or_else(|error| error.to_string(), |woven| hash(&woven)));
    }
    Some(line)
}

/// The hash of the file, its PDB and the outcome for each method.
fn hash(woven: &Woven<'_>) -> String {
    let mut hash = Sha256::new();
    woven.file.iter().chain(woven.pdb.as_deref()).for_each(|part| hash.update(part));
    for method in &woven.methods {
        hash.update(method.as_ref().map_or_else(ToString::to_string, |shape| format!("{shape:?}")));
    }
    hex::encode(&hash.finalize()[..8])
}
