//! Names that people wrote, for profiles: from the woven files that the program loaded, if they are found.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use ::instrument::{Input, MANIFEST_SUFFIX, manifest_path};
use ecma335::{Token, debug::DebugEntry, is_named_as_assembly};
use names::{Manifest, MethodId, Symbol, Symbols, module_keys};
use profile::{
    Profile,
    model::{MethodName, Module, Source},
};
use weave::pdb::{self, PdbReference};

/// The functions that want names, by their module's key.
type Wanted = BTreeMap<u64, Vec<usize>>;

/// Gives a profile's functions the names that are found: by the path of each module, beside the profile, and in these folders.
pub(crate) fn name(profile: &mut Profile, path: &Path, folders: &[PathBuf]) {
    let mut wanted = Wanted::new();
    for (index, function) in profile.functions.iter().enumerate() {
        wanted.entry(function.method_id.module_key()).or_default().push(index);
    }
    let places = places(profile, path, folders);
    let modules: Vec<(u64, Vec<PathBuf>)> =
        profile.modules.iter().map(|module| (module.key, candidates(module, &places))).collect();
    for (key, files) in modules.into_iter().filter(|(key, _)| wanted.contains_key(key)).collect::<Vec<_>>() {
        let is_found = files.iter().any(|file| by_assembly(profile, &wanted, key, file))
            || files.iter().any(|file| by_manifest(profile, &wanted, key, file));
        if is_found {
            wanted.remove(&key);
        }
    }
    // A program that was killed at once did not come to say which modules these are of: whatever is woven where it may be.
    leave_named(profile, &mut wanted);
    for file in if wanted.is_empty() { Vec::new() } else { woven_files(&places) } {
        let manifest = manifest_of(&file);
        if let Some(key) = manifest.map(|manifest| manifest.module_key()).filter(|key| wanted.contains_key(key)) {
            let _ = by_assembly(profile, &wanted, key, &file) || by_manifest(profile, &wanted, key, &file);
        }
    }
    // A package's assembly has no manifest beside it.
    leave_named(profile, &mut wanted);
    for file in if wanted.is_empty() { Vec::new() } else { assemblies(folders) } {
        let keys = Input::open(&file).map_or_else(|_| Vec::new(), |assembly| module_keys(&assembly));
        for key in keys.into_iter().filter(|key| wanted.contains_key(key)) {
            by_assembly(profile, &wanted, key, &file);
        }
    }
}

/// Reads the symbols of each assembly that a profile has calls of, if it is found as names are.
pub(crate) fn read_all(profile: &Profile, path: &Path, folders: &[PathBuf], mut read: impl FnMut(&Symbols<'_>)) {
    let places = places(profile, path, folders);
    for module in &profile.modules {
        let is_read = |file: &PathBuf| with_symbols(file, module.key, &mut read).is_some();
        let _ = candidates(module, &places).iter().any(is_read);
    }
}

/// Reads the PDB of each instrumented assembly that is found as names are.
pub(crate) fn read_pdbs(profile: &Profile, path: &Path, folders: &[PathBuf], mut read: impl FnMut(&[u8])) {
    let places = places(profile, path, folders);
    let mut seen = BTreeSet::new();
    for module in &profile.modules {
        let files = candidates(module, &places).into_iter();
        let mut found = files.filter(|file| Input::open(file).is_ok_and(|assembly| module_keys(&assembly).contains(&module.key)));
        seen.extend(found.next());
    }
    seen.extend(woven_files(&places));
    for file in seen {
        let Ok(assembly) = Input::open(&file) else { continue };
        let beside = pdb_beside(&file, &assembly);
        pdb_of(&assembly, beside.as_deref()).iter().for_each(|pdb| read(pdb));
    }
}

/// Takes modules out whose functions have names.
fn leave_named(profile: &Profile, wanted: &mut Wanted) {
    let has_no_name = |index: &usize| profile.functions.get(*index).is_some_and(|function| function.name.is_none());
    wanted.retain(|_, functions| functions.iter().any(has_no_name));
}

/// The assemblies in these folders.
fn assemblies(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    entries.map(|entry| entry.path()).filter(|path| is_named_as_assembly(path)).collect()
}

/// Where the file of a module may be; what the user says comes before what the program said.
fn candidates<'a>(module: &'a Module, places: &[PathBuf]) -> Vec<PathBuf> {
    let said = Path::new(&module.path);
    // A program of Windows says its paths as Windows has them, and a name may not lead elsewhere. One in a single file has none.
    let last = |path: &'a str| Path::new(path.rsplit(['/', '\\']).next().unwrap_or(path)).file_name();
    let mut names: Vec<&OsStr> = [&module.path, &module.name].into_iter().filter_map(|path| last(path)).collect();
    names.dedup();
    let found = names.iter().flat_map(|name| places.iter().map(move |folder| folder.join(name)));
    found.chain((!module.path.is_empty()).then(|| said.to_owned())).collect()
}

