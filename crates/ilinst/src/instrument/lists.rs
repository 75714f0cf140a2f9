//! Lists for build engines: the written files, and the files they were made from.

use std::{
    collections::HashSet,
    env, fs,
    io::Write,
    path::{Path, PathBuf},
};

use ::instrument::{Destination, Request, Run};
use clap::Args;

#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Write a make or ninja rule with all files that were written and read
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "in_place"])]
    depfile: Option<PathBuf>,

    /// Write the paths of all files that were written, one a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "in_place"])]
    output_list: Option<PathBuf>,
}

impl ListArgs {
    /// Writes them. Paths are relative where those that were named are.
    pub(super) fn write(&self, run: &mut Run, request: &Request) -> ::instrument::Result<()> {
        if self.depfile.is_none() && self.output_list.is_none() {
            return Ok(());
        }
        let is_relative = match &request.destination {
            Destination::Path(output) => output.is_relative(),
            _ => true,
        };
        let mut written = named(run.written(), is_relative);
        // For ninja the first is the target.
        let targets: HashSet<&Path> = run.files.iter().map(|file| file.output.as_path()).collect();
        written.sort_by_key(|path| !targets.contains(path.as_path()));
        let are_relative = request.inputs.iter().all(|input| input.is_relative());
        let read = named(run.read.iter().map(PathBuf::as_path), are_relative);
        if let Some(path) = &self.output_list {
            run.write(path, |out| {
                out.write_all(written.iter().map(|path| format!("{}\n", path.display())).collect::<String>().as_bytes())
            })?;
        }
        if let Some(path) = &self.depfile {
            let list = |paths: &[PathBuf]| paths.iter().map(|path| escaped(path)).collect::<Vec<_>>().join(" \\\n  ");
            run.write(path, |out| writeln!(out, "{}: \\\n  {}", list(&written), list(&read)))?;
        }
        Ok(())
    }
}

/// Paths as they are, or by the current folder.
fn named<'p>(paths: impl Iterator<Item = &'p Path>, are_relative: bool) -> Vec<PathBuf> {
    let here = env::current_dir().and_then(fs::canonicalize).ok().filter(|_| are_relative);
    let name = |path: &Path| here.as_ref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_owned();
    paths.map(name).collect()
}

/// A path as make and ninja read it.
fn escaped(path: &Path) -> String {
    let mut out = String::new();
    for character in path.to_string_lossy().chars() {
        match character {
            ' ' | '#' => out.push('\\'),
            '$' => out.push('$'),
            _ => {}
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_make_has_a_meaning_for_is_escaped() {
        assert_eq!(escaped(Path::new("a b/$(c)#.dll")), r"a\ b/$$(c)\#.dll");
        assert_eq!(escaped(Path::new(r"C:\out\a.dll")), r"C:\out\a.dll");
    }
}
