//! What the PDBs beside the woven files are called.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use ecma335::Image;

use crate::{failure::Result, job::Job, paths::file_name, pdb::Pdb};

/// Finds the PDB of each assembly, and gives the woven one a name that is no other file's: the debug directory says it, so
/// any will do. It is the name that the image has for it, if that can be.
pub(crate) fn name_pdbs(jobs: &mut [Job], given: Option<&Path>, is_in_place: bool) -> Result<()> {
    // Of many, not all are kept in memory.
    let is_only = jobs.len() == 1;
    for job in jobs.iter_mut().filter(|job| job.may_be_an_assembly()) {
        if !job.is_named && !job.input.is_file() {
            continue;
        }
        let input = job.read()?;
        job.pdb = Image::parse(&input).ok().and_then(|image| Pdb::find(&job.input, given, &image));
        job.bytes = is_only.then_some(input);
    }
    let found = |job: &Job| job.pdb.as_ref().and_then(|pdb| pdb.path.clone());
    let all_read: Vec<PathBuf> = jobs.iter().flat_map(|job| [Some(job.input.clone()), found(job)]).flatten().collect();
    // Asked for only where there is a file already: to follow all links takes long.
    let read: LazyCell<BTreeSet<PathBuf>, _> =
        LazyCell::new(|| all_read.iter().filter_map(|path| fs::canonicalize(path).ok()).collect());
    let outputs: BTreeMap<PathBuf, PathBuf> = jobs.iter().map(|job| (job.output.clone(), job.input.clone())).collect();
    let mut taken = BTreeSet::new();
    let mut jobs: Vec<&mut Job> = jobs.iter_mut().filter(|job| job.pdb.is_some()).collect();
    // Of several that name one PDB, it is that of its namesake.
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

/// An odd name is no reason to write anything but a PDB.
fn is_plain(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdb"))
}

fn is_namesake(assembly: &Path, pdb: &Pdb) -> bool {
    assembly.file_stem() == Path::new(&pdb.name).file_stem()
}

/// Whether an assembly that is not woven in place has the name of this PDB.
fn has_other_namesake(pdb: &Path, assembly: &Path) -> bool {
    ["exe", "dll"].map(|extension| pdb.with_extension(extension)).iter().any(|other| other != assembly && other.is_file())
}
