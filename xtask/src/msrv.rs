//! `cargo xtask msrv`: checks that the oldest Rust named in Cargo.toml builds the project, and that no dependency needs a newer
//! one.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::common::{only, quiet, root};

pub(crate) const HELP: &str = "build everything with the oldest Rust that Cargo.toml names, which rustup installs; \
                               --dependencies: only compare it with what dependencies need";

const DEPENDENCIES: &str = "--dependencies";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &[DEPENDENCIES])?;
    let oldest = check_dependencies()?;
    println!("no dependency needs more than Rust {oldest}");
    if !arguments.is_empty() {
        return Ok(());
    }
    install(&oldest).with_context(|| format!("Rust {oldest} is not installed; {DEPENDENCIES} checks without it"))?;
    // Uses a folder of its own, so that the next build with the pinned toolchain stays incremental.
    let check = ["cargo", "check", "--workspace", "--all-targets", "--all-features", "--locked", "--target-dir", "target/msrv"];
    quiet(Command::new("rustup").args(["run", &oldest]).args(check).current_dir(root()))?;
    println!("Rust {oldest} builds it");
    Ok(())
}

/// Installs a toolchain, unless it is installed.
pub(crate) fn install(version: &str) -> Result<()> {
    let is_there = Command::new("rustup").args(["run", version, "cargo", "--version"]).output();
    if is_there.context("rustup cannot be run")?.status.success() {
        return Ok(());
    }
    quiet(Command::new("rustup").args(["toolchain", "install", version, "--profile", "minimal"]))
}

/// Returns the project's `rust-version`, if no dependency has a higher one.
fn check_dependencies() -> Result<String> {
    let output =
        Command::new(env!("CARGO")).args(["metadata", "--format-version", "1", "--locked"]).current_dir(root()).output()?;
    if !output.status.success() {
        bail!("cargo metadata failed\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("there are packages")?;
    let needed = |package: &Value| package["rust_version"].as_str().map(str::to_owned);
    let ours = packages.iter().find(|package| package["name"] == "ilinst").context("there is a package ilinst")?;
    let oldest = needed(ours).context("ilinst has a rust-version")?;
    let newer = |package: &&Value| needed(package).is_some_and(|version| parts(&version) > parts(&oldest));
    let newer: Vec<String> =
        packages.iter().filter(newer).map(|package| format!("{} needs {}", package["name"], package["rust_version"])).collect();
    if !newer.is_empty() {
        bail!("Cargo.toml says that Rust {oldest} is enough:\n{}", newer.join("\n"));
    }
    Ok(oldest)
}

/// Returns a version's three numbers, so that 1.89 equals 1.89.0.
fn parts(version: &str) -> [u32; 3] {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| numbers.next().unwrap_or_default())
}
