//! The files a program needs beside it: the tracker, and the host's JSON files told about it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    failure::{Failure, about},
    io::{Outputs, is_same_file},
};

/// The tracker that woven code calls, as it is written beside each output.
pub(crate) const TRACKER: &[u8] = include_bytes!("../../../tracker-runtime/bin/Ilinst.Tracker.dll");
/// Its file name.
pub(crate) const TRACKER_FILE: &str = "Ilinst.Tracker.dll";
/// Its name and version, as a `deps.json` lists libraries.
const TRACKER_LIBRARY: &str = "Ilinst.Tracker/1.0.0";

/// Writes the tracker into a folder, unless it is there already.
pub(crate) fn write_tracker(folder: &Path, outputs: &mut Outputs) -> anyhow::Result<()> {
    let path = folder.join(TRACKER_FILE);
    if fs::read(&path).is_ok_and(|bytes| bytes == TRACKER) {
        return Ok(());
    }
    outputs.write(&path, |file| file.write_all(TRACKER))
}

/// Copies what a single program is run with: its runtime configuration, its configuration file, its `deps.json`.
pub(crate) fn copy_companions(input: &Path, output: &Path, outputs: &mut Outputs) -> anyhow::Result<()> {
    for (from, to) in companion_paths(input).into_iter().zip(companion_paths(output)) {
        if !from.is_file() || is_same_file(&from, &to) {
            continue;
        }
        if is_deps_json(&from) { copy_deps_json(&from, &to, outputs)? } else { outputs.copy(&from, &to)? }
    }
    Ok(())
}

fn companion_paths(program: &Path) -> Vec<PathBuf> {
    let mut config = program.as_os_str().to_owned();
    config.push(".config");
    vec![program.with_extension("runtimeconfig.json"), program.with_extension("deps.json"), config.into()]
}

/// Whether a file is a list of the assemblies that the host lets a program load.
pub(crate) fn is_deps_json(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".deps.json")
}

/// Copies a `deps.json` with the tracker added: with such a file the host loads only what is listed there.
pub(crate) fn copy_deps_json(from: &Path, to: &Path, outputs: &mut Outputs) -> anyhow::Result<()> {
    let text = fs::read(from).map_err(|error| Failure::unreadable(about(from, &error)))?;
    match add_tracker(&text) {
        Some(text) => outputs.write(to, |file| file.write_all(&text)),
        None => outputs.copy(from, to),
    }
}

/// The same list with the tracker in it; none if it is there already, or if this is no such list.
fn add_tracker(text: &[u8]) -> Option<Vec<u8>> {
    // A byte order mark is no JSON, but hosts accept it.
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut deps: Value = serde_json::from_slice(text).ok()?;
    let libraries = deps.get_mut("libraries")?.as_object_mut()?;
    if libraries.contains_key(TRACKER_LIBRARY) {
        return None;
    }
    libraries.insert(TRACKER_LIBRARY.into(), json!({ "type": "reference", "serviceable": false, "sha512": "" }));
    let target = deps.get("runtimeTarget")?;
    let target = target.get("name").unwrap_or(target).as_str()?.to_owned();
    let runtime = json!({ "runtime": { TRACKER_FILE: { "assemblyVersion": "1.0.0.0", "fileVersion": "1.0.0.0" } } });
    deps.get_mut("targets")?.get_mut(target)?.as_object_mut()?.insert(TRACKER_LIBRARY.into(), runtime);
    let mut text = serde_json::to_vec_pretty(&deps).ok()?;
    text.push(b'\n');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracker_is_listed_once_and_the_order_is_kept() {
        let deps = br#"{"runtimeTarget":{"name":".NETCoreApp,Version=v8.0"},"targets":{".NETCoreApp,Version=v8.0":{"z/1.0.0":{}}},"libraries":{"z/1.0.0":{"type":"project"}}}"#;
        let added = add_tracker(deps).unwrap();
        let value: Value = serde_json::from_slice(&added).unwrap();
        assert!(value["targets"][".NETCoreApp,Version=v8.0"][TRACKER_LIBRARY]["runtime"][TRACKER_FILE].is_object());
        assert_eq!(value["libraries"].as_object().unwrap().keys().collect::<Vec<_>>(), ["z/1.0.0", TRACKER_LIBRARY]);
        assert_eq!(add_tracker(&added), None);
        assert_eq!(add_tracker(b"[]"), None);
    }
}