/// The folders given, the profile's, and the program's.
fn places(profile: &Profile, path: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let program = Path::new(&profile.path).parent().filter(|folder| !folder.as_os_str().is_empty());
    folders.iter().map(PathBuf::as_path).chain([beside]).chain(program).map(Path::to_owned).collect()
}

/// The files of these folders that have manifests.
fn woven_files(places: &[PathBuf]) -> Vec<PathBuf> {
    let entries = places.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let names = entries.map(|entry| entry.path()).filter_map(|path| path.to_str().map(str::to_owned));
    names.filter_map(|name| name.strip_suffix(MANIFEST_SUFFIX).map(PathBuf::from)).collect()
}

fn manifest_of(file: &Path) -> Option<Manifest> {
    Manifest::read(&Input::open(&manifest_path(file)).ok()?)
}

/// Where methods of a woven file begin, each by its token: the source file and the line, if its PDB says so.
pub(crate) fn source_places(file: &Path, methods: impl Iterator<Item = Token>) -> Vec<Option<(String, u32)>> {
    let assembly = Input::open(file).ok();
    let beside = assembly.as_ref().and_then(|assembly| pdb_beside(file, assembly));
    let pdb = assembly.as_ref().and_then(|assembly| pdb_of(assembly, beside.as_deref()));
    let symbols =
        assembly.as_ref().and_then(|assembly| Symbols::read(assembly, pdb.as_deref(), *module_keys(assembly).first()?).ok()?);
    let place = |method: Token| symbols.as_ref()?.place_of(method.rid_in()?);
    methods.map(place).collect()
}

fn by_assembly(profile: &mut Profile, wanted: &Wanted, key: u64, file: &Path) -> bool {
    with_symbols(file, key, |symbols| apply(profile, wanted, key, |id| symbols.symbol(id))) == Some(true)
}

/// Does something with the symbols of an assembly; none if it is not there, or has another key.
fn with_symbols<T>(file: &Path, key: u64, then: impl FnOnce(&Symbols<'_>) -> T) -> Option<T> {
    let assembly = Input::open(file).ok()?;
    if !module_keys(&assembly).contains(&key) {
        return None;
    }
    let beside = pdb_beside(file, &assembly);
    let pdb = pdb_of(&assembly, beside.as_deref());
    Symbols::read(&assembly, pdb.as_deref(), key).ok()?.map(|symbols| then(&symbols))
}

fn by_manifest(profile: &mut Profile, wanted: &Wanted, key: u64, file: &Path) -> bool {
    let Some(manifest) = manifest_of(file).filter(|manifest| manifest.module_key() == key) else { return false };
    apply(profile, wanted, key, |id| manifest.symbol(id))
}

/// The PDB in an assembly, or the one beside it if it belongs to the assembly.
fn pdb_of<'p>(assembly: &[u8], beside: Option<&'p [u8]>) -> Option<Cow<'p, [u8]>> {
    pdb::find(&ecma335::open(assembly).ok()?.0, beside).ok()?
}

fn pdb_beside(file: &Path, assembly: &[u8]) -> Option<Input> {
    let entries = DebugEntry::read_all(&ecma335::open(assembly).ok()?.0).ok()?;
    let names =
        [PdbReference::find(&entries).map(|reference| file.with_file_name(reference.name)), Some(file.with_extension("pdb"))];
    names.into_iter().flatten().find_map(|path| Input::open(&path).ok())
}

/// Names those of a module's functions that nothing has named yet; gives whether all have names now.
fn apply(profile: &mut Profile, wanted: &Wanted, key: u64, symbol: impl Fn(MethodId) -> Option<Symbol>) -> bool {
    let mut has_all = true;
    for index in wanted.get(&key).into_iter().flatten() {
        let Some(function) = profile.functions.get_mut(*index).filter(|function| function.source.is_none()) else { continue };
        if let Some(Symbol {
            raw: (type_name, method),
            type_name: written,
            member,
            parameters,
            is_compiler_generated: is_made,
            place,
        }) = symbol(function.method_id)
        {
            function.name.get_or_insert(MethodName { type_name, method });
            let (file, line) = place.unzip();
            function.source = Some(Source { type_name: written, method: member, parameters, is_generated: is_made, file, line });
        }
        has_all &= function.source.is_some();
    }
    has_all
}
