//! The files beside an assembly that go with it: the assemblies that it refers to, their PDBs and satellites.

use std::path::{Path, PathBuf};

use ecma335::{FileKind, Metadata};

/// The assemblies that define `System.Object`: a folder with one of them contains a framework.
const CORE_LIBRARIES: [&str; 2] = ["System.Private.CoreLib.dll", "mscorlib.dll"];

/// Returns whether a folder contains a framework.
fn holds_framework(folder: &Path) -> bool {
    CORE_LIBRARIES.iter().any(|name| folder.join(name).is_file())
}

/// Returns the assemblies beside an assembly that it refers to, directly or not, with their PDBs and satellites.
pub(crate) fn references_beside(input: &Path, metadata: &Metadata<'_>) -> Vec<PathBuf> {
    let folder = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let leaves_framework = holds_framework(folder);
    let mut found: Vec<PathBuf> = Vec::new();
    let mut names = referred(metadata);
    while let Some(name) = names.pop() {
        if Path::new(&name).file_name().is_none_or(|plain| plain != name.as_str()) || name == "Ilinst.Tracker" {
            continue;
        }
        let paths = FileKind::assemblies(&input.with_file_name(&name));
        let Some(path) = paths.into_iter().find(|path| path.is_file() && path != input && !found.contains(path)) else {
            continue;
        };
        let Ok(bytes) = crate::Input::open(&path) else { continue };
        let Ok((_, metadata)) = crate::read_assembly(&path, &bytes) else { continue };
        if !(leaves_framework && framework::is_signed_by_framework(&metadata)) {
            names.extend(referred(&metadata));
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the files that are copied with assemblies: their PDBs, their satellites, and the satellites of `input`.
pub(crate) fn files_of(assemblies: &[PathBuf], input: &Path) -> Vec<PathBuf> {
    let folder = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cultures: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| input.with_file_name(entry.file_name()))
        .collect();
    let satellite = |assembly: &Path| assembly.with_extension("resources.dll").file_name().map(ToOwned::to_owned);
    let named = assemblies.iter().map(PathBuf::as_path).chain([input]).filter_map(satellite);
    let satellites = named.flat_map(|name| cultures.iter().map(move |culture| culture.join(&name)));
    let pdbs = assemblies.iter().map(|assembly| assembly.with_extension("pdb"));
    pdbs.chain(satellites).filter(|path| path.is_file()).collect()
}

fn referred(metadata: &Metadata<'_>) -> Vec<String> {
    let rows = metadata.tables.rows::<ecma335::schema::AssemblyRef>();
    rows.filter_map(|(_, row)| metadata.name(row.name).ok()).collect()
}
