//! Files given by arguments: their bytes, and the assemblies among them and in folders.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use ::instrument::{Input, browser::why_no_assembly, files_below, is_link_out, read_assembly};
use ecma335::FileKind;

use crate::{failure::Failure, terminal::complain};

/// The bytes of a file, or those that were unpacked from one.
pub(crate) enum Bytes {
    File(Input),
    Unpacked(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(file) => file,
            Self::Unpacked(bytes) => bytes,
        }
    }
}

/// An assembly, and its path below the folder that was named; its name alone, if it was named itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assembly {
    pub(crate) path: PathBuf,
    pub(crate) below: PathBuf,
}

/// The links in a folder that are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Links {
    /// Those to files elsewhere. Other links lead to files that are listed anyway.
    LeadingOut,
    /// All to files.
    All,
}

/// The files that are named, and the assemblies of folders, in the order of their names. Links to folders are not followed, and
/// reported, as are links to no file.
///
/// # Errors
/// If a folder cannot be read, or has none.
pub(crate) fn assemblies(inputs: &[PathBuf], links: Links) -> Result<Vec<Assembly>, Failure> {
    let mut assemblies = Vec::new();
    for input in inputs {
        if !input.is_dir() {
            assemblies.push(Assembly { path: input.clone(), below: input.file_name().map(PathBuf::from).unwrap_or_default() });
            continue;
        }
        let before = assemblies.len();
        let is_listed = |path: &PathBuf| match path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            true if path.is_dir() => report_link(path, "it leads to a folder: name that too, if it belongs here"),
            true if !path.exists() && FileKind::by_name(path).is_some() => report_link(path, "it leads to no file"),
            true => links == Links::All || is_link_out(input, path),
            false => true,
        };
        let files = files_below(input)?.into_iter().filter(|path| is_listed(path) && is_assembly(path));
        assemblies.extend(files.map(|path| Assembly { below: path.strip_prefix(input).unwrap_or(&path).to_owned(), path }));
        if assemblies.len() == before {
            let folder = input.display();
            return Err(match why_no_assembly(input) {
                Some(why) => Failure::unreadable(format_args!("{folder}: {why}; name the folder of a build in its place")),
                None => Failure::unreadable(format_args!("{folder}: no assembly in this folder")),
            });
        }
    }
    Ok(assemblies)
}

/// Whether more than one assembly may be meant: then each is named where something is said of it.
pub(crate) fn may_be_many(inputs: &[PathBuf]) -> bool {
    inputs.len() > 1 || inputs.iter().any(|input| input.is_dir())
}

/// Reports a link that is not followed.
fn report_link(link: &Path, why: &str) -> bool {
    complain(format_args!("{}: link not followed: {why}", link.display()));
    false
}

fn is_assembly(path: &Path) -> bool {
    FileKind::by_name(path).is_some() && Input::open(path).is_ok_and(|bytes| read_assembly(path, &bytes).is_ok())
}
