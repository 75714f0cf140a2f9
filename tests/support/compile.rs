//! Compiles programs in C# and F# for tests.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

use crate::{require, root, said, sample, tool};

/// The references that a program is compiled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum References {
    /// Reference assemblies that any .NET since 2017, and Mono, can satisfy.
    All,
    /// Reference assemblies of .NET Core 3.1 and later.
    Core,
    /// The reference assembly of .NET Standard 2.1, which .NET Core 3.0 and Mono satisfy.
    Standard,
    /// .NET 10 and later, whose runtime suspends async methods: a C# compiler that leaves that to it.
    RuntimeAsync,
}

/// A C# compiler that the tests of a run share. A compiler that is started anew takes seconds until it is itself compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compiler {
    /// The older SDK's.
    Sdk,
    /// The compiler of the SDK of .NET 10.
    Sdk10,
}

impl Compiler {
    /// The name of its running server, if there is one.
    fn server(self) -> Option<String> {
        let variable = match self {
            Self::Sdk => "ILINST_CSC_SERVER",
            Self::Sdk10 => "ILINST_SDK10_SERVER",
        };
        env::var(variable).ok()
    }

    /// The option that makes the compiler use its running server.
    pub fn option(self) -> Option<String> {
        Some(format!("-shared:{}", self.server()?))
    }

    /// Makes the builds of a command use the running server. Without one, each compiles by itself and leaves no server behind.
    pub fn share(self, command: &mut Command) {
        match self.server() {
            Some(server) => command.env("UseSharedCompilation", "true").env("SharedCompilationId", server),
            None => command.env("UseSharedCompilation", "false"),
        };
    }
}

/// The assemblies of .NET Core that programs refer to.
const CORE: [&str; 18] = [
    "System.Runtime",
    "System.Runtime.Extensions",
    "System.Threading",
    "System.Threading.Tasks",
    "System.Threading.Thread",
    "System.Collections",
    "System.Console",
    "System.ComponentModel.Primitives",
    "System.Diagnostics.Process",
    "System.Diagnostics.StackTrace",
    "System.Linq",
    "System.Linq.Expressions",
    "System.Memory",
    "System.Runtime.InteropServices",
    "System.Runtime.Loader",
    "System.Threading.Tasks.Parallel",
    "Microsoft.CSharp",
    "netstandard",
];

/// Compiles a program or a library. Returns `None` without a compiler, as [`require`] does.
pub fn compile(source: &Path, output: &Path, of: References, references: &[&Path]) -> Option<()> {
    compile_with(source, output, of, references, &[])
}

/// Compiles a program or a library with further options of the compiler.
pub fn compile_with(source: &Path, output: &Path, of: References, references: &[&Path], options: &[&str]) -> Option<()> {
    let (mut command, compiler) = if of == References::RuntimeAsync {
        let Some(sdk) = tool("ILINST_SDK10") else {
            println!("without: methods that the runtime suspends");
            return None;
        };
        let csc = only_in(&sdk.with_file_name("sdk"))?.join("Roslyn/bincore/csc.dll");
        let mut command = Command::new(sdk);
        command.arg("exec").arg(csc).args(["-features:runtime-async=on", "-define:RUNTIME_ASYNC", "-nowarn:SYSLIB5007"]);
        (command, Compiler::Sdk10)
    } else {
        let (dotnet, csc) = (require("ILINST_DOTNET8")?, require("ILINST_CSC")?);
        let mut command = Command::new(dotnet);
        command.arg("exec").arg(csc).arg("-langversion:8");
        (command, Compiler::Sdk)
    };
    command.args(["-nologo", "-noconfig", "-nostdlib", "-optimize+", "-deterministic", "-nowarn:1701,1702"]).args(options);
    let of_system = match of {
        References::All => in_folder(&require("ILINST_MONO_LIB")?.join("4.7.2-api"), &["mscorlib", "System", "System.Core"]),
        References::Core => in_folder(&core_references(&packs()?)?, &CORE),
        References::Standard => in_folder(&in_pack(&packs()?, "NETStandard.Library.Ref")?, &["netstandard"]),
        References::RuntimeAsync => libraries(&core_references(&tool("ILINST_SDK10")?.with_file_name("packs"))?),
    };
    let all = of_system.iter().map(PathBuf::as_path).chain(references.iter().copied());
    command.args(all.map(|path| format!("-r:{}", path.display())));
    let extension = output.extension().unwrap_or_default();
    command.arg(if extension == "dll" { "-target:library" } else { "-target:exe" });
    command.arg(source);
    compiled(&mut command, compiler.option(), "-out:", source, output);
    Some(())
}

