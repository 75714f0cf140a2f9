//! `deps.json`: the host of .NET lets a program load only the assemblies in it, so it needs an entry for the tracker.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, json};

use crate::{failure::Failure, input::Input, options::Options, tracker::TRACKER_FILE};

/// The tracker's name and version, in the form of `deps.json`.
const TRACKER_LIBRARY: &str = "Ilinst.Tracker/1.0.0";

/// Returns whether a file is a `deps.json`.
pub(crate) fn is_deps_json(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".deps.json")
}

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

/// The part of a `deps.json` that names loadable files.
#[derive(Deserialize)]
struct Targets {
    #[serde(default)]
    targets: BTreeMap<String, BTreeMap<String, Library>>,
    #[serde(default)]
    libraries: BTreeMap<String, Kind>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Library {
    #[serde(default)]
    runtime: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    runtime_targets: BTreeMap<String, IgnoredAny>,
}

/// Returns the file names of the libraries in a `deps.json`, each with its library's kind: `project`, `package`, `runtimepack`
/// ...
pub(crate) fn libraries(text: &[u8]) -> Vec<(String, String)> {
    let Ok(list) = parse::<Targets>(text) else { return Vec::new() };
    let mut files = Vec::new();
    for (name, library) in list.targets.values().flatten() {
        let kind = list.libraries.get(name).map_or("", |kind| &kind.kind);
        let assets = library.runtime.keys().chain(library.runtime_targets.keys());
        files.extend(assets.map(|path| (file_name(path).to_owned(), kind.to_owned())));
    }
    files
}

/// Returns whether a `deps.json` names this file among the loadable ones, in any folder of its package.
pub fn names(text: &[u8], file: &str) -> bool {
    // Most `deps.json` files do not name it: a search for the name, which may be escaped, is quicker than parsing.
    let has = |bytes: &[u8]| text.windows(bytes.len().max(1)).any(|window| window == bytes);
    if !has(file.as_bytes()) && !has(b"\\u") {
        return false;
    }
    let Ok(list) = parse::<Targets>(text) else { return false };
    let libraries = list.targets.values().flat_map(BTreeMap::values);
    let mut assets = libraries.flat_map(|library| library.runtime.keys().chain(library.runtime_targets.keys()));
    assets.any(|path| file_name(path) == file)
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
    assets.flat_map(serde_json::Map::keys).any(|path| file_name(path) == file)
}

/// The last part of an asset's path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// JSON as the host reads it: with comments.
fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    // A byte order mark is no JSON, but hosts accept it.
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    // Few files have comments, so the strict parser comes first.
    if let Ok(value) = serde_json::from_slice(text) {
        return Ok(value);
    }
    let mut text = String::from_utf8(text.to_vec()).map_err(|error| error.to_string())?;
    json_strip_comments::strip(&mut text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
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

    #[test]
    fn a_list_names_what_it_loads_however_it_is_written() {
        let list = br#"{"targets":{"t":{"a/1.0.0":{"dependencies":{"c.dll":"1"},"runtime":{"lib/a.dll":{}}},
            "b/1.0.0":{"runtimeTargets":{"win\\b\u002B.dll":{}}}}}} // loaded"#;
        for (file, expected) in [("a.dll", true), ("b+.dll", true), ("c.dll", false), ("lib", false), ("", false)] {
            assert_eq!(names(list, file), expected, "{file}");
        }
    }
}
