//! `deps.json`: the files that the host of .NET lets a program load.

use std::{collections::BTreeMap, path::Path};

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// Returns whether a file is a `deps.json`.
pub fn is_deps_json(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".deps.json")
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
pub fn libraries(text: &[u8]) -> Vec<(String, String)> {
    let Ok(list) = parse::<Targets>(text) else { return Vec::new() };
    let mut files = Vec::new();
    for (name, library) in list.targets.values().flatten() {
        let kind = list.libraries.get(name).map_or("", |kind| &kind.kind);
        let assets = library.runtime.keys().chain(library.runtime_targets.keys());
        files.extend(assets.map(|path| (asset_name(path).to_owned(), kind.to_owned())));
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
    assets.any(|path| asset_name(path) == file)
}

/// Returns the last part of an asset's path.
pub fn asset_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Parses JSON as the host reads it: with comments.
///
/// # Errors
/// If it is none; the text says why.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
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
    fn a_list_names_what_it_loads_however_it_is_written() {
        let list = br#"{"targets":{"t":{"a/1.0.0":{"dependencies":{"c.dll":"1"},"runtime":{"lib/a.dll":{}}},
            "b/1.0.0":{"runtimeTargets":{"win\\b\u002B.dll":{}}}}}} // loaded"#;
        for (file, expected) in [("a.dll", true), ("b+.dll", true), ("c.dll", false), ("lib", false), ("", false)] {
            assert_eq!(names(list, file), expected, "{file}");
        }
    }
}
