//! A program with the package.

use std::fs;

use regex::Regex;
use tests::{ilinst, root, said};

use crate::dotnet::{Dotnet, EXE, package, project};

/// Prints a line, and calls `Fib` 21,891 times.
pub(crate) const PROGRAM: &str = "\
using System;

class Program
{
    static int Fib(int n)
    {
        if (n < 2) return n;
        return Fib(n - 1) + Fib(n - 2);
    }

    static void Main(string[] arguments)
    {
        Console.WriteLine(\"fib \" + Fib(20));
        if (arguments.Length > 0) throw new InvalidOperationException(arguments[0]);
    }
}
";
const BUILD: [&str; 4] = ["build", "app", "-nologo", "-p:Ilinst=true"];
const OUTPUT: &str = "app/bin/Debug/netcoreapp3.1";

/// A program with the package, whose project has more items.
pub(crate) fn new_project(name: &str, items: &[String]) -> Option<Dotnet> {
    let dotnet = Dotnet::new(name)?;
    dotnet.write("app/app.csproj", &project(EXE, &[&[package("")], items].concat()));
    dotnet.write("app/Program.cs", PROGRAM);
    Some(dotnet)
}

#[test]
#[ignore = "needs the .NET SDK"]
fn a_new_project_is_woven_by_one_option() {
    let Some(dotnet) = Dotnet::new("new") else { return };
    dotnet.run(&["new", "console", "-o", "app", "--no-restore"]);
    dotnet.write("app/Program.cs", PROGRAM);
    dotnet.run(&["add", "app", "package", "Ilinst.MSBuild"]);
    // A program that was published into the project's folder has a tracker too, which may be for another runtime.
    let mut published = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is there");
    published.push(0);
    dotnet.write("app/published/Ilinst.Tracker.dll", "");
    fs::write(dotnet.folder.join("app/published/Ilinst.Tracker.dll"), &published).expect("it can be written");
    let said = dotnet.run(&BUILD);
    let copied = fs::read(dotnet.folder.join(OUTPUT).join("Ilinst.Tracker.dll")).expect("the build copied it");
    assert!(copied != published, "the build took the published one");
    assert!(said.contains("app.dll: 3 methods, 2 instrumented\n") && !said.contains("warning"), "{said}");
    assert!(dotnet.is_woven(&format!("{OUTPUT}/app.dll")) && !dotnet.is_woven("app/obj/Debug/netcoreapp3.1/app.dll"));
    let report = dotnet.profile(&mut dotnet.program(&format!("{OUTPUT}/app.dll")), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), 21_891);
    // Its own host, which asks deps.json for the tracker as well.
    let report = dotnet.profile(dotnet.command().args(["run", "--no-build", "-p", "app"]), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), 21_891);
    // Its PDB came along.
    let failed = dotnet.program(&format!("{OUTPUT}/app.dll")).arg("on purpose").output().expect("it starts");
    let errors = String::from_utf8_lossy(&failed.stderr);
    assert!(errors.contains("on purpose") && errors.contains("Program.cs:line 14"), "{errors}");
}