/// Compiles a program in F# for .NET Core. Returns `None` without a compiler.
pub fn compile_fsharp(source: &Path, output: &Path, options: &[&str]) -> Option<()> {
    let (dotnet, fsharp) = (require("ILINST_DOTNET8")?, require("ILINST_SDK")?.join("FSharp"));
    let mut command = Command::new(dotnet);
    command.env("DOTNET_ROLL_FORWARD", "Major").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    command.arg("exec").arg(fsharp.join("fsc.exe")).args(["--nologo", "--noframework", "--targetprofile:netcore"]).args(options);
    let libraries = libraries(&core_references(&packs()?)?).into_iter().chain([fsharp.join("FSharp.Core.dll")]);
    command.args(libraries.map(|path| format!("-r:{}", path.display()))).arg(source);
    compiled(&mut command, None, "--out:", source, output);
    Some(())
}

/// Runs a compiler once, and copies what it makes beside `output`. The option of its server does not change what it makes.
fn compiled(command: &mut Command, server: Option<String>, out: &str, source: &Path, output: &Path) {
    let name = output.file_name().expect("it has a name");
    let compiled = once(command, name, |command, to| {
        command.args(server);
        let compiled = said(&command.arg(format!("{out}{}", to.join(name).display())).output().expect("the compiler starts"));
        assert_eq!(compiled.2, Some(0), "{}: {}{}", source.display(), compiled.0, compiled.1);
    });
    let folder = output.parent().expect("it is in a folder");
    fs::create_dir_all(folder).expect("a folder can be made");
    for made in fs::read_dir(compiled).expect("it is there").flatten() {
        fs::copy(made.path(), folder.join(made.file_name())).expect("it can be copied");
    }
    if output.extension().is_some_and(|extension| extension == "exe") {
        let configuration = sample("hello").join("hello.runtimeconfig.json");
        fs::copy(configuration, output.with_extension("runtimeconfig.json")).expect("it can be copied");
    }
}

/// A folder with what a command makes: the same folder for the same arguments and contents of files, so that it is made once.
fn once(command: &mut Command, name: &OsStr, make: impl FnOnce(&mut Command, &Path)) -> PathBuf {
    let mut hash = Sha256::new();
    for argument in command.get_args().chain([name]).map(OsStr::to_string_lossy) {
        // Files are arguments, or parts of such: -r:FILE.
        let file = argument.rsplit_once(':').map_or(&*argument, |(_, file)| file);
        hash.update((argument.len() as u64).to_le_bytes());
        hash.update(argument.as_bytes());
        hash.update(fs::read(file).unwrap_or_default());
    }
    let all = root().join("target/tests/compiled");
    let folder = all.join(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    fs::create_dir_all(&all).expect("a folder can be made");
    // Tests run side by side, in several processes. The lock ends with the file.
    let lock = fs::File::create(folder.with_extension("lock")).expect("it can be made");
    lock.lock().expect("it can be locked");
    if !folder.is_dir() {
        let unfinished = folder.with_extension("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        fs::create_dir(&unfinished).expect("a folder can be made");
        make(command, &unfinished);
        fs::rename(&unfinished, &folder).expect("it can be renamed");
    }
    folder
}

fn in_folder(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(format!("{name}.dll"))).collect()
}

/// All libraries of a folder, in the order of their names.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("it can be read").flatten().map(|entry| entry.path());
    let mut libraries: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "dll")).collect();
    libraries.sort();
    libraries
}

/// The folder of the SDK's reference packs.
fn packs() -> Option<PathBuf> {
    Some(require("ILINST_SDK")?.ancestors().nth(2)?.join("packs"))
}

fn core_references(packs: &Path) -> Option<PathBuf> {
    in_pack(packs, "Microsoft.NETCore.App.Ref")
}

fn in_pack(packs: &Path, pack: &str) -> Option<PathBuf> {
    only_in(&only_in(&packs.join(pack))?.join("ref"))
}

/// The only thing that is in a folder.
fn only_in(folder: &Path) -> Option<PathBuf> {
    Some(fs::read_dir(folder).ok()?.flatten().next()?.path())
}
