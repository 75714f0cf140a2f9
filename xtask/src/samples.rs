//! `cargo xtask samples`: builds the sample programs, always to the same bytes, and keeps the list of hashes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    quiet, root, target,
    toolchain::{DOTNET_ENVIRONMENT, Toolchain, csc, newer_roslyn, sha256},
};

/// Samples that run on every runtime, compiled by the SDK's C# 8.
const CLASSIC: &[&str] = &["endings", "hello", "orders"];
/// The reference set that all runtimes have an answer to.
const REFERENCES: &str = "4.7.2-api";
/// What of the framework the driver of the newer compiler refers to.
const DRIVER_REFERENCES: &[&str] = &[
    "System.Private.CoreLib",
    "System.Runtime",
    "System.Runtime.Extensions",
    "System.Runtime.Loader",
    "System.Collections",
    "System.Collections.Immutable",
    "System.Console",
    "System.Linq",
    "System.Security.Cryptography",
    "netstandard",
];
const HASHES: &str = "SHA256SUMS";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let toolchain = Toolchain::prepare();
    if arguments.iter().any(|argument| argument == "--check") {
        return check(&toolchain);
    }
    for sample in CLASSIC {
        build_classic(&toolchain, sample, &folder().join(sample).join("bin"))?;
    }
    build_modern(&toolchain, &folder().join("modern/bin"))?;
    fs::write(folder().join(HASHES), hashes()?)?;
    println!("samples built; {HASHES} written");
    Ok(())
}

/// Compares the hashes with what is committed, and what the sources make with the binaries. The modern sample is not
/// built again: its compiler is a download of its own.
pub(crate) fn check(toolchain: &Toolchain) -> Result<()> {
    if fs::read_to_string(folder().join(HASHES))? != hashes()? {
        bail!("samples/{HASHES} is not that of the samples; run `cargo xtask samples` and commit what it makes");
    }
    for sample in CLASSIC {
        let rebuilt = target().join("samples-check").join(sample);
        build_classic(toolchain, sample, &rebuilt)?;
        for file in [format!("{sample}.exe"), format!("{sample}.pdb")] {
            if fs::read(rebuilt.join(&file))? != fs::read(folder().join(sample).join("bin").join(&file))? {
                bail!("samples/{sample}/bin/{file} is not what its sources make; run `cargo xtask samples`");
            }
        }
    }
    println!("the samples are what their sources make");
    Ok(())
}

fn folder() -> PathBuf {
    root().join("samples")
}

fn build_classic(toolchain: &Toolchain, sample: &str, output: &Path) -> Result<()> {
    fs::create_dir_all(output)?;
    let references = toolchain.get("ILINST_MONO_LIB")?.join(REFERENCES);
    let mut command = csc(toolchain)?;
    command.current_dir(folder());
    command.args([
        "-nostdlib",
        "-deterministic",
        "-optimize+",
        "-unsafe",
        "-langversion:latest",
        "-debug:portable",
        "-nowarn:1701",
    ]);
    for library in ["mscorlib.dll", "System.dll", "System.Core.dll"] {
        command.arg(format!("-r:{}", references.join(library).display()));
    }
    // The PDB's own path goes into the file: it has to be the same wherever it is built.
    command.arg(format!("-pathmap:{}=/samples/bin,{}=/samples", output.display(), folder().display()));
    command.arg(format!("-out:{}", output.join(format!("{sample}.exe")).display()));
    command.args(sources(sample)?);
    quiet(&mut command)
}

/// Compiles the driver with the SDK's compiler, and with it, by a newer compiler, the sample.
fn build_modern(toolchain: &Toolchain, output: &Path) -> Result<()> {
    fs::create_dir_all(output)?;
    let roslyn = newer_roslyn()?;
    let dotnet = toolchain.get("ILINST_DOTNET8")?;
    let framework = dotnet.with_file_name("shared/Microsoft.NETCore.App/8.0.4");
    let driver = target().join("samples-check/driver/Compile.dll");
    fs::create_dir_all(driver.parent().context("no folder")?)?;
    let mut command = csc(toolchain)?;
    command.current_dir(folder()).args(["-nostdlib", "-nowarn:1701,1702"]);
    for library in DRIVER_REFERENCES {
        command.arg(format!("-r:{}", framework.join(format!("{library}.dll")).display()));
    }
    for library in ["Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"] {
        command.arg(format!("-r:{}", roslyn.join(library).display()));
    }
    command.arg(format!("-out:{}", driver.display())).arg("modern/driver/Compile.cs");
    quiet(&mut command)?;
    fs::copy(folder().join("hello/bin/hello.runtimeconfig.json"), driver.with_extension("runtimeconfig.json"))?;
    let mut compile = Command::new(dotnet);
    compile.envs(DOTNET_ENVIRONMENT.iter().copied()).current_dir(folder()).arg("exec").arg(&driver).arg(&roslyn);
    quiet(compile.arg(output.join("modern.dll")).args(sources("modern")?))
}

/// A sample's sources with what all samples share, by paths from the samples' folder.
fn sources(sample: &str) -> Result<Vec<String>> {
    let mut sources = vec!["common/Count.cs".to_owned()];
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder().join(sample))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cs") {
            names.push(name);
        }
    }
    names.sort();
    sources.extend(names.into_iter().map(|name| format!("{sample}/{name}")));
    Ok(sources)
}

/// The hash of every file below the samples' folder, but of the list itself.
fn hashes() -> Result<String> {
    let mut files = Vec::new();
    collect(&folder(), &mut files)?;
    files.sort();
    let mut text = String::new();
    for file in files {
        let name = file.strip_prefix(folder())?.to_string_lossy().replace('\\', "/");
        if name != HASHES {
            text.push_str(&format!("{}  {name}\n", sha256(&fs::read(&file)?)));
        }
    }
    Ok(text)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
