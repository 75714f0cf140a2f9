//! The assemblies given by arguments: files, and all assemblies in folders.

use std::path::{Path, PathBuf};

use ::instrument::{Input, files_below, is_link_out, read_assembly};

use crate::failure::Failure;

/// An assembly, and its path below the folder that was named; its name alone, if it was named itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assembly {
    pub(crate) path: PathBuf,
    pub(crate) below: PathBuf,
}

/// The files that are named, and the assemblies of folders, in the order of their names.
///
/// # Errors
/// If a folder cannot be read, or has none.
pub(crate) fn assemblies(inputs: &[PathBuf]) -> Result<Vec<Assembly>, Failure> {
    let mut assemblies = Vec::new();
    for input in inputs {
        if !input.is_dir() {
            assemblies.push(Assembly { path: input.clone(), below: input.file_name().map(PathBuf::from).unwrap_or_default() });
            continue;
        }
        let before = assemblies.len();
        // A link within the folder leads to a file that is listed anyway.
        let is_listed = |path: &PathBuf| !path.is_symlink() || is_link_out(input, path);
        let files = files_below(input)?.into_iter().filter(|path| is_listed(path) && is_assembly(path));
        assemblies.extend(files.map(|path| Assembly { below: path.strip_prefix(input).unwrap_or(&path).to_owned(), path }));
        if assemblies.len() == before {
            return Err(Failure::unreadable(format_args!("{}: no assembly in this folder", input.display())));
        }
    }
    Ok(assemblies)
}

/// Whether more than one assembly may be meant: then each is named where something is said of it.
pub(crate) fn may_be_many(inputs: &[PathBuf]) -> bool {
    inputs.len() > 1 || inputs.iter().any(|input| input.is_dir())
}

fn is_assembly(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let may_be = extension.is_some_and(|extension| ["dll", "exe", "netmodule"].contains(&&*extension));
    may_be && Input::open(path).is_ok_and(|bytes| read_assembly(path, &bytes).is_ok())
}
