//! Selectors and hooks of one's own in a build: what the hook says when the program runs.

use tests::said;

use crate::{
    dotnet::{Dotnet, project, reference},
    project::{PROGRAM, new_project},
};

const BUILD: [&str; 4] = ["build", "app", "-nologo", "-p:Ilinst=true"];
const OUTPUT: &str = "app/bin/Debug/netcoreapp3.1/app.dll";
const HOOKS: &str = "\
namespace Own
{
    public static class Calls
    {
        public static int Enter(string fullName, object arg_n)
        {
            System.Console.WriteLine(\"#\" + fullName + \" \" + arg_n);
            return 1;
        }

        public static void Leave(int entered, object returnValue)
        {
            System.Console.WriteLine(\"#\" + entered + \" \" + returnValue);
        }
    }
}
";
/// The assembly of the hooks, as the build has it: the project refers to theirs, which is built first.
const ASSEMBLY: &str = "../hooks/bin/Debug/netcoreapp3.1/hooks.dll";
/// The output of the program and of its hooks, for `Fib` alone.
const SAYS: &str = "#Program::Fib 2\n#Program::Fib 1\n#1 1\n#Program::Fib 0\n#1 0\n#1 1\nfib 1\n";

/// A program that refers to a project with hooks.
fn with_hooks(name: &str) -> Option<Dotnet> {
    let dotnet = new_project(name, &[reference("hooks.csproj")])?;
    dotnet.write("app/Program.cs", &PROGRAM.replace("Fib(20)", "Fib(2)"));
    dotnet.write("hooks/hooks.csproj", &project("", &[]));
    dotnet.write("hooks/Hooks.cs", HOOKS);
    Some(dotnet)
}

fn run(dotnet: &Dotnet) -> (String, String, Option<i32>) {
    said(&dotnet.program(OUTPUT).output().expect("it starts"))
}

#[test]
#[ignore = "needs the .NET SDK"]
fn hooks_and_selectors_are_said_by_properties() {
    let Some(dotnet) = with_hooks("hooks-properties") else { return };
    dotnet.write(
        "app/Directory.Build.targets",
        &format!(
            "<Project>
  <PropertyGroup>
    <IlinstInclude>Program::Fib(int);attribute:None</IlinstInclude>
    <IlinstExclude>kind:constructor;visibility:public</IlinstExclude>
    <IlinstEnter>{ASSEMBLY}!Own.Calls::Enter</IlinstEnter>
    <IlinstLeave>return;{ASSEMBLY}!Own.Calls::Leave</IlinstLeave>
  </PropertyGroup>
</Project>
"
        ),
    );
    let built = dotnet.run(&BUILD);
    assert!(built.contains("app.dll: 3 methods, 1 instrumented\n"), "{built}");
    assert_eq!(run(&dotnet), (SAYS.into(), String::new(), Some(0)));
    // Another choice weaves again.
    let built = dotnet.run(&[&BUILD[..], &["-p:IlinstExclude=il:..500", "-p:IlinstInclude="]].concat());
    assert!(built.contains("app.dll: 3 methods, 0 instrumented\n"), "{built}");
    assert_eq!(run(&dotnet), ("fib 1\n".into(), String::new(), Some(0)));
}

#[test]
#[ignore = "needs the .NET SDK"]
fn hooks_and_selectors_are_said_by_rules() {
    let Some(dotnet) = with_hooks("hooks-rules") else { return };
    dotnet.write(
        "app/ilinst.toml",
        &format!(
            "include = ['kind:accessor', 'Program::*']
exclude = ['kind:constructor', 'Program::Main']

[[rule]]
include = ['Program::Fib(int)']
min-il = 0
enter = '{ASSEMBLY}!Own.Calls::Enter'
leave = ['finally', '{ASSEMBLY}!Own.Calls::Leave']
"
        ),
    );
    let built = dotnet.run(&BUILD);
    assert!(built.contains("app.dll: 3 methods, 1 instrumented\n"), "{built}");
    assert_eq!(run(&dotnet), (SAYS.into(), String::new(), Some(0)));
}

/// The assembly of the hooks comes with the package, as the tracker does.
#[test]
#[ignore = "needs the .NET SDK"]
fn a_preset_comes_with_what_it_calls() {
    let Some(dotnet) = new_project("hooks-preset", &[]) else { return };
    let built = dotnet.run(&[&BUILD[..], &["-p:IlinstPreset=coverage"]].concat());
    assert!(built.contains("app.dll: 3 methods, 2 instrumented\n"), "{built}");
    let list = dotnet.folder.join("coverage.tsv");
    let output = dotnet.program(OUTPUT).env("ILINST_COVERAGE", &list).output().expect("it starts");
    assert_eq!(said(&output), ("fib 6765\n".into(), String::new(), Some(0)));
    let counted = std::fs::read_to_string(&list).expect("it was written");
    assert!(counted.contains("\tProgram::Fib"), "{counted}");
}
