//! `cargo xtask release`: the steps of the release workflow that come after `cargo xtask dist`.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    common::{quiet, root, target},
    dist::SUMS,
    toolchain::sha256,
};

pub(crate) const HELP: &str = "steps of a release: `check TAG` compares the tag with the version; `draft TAG REPOSITORY FOLDER` \
                               compares the files with their sums and drafts a release; `nuget FOLDER` publishes the packages";

const VERSION: &str = env!("CARGO_PKG_VERSION");
const NUGET: &str = "https://api.nuget.org/v3/index.json";
/// The only secret of all workflows.
const NUGET_KEY: &str = "NUGET_API_KEY";
/// The variable with the file through which a step of a workflow passes values to other steps.
const OUTPUT: &str = "GITHUB_OUTPUT";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["check", tag] => check(tag),
        ["draft", tag, repository, folder] => draft(tag, repository, Path::new(folder)),
        ["nuget", folder] => nuget(Path::new(folder)),
        ["check", _, more, ..] | ["draft", _, _, _, more, ..] | ["nuget", _, more, ..] => bail!("'{more}' is too much: {HELP}"),
        ["check" | "draft" | "nuget", ..] => bail!("'{}' lacks a word: {HELP}", words.join(" ")),
        _ => bail!("no step '{}': {HELP}", words.first().unwrap_or(&"")),
    }
}

fn check(tag: &str) -> Result<()> {
    if tag.strip_prefix('v') != Some(VERSION) {
        bail!("the tag {tag} is not v{VERSION}: set the version in Cargo.toml, or tag the commit v{VERSION}");
    }
    if let Some(output) = env::var_os(OUTPUT) {
        writeln!(OpenOptions::new().append(true).create(true).open(output)?, "version={VERSION}")?;
    }
    println!("{tag} is version {VERSION}");
    Ok(())
}

fn draft(tag: &str, repository: &str, folder: &Path) -> Result<()> {
    check(tag)?;
    let files = with_sums(folder)?;
    let notes = target().join(format!("release-notes-{}.md", std::process::id()));
    fs::create_dir_all(target())?;
    fs::write(&notes, changes(&fs::read_to_string(root().join("CHANGELOG.md"))?)?)?;
    let mut command = Command::new("gh");
    command.args(["release", "create", tag, "--repo", repository, "--verify-tag", "--draft", "--notes-file"]);
    let drafted = quiet(command.arg(&notes).args(files));
    fs::remove_file(&notes)?;
    drafted
}

/// Returns the version's section of the changelog, or the section of unreleased changes.
fn changes(log: &str) -> Result<&str> {
    let part = |title: &str| {
        let (_, rest) = log.split_once(&format!("\n## {title}"))?;
        let (_, rest) = rest.split_once('\n')?;
        Some(rest.split("\n## ").next().unwrap_or(rest).trim())
    };
    part(VERSION).or_else(|| part("Unreleased")).context("CHANGELOG.md has no part for this version")
}

/// Returns the files of a folder. Each must have the hash in the list of sums, and no other file may be there.
fn with_sums(folder: &Path) -> Result<Vec<PathBuf>> {
    let sums = fs::read_to_string(folder.join(SUMS)).with_context(|| format!("{} has no {SUMS}", folder.display()))?;
    let mut names = BTreeSet::from([SUMS]);
    for line in sums.lines() {
        let (expected, name) = line.split_once("  ").with_context(|| format!("{SUMS}: '{line}' is no sum"))?;
        let found = sha256(&fs::read(folder.join(name)).with_context(|| format!("{SUMS} names {name}"))?);
        if found != expected {
            bail!("{name} has SHA-256 {found}, and {SUMS} has {expected}");
        }
        names.insert(name);
    }
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !names.iter().any(|known| OsStr::new(known) == name) {
            bail!("{SUMS} does not name {}", name.display());
        }
    }
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

fn nuget(folder: &Path) -> Result<()> {
    let files = with_sums(folder)?;
    let packages: Vec<PathBuf> = files.into_iter().filter(|file| file.extension() == Some(OsStr::new("nupkg"))).collect();
    if packages.is_empty() {
        bail!("{} has no package", folder.display());
    }
    // GitHub sets a secret that the repository lacks to an empty text.
    let Some(key) = env::var(NUGET_KEY).ok().filter(|key| !key.is_empty()) else {
        println!("{NUGET_KEY} is not set: no package is published");
        return Ok(());
    };
    for package in packages {
        let mut command = Command::new("dotnet");
        command.args(["nuget", "push"]).arg(&package).args(["--source", NUGET, "--skip-duplicate", "--api-key", &key]);
        // The error must not show the command, which contains the key.
        if !command.status().context("dotnet cannot be run")?.success() {
            bail!("{} is not published", package.display());
        }
        println!("published {}", package.display());
    }
    Ok(())
}