#[test]
#[ignore = "needs the .NET SDK"]
fn what_did_not_change_is_not_built_again() {
    let Some(dotnet) = new_project("incremental", &[]) else { return };
    dotnet.run(&BUILD);
    let (output, woven) = (dotnet.files("app/bin"), dotnet.files("app/obj/Debug/netcoreapp3.1/ilinst"));
    let said = dotnet.run(&[&BUILD[..], &["-v:normal"]].concat());
    for target in ["CoreCompile", "_IlinstRun"] {
        let skipped = format!("Skipping target \"{target}\" because all output files are up-to-date");
        assert!(said.contains(&skipped), "{target} ran\n{said}");
    }
    assert_eq!(dotnet.files("app/bin"), output);
    assert_eq!(dotnet.files("app/obj/Debug/netcoreapp3.1/ilinst"), woven);
    // Another option weaves, and compiles nothing.
    let said = dotnet.run(&[&BUILD[..], &["-v:normal", "-p:IlinstExclude=Program::Fib%3BProgram::X"]].concat());
    assert!(said.contains("Skipping target \"CoreCompile\"") && said.contains("app.dll: 3 methods, 1 instrumented\n"), "{said}");
    let report = dotnet.profile(&mut dotnet.program(&format!("{OUTPUT}/app.dll")), "fib 6765\n");
    assert_eq!((report.calls("Program::Fib"), report.calls("Program::Main")), (0, 1));
    // A changed source is woven anew.
    dotnet.write("app/Program.cs", &PROGRAM.replace("Fib(20)", "Fib(10)"));
    dotnet.run(&BUILD);
    let report = dotnet.profile(&mut dotnet.program(&format!("{OUTPUT}/app.dll")), "fib 55\n");
    assert_eq!(report.calls("Program::Fib"), 177);
    // Without the option nothing of it is left, and with it all is there again.
    dotnet.run(&["build", "app"]);
    assert!(!dotnet.is_woven(&format!("{OUTPUT}/app.dll")) && !dotnet.folder.join(OUTPUT).join("Ilinst.Tracker.dll").exists());
    let output = dotnet.program(&format!("{OUTPUT}/app.dll")).output().expect("it starts");
    assert_eq!(tests::said(&output), ("fib 55\n".into(), String::new(), Some(0)));
    dotnet.run(&BUILD);
    let report = dotnet.profile(&mut dotnet.program(&format!("{OUTPUT}/app.dll")), "fib 55\n");
    assert_eq!(report.calls("Program::Fib"), 177);
    // Cleaning knows of it, even if the option is not given.
    dotnet.run(&["clean", "app"]);
    let left: Vec<_> = ["app/bin", "app/obj"].iter().flat_map(|folder| dotnet.files(folder)).map(|(path, _)| path).collect();
    let ours = left.iter().filter(|path| ["ilinst", "Tracker", "app.dll", "app.pdb"].iter().any(|name| path.ends_with(name)));
    assert_eq!(ours.count(), 0, "{left:?}");
    assert!(!dotnet.folder.join("app/obj/Debug/netcoreapp3.1/ilinst").exists());
}

#[test]
#[ignore = "needs the .NET SDK"]
fn paths_may_have_anything_in_them() {
    let Some(dotnet) = Dotnet::new("it's 100% & $c") else { return };
    dotnet.write("my app;it's 50% $x/Program.cs", PROGRAM);
    let file = "my app;it's 50% $x/my app;it's 50% $x.csproj";
    dotnet.write(file, &project(EXE, &[package("")]));
    dotnet.run(&["build", file, "-p:Ilinst=true"]);
    let program = "my app;it's 50% $x/bin/Debug/netcoreapp3.1/my app;it's 50% $x.dll";
    let report = dotnet.profile(&mut dotnet.program(program), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), 21_891);
}

/// Patterns are no names of files, in items neither; and the project's own key signs again what is woven.
#[test]
#[ignore = "needs the .NET SDK"]
fn what_a_project_says_is_passed_on() {
    let Some(dotnet) = new_project("options", &[]) else { return };
    let key = root().join("tracker-runtime/ilinst.snk");
    dotnet.write(
        "app/Directory.Build.targets",
        &format!(
            r#"<Project>
  <PropertyGroup>
    <SignAssembly>true</SignAssembly>
    <AssemblyOriginatorKeyFile>{}</AssemblyOriginatorKeyFile>
    <IlinstExclude>No*;[Other]*</IlinstExclude>
    <IlinstLeave>return</IlinstLeave>
    <IlinstMinIL>0</IlinstMinIL>
    <IlinstCapture>args,return</IlinstCapture>
    <IlinstEmbed>true</IlinstEmbed>
  </PropertyGroup>
  <ItemGroup>
    <IlinstExclude Include="Shop.*::get_*;re:^Shop[.](A|B)::;Shop.%2A;a%3Bb" />
    <IlinstInclude Include="Prog*::*" />
  </ItemGroup>
</Project>
"#,
            key.display()
        ),
    );
    let said = dotnet.run(&BUILD);
    assert!(said.contains("note ILI0003: strong name signed again\n"), "{said}");
    let response = fs::read_to_string(dotnet.folder.join("app/obj/Debug/netcoreapp3.1/ilinst/app.rsp")).expect("it is there");
    let mut arguments: Vec<&str> = response.lines().collect();
    arguments.sort_unstable();
    let snk = format!("--snk={}", key.display());
    let mut expected = [
        "obj/Debug/netcoreapp3.1/app.dll",
        "--output=obj/Debug/netcoreapp3.1/ilinst/app.dll",
        "--message-format=msbuild",
        "--leave=return",
        "--min-il=0",
        "--capture=args,return",
        "--embed",
        &snk,
        "--include=Prog*::*",
        "--exclude=No*",
        "--exclude=[Other]*",
        "--exclude=Shop.*::get_*",
        "--exclude=re:^Shop[.](A|B)::",
        "--exclude=Shop.*",
        "--exclude=a;b",
    ];
    expected.sort_unstable();
    assert_eq!(arguments, expected);
    // A program that does not compile is not instrumented.
    dotnet.run(&["clean", "app"]);
    dotnet.write("app/Wrong.cs", "class Wrong { wrong }");
    let (said, code) = dotnet.try_run(&BUILD);
    assert!(said.contains("Wrong.cs(1,21): error CS1519") && code == Some(1), "{said}");
    assert!(!said.contains("ILI0") && dotnet.files("app/obj/Debug/netcoreapp3.1/ilinst").is_empty(), "{said}");
}

