//! Programs that runtimes run or refuse, and the errors that `verify` reports. The file `programs.il` has a heading for each:
//! its name, whether .NET and Mono run it, and the errors. A program that .NET runs has none.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{
    References, Runtime, compile, dotnets_ilasm, ilinst, in_parallel, of_turn, require, root, said, scratch, skip_part, tool,
};

const HEAD: &str = "
.assembly extern mscorlib { .ver 4:0:0:0 .publickeytoken = (B7 7A 5C 56 19 34 E0 89) }
.assembly extern Lib { .ver 0:0:0:0 }
";
/// The code with which each program ends that runs.
const RAN: Option<i32> = Some(100);

struct Program<'t> {
    name: &'t str,
    runs_on_net: bool,
    runs_on_mono: bool,
    errors: BTreeSet<String>,
    text: &'t str,
}

impl<'t> Program<'t> {
    fn parse(block: &'t str) -> Self {
        let (head, text) = block.split_once('\n').expect("a heading, then the text");
        let parts: Vec<&str> = head.split('|').map(str::trim).collect();
        let [name, net, mono, errors] = parts[..] else { panic!("{head}") };
        let runs = |word: &str| match word.rsplit_once(' ') {
            Some((_, "runs")) => true,
            Some((_, "refuses")) => false,
            _ => panic!("{head}"),
        };
        let errors = errors.split_whitespace().map(str::to_owned).collect();
        Self { name, runs_on_net: runs(net), runs_on_mono: runs(mono), errors, text }
    }
}

#[test]
#[ignore = "needs Mono, .NET and its ilasm"]
fn programs_that_run_have_no_errors() {
    let (Some(_), Some(dotnet)) = (require("ILINST_PACKAGES"), require("ILINST_DOTNET10")) else { return };
    let ilasm = dotnets_ilasm().expect("the packages are there");
    let framework = framework(&dotnet);
    let text = fs::read_to_string(root().join("tests/verify/programs.il")).expect("it is text");
    let mut blocks = text.split("//@ ").skip(1);
    let library = blocks.next().and_then(|block| block.split_once('\n')).expect("the library comes first").1;
    let programs: Vec<Program<'_>> = blocks.map(Program::parse).collect();
    let folder = scratch("verify-programs");
    assemble(&ilasm, &folder, "Lib", "-dll", library);
    let runtimes: Vec<Runtime> = Runtime::all().into_iter().filter(|runtime| runtime.name != ".NET Core 3.1").collect();
    let numbered: Vec<_> = programs.iter().enumerate().collect();
    let outcomes = in_parallel(&numbered, |_, (number, program)| {
        let Program { name, .. } = program;
        let head = format!("{HEAD}.assembly {name} {{ }} .module {name}.exe\n");
        let file = assemble(&ilasm, &folder, name, "-exe", &(head + program.text));
        let mut failures = Vec::new();
        for runtime in of_turn(runtimes.iter(), *number) {
            let output = runtime.program(&file, &folder).output().expect("it starts");
            let wanted = if runtime.is_mono() { program.runs_on_mono } else { program.runs_on_net };
            if (output.status.code() == RAN) != wanted {
                failures.push(format!("{name} on {}: {:?}", runtime.name, said(&output)));
            }
        }
        let mut command = ilinst();
        command.args(["verify", "--ref"]).arg(&framework).arg(&file);
        let (text, _, _) = said(&command.output().expect("ilinst runs"));
        let words = |line: &str| line.strip_prefix("error ").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        let errors: BTreeSet<String> = text.lines().filter_map(words).collect();
        if errors != program.errors || program.runs_on_net && !errors.is_empty() {
            failures.push(format!("{name}: {errors:?}, not {:?}", program.errors));
        }
        failures
    });
    let failures = outcomes.concat();
    println!("{} programs on {} runtimes", programs.len(), runtimes.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn assemble(ilasm: &Path, folder: &Path, name: &str, kind: &str, text: &str) -> PathBuf {
    let (source, output) = (folder.join(format!("{name}.il")), folder.join(name).with_extension(&kind[1..]));
    fs::write(&source, text).expect("it can be written");
    const CONFIGURATION: &str = r#"{ "runtimeOptions": { "rollForward": "LatestMajor",
        "framework": { "name": "Microsoft.NETCore.App", "version": "8.0.0" } } }"#;
    fs::write(folder.join(format!("{name}.runtimeconfig.json")), CONFIGURATION).expect("it can be written");
    let mut command = Command::new(ilasm);
    command.args([kind, "-nologo", "-quiet"]).arg(format!("-output={}", output.display())).arg(&source);
    let (out, errors, code) = said(&command.output().expect("ilasm starts"));
    assert_eq!(code, Some(0), "{name}: {out}{errors}");
    output
}

/// C# compiles to it, and .NET runs it: there is nothing to report, with types or without.
#[test]
#[ignore = "needs .NET 10"]
fn valid_csharp_has_no_findings() {
    let Some(dotnet) = tool("ILINST_DOTNET10") else { return skip_part("valid C#: there is no .NET 10") };
    let folder = scratch("verify-valid");
    let file = folder.join("valid.exe");
    if compile(&root().join("tests/verify/valid.cs"), &file, References::RuntimeAsync, &[]).is_none() {
        return;
    }
    for runtime in Runtime::suspending() {
        let output = runtime.program(&file, &folder).output().expect("it starts");
        assert_eq!(output.status.code(), RAN, "{}: {:?}", runtime.name, said(&output));
    }
    for options in [&[][..], &["--types"]] {
        let mut command = ilinst();
        command.arg("verify").args(options).arg("--ref").arg(framework(&dotnet)).arg(&file);
        let (text, errors, code) = said(&command.output().expect("ilinst runs"));
        assert_eq!(code, Some(0), "{options:?}: {text}{errors}");
    }
}

/// The framework of .NET's host.
pub(crate) fn framework(dotnet: &Path) -> PathBuf {
    let versions = fs::read_dir(dotnet.with_file_name("shared").join("Microsoft.NETCore.App")).expect("it is there");
    versions.flatten().next().expect("there is a version").path()
}
