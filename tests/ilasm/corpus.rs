//! `ilinst dis` and back, for the samples and the assemblies of Mono and of an SDK. Each is assembled again, with the same
//! numbers of rows and the same contents.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ecma335::{Image, Metadata};
use tests::{in_parallel, in_tier, require, sample, scratch};

use super::{
    differences, round_trip,
    same::{LISTED, copied, says_the_same},
};

/// Assemblies that Mono's ilasm does not reproduce, with reasons.
const REFUSED: &[(&str, &str)] = &[
    (
        "4.5/mscorlib.dll",
        "ilasm gives its InterfaceImpl rows out of order; heads in another order would have to stand before the assembly's \
         name, and then mean other types",
    ),
    ("FSharp.Core.dll", "it has an ldtoken of a generic method without arguments, for which ilasm has no words"),
    ("Microsoft.Web.Deployment.dll", COM),
    ("Microsoft.NET.Build.Extensions.Tasks.dll", COM),
    ("Microsoft.NET.Build.Tasks.dll", COM),
    ("ref/netstandard.dll", "it is a core library of another name than mscorlib: ilasm takes its System.String for a word"),
];

const COM: &str = "an interface of COM is nested in a class that calls it: ilasm numbers its methods as they are called";

#[test]
#[ignore = "needs Mono"]
fn samples_and_assemblies_of_monos_are_assembled_again() {
    let Some(mono) = require("ILINST_MONO_LIB") else { return };
    let samples = ["hello", "orders", "shapes", "endings", "odd", "traces"].map(|name| sample(name).join(format!("{name}.exe")));
    let mono = [mono.join("4.5"), mono.join("4.5/Facades")];
    check("ilasm-mono", mono.iter().flat_map(|folder| assemblies(folder)).chain(samples).collect());
}

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn assemblies_of_the_sdk_are_assembled_again() {
    let Some(sdk) = require("ILINST_SDK") else { return };
    // Satellites contain one resource each: those of one language stand for all.
    let is_it =
        |file: &PathBuf| !file.to_string_lossy().ends_with(".resources.dll") || file.parent().is_some_and(|f| f.ends_with("de"));
    check("ilasm-sdk", folders(&sdk).iter().flat_map(|folder| assemblies(folder)).filter(is_it).collect());
}

/// Outside the full tier, every n-th file is tried.
const EVERY: usize = 48;

/// Tries each file in an empty folder.
fn check(folder: &str, mut files: Vec<PathBuf>) {
    let Some(ilasm) = require("ILINST_ILASM") else { return };
    files.retain(|file| is_managed(file));
    files = in_tier(files, EVERY);
    // Large files come first, so that the end does not wait for one.
    files.sort_by_key(|path| Reverse(fs::metadata(path).map_or(0, |metadata| metadata.len())));
    let folder = scratch(folder);
    let done = in_parallel(&files, |worker, file| {
        let scratch = folder.join(worker.to_string());
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch).expect("a folder can be made");
        again(&ilasm, file, &scratch)
    });
    let (mut refused, mut failures) = (BTreeMap::new(), Vec::new());
    for (file, error) in files.iter().zip(done).filter_map(|(file, result)| Some((file, result.err()?))) {
        match REFUSED.iter().find(|(name, _)| file.ends_with(name)) {
            Some((_, reason)) => *refused.entry(reason).or_insert(0) += 1,
            None => failures.push(format!("{}: {error}", file.display())),
        }
    }
    println!("{} files", files.len());
    refused.iter().for_each(|(reason, count)| println!("{count} not: {reason}"));
    LISTED.iter().for_each(|(_, _, reason)| println!("but for: {reason}"));
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn again(ilasm: &Path, file: &Path, scratch: &Path) -> Result<(), String> {
    let copy = copied(file, scratch);
    let assembled = round_trip(ilasm, &copy, scratch)?;
    match &differences(&copy, &assembled)[..] {
        [] => says_the_same(&copy, &assembled),
        differences => Err(differences.join("; ")),
    }
}

/// Returns the assemblies of a folder.
fn assemblies(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_assembly = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "dll" || extension == "exe");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_assembly).collect();
    files.sort();
    files
}

/// Returns a folder and all folders below it.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        found.extend(entries.filter(|path| path.is_dir()));
        next += 1;
    }
    found
}

fn is_managed(file: &Path) -> bool {
    let bytes = fs::read(file).unwrap_or_default();
    Image::parse(&bytes).and_then(|image| Metadata::parse(image.metadata()?).map(|_| ())).is_ok()
}
