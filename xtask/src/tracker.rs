//! `cargo xtask tracker`: builds the tracker, and the launcher of the `dotnet tool`, from their sources, always to the same bytes.

use std::{fs, path::Path};

use anyhow::{Result, bail};

use crate::{
    common::{only, quiet, root, target},
    toolchain::{Toolchain, csc},
};

/// The folders of their sources, and what is built there.
const ASSEMBLIES: [(&str, &str); 2] = [("tracker-runtime", "bin/Ilinst.Tracker.dll"), ("dotnet-tool", "bin/ilinst.dll")];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &["--check"])?;
    let toolchain = Toolchain::prepare();
    if arguments.is_empty() {
        return ASSEMBLIES.iter().try_for_each(|(folder, dll)| build(&toolchain, folder, &root().join(folder).join(dll)));
    }
    check(&toolchain)?;
    ASSEMBLIES.iter().for_each(|(folder, dll)| println!("{folder}/{dll} is what its sources make"));
    Ok(())
}

/// Builds them elsewhere and compares.
pub(crate) fn check(toolchain: &Toolchain) -> Result<()> {
    for (folder, dll) in ASSEMBLIES {
        let rebuilt = target().join("tracker-check").join(dll);
        build(toolchain, folder, &rebuilt)?;
        if fs::read(&rebuilt)? != fs::read(root().join(folder).join(dll))? {
            bail!("{folder}/{dll} is not what its sources make; run `cargo xtask tracker` and commit it");
        }
    }
    Ok(())
}

/// Compiles against the oldest reference set, so that every runtime since takes it.
fn build(toolchain: &Toolchain, folder: &str, output: &Path) -> Result<()> {
    let sources = root().join(folder);
    if let Some(parent) = output.parent() {
        fs::create_dir_all(parent)?;
    }
    let references = toolchain.get("ILINST_MONO_LIB")?.join("2.0-api");
    let mut command = csc(toolchain)?;
    command.current_dir(&sources).arg("@build.rsp");
    for library in ["mscorlib.dll", "System.dll"] {
        command.arg(format!("-r:{}", references.join(library).display()));
    }
    command.arg(format!("-pathmap:{}=/{folder}", sources.display())).arg(format!("-out:{}", output.display()));
    quiet(&mut command)
}