#[test]
#[ignore = "needs the .NET SDK"]
fn a_build_counts_lines_and_allocated_bytes_by_a_property_each() {
    let Some(dotnet) = new_project("lines", &[]) else { return };
    dotnet.run(&[&BUILD[..], &["-p:IlinstLines=true", "-p:IlinstAllocations=true"]].concat());
    let report = dotnet.profile(&mut dotnet.program(&format!("{OUTPUT}/app.dll")), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), 21_891);
    let profile = tests::parsed(&fs::read(dotnet.folder.join("run.ilprof")).expect("it is there"));
    let file = profile.lines.iter().find(|file| file.path.ends_with("Program.cs")).expect("it has lines");
    let fib = file.methods.iter().find(|method| method.name == "Fib").expect("it has lines");
    let counts: Vec<(u32, u64)> = fib.points.iter().map(|point| (point.start_line, point.count)).collect();
    for expected in [(7, 21_891), (7, 10_946), (8, 10_945)] {
        assert!(counts.contains(&expected), "{expected:?} is not in {counts:?}");
    }
    assert!(profile.sum(profile::SampleType::ALLOCATED) > 0);
}

/// Options that a build decides itself cannot be given.
#[test]
fn each_option_that_weaves_has_a_property() {
    const OF_THE_BUILD: [&str; 11] = [
        "--copy-dependencies",
        "--output",
        "--in-place",
        "--no-config",
        "--depfile",
        "--output-list",
        "--dry-run",
        "--json",
        "--message-format",
        "--quiet",
        "--help",
    ];
    let (help, _, _) = said(&ilinst().args(["instrument", "--help"]).output().expect("ilinst runs"));
    let read = |path: &str| fs::read_to_string(root().join("msbuild").join(path)).expect("it is there");
    let (targets, readme) = (read("build/Ilinst.MSBuild.targets"), read("README.md"));
    let options = Regex::new(r"(?m)^ +(?:-\w, )?(--[a-z-]+)").expect("it is one");
    let options: Vec<&str> = options.captures_iter(&help).map(|option| option.get(1).expect("it has one").as_str()).collect();
    assert!(options.len() > OF_THE_BUILD.len(), "{help}");
    for option in options.into_iter().filter(|option| !OF_THE_BUILD.contains(option)) {
        let property =
            Regex::new(&format!(r"'\$\((Ilinst\w+|_IlinstKeys)\)' [^>]*>\$\(_IlinstOptions\);{option}\b")).expect("it is one");
        let found = property.captures(&targets).unwrap_or_else(|| panic!("no property is {option}"));
        let name = found[1].replace("_IlinstKeys", "IlinstKey");
        assert!(readme.contains(&format!("`{name}`")) && readme.contains(&format!("`{option}`")), "{name}: {option}");
    }
}
