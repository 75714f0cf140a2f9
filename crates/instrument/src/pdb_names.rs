//! The names of PDBs beside instrumented files.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use ecma335::FileKind;

use crate::{failure::Result, job::Job, paths::file_name, pdb::Pdb};

/// Finds the PDB of each assembly, and gives the instrumented one a name that no other file has. Any name will do, since the
/// debug directory states it. The image's own name for it is preferred.
pub(crate) fn name_pdbs(jobs: &mut [Job], given: Option<&Path>, is_in_place: bool) -> Result<()> {
    // With many files, the bytes of each are read again later, to save memory.
    let is_only = jobs.len() == 1;
    for job in jobs.iter_mut().filter(|job| job.may_be_an_assembly()) {
        if !job.is_named && !job.input.is_file() {
            continue;
        }
        let input = job.read()?;
        job.pdb = ecma335::open(&input).ok().and_then(|(image, _)| Pdb::find(&job.input, given, &image));
        job.bytes = is_only.then_some(input);
    }
    let found = |job: &Job| job.pdb.as_ref().and_then(|pdb| pdb.path.clone());
    let all_read: Vec<PathBuf> = jobs.iter().flat_map(|job| [Some(job.input.clone()), found(job)]).flatten().collect();
    // Computed only if a file exists already: following all links takes long.
    let read: LazyCell<BTreeSet<PathBuf>, _> =
        LazyCell::new(|| all_read.iter().filter_map(|path| fs::canonicalize(path).ok()).collect());
    let outputs: BTreeMap<PathBuf, PathBuf> = jobs.iter().map(|job| (job.output.clone(), job.input.clone())).collect();
    let mut taken = BTreeSet::new();
    let mut jobs: Vec<&mut Job> = jobs.iter_mut().filter(|job| job.pdb.is_some()).collect();
    // If several assemblies name one PDB, it belongs to the one with the same name.
    jobs.sort_by_key(|job| !job.pdb.as_ref().is_some_and(|pdb| is_namesake(&job.output, pdb)));
    for job in jobs {
        let Job { output, pdb: Some(pdb), .. } = job else { continue };
        let is_free = |name: &String| {
            let path = output.with_file_name(name);
            let is_its_own = pdb.path.as_ref() == Some(&path);
            let is_read = path.exists() && fs::canonicalize(&path).is_ok_and(|path| read.contains(&path));
            let is_anothers = !is_namesake(output, pdb) && has_other_namesake(&path, output);
            !taken.contains(&path)
                && outputs.get(&path).is_none_or(|input| pdb.path.as_ref() == Some(input))
                && if is_in_place { (is_its_own || !is_read) && !is_anothers } else { !is_read }
        };
        let last = file_name(output) + ".pdb";
        let names = [pdb.name.clone(), file_name(&output.with_extension("pdb")), last.clone()];
        pdb.name = names.into_iter().filter(|name| is_plain(name)).find(is_free).unwrap_or(last);
        taken.insert(output.with_file_name(&pdb.name));
    }
    Ok(())
}

/// Returns whether a name has the extension of a PDB: an odd name must not let any other file be written.
fn is_plain(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdb"))
}

fn is_namesake(assembly: &Path, pdb: &Pdb) -> bool {
    assembly.file_stem() == Path::new(&pdb.name).file_stem()
}

/// Returns whether another assembly has the name of this PDB.
fn has_other_namesake(pdb: &Path, assembly: &Path) -> bool {
    FileKind::assemblies(&pdb.with_extension("")).iter().any(|other| other != assembly && other.is_file())
}
