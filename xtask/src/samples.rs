//! `cargo xtask samples`: builds the sample programs with reproducible bytes, and updates the list of their hashes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use little_endian::NumbersAt;
use sha2::{Digest as _, Sha256};

use crate::{
    common::{only, quiet, root, target},
    toolchain::{DOTNET_ENVIRONMENT, Tier, Toolchain, csc, newer_roslyn, newer_roslyn_at_hand, sha256},
};

/// Samples that run on every runtime, compiled by the SDK's C# 8: folder, program, place of the PDB.
const CLASSIC: &[(&str, &str, Pdb)] = &[
    ("bare", "bare", Pdb::Beside),
    ("endings", "endings", Pdb::Beside),
    ("hello", "hello", Pdb::Beside),
    ("orders", "orders", Pdb::Beside),
    ("traces", "traces", Pdb::Beside),
    ("traces", "embedded", Pdb::Embedded),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pdb {
    Beside,
    Embedded,
}
/// Samples in IL, with constructs that C# does not produce.
const ASSEMBLED: &[&str] = &["odd", "shapes"];
/// The reference assemblies that all runtimes can satisfy.
const REFERENCES: &str = "4.7.2-api";
/// The assemblies of the framework that the driver of the newer compiler refers to.
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
    only(arguments, &["--check"])?;
    let toolchain = Toolchain::prepare(Tier::Default);
    if !arguments.is_empty() {
        check(&toolchain)?.iter().for_each(|skipped| println!("skipped: {skipped}"));
        println!("the samples are what their sources make");
        return Ok(());
    }
    let before = fs::read_to_string(folder().join(HASHES)).unwrap_or_default();
    for (sample, program, pdb) in CLASSIC {
        build_classic(&toolchain, sample, program, *pdb, &bin(sample))?;
    }
    for sample in ASSEMBLED {
        build_assembled(&toolchain, sample, &bin(sample))?;
    }
    build_modern(&toolchain, &newer_roslyn()?, &bin("modern"))?;
    let after = hashes()?;
    for (name, change) in changes(&before, &after) {
        println!("{change} {name}");
    }
    println!("samples built: {}", if before == after { "nothing changed" } else { "commit what changed" });
    Ok(fs::write(folder().join(HASHES), after)?)
}

/// Compares the hashes with the committed list.
pub(crate) fn check_hashes() -> Result<()> {
    let changes: Vec<_> = changes(&fs::read_to_string(folder().join(HASHES))?, &hashes()?)
        .into_iter()
        .map(|(name, change)| format!("{change} {name}"))
        .collect();
    if !changes.is_empty() {
        bail!("samples/{HASHES} is not that of the samples; run `cargo xtask samples` and commit it: {}", changes.join(", "));
    }
    Ok(())
}

/// Compares the hashes, and builds the sources to compare them with the binaries. Returns skipped samples with reasons.
pub(crate) fn check(toolchain: &Toolchain) -> Result<Vec<String>> {
    check_hashes()?;
    for (sample, program, pdb) in CLASSIC {
        let rebuilt = scratch().join(sample);
        build_classic(toolchain, sample, program, *pdb, &rebuilt)?;
        let extensions = if *pdb == Pdb::Beside { &["exe", "pdb"][..] } else { &["exe"] };
        compare(sample, program, &rebuilt, extensions)?;
    }
    for sample in ASSEMBLED {
        let rebuilt = scratch().join(sample);
        build_assembled(toolchain, sample, &rebuilt)?;
        compare(sample, sample, &rebuilt, &["exe"])?;
    }
    // The newer compiler is a large download, needed only by those who change the sample.
    let Some(roslyn) = newer_roslyn_at_hand() else {
        return Ok(vec!["samples: modern is not built again; `cargo xtask samples` fetches its compiler".into()]);
    };
    let rebuilt = scratch().join("modern");
    build_modern(toolchain, &roslyn, &rebuilt)?;
    compare("modern", "modern", &rebuilt, &["dll"])?;
    Ok(Vec::new())
}

fn compare(sample: &str, program: &str, rebuilt: &Path, extensions: &[&str]) -> Result<()> {
    for extension in extensions {
        let file = format!("{program}.{extension}");
        if fs::read(rebuilt.join(&file))? != fs::read(bin(sample).join(&file))? {
            bail!("samples/{sample}/bin/{file} is not what its sources make; run `cargo xtask samples`");
        }
    }
    Ok(())
}

