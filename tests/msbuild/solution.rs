//! A program, libraries in three languages, one of them for two frameworks, and tests: one solution, built in parallel.

use tests::{Report, ilinst, require, said};

use crate::{
    dotnet::{Dotnet, EXE, package, project, reference},
    project::PROGRAM,
};

const OPTIONS: [&str; 4] = ["-nologo", "-m:2", "-p:Ilinst=true", "-v:normal"];
/// F#'s library comes from the SDK, as its package is on no feed here; net45's from Mono.
const PROPS: &str = r#"<Project>
  <PropertyGroup Condition="'$(MSBuildProjectExtension)' == '.fsproj'">
    <DisableImplicitFSharpCoreReference>true</DisableImplicitFSharpCoreReference>
  </PropertyGroup>
  <ItemGroup Condition="'$(MSBuildProjectExtension)' == '.fsproj'">
    <Reference Include="FSharp.Core" HintPath="{sdk}/FSharp/FSharp.Core.dll" />
  </ItemGroup>
</Project>
"#;
const SOURCES: [(&str, &str); 6] = [
    (
        "Lib/Lib.cs",
        "namespace Lib { public static class Sum { public static int To(int n) { int s = 0; for (int i = 1; i <= n; i++) s += i; return s; } } }",
    ),
    (
        "Fun/Fun.fs",
        "namespace Fun\n\nmodule Square =\n    let rec sum (n: int) : int = if n = 0 then 0 else n * n + sum (n - 1) + 0\n    let later (n: int) : int = async { return sum n } |> Async.RunSynchronously\n",
    ),
    (
        "Basic/Basic.vb",
        "Public Class Twice\n    Public Shared Function Join(text As String) As String\n        Return String.Concat(text, text)\n    End Function\nEnd Class\n",
    ),
    (
        "App/App.cs",
        "namespace App { static class Program { static void Main() { System.Console.WriteLine(Lib.Sum.To(10) + \" \" + Fun.Square.later(3) + \" \" + Basic.Twice.Join(\"ab\")); } } }",
    ),
    (
        "Checks/Checks.cs",
        "namespace Checks { public static class Tests { public static void TestSum() { if (Lib.Sum.To(4) != 10) throw new System.Exception(\"wrong\"); } } }",
    ),
    (
        "Runner/Runner.cs",
        r#"
using System;
using System.Linq;
using System.Reflection;

static class Runner
{
    static void Main(string[] arguments)
    {
        var assembly = Assembly.LoadFrom(arguments.First(each => each.EndsWith(".dll")));
        foreach (var method in assembly.GetTypes().SelectMany(type => type.GetMethods()).Where(each => each.Name.StartsWith("Test")))
        {
            method.Invoke(null, null);
            Console.WriteLine("passed: " + method.Name);
        }
    }
}
"#,
    ),
];

const PRIVATE: &str = r#"PrivateAssets="all" "#;

