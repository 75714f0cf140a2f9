//! The seeds of mutations: the committed samples, and small files of given folders.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use ecma335::{Image, Metadata, MethodBody, Rva, Table, schema::MethodDef};
use profile::{Profile, merge::Merge};

use crate::{
    fields::{Fields, Format},
    parquet_files,
    repository::{HOST, read, root},
    targets::Target,
};

/// The unmutated bytes of an input.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The name of the file that the bytes are, or come from.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The companion file: the PDB of an assembly, or the assembly of a PDB.
    pub beside: Option<Vec<u8>>,
    /// The fields of the bytes.
    pub fields: Fields,
}

/// All committed samples.
const SAMPLES: &[&str] = &[
    "samples/bare/bin/bare.exe",
    "samples/endings/bin/endings.exe",
    "samples/hello/bin/hello.exe",
    "samples/modern/bin/modern.dll",
    "samples/odd/bin/odd.exe",
    "samples/orders/bin/orders.exe",
    "samples/shapes/bin/shapes.exe",
    "samples/traces/bin/embedded.exe",
    "samples/traces/bin/traces.exe",
];
/// The assembly whose blobs are seeds.
const BLOBS: &str = "samples/modern/bin/modern.dll";
const PROFILE: &str = "crates/profile/tests/golden/golden.ilprof";
const PROFILES: &str = "crates/profile/tests/cases";
const DEPS_JSON: &str = "tests/fidelity/application/app.deps.json";
/// The list of originals that `--in-place` writes, for the files that [`Target::Originals`] creates.
const ORIGINALS: &str = r#"{
  "files": [
    {"name": "kept.dll", "sha256": "97d8b48aaf83f22eaea10489a20f4f85c880e0dbb22e5afe0522edd131d9c289", "isKept": true},
    {"name": "made.dll", "sha256": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9", "isKept": false}
  ]
}"#;
/// A manifest with the parts from which names are read.
const MANIFEST: &str = r#"{
  "schema": 3,
  "moduleKey": "98a1b2c3d4",
  "input": {"name": "app.dll", "size": 4096, "sha256": "97d8b48aaf83f22eaea10489a20f4f85c880e0dbb22e5afe0522edd131d9c289"},
  "options": "finally",
  "types": [["Shop.Order"], ["Line", 1], ["<Load>d__1", 1]],
  "decisions": ["finally", "trivial"],
  "methods": [[1, "Load", 0], [2, ".ctor", 1], [3, "MoveNext", 0, "Load [steps]"]],
  "calls": [[1, "System.Threading.Monitor::Enter", true]]
}"#;
/// The largest seed in bytes; larger files take too long.
const SMALL: u64 = 40_000;
const MOST: usize = 100;

/// Returns the seeds of a target, from the samples and from small assemblies in these folders.
pub fn seeds(target: Target, folders: &[PathBuf]) -> Vec<Seed> {
    let seed = |name: &str, bytes: Vec<u8>, beside| {
        let fields = Fields::of(&bytes, target.format());
        Seed { name: name.to_owned(), bytes, beside, fields }
    };
    let pdb = |name: &str| fs::read(root().join(name).with_extension("pdb")).ok();
    match target.format() {
        Format::Image => {
            let samples = SAMPLES.iter().map(|name| seed(name, read(name), pdb(name)));
            let others = small_files(folders).into_iter().filter_map(|path| {
                let bytes = fs::read(&path).ok()?;
                Some(seed(&path.to_string_lossy(), bytes, fs::read(path.with_extension("pdb")).ok()))
            });
            samples.chain(others).collect()
        }
        Format::Pdb => {
            let with_pdb = SAMPLES.iter().filter_map(|name| Some(seed(name, pdb(name)?, Some(read(name)))));
            with_pdb.collect()
        }
        Format::Blob if target == Target::Request => {
            let lines = format!("{}=--include=Shop.*\\n--exclude=*::get_*\n{}=30000\n", live::OPTIONS, live::DURATION);
            vec![seed("request", live::request(lines.as_bytes()), None)]
        }
        Format::Blob => blobs(&read(BLOBS)).into_iter().map(|blob| seed(BLOBS, blob, None)).collect(),
        Format::Body => bodies(&read(HOST)),
        Format::Profile => {
            let mut files = vec![(PROFILE.to_owned(), read(PROFILE))];
            files.extend(profiles());
            files.push(("captured calls".to_owned(), crate::profile_builder::captured()));
            files.push(("packed".to_owned(), crate::packed_profile::packed(&crate::profile_builder::captured())));
            files.extend(merged(&files));
            // A comparison takes the previous file as its other side.
            let before = files.iter().cycle().skip(files.len() - 1);
            let beside = before.map(|(_, bytes)| (target == Target::Compare).then(|| bytes.clone()));
            files.iter().zip(beside).map(|((name, bytes), beside)| seed(name, bytes.clone(), beside)).collect()
        }
        Format::Parquet => parquet_files::files(60).into_iter().map(|(name, bytes)| seed(&name, bytes, None)).collect(),
        Format::Json if target == Target::Manifest => vec![seed(MANIFEST, MANIFEST.into(), None)],
        Format::Json if target == Target::Originals => vec![seed("originals.json", ORIGINALS.into(), None)],
        Format::Json => vec![seed(DEPS_JSON, read(DEPS_JSON), None)],
    }
}

