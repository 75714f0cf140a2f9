//! A project of before the SDK, by MSBuild and by Mono's xbuild.

use std::process::Command;

use tests::{Runtime, packages, require, said};

use crate::dotnet::Dotnet;

/// As Visual Studio wrote them, with the package imported as `packages.config` has it imported.
const PROJECT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<Project ToolsVersion="4.0" DefaultTargets="Build" xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
  <Import Project="..\package\build\Ilinst.MSBuild.props" Condition="Exists('..\package\build\Ilinst.MSBuild.props')" />
  <PropertyGroup>
    <Configuration Condition=" '$(Configuration)' == '' ">Debug</Configuration>
    <Platform Condition=" '$(Platform)' == '' ">AnyCPU</Platform>
    <OutputType>Exe</OutputType>
    <AssemblyName>Old</AssemblyName>
    <TargetFrameworkVersion>v4.5</TargetFrameworkVersion>
    <DebugSymbols>true</DebugSymbols>
    <DebugType>full</DebugType>
    <OutputPath>bin\$(Configuration)\</OutputPath>
    <IlinstExclude>Left.*;Old.Program::LeftAlone</IlinstExclude>
  </PropertyGroup>
  <ItemGroup>
    <Reference Include="System" />
    <Compile Include="Program.cs" />
  </ItemGroup>
  <Import Project="$(MSBuildToolsPath)\Microsoft.CSharp.targets" />
  <Import Project="..\package\build\Ilinst.MSBuild.targets" Condition="Exists('..\package\build\Ilinst.MSBuild.targets')" />
</Project>
"#;
const PROGRAM: &str = "\
namespace Old {
    static class Program {
        static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
        static int LeftAlone(int n) { return Fib(n); }
        static void Main() { System.Console.WriteLine(\"fib \" + LeftAlone(20)); }
    }
}
";

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn a_project_of_before_the_sdk_is_woven() {
    let needed = (Runtime::find("Mono"), require("ILINST_MONO_LIB"), require("ILINST_XBUILD"), Dotnet::new("old style"));
    let (Some(mono), Some(libraries), Some(xbuild), Some(dotnet)) = needed else { return };
    dotnet.write("project/Old.csproj", PROJECT);
    dotnet.write("project/Program.cs", PROGRAM);
    let package = dotnet.folder.join("package");
    let archive = dotnet.folder.join(format!("feed/Ilinst.MSBuild.{}.nupkg", packages::VERSION));
    let unpacked = Command::new("python3").args(["-m", "zipfile", "-e"]).args([&archive, &package]).status();
    assert!(unpacked.expect("Python starts").success());
    let framework = format!("-p:FrameworkPathOverride={}", libraries.join("4.5-api").display());
    let msbuild = |target: &str, options: &[&str]| {
        let mut command = dotnet.command();
        command.args(["msbuild", "project/Old.csproj", "-nologo", "-p:Ilinst=true", &framework, target]).args(options);
        command
    };
    let xbuild = |target: &str, options: &[&str]| {
        let mut command = Command::new(&xbuild);
        command.current_dir(&dotnet.folder).args(["/nologo", "/p:Ilinst=true"]);
        command.args(std::iter::once(&target).chain(options).map(|option| option.replacen('-', "/", 1)));
        command.arg("project/Old.csproj");
        command
    };
    let skips = "Skipping target \"_IlinstRun\" because";
    for build in [&msbuild as &dyn Fn(&str, &[&str]) -> Command, &xbuild] {
        let run = |target: &str, options: &[&str]| {
            let (text, errors, code) = said(&build(target, options).output().expect("it starts"));
            assert_eq!(code, Some(0), "{text}{errors}");
            text
        };
        let text = run("-t:Build", &[]);
        assert!(text.contains("obj/Debug/Old.exe: 3 methods, 2 instrumented\n"), "{text}");
        let program = dotnet.folder.join("project/bin/Debug/Old.exe");
        let report = dotnet.profile(&mut mono.program(&program, &dotnet.folder), "fib 6765\n");
        assert_eq!((report.calls("Old.Program::Fib"), report.calls("Old.Program::LeftAlone")), (21_891, 0));
        let before = dotnet.files("project/bin");
        let text = run("-t:Build", &["-v:normal"]);
        assert!(text.contains(skips), "{text}");
        assert_eq!(dotnet.files("project/bin"), before);
        run("-t:Clean", &[]);
        let left: Vec<_> = dotnet
            .files("project")
            .into_keys()
            .filter(|path| path.extension().is_none_or(|e| e != "cache" && e != "txt"))
            .collect();
        assert_eq!(left, ["Old.csproj", "Program.cs"].map(|name| dotnet.folder.join("project").join(name)));
    }
}
