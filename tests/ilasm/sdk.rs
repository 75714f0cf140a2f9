//! `ilinst dis` and back, over the assemblies of an SDK.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ecma335::{Image, Metadata};
use tests::require;

use super::{
    assemblies, differences, each, round_trip,
    same::{copied, says_the_same},
};

/// Assemblies that Mono's ilasm does not take again as they were, and why.
const REFUSED: &[(&str, &str)] = &[
    ("FSharp.Core.dll", "it has an ldtoken of a generic method without arguments, for which ilasm has no words"),
    ("Microsoft.Web.Deployment.dll", COM),
    ("Microsoft.NET.Build.Extensions.Tasks.dll", COM),
    ("Microsoft.NET.Build.Tasks.dll", COM),
    ("ref/netstandard.dll", "it is a core library of another name than mscorlib: ilasm takes its System.String for a word"),
];

const COM: &str = "an interface of COM is nested in a class that calls it: ilasm numbers its methods as they are called";

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn assemblies_of_the_sdk_are_assembled_again() {
    let (Some(ilasm), Some(sdk)) = (require("ILINST_ILASM"), require("ILINST_SDK")) else { return };
    let files: Vec<PathBuf> = assemblies(&folders(&sdk)).into_iter().filter(|file| is_managed(file)).collect();
    let failures = each(&files, "ilasm-sdk", |file, scratch| {
        let copy = copied(file, scratch);
        let assembled = round_trip(&ilasm, &copy, scratch)?;
        match &differences(&copy, &assembled)[..] {
            [] => says_the_same(&copy, &assembled),
            differences => Err(differences.join("; ")),
        }
    });
    println!("{} files, {} assembled again", files.len(), files.len() - failures.len());
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unexpected = String::new();
    for (file, error) in &failures {
        match REFUSED.iter().find(|(name, _)| file.ends_with(name)) {
            Some((_, reason)) => *refused.entry(reason).or_default() += 1,
            None => unexpected.push_str(&format!("{}: {error}\n", file.display())),
        }
    }
    refused.iter().for_each(|(reason, count)| println!("{count} not: {reason}"));
    assert!(unexpected.is_empty(), "{unexpected}");
}

/// A folder and all in it.
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
