//! `cargo xtask tracker`: builds the tracker from its sources, always to the same bytes.

use std::{fs, path::Path};

use anyhow::{Result, bail};

use crate::{
    common::{only, quiet, root, target},
    toolchain::{Toolchain, csc},
};

const DLL: &str = "bin/Ilinst.Tracker.dll";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &["--check"])?;
    let toolchain = Toolchain::prepare();
    if arguments.is_empty() {
        return build(&toolchain, &folder().join(DLL));
    }
    check(&toolchain)?;
    println!("tracker-runtime/{DLL} is what its sources make");
    Ok(())
}

/// Builds it elsewhere and compares.
pub(crate) fn check(toolchain: &Toolchain) -> Result<()> {
    let rebuilt = target().join("tracker-check").join("Ilinst.Tracker.dll");
    build(toolchain, &rebuilt)?;
    if fs::read(&rebuilt)? != fs::read(folder().join(DLL))? {
        bail!("tracker-runtime/{DLL} is not what its sources make; run `cargo xtask tracker` and commit it");
    }
    Ok(())
}

fn folder() -> std::path::PathBuf {
    root().join("tracker-runtime")
}

/// Compiles against the oldest reference set, so that every runtime since takes it.
fn build(toolchain: &Toolchain, output: &Path) -> Result<()> {
    if let Some(parent) = output.parent() {
        fs::create_dir_all(parent)?;
    }
    let references = toolchain.get("ILINST_MONO_LIB")?.join("2.0-api");
    let mut command = csc(toolchain)?;
    command.current_dir(folder()).arg("@build.rsp");
    for library in ["mscorlib.dll", "System.dll"] {
        command.arg(format!("-r:{}", references.join(library).display()));
    }
    command.arg(format!("-pathmap:{}=/tracker-runtime", folder().display())).arg(format!("-out:{}", output.display()));
    quiet(&mut command)
}
