//! Creates the files of a kind in its folder. A recipe has one command a line, which is run in that folder.
//!
//! `take PLACE:PATH` copies a file, or the contents of a folder if the path ends with a slash. Places are `sdk:`, `runtime:`,
//! `mono:`, `corpus:`, `samples:` and `made:`. `generate NAME` and `patch WHAT FILE ...` are written in Rust. All other commands
//! are compilers or tools of Mono or of the SDK. `{made}` is the folder of the sources.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{Compiler, root, tool};

use crate::{generate::generate, patch::patch, runtimes};

/// The reason why a kind has no files.
pub(crate) enum Stop {
    /// A tool or a source is not available here.
    Skipped(String),
    /// A tool failed.
    Failed(String),
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Runs a recipe.
pub(crate) fn make(recipe: &[&str], folder: &Path) -> Result<(), Stop> {
    let made = root().join("tests/corpus/made");
    for line in recipe {
        let line = line.replace("{made}", &made.to_string_lossy());
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            ["take", from] => take(from, folder)?,
            ["generate", name] => fs::write(folder.join(format!("{name}.il")), generate(name))?,
            ["patch", what, file, rest @ ..] => {
                let mut bytes = fs::read(folder.join(file))?;
                patch(what, rest, &mut bytes).map_err(|error| Stop::Failed(format!("{line}: {error}")))?;
                fs::write(folder.join(file), bytes)?;
            }
            ["folder", name] => fs::create_dir(folder.join(name))?,
            [program, arguments @ ..] => run(command(program, folder)?.args(arguments), folder, &line)?,
            [] => {}
        }
    }
    Ok(())
}

fn run(command: &mut Command, folder: &Path, line: &str) -> Result<(), Stop> {
    let output = command.current_dir(folder).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(Stop::Failed(format!("{line}: {}: {}", output.status, String::from_utf8_lossy(&said))))
}

/// Returns the folder for the word before the colon.
fn place(name: &str) -> Option<PathBuf> {
    match name {
        "sdk" => tool("ILINST_SDK"),
        "runtime" => Some(tool("ILINST_SDK")?.ancestors().nth(2)?.join("shared/Microsoft.NETCore.App/8.0.4")),
        "mono" => tool("ILINST_MONO_LIB"),
        "corpus" => tool("ILINST_CORPUS"),
        "samples" => Some(root().join("samples")),
        "made" => Some(root().join("tests/corpus/made")),
        _ => None,
    }
}

fn take(from: &str, folder: &Path) -> Result<(), Stop> {
    let (name, path) = from.split_once(':').unwrap_or(("", from));
    let Some(place) = place(name) else { return Err(Stop::Skipped(format!("{name} is not at hand"))) };
    let file = place.join(path);
    if file.is_dir() {
        for entry in fs::read_dir(file)?.flatten().filter(|entry| entry.path().is_file()) {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    } else if file.is_file() {
        fs::copy(&file, folder.join(file.file_name().unwrap_or_default()))?;
    } else {
        let package = path.split('/').next().unwrap_or_default();
        let why = fs::read_to_string(place.join(format!("{package}.missing")));
        let why = why.ok().and_then(|why| Some(why.lines().next()?.to_owned()));
        return Err(Stop::Skipped(why.unwrap_or_else(|| {
            format!("{from} is not there: `cargo xtask corpus` fetches it, with `--all` for the full tier")
        })));
    }
    Ok(())
}

/// Returns a compiler or tool, ready for further arguments.
fn command(program: &str, folder: &Path) -> Result<Command, Stop> {
    let found = match program {
        "csc" => roslyn("csc.dll", folder).and_then(framework_references),
        "vbc" => roslyn("vbc.dll", folder).and_then(core_references).map(with_visual_basic),
        "fsc" => fsharp(folder).and_then(core_references),
        _ => tool("ILINST_MCS").map(|mcs| mcs.with_file_name(program)).filter(|path| path.is_file()).map(Command::new),
    };
    found.ok_or_else(|| Stop::Skipped(format!("{program} is not at hand")))
}

fn sdk_program(path: &str, folder: &Path) -> Option<Command> {
    let mut command =
        runtimes().iter().find(|runtime| runtime.name == ".NET 8")?.program(&tool("ILINST_SDK")?.join(path), folder);
    command.env("DOTNET_ROLL_FORWARD", "Major");
    Some(command)
}

fn roslyn(compiler: &str, folder: &Path) -> Option<Command> {
    let mut command = sdk_program(&format!("Roslyn/bincore/{compiler}"), folder)?;
    command.args(["-nologo", "-noconfig", "-nostdlib"]).args(Compiler::Sdk.option());
    Some(command)
}

fn fsharp(folder: &Path) -> Option<Command> {
    let mut command = sdk_program("FSharp/fsc.exe", folder)?;
    command.args(["--nologo", "--noframework", "--targetprofile:netcore", "-r:FSharp.Core.dll"]);
    Some(command)
}

/// Adds the reference assemblies that every runtime can satisfy.
fn framework_references(mut command: Command) -> Option<Command> {
    let references = tool("ILINST_MONO_LIB")?.join("4.7.2-api");
    for library in ["mscorlib.dll", "System.dll", "System.Core.dll"] {
        command.arg(format!("-r:{}", references.join(library).display()));
    }
    Some(command)
}

fn core_folder() -> Option<PathBuf> {
    Some(tool("ILINST_SDK")?.ancestors().nth(2)?.join("packs/Microsoft.NETCore.App.Ref/3.1.0/ref/netcoreapp3.1"))
}

fn core_references(mut command: Command) -> Option<Command> {
    for entry in fs::read_dir(core_folder()?).ok()?.flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "dll"))
    {
        command.arg(format!("-r:{}", entry.path().display()));
    }
    Some(command)
}

fn with_visual_basic(mut command: Command) -> Command {
    if let Some(folder) = core_folder() {
        command.arg(format!("-sdkpath:{}", folder.display()));
        command.arg(format!("-vbruntime:{}", folder.join("Microsoft.VisualBasic.Core.dll").display()));
    }
    command.arg("-define:_MYTYPE=\"Empty\"");
    command
}