/// The solution, as it is before anything is built.
fn solution(name: &str) -> Option<Dotnet> {
    let (sdk, mono) = (require("ILINST_SDK")?, require("ILINST_MONO_LIB")?);
    let dotnet = Dotnet::new(name)?;
    dotnet.write("Directory.Build.props", &PROPS.replace("{sdk}", &sdk.to_string_lossy()));
    dotnet.run(&["new", "sln", "-n", "Shop"]);
    let two_frameworks = format!(
        r#"<TargetFrameworks>netcoreapp3.1;net45</TargetFrameworks>
    <FrameworkPathOverride Condition="'$(TargetFramework)' == 'net45'">{}/4.5-api</FrameworkPathOverride>"#,
        mono.display()
    );
    // `dotnet test` has `Runner` run what is in it.
    let tests = "<IsTestProject>true</IsTestProject>
    <VSTestConsolePath>$(MSBuildThisFileDirectory)../Runner/bin/Debug/netcoreapp3.1/Runner.dll</VSTestConsolePath>";
    // The package comes by way of the library.
    let referred = ["Lib.csproj", "Fun.fsproj", "Basic.vbproj"].map(reference);
    let not_woven = format!("{EXE}<IlinstWeave>false</IlinstWeave>");
    for (path, text) in [
        ("Lib/Lib.csproj", project(&two_frameworks, &[package("")])),
        ("Fun/Fun.fsproj", project("", &[package(PRIVATE), r#"<Compile Include="Fun.fs" />"#.into()])),
        ("Basic/Basic.vbproj", project("", &[package(PRIVATE)])),
        ("App/App.csproj", project(EXE, &referred)),
        ("Checks/Checks.csproj", project(tests, &[reference("Lib.csproj")])),
        ("Runner/Runner.csproj", project(&not_woven, &[package(PRIVATE)])),
    ] {
        dotnet.write(path, &text);
    }
    for (path, text) in SOURCES {
        dotnet.write(path, text);
    }
    let projects = [
        "Lib/Lib.csproj",
        "Fun/Fun.fsproj",
        "Basic/Basic.vbproj",
        "App/App.csproj",
        "Checks/Checks.csproj",
        "Runner/Runner.csproj",
    ];
    dotnet.run(&[&["sln", "add"][..], &projects].concat());
    Some(dotnet)
}

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn a_solution_is_woven_as_one() {
    let Some(dotnet) = solution("solution") else { return };
    let built = dotnet.run(&[&["build", "Shop.sln"][..], &OPTIONS].concat());
    assert_eq!(built.matches(" instrumented\n").count(), 6, "each assembly once\n{built}");
    let report = dotnet.profile(&mut dotnet.program("App/bin/Debug/netcoreapp3.1/App.dll"), "55 14 abab\n");
    let calls = ["App.Program::Main", "Lib.Sum::To", "Fun.Square::sum", "Basic.Twice::Join"].map(|name| report.calls(name));
    assert_eq!(calls, [1, 1, 4, 1]);
    assert_eq!(report.calls("Microsoft.FSharp.Control.FSharpAsync::RunSynchronously"), 1, "it waits");
    // For the other framework too; what is not to be woven is not.
    assert!(dotnet.is_woven("Lib/bin/Debug/net45/Lib.dll") && !dotnet.is_woven("Runner/bin/Debug/netcoreapp3.1/Runner.dll"));
    assert!(!dotnet.folder.join("Runner/bin/Debug/netcoreapp3.1/Ilinst.Tracker.dll").exists());

    let outputs = || ["App", "Lib", "Fun", "Basic", "Checks"].map(|project| dotnet.files(&format!("{project}/bin")));
    let before = outputs();
    let built = dotnet.run(&[&["build", "Shop.sln"][..], &OPTIONS].concat());
    assert_eq!(built.matches("Skipping target \"_IlinstRun\" because").count(), 6, "{built}");
    assert!(outputs() == before, "nothing is written again");

    // Tests are woven, run and measured.
    let profile = dotnet.folder.join("tests.ilprof");
    let output =
        dotnet.command().args(["test", "Checks", "-p:Ilinst=true"]).env("ILINST_OUTPUT", &profile).output().expect("it starts");
    let (text, errors, code) = said(&output);
    assert!(text.contains("passed: TestSum\n") && code == Some(0), "{text}{errors}");
    let report = Report::of(&profile).expect("it can be reported");
    assert_eq!([report.calls("Checks.Tests::TestSum"), report.calls("Lib.Sum::To")], [1, 1]);

    dotnet.run(&["clean", "Shop.sln", "-p:Ilinst=true"]);
    for project in ["App", "Lib", "Fun", "Basic", "Checks"] {
        let left = dotnet
            .files(project)
            .into_keys()
            .filter(|path| path.extension().is_some_and(|e| e == "dll" || e == "pdb" || e == "rsp"));
        assert_eq!(left.collect::<Vec<_>>(), [] as [std::path::PathBuf; 0], "{project}");
    }
}

/// A library is woven, and the program that refers to it has no package that would write its list anew.
#[test]
#[ignore = "needs the .NET SDK"]
fn a_program_without_the_package_is_built_anew_once() {
    let Some(dotnet) = Dotnet::new("without") else { return };
    dotnet.write("Lib/Lib.csproj", &project("", &[package(PRIVATE)]));
    dotnet.write("App/App.csproj", &project(EXE, &[reference("Lib.csproj")]));
    dotnet.write("Lib/Lib.cs", SOURCES[0].1);
    dotnet.write("App/App.cs", "static class Program { static int Main() { return Lib.Sum.To(4); } }");
    let (folder, program) = ("App/bin/Debug/netcoreapp3.1", "App/bin/Debug/netcoreapp3.1/App.dll");
    dotnet.run(&["build", "App"]);
    dotnet.run(&["build", "App", "-p:Ilinst=true"]);
    let errors = said(&dotnet.program(program).output().expect("it starts")).1;
    assert!(errors.contains("Ilinst.Tracker"), "the SDK keeps the list that it has: {errors}");
    let (said_of_it, _, code) = said(&ilinst().arg("doctor").arg(dotnet.folder.join(folder)).output().expect("ilinst runs"));
    assert!(said_of_it.contains("give it the package too, or build once with --no-incremental"), "{said_of_it}");
    assert_eq!(code, Some(1));
    dotnet.run(&["build", "App", "-p:Ilinst=true", "--no-incremental"]);
    assert_eq!(dotnet.program(program).output().expect("it starts").status.code(), Some(10));
}

/// Where the rules are is where `ilinst` looks as well: above the project.
#[test]
#[ignore = "needs the .NET SDK"]
fn a_file_of_rules_holds_for_builds() {
    let Some(dotnet) = Dotnet::new("rules") else { return };
    dotnet.write("src/app/app.csproj", &project(EXE, &[package("")]));
    dotnet.write("src/app/Program.cs", PROGRAM);
    let build = || dotnet.run(&["build", "src/app", "-p:Ilinst=true", "-p:IlinstAll=true", "-nologo"]);
    assert!(build().contains("app.dll: 3 methods, 3 instrumented\n"));
    dotnet.write("ilinst.toml", "exclude = [\"*::Main\"]\n");
    let said = build();
    assert!(said.contains("app.dll: 3 methods, 2 instrumented\n"), "{said}");
    dotnet.write("ilinst.toml", "exclude = [\"*\"]\n");
    let said = build();
    assert!(said.contains("app.dll: 3 methods, 0 instrumented\n"), "{said}");
    std::fs::remove_file(dotnet.folder.join("ilinst.toml")).expect("it is there");
    assert!(build().contains("app.dll: 3 methods, 3 instrumented\n"));
}
