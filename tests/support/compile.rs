//! Compiles programs in C# for tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{require, said, sample};

/// The references that a program is compiled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum References {
    /// Reference assemblies that any .NET since 2017, and Mono, can satisfy.
    All,
    /// Reference assemblies of .NET Core 3.1 and later.
    Core,
}

/// The assemblies of .NET Core that programs refer to.
const CORE: [&str; 7] = [
    "System.Runtime",
    "System.Runtime.Extensions",
    "System.Threading",
    "System.Threading.Tasks",
    "System.Threading.Thread",
    "System.Collections",
    "System.Console",
];

/// Compiles a program or a library. Returns `None` without a compiler, as [`require`] does.
pub fn compile(source: &Path, output: &Path, of: References, references: &[&Path]) -> Option<()> {
    compile_with(source, output, of, references, &[])
}

/// Compiles a program or a library with further options of the compiler.
pub fn compile_with(source: &Path, output: &Path, of: References, references: &[&Path], options: &[&str]) -> Option<()> {
    let (dotnet, csc) = (require("ILINST_DOTNET8")?, require("ILINST_CSC")?);
    let mut command = Command::new(dotnet);
    command.arg("exec").arg(csc).args(["-nologo", "-noconfig", "-nostdlib", "-optimize+", "-langversion:8"]);
    command.args(["-deterministic", "-nowarn:1701,1702"]).args(options);
    let (folder, names) = match of {
        References::All => (require("ILINST_MONO_LIB")?.join("4.7.2-api"), &["mscorlib", "System", "System.Core"][..]),
        References::Core => (core_references()?, &CORE[..]),
    };
    let of_system: Vec<PathBuf> = names.iter().map(|name| folder.join(format!("{name}.dll"))).collect();
    let all = of_system.iter().map(PathBuf::as_path).chain(references.iter().copied());
    command.args(all.map(|path| format!("-r:{}", path.display())));
    let extension = output.extension().unwrap_or_default();
    command.arg(if extension == "dll" { "-target:library" } else { "-target:exe" });
    fs::create_dir_all(output.parent().expect("it is in a folder")).expect("a folder can be made");
    let compiled = said(&command.arg(format!("-out:{}", output.display())).arg(source).output().expect("the compiler starts"));
    assert_eq!(compiled.2, Some(0), "{}: {}{}", source.display(), compiled.0, compiled.1);
    if extension == "exe" {
        let configuration = sample("hello").join("hello.runtimeconfig.json");
        fs::copy(configuration, output.with_extension("runtimeconfig.json")).expect("it can be copied");
    }
    Some(())
}

/// Returns the reference assemblies that come with the SDK.
fn core_references() -> Option<PathBuf> {
    let sdk = require("ILINST_SDK")?;
    let packs = sdk.ancestors().nth(2)?.join("packs/Microsoft.NETCore.App.Ref");
    let pack = fs::read_dir(packs).ok()?.flatten().next()?;
    let folder = fs::read_dir(pack.path().join("ref")).ok()?.flatten().next()?;
    Some(folder.path())
}
