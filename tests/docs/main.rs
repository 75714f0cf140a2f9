//! The guides in `docs/guide`: each command in them is run as it is written, and prints what stands below it.
//!
//! The first line of a guide names its program and tools: `<!-- program: NAME; needs: TOOL ... -->`. A program is one file or a
//! folder of projects. `packages` gives builds a feed with our packages, and with substitutes for those that cannot be had here.
//!
//! The commands of its `console` blocks run one after another in one shell, in a folder with that program. A command that must fail
//! has a comment: `# exit code 1`. In the output, numbers, units, spaces and the order of lines may differ. The full tier also
//! compares which methods took longest, as a busy machine may show others.

mod agree;
mod examples;
mod guide;
mod links;
mod plain;
mod reference;

use std::{fs, net::TcpListener, path::Path, process::Command};

use tests::{Compiler, References, compile, copy, is_full, packages, require, root, scratch};

use crate::guide::{Guide, Step};

/// The tools that guides may need: the name in the guide, and the variable with the path.
const TOOLS: [(&str, &str); 3] = [("mono", "ILINST_MONO"), ("mcs", "ILINST_MCS"), ("dotnet", "ILINST_DOTNET8")];

/// Where NuGet keeps packages, beside the folder that a guide works in.
const PACKAGES: &str = "packages";

macro_rules! guides {
    ($($name:ident)*) => {
        $(
            #[test]
            #[ignore = "needs .NET and Mono"]
            fn $name() {
                run(&concat!(stringify!($name), ".md").replace('_', "-"));
            }
        )*

        #[test]
        fn each_guide_is_run_and_listed() {
            let tested = [$(concat!(stringify!($name), ".md").replace('_', "-")),*];
            let readme = fs::read_to_string(root().join("README.md")).expect("it is there");
            for file in fs::read_dir(root().join("docs/guide")).expect("there are guides").flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                assert!(tested.contains(&name), "{name} is not run by a test");
                assert!(readme.contains(&format!("(docs/guide/{name})")), "README.md does not lead to {name}");
            }
        }
    };
}

guides!(console web tests coverage msbuild ci mono reading values comparing changes reviewing troubleshooting);

/// Runs a guide's commands, and holds what they print against it.
fn run(name: &str) {
    let guide = Guide::read(&root().join("docs/guide").join(name));
    let folder = scratch(&format!("docs-{name}"));
    let (work, bin) = (folder.join("work"), folder.join("bin"));
    // Reports find running programs' profiles by the temporary folder.
    for made in [&work, &bin, &folder.join("tmp")] {
        fs::create_dir_all(made).expect("a folder can be made");
    }
    if let Some(program) = &guide.program {
        let source = root().join("tests/docs/programs").join(program);
        if source.is_dir() {
            copy(&source, &work);
        } else {
            let compiled = work.join(program.to_lowercase()).with_extension("exe");
            let Some(()) = compile(&source.with_extension("cs"), &compiled, References::All, &[]) else { return };
        }
    }
    link(tests::ilinst().get_program().as_ref(), &bin.join("ilinst"));
    for needed in &guide.needs {
        if needed == "packages" {
            packages::feed(&folder);
            let Some(()) = stand_in(&folder) else { return };
            continue;
        }
        let (_, variable) = TOOLS.iter().find(|(tool, _)| tool == needed).expect("a guide needs what is known here");
        let Some(path) = require(variable) else { return };
        link(&path, &bin.join(needed));
    }
    let wrong: Vec<String> = answers(&guide, &work, &bin).iter().zip(&guide.steps).filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
}

/// Puts what stands for test frameworks' packages where NuGet keeps what it unpacked.
fn stand_in(folder: &Path) -> Option<()> {
    let (sources, packages) = (root().join("tests/docs/packages"), folder.join(PACKAGES));
    let props = fs::read(sources.join("Microsoft.NET.Test.Sdk.props")).expect("it is there");
    let host =
        packages::unpacked(&packages, "Microsoft.NET.Test.Sdk", "16.2.0", &[("build/Microsoft.NET.Test.Sdk.props", &props)]);
    compile(&sources.join("testhost.cs"), &host.join("build/testhost.exe"), References::All, &[])?;
    let framework = packages::unpacked(&packages, "xunit", "2.4.0", &[]);
    compile(&sources.join("xunit.cs"), &framework.join("lib/netstandard2.0/xunit.dll"), References::All, &[])
}

/// The port that guides have a service listen at. Whoever else runs here may have it.
const PORT: &str = "5018";

fn free_port() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it has one").port().to_string()
}

/// The output of a command, and its exit code.
type Answer = (String, i32);

/// Runs all of a guide's commands in one shell.
fn answers(guide: &Guide, work: &Path, bin: &Path) -> Vec<Answer> {
    const END: &str = "-- end of a command:";
    let (mut script, port) = (String::from("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"), free_port());
    for step in &guide.steps {
        script += &format!("{{\n{}\n}} 2>&1\necho \"{END} $?\"\n", step.command.replace(PORT, &port));
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("there is a PATH"));
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &script])
        .current_dir(work)
        .env("PATH", path)
        .env("TMPDIR", work.with_file_name("tmp"))
        .env("ILINST_CACHE", work.with_file_name("cache"));
    shell.env("NUGET_PACKAGES", work.with_file_name(PACKAGES)).env("MSBUILDTERMINALLOGGER", "off").env_remove("ILINST_TOOL");
    shell.envs(packages::PATIENT_TESTS);
    Compiler::Sdk.share(&mut shell);
    // As it would be by an installation.
    shell.env("DOTNET_ROOT", tests::tool("ILINST_DOTNET8").and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default());
    let output = shell.output().expect("bash starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut answers, mut lines) = (Vec::new(), String::new());
    for line in printed.lines() {
        if let Some((before, code)) = line.split_once(END) {
            answers.push((std::mem::take(&mut lines) + before, code.trim().parse().expect("it is a number")));
        } else {
            lines += line;
            lines.push('\n');
        }
    }
    assert_eq!(answers.len(), guide.steps.len(), "the shell did not come to the end:\n{printed}");
    answers
}

/// Returns the difference between a step and its answer in the guide.
fn wrong(((printed, code), step): (&Answer, &Step)) -> Option<String> {
    let lines: Vec<String> = printed.lines().map(guide::shape).collect();
    let any_row = !is_full() && guide::shows_rows_by_time(&step.command);
    let is_there = |shown: &str| {
        let shape = guide::shape(shown);
        lines.contains(&shape) || any_row && guide::is_row(&shape) && lines.iter().any(|line| guide::is_row(line))
    };
    let missing: Vec<&str> = step.shown.iter().map(String::as_str).filter(|shown| !is_there(shown)).collect();
    let is_wrong = *code != step.exit_code || !missing.is_empty();
    is_wrong.then(|| {
        let missing = missing.join("\n  ");
        format!("$ {}\nexit code {code}, printed:\n{printed}not printed:\n  {missing}\n", step.command)
    })
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) {
    std::os::unix::fs::symlink(target, at).expect("a link can be made");
}

#[cfg(not(unix))]
fn link(target: &Path, at: &Path) {
    fs::copy(target, at.with_extension("exe")).expect("it can be copied");
}
