//! Commands of the .NET SDK that start programs: `dotnet run`, `dotnet test`, `dotnet vstest`.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::Read as _,
    path::Path,
};

use instrument::Failure;

use crate::program::{file_of_command, is_assembly};

/// The kind of program that an SDK command starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SdkCommand {
    /// The program of a project: `dotnet run`.
    Run,
    /// The program of a file: `dotnet run app.cs`, `dotnet app.cs`.
    RunFile,
    /// The tests of projects: `dotnet test`.
    Test,
    /// The tests of assemblies: `dotnet vstest Tests.dll`, `dotnet test Tests.dll`.
    TestAssemblies,
}

/// Commands that run no program of the user's.
const WITHOUT_PROGRAM: [&str; 20] = [
    "add",
    "build",
    "build-server",
    "clean",
    "format",
    "help",
    "list",
    "msbuild",
    "new",
    "nuget",
    "pack",
    "package",
    "publish",
    "reference",
    "remove",
    "restore",
    "sln",
    "solution",
    "store",
    "workload",
];
/// Options of the SDK before its command.
const BEFORE: [&str; 2] = ["-d", "--diagnostics"];

impl SdkCommand {
    /// The kind of a command line; `None` if it is no SDK command.
    ///
    /// # Errors
    /// If it starts no program, or its program cannot be instrumented. The message gives the reason and an
    /// alternative.
    pub fn parse(command: &[OsString]) -> instrument::Result<Option<Self>> {
        let Some((host, rest)) = command.split_first().filter(|(host, _)| is_dotnet(host)) else { return Ok(None) };
        let words: Vec<&OsStr> =
            rest.iter().map(OsString::as_os_str).skip_while(|word| BEFORE.iter().any(|known| word == known)).collect();
        let Some((verb, arguments)) = words.split_first() else { return Ok(None) };
        let own = || arguments.iter().take_while(|word| **word != "--").map(Path::new);
        let name = Path::new(host).display();
        Ok(match verb.to_str().unwrap_or_default() {
            "run" if is_of_file(&own()) => {
                if own().any(|word| word.as_os_str() == "--no-build") {
                    let text = format!(
                        "{name} run --no-build: the SDK starts its earlier build of a single-file program, which is not instrumented; leave out \
                         --no-build"
                    );
                    return Err(Failure::usage(text));
                }
                Some(Self::RunFile)
            }
            "run" => Some(Self::Run),
            "test" if own().any(is_assembly) => Some(Self::TestAssemblies),
            "test" => Some(Self::Test),
            "vstest" => Some(Self::TestAssemblies),
            "watch" => {
                return Err(Failure::usage(format_args!(
                    "{name} watch: it changes the program while it runs (hot reload), and instrumented code cannot be changed so; \
                     use ilinst run -- {name} run"
                )));
            }
            verb if WITHOUT_PROGRAM.contains(&verb) => {
                return Err(Failure::usage(format_args!(
                    "{name} {verb}: it runs no program; use ilinst run -- {name} run, or ilinst run -- {name} test"
                )));
            }
            _ if is_source(Path::new(verb)) => Some(Self::RunFile),
            _ => None,
        })
    }

    /// Whether it runs tests.
    pub fn is_test(self) -> bool {
        matches!(self, Self::Test | Self::TestAssemblies)
    }
}

/// The words of a command that has the SDK build a program of one file, whatever it keeps of it: what it keeps says how the program is started.
pub(crate) fn built_anew(command: &[OsString]) -> Vec<OsString> {
    let verb = 1 + command.iter().skip(1).take_while(|word| BEFORE.iter().any(|known| *word == known)).count();
    let (before, mut rest) = command.split_at(verb.min(command.len()));
    let mut words = before.to_vec();
    if let Some((_, arguments)) = rest.split_first().filter(|(verb, _)| *verb == "run") {
        rest = arguments;
    }
    words.extend(["run", "--no-cache"].map(OsString::from));
    words.extend_from_slice(rest);
    words
}

/// Whether `dotnet run` is given a program of one file: `--file` says so, or, without a project, the first argument.
fn is_of_file<'w>(words: &(impl Iterator<Item = &'w Path> + Clone)) -> bool {
    let names = |option: &str| {
        words.clone().any(|word| word.as_os_str() == option || word.to_string_lossy().starts_with(&format!("{option}=")))
    };
    let has_project = || {
        let mut files = std::fs::read_dir(".").into_iter().flatten().flatten();
        files.any(|file| file.path().extension().is_some_and(|extension| extension.to_string_lossy().ends_with("proj")))
    };
    names("--file") || !names("--project") && !names("-p") && words.clone().any(is_source) && !has_project()
}

/// Whether a file is C# that can be run: by its name, or by its first line.
fn is_source(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("cs"));
    let starts = || {
        let mut start = [0; 2];
        File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
    };
    path.is_file() && (is_named || starts())
}

/// Whether a command's first word is the host of .NET.
fn is_dotnet(word: &OsStr) -> bool {
    file_of_command(word).is_some_and(|file| {
        let real = dunce::canonicalize(&file).unwrap_or_default();
        [file, real].iter().any(|path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("dotnet")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_file_is_built_anew() {
        for (before, after) in [
            ("dotnet app.cs a run", "dotnet run --no-cache app.cs a run"),
            ("dotnet run -c Release app.cs", "dotnet run --no-cache -c Release app.cs"),
            ("dotnet -d run app.cs", "dotnet -d run --no-cache app.cs"),
        ] {
            assert_eq!(built_anew(&words(before)), words(after));
        }
    }
}
