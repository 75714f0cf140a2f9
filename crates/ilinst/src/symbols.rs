//! Names that people wrote, for profiles: from the woven files that the program loaded, if they are found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ::instrument::Input;
use ::symbols::{Manifest, Symbol, Symbols, module_key, pdb_of};
use ecma335::{Image, debug::DebugEntry};
use profile::{
    Profile,
    model::{MethodName, Source},
};
use weave::pdb::PdbReference;

/// Gives a profile's functions the names that are found: by the path of each module, beside the profile, and in these folders.
pub(crate) fn name(profile: &mut Profile, path: &Path, folders: &[PathBuf]) {
    for index in 0..profile.modules.len() {
        let Some(module) = profile.modules.get(index) else { continue };
        let (key, files) = (module.key, candidates(profile, index, path, folders));
        if !files.iter().any(|file| by_assembly(profile, key, file)) {
            let _ = files.iter().any(|file| by_manifest(profile, key, file));
        }
    }
    let nobodys = profile.functions.iter().filter(|function| function.module.is_none() && function.name.is_none());
    let mut keys: Vec<u64> = nobodys.map(|function| function.method_id.module_key()).collect();
    keys.sort_unstable();
    keys.dedup();
    // The program did not come to say which modules these are of: whatever is woven where it may be.
    for file in if keys.is_empty() { Vec::new() } else { woven_files(profile, path, folders) } {
        for key in &keys {
            let _ = by_assembly(profile, *key, &file) || by_manifest(profile, *key, &file);
        }
    }
}

/// Where the file of a module may be; what the user says comes before what the program said.
fn candidates(profile: &Profile, index: usize, path: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let Some(module) = profile.modules.get(index) else { return Vec::new() };
    let said = Path::new(&module.path);
    let names = [said.file_name().map(PathBuf::from), (!module.name.is_empty()).then(|| PathBuf::from(&module.name))];
    // A name may not lead elsewhere.
    let names = names.into_iter().flatten().filter_map(|name| name.file_name().map(PathBuf::from));
    let folders = places(profile, path, folders);
    let found = names.flat_map(|name| folders.iter().map(|folder| folder.join(&name)).collect::<Vec<_>>());
    let said = (!module.path.is_empty()).then(|| said.to_owned());
    found.chain(said).collect()
}

/// The folders given, the profile's, and the program's.
fn places(profile: &Profile, path: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let program = Path::new(&profile.path).parent().filter(|folder| !folder.as_os_str().is_empty());
    folders.iter().map(PathBuf::as_path).chain([beside]).chain(program).map(Path::to_owned).collect()
}

fn woven_files(profile: &Profile, path: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries =
        places(profile, path, folders).into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let manifests = entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(MANIFEST));
    manifests.map(|path| PathBuf::from(path.to_string_lossy().trim_end_matches(MANIFEST))).collect()
}

/// What is behind a woven file's name in its manifest's.
const MANIFEST: &str = ".ilinst.json";

fn by_assembly(profile: &mut Profile, key: u64, file: &Path) -> bool {
    let Ok(assembly) = Input::open(file) else { return false };
    if module_key(&assembly) != Some(key) {
        return false;
    }
    let beside = pdb_beside(file, &assembly);
    let pdb = pdb_of(&assembly, beside.as_deref());
    let Ok(Some(symbols)) = Symbols::read(&assembly, pdb.as_deref()) else { return false };
    apply(profile, key, |id| symbols.symbol(id));
    true
}

fn by_manifest(profile: &mut Profile, key: u64, file: &Path) -> bool {
    let mut name = file.as_os_str().to_owned();
    name.push(MANIFEST);
    let manifest = Input::open(Path::new(&name)).ok().and_then(|bytes| Manifest::read(&bytes));
    let Some(manifest) = manifest.filter(|manifest| manifest.module_key() == key) else { return false };
    apply(profile, key, |id| manifest.symbol(id));
    true
}

fn pdb_beside(file: &Path, assembly: &[u8]) -> Option<Input> {
    let entries = DebugEntry::read_all(&Image::parse(assembly).ok()?).ok()?;
    let names =
        [PdbReference::of(&entries).map(|reference| file.with_file_name(reference.name)), Some(file.with_extension("pdb"))];
    names.into_iter().flatten().find_map(|path| Input::open(&path).ok())
}

fn apply(profile: &mut Profile, key: u64, symbol: impl Fn(identity::MethodId) -> Option<Symbol>) {
    for function in profile.functions.iter_mut().filter(|function| function.method_id.module_key() == key) {
        let Some(Symbol { raw: (type_name, method), type_name: written, member, parameters, is_made }) =
            symbol(function.method_id)
        else {
            continue;
        };
        function.name.get_or_insert(MethodName { type_name, method });
        function.source = Some(Source { type_name: written, method: member, parameters, is_made });
    }
}
