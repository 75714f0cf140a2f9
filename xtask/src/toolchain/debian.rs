//! Finds programs by name, and installs missing ones from Debian's packages on Debian.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::cache;
use crate::common::{on_path, quiet};

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

/// Returns the linker for Linux on arm64.
pub(super) fn arm64_linker() -> Result<Vec<(&'static str, PathBuf)>> {
    const LINKER: &str = "/usr/bin/aarch64-linux-gnu-gcc";
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("arm64 is emulated on Linux x64 alone");
    }
    of_debian(&[LINKER], &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"])?;
    quiet(Command::new("rustup").args(["target", "add", "aarch64-unknown-linux-gnu"]))?;
    Ok(vec![("ILINST_LINKER_ARM64", LINKER.into())])
}

/// Counts instructions.
pub(crate) fn valgrind() -> Result<PathBuf> {
    if on_path("valgrind").is_none() {
        install(&["valgrind"]).context("valgrind cannot be had")?;
    }
    on_path("valgrind").context("valgrind is not to be had")
}

/// The kernel's own profiler.
pub(super) fn perf() -> Result<Vec<(&'static str, PathBuf)>> {
    if on_path("perf").is_none() {
        install(&["linux-perf"])?;
    }
    Ok(vec![("ILINST_PERF", on_path("perf").context("it is not to be had")?)])
}

/// Installs Debian's packages, one run at a time: apt fails if another run holds its lock.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    install_for(None, packages)
}

/// The same of packages of another architecture, as Debian names it.
pub(super) fn install_foreign(architecture: &str, packages: &[&str]) -> Result<()> {
    install_for(Some(architecture), packages)
}

fn install_for(foreign: Option<&str>, packages: &[&str]) -> Result<()> {
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
    if let Some(architecture) = foreign {
        quiet(as_root("dpkg").arg("--add-architecture").arg(architecture))?;
    }
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