/// Returns the differences between two lists of hashes, by file name.
fn changes<'a>(before: &'a str, after: &'a str) -> BTreeMap<&'a str, &'static str> {
    let list = |text: &'a str| -> BTreeMap<&'a str, &'a str> {
        text.lines().filter_map(|line| line.split_once("  ")).map(|(hash, name)| (name, hash)).collect()
    };
    let (before, after) = (list(before), list(after));
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (*name, "gone"));
    let other = after.iter().filter(|(name, hash)| before.get(*name) != Some(hash));
    gone.chain(other.map(|(name, _)| (*name, if before.contains_key(name) { "changed" } else { "new" }))).collect()
}

fn bin(sample: &str) -> PathBuf {
    folder().join(sample).join("bin")
}

fn scratch() -> PathBuf {
    target().join("samples-check")
}

fn folder() -> PathBuf {
    root().join("samples")
}

fn build_classic(toolchain: &Toolchain, sample: &str, program: &str, pdb: Pdb, output: &Path) -> Result<()> {
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
        if pdb == Pdb::Beside { "-debug:portable" } else { "-debug:embedded" },
        "-nowarn:1701",
    ]);
    for library in ["mscorlib.dll", "System.dll", "System.Core.dll"] {
        command.arg(format!("-r:{}", references.join(library).display()));
    }
    // The compiler writes the PDB's path into the file, so it must not depend on the folder of the build.
    command.arg(format!("-pathmap:{}=/samples/bin,{}=/samples", output.display(), folder().display()));
    command.arg(format!("-out:{}", output.join(format!("{program}.exe")).display()));
    command.args(sources(sample)?);
    quiet(&mut command)
}

fn build_assembled(toolchain: &Toolchain, sample: &str, output: &Path) -> Result<()> {
    fs::create_dir_all(output)?;
    let output = output.join(format!("{sample}.exe"));
    let mut command = Command::new(toolchain.get("ILINST_ILASM")?);
    command.current_dir(folder()).arg("-quiet").arg(format!("-output:{}", output.display()));
    quiet(command.arg(format!("{sample}/{sample}.il")))?;
    let mut bytes = fs::read(&output)?;
    settle(&mut bytes).with_context(|| format!("ilasm made no assembly of {sample}"))?;
    Ok(fs::write(output, bytes)?)
}

/// Makes an assembly reproducible, since ilasm writes the time and a random MVID. The time becomes zero, and the MVID becomes the
/// hash of the rest.
fn settle(bytes: &mut [u8]) -> Option<()> {
    let word = |bytes: &[u8], at: usize| bytes.u32_at(at).map(|number| number as usize);
    let pe_header = word(bytes, 0x3c)?;
    bytes.get_mut(pe_header + 8..pe_header + 12)?.fill(0);
    // II.24.2.1: headers of streams follow the root, each an offset, a size and a name.
    let root = bytes.windows(4).position(|window| window == b"BSJB")?;
    let header = root + bytes.get(root..)?.windows(6).position(|window| window == b"#GUID\0")? - 8;
    let guids = root + word(bytes, header)?;
    bytes.get_mut(guids..guids + 16)?.fill(0);
    let hash = Sha256::digest(&*bytes);
    bytes.get_mut(guids..guids + 16)?.copy_from_slice(hash.get(..16)?);
    Some(())
}

/// Compiles the driver with the SDK's compiler. The driver then compiles the sample with a newer compiler.
fn build_modern(toolchain: &Toolchain, roslyn: &Path, output: &Path) -> Result<()> {
    fs::create_dir_all(output)?;
    // The runtime in the SDK's folder, whose DLLs the sample refers to. Other installed runtimes are ignored.
    let root = toolchain.sdk_root()?;
    let framework = root.join("shared/Microsoft.NETCore.App/8.0.4");
    let driver = scratch().join("driver/Compile.dll");
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
    let mut compile = Command::new(root.join("dotnet"));
    compile.envs(DOTNET_ENVIRONMENT.iter().copied()).current_dir(folder()).arg("exec").arg(&driver).arg(roslyn);
    quiet(compile.arg(output.join("modern.dll")).args(sources("modern")?))
}

/// Returns a sample's sources and the shared ones, as paths relative to the samples' folder.
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

/// Returns the hash of every file below the samples' folder, except the list itself.
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
