//! `deps.json`: the host of .NET lets a program load only the assemblies in it, so it needs an entry for the tracker.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use framework::names;
use framework::{asset_name, is_deps_json, parse};
use serde_json::{Value, json};

use crate::{failure::Failure, input::Input, options::Options, tracker::TRACKER_FILE};

/// The tracker's name and version, in the form of `deps.json`.
const TRACKER_LIBRARY: &str = "Ilinst.Tracker/1.0.0";

/// Returns the `deps.json` files beside a file that name it: a program's names the libraries that it loads.
pub(crate) fn lists_that_name(input: &Path) -> Vec<PathBuf> {
    let folder = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut lists: Vec<PathBuf> =
        entries.map(|entry| input.with_file_name(entry.file_name())).filter(|path| is_deps_json(path)).collect();
    let file = input.file_name().unwrap_or_default().to_string_lossy();
    lists.retain(|list| Input::open(list).is_ok_and(|text| names(&text, &file)));
    lists.sort();
    lists
}

/// Returns a `deps.json` with entries for the assemblies with hooks, and for the tracker unless that is embedded. Without an
/// entry, the host would not let the program load them. Returns `None` if all entries exist.
///
/// # Errors
/// If the file is no `deps.json`; the text states the reason.
pub(crate) fn with_tracker(path: &Path, options: &Options) -> Result<Result<Option<Vec<u8>>, String>, Failure> {
    let text = Input::open(path)?;
    let hooks = options.hook_assemblies.iter().map(|hook| (&*hook.library, &*hook.file_name));
    let tracker = (!options.weave.embed).then_some((TRACKER_LIBRARY, TRACKER_FILE));
    Ok(add_libraries(&text, &tracker.into_iter().chain(hooks).collect::<Vec<_>>()))
}

/// Returns a `deps.json` with an entry for the tracker; `None` if the entry exists.
///
/// # Errors
/// If the text is no `deps.json`; the error states the reason.
pub fn add_tracker(text: &[u8]) -> Result<Option<Vec<u8>>, String> {
    add_libraries(text, &[(TRACKER_LIBRARY, TRACKER_FILE)])
}

/// The text of a list with libraries of these names and versions, of a file each; none if it names all files already: the SDK's
/// name for a library of a reference has its assembly's version.
fn add_libraries(text: &[u8], added: &[(&str, &str)]) -> Result<Option<Vec<u8>>, String> {
    let mut deps: Value = parse(text)?;
    let no = |what: &'static str| move || format!("it has no {what}");
    let target = deps.get("runtimeTarget").ok_or_else(no("runtimeTarget"))?;
    let target = target.get("name").unwrap_or(target).as_str().ok_or_else(no("runtimeTarget"))?.to_owned();
    let targets = deps.get_mut("targets").and_then(|targets| targets.get_mut(target)).and_then(Value::as_object_mut);
    let target = targets.ok_or_else(no("target of its runtimeTarget"))?;
    let missing: Vec<_> = added.iter().filter(|(_, file)| !target.values().any(|library| loads(library, file))).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    for (library, file) in &missing {
        let version = library.rsplit('/').next().filter(|_| *library != TRACKER_LIBRARY).unwrap_or("1.0.0.0");
        let runtime = json!({ "runtime": { *file: { "assemblyVersion": version, "fileVersion": version } } });
        target.insert((*library).into(), runtime);
    }
    let libraries = deps.get_mut("libraries").and_then(Value::as_object_mut).ok_or_else(no("libraries"))?;
    for (library, _) in missing {
        libraries.insert((*library).into(), json!({ "type": "reference", "serviceable": false, "sha512": "" }));
    }
    let mut text = serde_json::to_vec_pretty(&deps).map_err(|error| error.to_string())?;
    text.push(b'\n');
    Ok(Some(text))
}

/// Whether a library of a target has a file of this name among what is loaded.
fn loads(library: &Value, file: &str) -> bool {
    let assets = ["runtime", "runtimeTargets"].iter().filter_map(|key| library.get(key)?.as_object());
    assets.flat_map(serde_json::Map::keys).any(|path| asset_name(path) == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracker_is_listed_once_and_the_order_is_kept() {
        let deps = br#"{"runtimeTarget":{"name":".NETCoreApp,Version=v8.0"},"targets":{".NETCoreApp,Version=v8.0":{"z/1.0.0":{}}},"libraries":{"z/1.0.0":{"type":"project"}}}"#;
        let added = add_tracker(deps).unwrap().unwrap();
        let value: Value = serde_json::from_slice(&added).unwrap();
        assert!(value["targets"][".NETCoreApp,Version=v8.0"][TRACKER_LIBRARY]["runtime"][TRACKER_FILE].is_object());
        assert_eq!(value["libraries"].as_object().unwrap().keys().collect::<Vec<_>>(), ["z/1.0.0", TRACKER_LIBRARY]);
        assert_eq!(add_tracker(&added), Ok(None));
        // As the SDK lists a reference.
        let by_sdk = String::from_utf8(added.clone()).unwrap().replace(TRACKER_LIBRARY, "Ilinst.Tracker/1.0.0.0");
        assert_eq!(add_tracker(by_sdk.as_bytes()), Ok(None));
        assert!(add_tracker(b"[]").is_err());
        let commented = [b"\xEF\xBB\xBF// a list\n", &deps[..]].concat();
        assert_eq!(add_tracker(&commented), Ok(Some(added)));
    }
}
