//! Shared code of all tasks: their options, the project's folders, commands that must succeed.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

/// Checks options: an unknown one is an error, never ignored.
pub(crate) fn only(arguments: &[String], known: &[&str]) -> Result<()> {
    match arguments.iter().find(|argument| !known.contains(&argument.as_str())) {
        Some(unknown) if known.is_empty() => bail!("no option is known here, '{unknown}' neither"),
        Some(unknown) => bail!("no option '{unknown}'; there is {}", known.join(", ")),
        None => Ok(()),
    }
}

/// Returns the repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Returns cargo's target folder.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Copies an assembly into a folder of its own, so that instrumenting it copies no files beside it. Returns a folder unchanged.
pub(crate) fn alone(input: &Path, scratch: &Path) -> Result<PathBuf> {
    if input.is_dir() {
        return Ok(input.to_owned());
    }
    let name = input.file_name().context("a file has a name")?;
    let folder = scratch.join("alone").join(name);
    std::fs::create_dir_all(&folder)?;
    for file in [input.to_owned(), input.with_extension("pdb")].iter().filter(|file| file.is_file()) {
        std::fs::copy(file, folder.join(file.file_name().context("a file has a name")?))?;
    }
    Ok(folder.join(name))
}

/// Runs a command, which must succeed.
pub(crate) fn sh(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    if !status.success() {
        bail!("{} failed: {status}", show(command));
    }
    Ok(())
}

/// Runs a command, which must succeed. Shows its output only if it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{} failed: {}\n{}", show(command), output.status, String::from_utf8_lossy(&said));
    }
    Ok(())
}

pub(crate) fn show(command: &Command) -> String {
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// The path of a program on `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(&file)).find(|path| path.is_file())
}
