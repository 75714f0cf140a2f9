//! Finds programs by name, and installs missing ones from Debian's packages on Debian.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::cache;
use crate::common::quiet;

/// Programs, by the variables of the tests, and their packages.
pub(super) struct Programs {
    pub(super) names: &'static [(&'static str, &'static str)],
    pub(super) packages: &'static [&'static str],
}

/// Finds programs, and installs the packages of missing ones. Returns the found programs, and an error for the rest.
pub(super) fn find(programs: &[Programs]) -> (Vec<(&'static str, PathBuf)>, Result<()>) {
    let is_missing = |programs: &&Programs| programs.names.iter().any(|(_, program)| on_path(program).is_none());
    let wanted: Vec<&str> = programs.iter().filter(is_missing).flat_map(|programs| programs.packages).copied().collect();
    let installed = if wanted.is_empty() { Ok(()) } else { install(&wanted) };
    let names = || programs.iter().flat_map(|programs| programs.names);
    let found: Vec<_> = names().filter_map(|(variable, program)| Some((*variable, on_path(program)?))).collect();
    let missing: Vec<&str> = names().map(|(_, program)| *program).filter(|program| on_path(program).is_none()).collect();
    if missing.is_empty() {
        return (found, Ok(()));
    }
    let error = installed.err().unwrap_or_else(|| anyhow::anyhow!("the packages do not have them"));
    (found, Err(error.context(format!("not on PATH: {}; install {}", missing.join(", "), wanted.join(" ")))))
}

/// Installs Debian's packages, unless the wanted files and folders exist.
pub(crate) fn of_debian(wanted: &[&str], packages: &[&str]) -> Result<()> {
    if wanted.iter().all(|path| Path::new(path).exists()) {
        return Ok(());
    }
    install(packages)?;
    match wanted.iter().find(|path| !Path::new(path).exists()) {
        Some(path) => bail!("there is no {path}, though {} are installed", packages.join(", ")),
        None => Ok(()),
    }
}

/// Returns valgrind, which counts instructions.
pub(crate) fn valgrind() -> Result<PathBuf> {
    if on_path("valgrind").is_none() {
        install(&["valgrind"]).context("valgrind cannot be had")?;
    }
    on_path("valgrind").context("valgrind is not to be had")
}

/// Installs Debian's packages, one run at a time: apt fails if another run holds its lock.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    if on_path("apt-get").is_none() {
        bail!("there is no apt-get");
    }
    let folder = cache::folder()?;
    std::fs::create_dir_all(&folder)?;
    let _lock = cache::lock(&folder.join("apt.lock"))?;
    eprintln!("installing {} ...", packages.join(" "));
    let apt = |arguments: &[&str]| {
        let mut command = as_root("apt-get");
        quiet(command.args(["-qq", "-o", "DPkg::Lock::Timeout=600"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

/// Returns a command that runs as root. Jobs on GitHub's machines have a user who needs no password for sudo.
fn as_root(program: &str) -> Command {
    let is_root = || Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if on_path("sudo").is_none() || is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["--non-interactive", "--preserve-env=DEBIAN_FRONTEND", program]);
    command
}

pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(&file)).find(|path| path.is_file())
}