/// Returns profiles of version 2, built from their descriptions in words.
fn profiles() -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(root().join(PROFILES)).unwrap_or_else(|error| panic!("{PROFILES}: {error}"));
    let mut names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let text = |name: &str| String::from_utf8(read(&format!("{PROFILES}/{name}"))).unwrap_or_default();
    let build = |text: &str| crate::profile_builder::build(text.split_once("----\n").map_or(text, |(words, _)| words));
    names.into_iter().map(|name| (name.clone(), build(&text(&name)))).collect()
}

/// Returns each file merged with the next one of its mode, or with itself.
fn merged(files: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let merged = files.iter().enumerate().filter_map(|(index, (name, bytes))| {
        let mut merge = Merge::default();
        merge.add(bytes, &Profile::parse(bytes).ok()?).ok()?;
        files[index + 1..].iter().chain([&files[index]]).find_map(|(_, other)| {
            let profile = Profile::parse(other).ok()?;
            merge.add(other, &profile).ok()
        })?;
        let mut out = Vec::new();
        merge.write(&mut out).ok()?;
        Some((format!("{name}, merged"), out))
    });
    merged.collect()
}

/// Returns small assemblies by name, each content once. If there are too many, returns some of them.
fn small_files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
    folders.iter().for_each(|folder| collect(folder, &mut files));
    files.retain(|path: &PathBuf| fs::read(path).is_ok_and(|bytes| seen.insert(bytes)));
    let step = files.len().div_ceil(MOST).max(1);
    files.into_iter().step_by(step).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_assembly =
            path.extension().is_some_and(|extension| ["dll", "exe", "winmd", "pyd"].iter().any(|known| extension == *known));
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files);
        } else if is_assembly
            && !path.to_string_lossy().ends_with(".resources.dll")
            && fs::metadata(&path).is_ok_and(|file| file.len() <= SMALL)
        {
            files.push(path);
        }
    }
}

/// Returns the blobs that rows of an assembly refer to, each once.
fn blobs(bytes: &[u8]) -> Vec<Vec<u8>> {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let mut blobs = BTreeSet::new();
    for table in Table::ALL {
        for (index, column) in table.columns().iter().enumerate() {
            if !matches!(column.kind, ecma335::schema::ColumnKind::Blob) {
                continue;
            }
            let cells = (1..=metadata.tables.count(*table)).filter_map(|rid| metadata.tables.cells(*table, rid));
            blobs.extend(cells.filter_map(|cells| Some(metadata.blob(ecma335::schema::Blob(cells[index])).ok()?.to_vec())));
        }
    }
    blobs.into_iter().filter(|blob| !blob.is_empty()).collect()
}

/// Returns the method bodies of an assembly.
fn bodies(bytes: &[u8]) -> Vec<Seed> {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let mut seeds = Vec::new();
    for (_, method) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body()) {
        let Ok(cursor) = image.cursor_at(Rva(method.rva)) else { continue };
        if let Ok(size) = MethodBody::measure(cursor) {
            let bytes = cursor.rest()[..size].to_vec();
            let fields = Fields::of(&bytes, Format::Body).with_counts(metadata.tables.counts());
            seeds.push(Seed { name: HOST.to_owned(), bytes, beside: None, fields });
        }
    }
    seeds
}
