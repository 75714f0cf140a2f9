//! Published programs for browsers (Blazor WebAssembly): assemblies in Webcil containers, and the list of the files to load with
//! their hashes.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use base64ct::{Base64, Encoding as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::folder::files_below;

/// The advice for assemblies of a published program for browsers.
pub const IN_ITS_BUILD: &str =
    "instrument the program in its build: add the package Ilinst.MSBuild, and publish with -p:Ilinst=true";

/// The folder of a published program whose files the list names.
const FRAMEWORK_FOLDER: &str = "_framework";
/// The bytes of a container in which its exports are named.
const CONTAINER_HEADER: u64 = 4096;
const CONTAINER_EXPORT: &[u8] = b"getWebcilPayload";
/// The marks around the list in `dotnet.js`.
const LIST_BEGINS: &str = "/*json-start*/";
const LIST_ENDS: &str = "/*json-end*/";
const HASH_PREFIX: &str = "sha256-";

/// An assembly's entry in the list of files that a browser loads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The file with the list.
    pub list: PathBuf,
    /// Whether the entry has the hash of the assembly as it is. A browser loads no file with another hash.
    pub has_hash: bool,
}

/// The assembly's entry in the list beside it, if it is a file of a published program.
pub fn listed(assembly: &Path, bytes: &[u8]) -> Option<Listed> {
    let folder = assembly.parent().filter(|folder| folder.ends_with(FRAMEWORK_FOLDER))?;
    let name = assembly.file_name()?.to_str()?;
    let lists = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| may_be_list(path));
    lists.into_iter().find_map(|list| {
        let text = fs::read_to_string(&list).ok()?;
        let json = match text.split_once(LIST_BEGINS) {
            Some((_, behind)) => behind.split_once(LIST_ENDS)?.0,
            None => &text,
        };
        let hash = hash_of(name, &serde_json::from_str(json).ok()?)?;
        let has_hash = hash == format!("{HASH_PREFIX}{}", Base64::encode_string(&Sha256::digest(bytes)));
        Some(Listed { list, has_hash })
    })
}

/// `blazor.boot.json` up to .NET 9, `dotnet.boot.js` or `dotnet.js` from .NET 10 on, perhaps with a hash in the name.
fn may_be_list(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_script = name.starts_with("dotnet.") && name.ends_with(".js");
    name == "blazor.boot.json" || is_script && !name.starts_with("dotnet.native.") && !name.starts_with("dotnet.runtime.")
}

/// The hash in the entry of a file: `{"App.dll": "sha256-..."}`, or `{"name": "App.dll", "hash": "sha256-..."}`.
fn hash_of(name: &str, list: &Value) -> Option<String> {
    let hash = |value: &Value| value.as_str().filter(|text| text.starts_with(HASH_PREFIX)).map(str::to_owned);
    match list {
        Value::Object(entries) => {
            let is_entry = entries.get("name").and_then(Value::as_str) == Some(name);
            let of_entry = || ["hash", "integrity"].iter().find_map(|key| hash(entries.get(*key)?));
            let found = if is_entry { of_entry() } else { entries.get(name).and_then(hash) };
            found.or_else(|| entries.values().find_map(|value| hash_of(name, value)))
        }
        Value::Array(entries) => entries.iter().find_map(|value| hash_of(name, value)),
        _ => None,
    }
}

/// The number of assemblies in Webcil containers (`.wasm`) below a folder. They are no PE files.
pub fn count_webcil(folder: &Path) -> usize {
    files_below(folder).map_or(0, |files| files.iter().filter(|path| is_webcil(path)).count())
}

fn is_webcil(path: &Path) -> bool {
    let has_extension = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"));
    let mut header = Vec::new();
    has_extension
        && path.is_file()
        && File::open(path).and_then(|file| file.take(CONTAINER_HEADER).read_to_end(&mut header)).is_ok()
        && header.windows(CONTAINER_EXPORT.len()).any(|bytes| bytes == CONTAINER_EXPORT)
}

/// The reason for finding no assembly in a folder, with the advice; `None` unless its assemblies are in containers.
pub fn why_no_assembly(folder: &Path) -> Option<String> {
    let count = count_webcil(folder);
    (count > 0).then(|| {
        let what = if count == 1 {
            "1 assembly, in a Webcil container".into()
        } else {
            format!("{count} assemblies, in Webcil containers")
        };
        format!("{what} (.wasm), which ilinst does not read")
    })
}
