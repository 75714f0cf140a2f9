//! The bench's programs in C#, compiled on demand.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    common::{quiet, root, target},
    toolchain::{DOTNET_ENVIRONMENT, Toolchain, csc},
};

/// Debian's package of Cecil.
pub(super) const CECIL_PACKAGE: &str = "libmono-cecil-private-cil";
const CECIL_DLL: &str = "gac/Mono.Cecil/0.11.0.0__0738eb9f132ed756/Mono.Cecil.dll";
/// The folders of the Cecil program, and of its copy with native code for Mono.
pub(super) const CECIL: &str = "cecil";
pub(super) const CECIL_AOT: &str = "cecil-aot";
/// The reference assemblies that all runtimes can satisfy.
const REFERENCES: &str = "4.7.2-api";
/// The assemblies of the framework that the generator of large assemblies refers to.
const LARGE_REFERENCES: [&str; 4] =
    ["System.Private.CoreLib", "System.Runtime", "System.Reflection.Metadata", "System.Collections.Immutable"];

/// The assemblies of the framework that the program with activities refers to.
const ACTIVITY_REFERENCES: [&str; 7] = [
    "System.Private.CoreLib",
    "System.Runtime",
    "System.Threading",
    "System.Threading.Thread",
    "System.Collections",
    "System.Console",
    "System.Diagnostics.DiagnosticSource",
];

/// Returns the folder where a program is built.
pub(super) fn folder(name: &str) -> PathBuf {
    target().join("bench").join(name)
}

/// Returns the path of the Cecil program.
pub(super) fn cecil(name: &str) -> PathBuf {
    folder(name).join("CecilWeave.exe")
}

/// Compiles the Cecil program, and its native code for Mono.
pub(super) fn build_cecil(toolchain: &Toolchain) -> Result<()> {
    let mono = toolchain.get("ILINST_MONO_LIB")?;
    let dll = mono.join(CECIL_DLL);
    if !dll.is_file() {
        bail!("there is no {}; install {CECIL_PACKAGE}", dll.display());
    }
    let mut references: Vec<PathBuf> =
        ["mscorlib", "System", "System.Core"].iter().map(|name| mono.join(REFERENCES).join(format!("{name}.dll"))).collect();
    references.push(dll.clone());
    compile(toolchain, "cecil/CecilWeave.cs", &references, &cecil(CECIL))?;
    fs::copy(&dll, folder(CECIL).join("Mono.Cecil.dll"))?;
    fs::create_dir_all(folder(CECIL_AOT))?;
    for file in ["Mono.Cecil.dll", "CecilWeave.exe"] {
        let copy = folder(CECIL_AOT).join(file);
        fs::copy(folder(CECIL).join(file), &copy)?;
        quiet(Command::new(toolchain.get("ILINST_MONO")?).arg("--aot").arg(copy))?;
    }
    Ok(())
}

/// Returns an assembly with this number of methods, which is generated if it is missing.
pub(super) fn large(toolchain: &Toolchain, methods: u32) -> Result<PathBuf> {
    let made = folder("large").join(format!("Large-{methods}.dll"));
    if made.is_file() {
        return Ok(made);
    }
    let root = toolchain.sdk_root()?;
    let framework = root.join("shared/Microsoft.NETCore.App/8.0.4");
    let references = LARGE_REFERENCES.map(|name| framework.join(format!("{name}.dll")));
    let program = folder("large").join("LargeAssembly.exe");
    compile(toolchain, "large/LargeAssembly.cs", &references, &program)?;
    let unfinished = made.with_extension("unfinished");
    let mut command = Command::new(root.join("dotnet"));
    command.arg("exec").arg(program).arg(&unfinished).arg(methods.to_string());
    quiet(command.envs(DOTNET_ENVIRONMENT.iter().copied()))?;
    fs::rename(unfinished, &made)?;
    Ok(made)
}

/// Compiles the programs that measure the cost of calls: one for any .NET, and one with features of newer versions.
pub(super) fn build_tracker(toolchain: &Toolchain, folder: &Path, tracker: &Path) -> Result<()> {
    let unwoven = folder.join("unwoven");
    let _ = fs::remove_dir_all(folder);
    let mono = toolchain.get("ILINST_MONO_LIB")?.join(REFERENCES);
    let mut references: Vec<PathBuf> = ["mscorlib", "System", "System.Core"].map(|name| mono.join(format!("{name}.dll"))).into();
    // Lines are counted by the PDB.
    compile_with(toolchain, "tracker/Cost.cs", &references, &unwoven.join("Cost.exe"), &["-debug:portable"])?;
    let classic = folder.join("ProfileInfoTracker.dll");
    compile_with(toolchain, "../samples/hooks/ProfileInfoTracker.cs", &references, &classic, &["-target:library"])?;
    references.push(tracker.to_owned());
    compile(toolchain, "tracker/FanOut.cs", &references, &unwoven.join("FanOut.exe"))?;
    let root = toolchain.sdk_root()?;
    let framework = root.join("shared/Microsoft.NETCore.App/8.0.4");
    let references = ACTIVITY_REFERENCES.map(|name| framework.join(format!("{name}.dll")));
    compile_with(toolchain, "tracker/Cost.cs", &references, &unwoven.join("CostActivities.exe"), &["-define:ACTIVITIES"])
}

/// Compiles a program that runs on any .NET.
fn compile(toolchain: &Toolchain, source: &str, references: &[PathBuf], program: &Path) -> Result<()> {
    compile_with(toolchain, source, references, program, &[])
}

fn compile_with(toolchain: &Toolchain, source: &str, references: &[PathBuf], program: &Path, options: &[&str]) -> Result<()> {
    fs::create_dir_all(program.parent().context("no folder")?)?;
    let mut command = csc(toolchain)?;
    command.args(["-nostdlib", "-deterministic", "-optimize+", "-unsafe", "-langversion:8", "-warnaserror+"]);
    command.arg("-nowarn:1701,1702").args(options);
    command.args(references.iter().map(|reference| format!("-r:{}", reference.display())));
    command.arg(format!("-out:{}", program.display())).arg(root().join("xtask").join(source));
    quiet(&mut command)?;
    fs::copy(root().join("samples/hello/bin/hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))?;
    Ok(())
}
