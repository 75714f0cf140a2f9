//! The files a program needs beside it: the tracker, and the host's JSON files told about it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use ecma335::{Metadata, schema::AssemblyRef};
use serde_json::{Value, json};

use crate::{
    failure::{Failure, about},
    io::{Outputs, read_assembly},
};

/// The tracker that woven code calls, as it is written beside each output.
pub const TRACKER: &[u8] = include_bytes!("../../../tracker-runtime/bin/Ilinst.Tracker.dll");
/// Its file name.
pub const TRACKER_FILE: &str = "Ilinst.Tracker.dll";
/// Its name and version, as a `deps.json` lists libraries.
const TRACKER_LIBRARY: &str = "Ilinst.Tracker/1.0.0";

/// Writes the tracker to a path, unless it is there already.
pub fn write_tracker(path: &Path, outputs: &mut Outputs) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|bytes| bytes == TRACKER) {
        return Ok(());
    }
    outputs.write(path, |file| file.write_all(TRACKER))
}

/// What a single assembly is run with, and where it goes: its runtime configuration, its configuration file, the other
/// files of the assembly (II.22.19), and the lists of what may be loaded that name it, be they its own or a program's.
pub fn companions(input: &Path, output: &Path, metadata: &Metadata<'_>) -> Vec<(PathBuf, PathBuf)> {
    let own = companion_paths(input).into_iter().zip(companion_paths(output));
    let names = metadata.tables.rows::<ecma335::schema::File>().filter_map(|(_, row)| metadata.name(row.name).ok());
    let plain = names.filter(|name| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str()));
    let lists = lists_that_name(input).into_iter();
    let named = plain.map(|name| input.with_file_name(name)).chain(lists).map(|from| {
        let to = output.with_file_name(from.file_name().unwrap_or_default());
        (from, to)
    });
    let mut companions: Vec<(PathBuf, PathBuf)> = own.filter(|(from, _)| from.is_file()).collect();
    let others: Vec<_> =
        named.filter(|(from, _)| from.is_file() && !companions.iter().any(|(companion, _)| companion == from)).collect();
    companions.extend(others);
    companions
}

fn companion_paths(program: &Path) -> Vec<PathBuf> {
    let mut config = program.as_os_str().to_owned();
    config.push(".config");
    vec![program.with_extension("runtimeconfig.json"), program.with_extension("deps.json"), config.into()]
}

/// Whether a file is a list of the assemblies that the host lets a program load.
pub fn is_deps_json(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".deps.json")
}

/// The lists beside a file that name it: a program's name the libraries that it loads.
pub fn lists_that_name(input: &Path) -> Vec<PathBuf> {
    let folder = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut lists: Vec<PathBuf> =
        entries.map(|entry| input.with_file_name(entry.file_name())).filter(|path| is_deps_json(path)).collect();
    lists.retain(|list| {
        let deps = fs::read(list).ok().and_then(|text| parse(&text).ok());
        deps.is_some_and(|deps| names(&deps, &input.file_name().unwrap_or_default().to_string_lossy()))
    });
    lists.sort();
    lists
}

/// Whether a list has a file of this name among what is loaded, whatever folder of its package it was in.
fn names(deps: &Value, file: &str) -> bool {
    let libraries = members(&deps["targets"]).flat_map(|(_, target)| members(target));
    let mut assets = libraries.flat_map(|(_, library)| members(&library["runtime"]).chain(members(&library["runtimeTargets"])));
    assets.any(|(path, _)| path.rsplit(['/', '\\']).next() == Some(file))
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A `deps.json` with the tracker in it, without which the host would not let the program load it; none if it is there
/// already.
///
/// # Errors
/// If it is no such list; why, in words.
pub fn with_tracker(path: &Path) -> anyhow::Result<Result<Option<Vec<u8>>, String>> {
    let text = fs::read(path).map_err(|error| Failure::unreadable(about(path, &error)))?;
    Ok(add_tracker(&text))
}

fn add_tracker(text: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut deps = parse(text)?;
    let no = |what: &'static str| move || format!("it has no {what}");
    let target = deps.get("runtimeTarget").ok_or_else(no("runtimeTarget"))?;
    let target = target.get("name").unwrap_or(target).as_str().ok_or_else(no("runtimeTarget"))?.to_owned();
    let libraries = deps.get_mut("libraries").and_then(Value::as_object_mut).ok_or_else(no("libraries"))?;
    if libraries.contains_key(TRACKER_LIBRARY) {
        return Ok(None);
    }
    libraries.insert(TRACKER_LIBRARY.into(), json!({ "type": "reference", "serviceable": false, "sha512": "" }));
    let targets = deps.get_mut("targets").and_then(|targets| targets.get_mut(target)).and_then(Value::as_object_mut);
    let runtime = json!({ "runtime": { TRACKER_FILE: { "assemblyVersion": "1.0.0.0", "fileVersion": "1.0.0.0" } } });
    targets.ok_or_else(no("target of its runtimeTarget"))?.insert(TRACKER_LIBRARY.into(), runtime);
    let mut text = serde_json::to_vec_pretty(&deps).map_err(|error| error.to_string())?;
    text.push(b'\n');
    Ok(Some(text))
}

/// JSON as the host reads it: with comments.
fn parse(text: &[u8]) -> Result<Value, String> {
    // A byte order mark is no JSON, but hosts accept it.
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut text = String::from_utf8(text.to_vec()).map_err(|error| error.to_string())?;
    json_strip_comments::strip(&mut text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The assemblies that the tracker needs and a self-contained program in this folder does not have: such a program has its
/// own core library, and a trimmed one little else.
pub fn missing_for_tracker(folder: &Path) -> anyhow::Result<Vec<String>> {
    if !folder.join("System.Private.CoreLib.dll").is_file() {
        return Ok(Vec::new());
    }
    let (_, metadata) = read_assembly(Path::new(TRACKER_FILE), TRACKER)?;
    let references = metadata.tables.rows::<AssemblyRef>().map(|(_, row)| Ok(metadata.name(row.name)? + ".dll"));
    let references: Vec<String> = references.collect::<ecma335::Result<_>>()?;
    Ok(references.into_iter().filter(|name| !folder.join(name).is_file()).collect())
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
        assert!(add_tracker(b"[]").is_err());
        let commented = [b"\xEF\xBB\xBF// a list\n", &deps[..]].concat();
        assert_eq!(add_tracker(&commented), Ok(Some(added)));
    }
}
