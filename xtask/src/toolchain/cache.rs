//! The cache of fetched and unpacked files: a folder for each entry, named by a hash of its sources. An entry appears when it is
//! complete and never changes, so that checkouts and runs share it.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::common::{on_path, quiet};

/// The variable with the folder of the cache.
const FOLDER_VARIABLE: &str = "ILINST_TOOLCHAIN";
/// The number of a hash's digits in an entry's name.
const HASH_DIGITS: usize = 16;

/// A file to fetch.
pub(crate) struct Download {
    /// The command that fetches the file into the current folder, or into cargo's cache.
    pub(crate) command: &'static str,
    pub(crate) file: &'static str,
    pub(crate) sha256: &'static str,
}

/// Returns the cache's folder: `ILINST_TOOLCHAIN`, or else `ilinst/toolchain` in the user's cache folder.
pub(crate) fn folder() -> Result<PathBuf> {
    let absolute = |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(folder) = env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        return Ok(std::path::absolute(folder)?);
    }
    let caches =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("LOCALAPPDATA")).or_else(|| Some(env::home_dir()?.join(".cache")));
    Ok(caches.with_context(|| format!("no home folder: set {FOLDER_VARIABLE}"))?.join("ilinst").join("toolchain"))
}

/// Returns the folder of an entry made of downloads.
pub(crate) fn entry(name: &str, downloads: &[&Download]) -> Result<PathBuf> {
    let sources: String = downloads.iter().map(|download| format!("{}  {}\n", download.sha256, download.file)).collect();
    entry_of(name, &sources)
}

/// Returns the folder of an entry whose sources a text names.
pub(crate) fn entry_of(name: &str, sources: &str) -> Result<PathBuf> {
    Ok(folder()?.join(format!("{name}-{}", &sha256(sources.as_bytes())[..HASH_DIGITS])))
}

/// Returns an entry of downloads, which is created if it is missing. `fill` gets a working folder, and returns the part to keep.
pub(crate) fn make(name: &str, downloads: &[&Download], fill: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the downloads are for Linux on x86-64");
    }
    make_at(entry(name, downloads)?, fill)
}

/// Creates an entry atomically. A second run waits for the first, and uses its entry.
pub(crate) fn make_at(entry: PathBuf, fill: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    if entry.is_dir() {
        return Ok(entry);
    }
    fs::create_dir_all(entry.parent().context("an entry is in a folder")?)?;
    let _lock = lock(&beside(&entry, ".lock"))?;
    if entry.is_dir() {
        return Ok(entry);
    }
    let work = beside(&entry, ".part");
    // A killed run may have left the folder.
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir(&work)?;
    let filled = fill(&work);
    let kept = filled.and_then(|part| Ok(fs::rename(part, &entry)?));
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    kept.map(|()| entry)
}

