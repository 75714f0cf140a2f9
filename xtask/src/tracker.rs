//! `cargo xtask tracker`: builds the tracker, and the launcher of the `dotnet tool`, from source with reproducible bytes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    common::{only, quiet, root, target},
    toolchain::{Tier, Toolchain, csc},
};

/// The folders of the sources, the assemblies built there, and their references.
const ASSEMBLIES: [(&str, &str, Against); 4] = [
    ("tracker-runtime", "bin/Ilinst.Tracker.dll", Against::Oldest),
    ("tracker-runtime/coverage", "bin/Ilinst.Coverage.dll", Against::Oldest),
    ("tracker-runtime/activity", "bin/Ilinst.Activity.dll", Against::Net8),
    ("dotnet-tool", "bin/ilinst.dll", Against::Oldest),
];

/// The constants of the profile's format in C#.
const FORMAT: &str = "tracker-runtime/File/Format.cs";

/// The reference assemblies to compile against.
#[derive(Clone, Copy)]
enum Against {
    /// The oldest reference assemblies, which every later runtime satisfies.
    Oldest,
    /// The assemblies of .NET 8.
    Net8,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &["--check"])?;
    let toolchain = Toolchain::prepare(Tier::Default);
    if arguments.is_empty() {
        fs::write(root().join(FORMAT), profile_format::csharp())?;
        return ASSEMBLIES
            .iter()
            .try_for_each(|(folder, dll, of)| build(&toolchain, folder, &root().join(folder).join(dll), *of));
    }
    check(&toolchain)?;
    ASSEMBLIES.iter().for_each(|(folder, dll, _)| println!("{folder}/{dll} is what its sources make"));
    Ok(())
}

/// Builds them in another folder and compares the bytes.
pub(crate) fn check(toolchain: &Toolchain) -> Result<()> {
    for (folder, dll, against) in ASSEMBLIES {
        let rebuilt = target().join("tracker-check").join(dll);
        build(toolchain, folder, &rebuilt, against)?;
        if fs::read(&rebuilt)? != fs::read(root().join(folder).join(dll))? {
            bail!("{folder}/{dll} is not what its sources make; run `cargo xtask tracker` and commit it");
        }
    }
    Ok(())
}

fn build(toolchain: &Toolchain, folder: &str, output: &Path, against: Against) -> Result<()> {
    let sources = root().join(folder);
    if let Some(parent) = output.parent() {
        fs::create_dir_all(parent)?;
    }
    let (references, libraries) = match against {
        Against::Oldest => (toolchain.get("ILINST_MONO_LIB")?.join("2.0-api"), &["mscorlib", "System"][..]),
        Against::Net8 => {
            (net8(toolchain)?, &["System.Runtime", "System.Private.CoreLib", "System.Diagnostics.DiagnosticSource"][..])
        }
    };
    let mut command = csc(toolchain)?;
    command.current_dir(&sources).arg("@build.rsp");
    for library in libraries {
        command.arg(format!("-r:{}.dll", references.join(library).display()));
    }
    command.arg(format!("-pathmap:{}=/{folder}", sources.display())).arg(format!("-out:{}", output.display()));
    quiet(&mut command)
}

/// Returns the folder of .NET 8's assemblies.
fn net8(toolchain: &Toolchain) -> Result<PathBuf> {
    let shared = toolchain.get("ILINST_DOTNET8")?.with_file_name("shared").join("Microsoft.NETCore.App");
    let mut versions = fs::read_dir(&shared)?.flatten().map(|entry| entry.path());
    versions.find(|path| path.is_dir()).with_context(|| format!("{} is empty", shared.display()))
}
