//! Programs in C#, compiled when a test needs them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{require, said, sample};

/// Compiles a program or a library, which then runs on any .NET; none if there is no compiler, as [`require`] has it.
pub fn compile(source: &Path, output: &Path, references: &[&Path]) -> Option<()> {
    compile_with(source, output, references, &[])
}

/// The same with further options.
pub fn compile_with(source: &Path, output: &Path, references: &[&Path], options: &[&str]) -> Option<()> {
    let (dotnet, csc, mono) = (require("ILINST_DOTNET8")?, require("ILINST_CSC")?, require("ILINST_MONO_LIB")?);
    let library = |name: &str| mono.join("4.7.2-api").join(name).with_extension("dll");
    let mut command = Command::new(dotnet);
    command.arg("exec").arg(csc).args(["-nologo", "-noconfig", "-nostdlib", "-optimize+", "-unsafe", "-langversion:8"]);
    command.args(["-deterministic", "-nowarn:1701,1702"]).args(options);
    let system: Vec<PathBuf> = ["mscorlib", "System", "System.Core"].iter().map(|name| library(&format!("{name}.dll"))).collect();
    command
        .args(system.iter().map(PathBuf::as_path).chain(references.iter().copied()).map(|path| format!("-r:{}", path.display())));
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