/// Returns a path with a suffix. An entry's name may contain dots that do not begin an extension.
fn beside(entry: &Path, suffix: &str) -> PathBuf {
    let mut path = entry.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Locks a file until the result is dropped.
pub(super) fn lock(path: &Path) -> Result<File> {
    let lock = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    lock.lock()?;
    Ok(lock)
}

/// Fetches a file into a folder, and checks its hash.
pub(crate) fn fetch(download: &Download, into: &Path) -> Result<PathBuf> {
    let path = into.join(download.file);
    eprintln!("fetching {} ...", download.file);
    let mut words = download.command.split_whitespace();
    let program = words.next().context("no command")?;
    if on_path(program).is_none() {
        bail!("{program} is needed to fetch {}", download.file);
    }
    // By default, npm waits for minutes before it reports an unreachable host.
    let patience = ("npm_config_fetch_retry_mintimeout", "1000");
    quiet(Command::new(program).args(words).current_dir(into).envs([patience]))?;
    if download.file.ends_with(".crate") {
        fs::copy(in_cargo_cache(download.file)?, &path)?;
    }
    let hash = sha256(&fs::read(&path).with_context(|| format!("{} was not fetched", download.file))?);
    if hash != download.sha256 {
        bail!("{} has SHA-256 {hash}; expected {}", download.file, download.sha256);
    }
    Ok(path)
}

/// Fetches an archive and unpacks it into a folder; of a tar archive only the named parts, if any. Removes the archive.
pub(crate) fn unpack(download: &Download, into: &Path, parts: &[&str]) -> Result<()> {
    let archive = fetch(download, into)?;
    match archive.extension().and_then(|extension| extension.to_str()) {
        Some("deb") => quiet(Command::new("dpkg").arg("-x").arg(&archive).arg(into))?,
        Some("whl") => unzip(&archive, into)?,
        _ => quiet(Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(into).args(parts))?,
    }
    Ok(fs::remove_file(archive)?)
}

/// Unpacks a wheel or another zip archive; modes are not kept.
pub(crate) fn unzip(archive: &Path, into: &Path) -> Result<()> {
    quiet(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(into))
}

/// Returns a part of a wheel.
pub(super) fn unpack_wheel(wheel: &Download, part: &str, name: &str) -> Result<PathBuf> {
    make(name, &[wheel], |work| {
        unpack(wheel, work, &[])?;
        let folder = work.join(part);
        let host = folder.join("dotnet");
        if host.is_file() {
            make_executable(&host)?;
        }
        Ok(folder)
    })
}

/// Returns several wheels in one folder, where Python finds them.
pub(super) fn unpack_wheels(wheels: &[&Download], name: &str) -> Result<PathBuf> {
    make(name, wheels, |work| {
        let folder = work.join("packages");
        fs::create_dir(&folder)?;
        wheels.iter().try_for_each(|wheel| unpack(wheel, &folder, &[]))?;
        Ok(folder)
    })
}

/// Returns a package of npm.
pub(super) fn unpack_npm(package: &Download, name: &str) -> Result<PathBuf> {
    make(name, &[package], |work| {
        unpack(package, work, &[])?;
        Ok(work.join("package"))
    })
}

/// Finds a crate that cargo fetched: cargo has a folder for each registry.
fn in_cargo_cache(file: &str) -> Result<PathBuf> {
    let registries = fs::read_dir(cargo_home()?.join("registry/cache"))?;
    let mut paths = registries.flatten().map(|registry| registry.path().join(file));
    paths.find(|path| path.is_file()).with_context(|| format!("cargo did not fetch {file}"))
}

/// Returns cargo's home folder.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    home.context("there is no CARGO_HOME")
}

/// Returns the SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(unix)]
pub(super) fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
pub(super) fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use anyhow::bail;

    use super::make_at;

    #[test]
    fn an_entry_is_made_once_and_whole_or_not_at_all() {
        let folder = crate::common::target().join("tests/toolchain-cache");
        let _ = fs::remove_dir_all(&folder);
        let entry = folder.join("tool-0123");
        // The first run fails, and leaves nothing that looks like an entry.
        let failed = make_at(entry.clone(), |work| {
            fs::write(work.join("half"), "")?;
            bail!("no network")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no network");
        assert!(!entry.exists() && !folder.join("tool-0123.part").exists());
        let made = thread::scope(|scope| {
            let runs: Vec<_> = (0..4)
                .map(|run| {
                    let entry = entry.clone();
                    scope.spawn(move || {
                        let mut has_filled = false;
                        let made = make_at(entry, |work| {
                            has_filled = true;
                            fs::write(work.join("run"), run.to_string())?;
                            Ok(work.to_owned())
                        });
                        (made.unwrap(), has_filled)
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(made.iter().all(|(path, _)| *path == entry), "{made:?}");
        assert_eq!(made.iter().filter(|(_, has_filled)| *has_filled).count(), 1, "{made:?}");
        assert!(entry.join("run").is_file());
    }
}
