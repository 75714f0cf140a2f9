//! Builds by the SDK of .NET 10.

use std::{fs, path::PathBuf, process::Command};

use tests::{said, tool};

use crate::dotnet::Dotnet;

const SUM: &str = "\
namespace Lib;

public static class Numbers
{
    public static int Sum(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++) sum += i;
        return sum;
    }
}
";

/// A project of a kind, with more properties and items.
fn project(kind: &str, more: &str) -> String {
    format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\">\n<PropertyGroup>\n<OutputType>{kind}</OutputType>\n<TargetFramework>net10.0</TargetFramework>\n\
         </PropertyGroup>\n{more}\n</Project>\n"
    )
}

fn reference(package: &str, version: &str) -> String {
    format!(r#"<ItemGroup><PackageReference Include="{package}" Version="{version}" PrivateAssets="all" /></ItemGroup>"#)
}

fn ilinst() -> String {
    reference("Ilinst.MSBuild", tests::packages::VERSION)
}

/// Who uses the package knows nothing of ours: the tracker is in it.
#[test]
#[ignore = "needs .NET 10"]
fn a_package_brings_the_tracker() {
    let Some(dotnet) = Dotnet::newer("pack") else { return };
    dotnet.write("lib/Lib.csproj", &project("Library", &ilinst()));
    dotnet.write("lib/Numbers.cs", SUM);
    dotnet.write("app/app.csproj", &project("Exe", &reference("Lib", "1.0.0")));
    dotnet.write("app/Program.cs", "System.Console.WriteLine(Lib.Numbers.Sum(5));");
    for options in [
        &["pack", "lib", "-p:Ilinst=true", "-o", "feed"][..],
        &["build", "lib", "-c", "Release", "-p:Ilinst=true", "-p:GeneratePackageOnBuild=true", "-p:PackageOutputPath=../feed"],
    ] {
        let _ = fs::remove_file(dotnet.folder.join("feed/Lib.1.0.0.nupkg"));
        let _ = fs::remove_dir_all(dotnet.folder.join("packages/lib"));
        dotnet.run(options);
        dotnet.run(&["build", "app", "--no-incremental", "--force"]);
        let report = dotnet.profile(&mut dotnet.program("app/bin/Debug/net10.0/app.dll"), "10\n");
        assert_eq!(report.calls("Lib.Numbers::Sum"), 1);
    }
    // Nothing is left of it without the option.
    dotnet.run(&["pack", "lib", "-o", "plain"]);
    let mut list = Command::new("python3");
    list.args(["-m", "zipfile", "-l"]).arg(dotnet.folder.join("plain/Lib.1.0.0.nupkg"));
    let (list, _, _) = said(&list.output().expect("Python starts"));
    assert!(list.contains("Lib.dll") && !list.contains("Ilinst"), "{list}");
}

const PROGRAM: &str = "\
static class Program
{
    static int Sums(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++) sum += Lib.Numbers.Sum(i);
        return sum;
    }

    static void Main() => System.Console.WriteLine(Sums(5));
}
";

/// A program that calls a library of the same solution.
fn program_and_library(dotnet: &Dotnet, more: &str) {
    dotnet.write("lib/Lib.csproj", &project("Library", &ilinst()));
    dotnet.write("lib/Numbers.cs", SUM);
    let reference = r#"<ItemGroup><ProjectReference Include="../lib/Lib.csproj" /></ItemGroup>"#;
    dotnet.write("app/app.csproj", &project("Exe", &format!("{}{reference}{more}", ilinst())));
    dotnet.write("app/Program.cs", PROGRAM);
}

/// Costura puts copied assemblies into the program as resources, and takes them away.
#[test]
#[ignore = "needs .NET 10"]
fn a_program_that_holds_its_libraries_starts() {
    let Some(dotnet) = Dotnet::newer("costura") else { return };
    program_and_library(&dotnet, &format!("{}{}", reference("Fody", "6.9.3"), reference("Costura.Fody", "6.2.0")));
    dotnet.write("app/FodyWeavers.xml", "<Weavers><Costura /></Weavers>");
    dotnet.run(&["build", "app", "-p:Ilinst=true"]);
    let report = dotnet.profile(&mut dotnet.program("app/bin/Debug/net10.0/app.dll"), "10\n");
    assert_eq!((report.calls("Program::Sums"), report.calls("Lib.Numbers::Sum")), (1, 5));
}

/// Templates of plug-ins keep what is copied out of the output.
#[test]
#[ignore = "needs .NET 10"]
fn a_build_without_the_tracker_in_its_output_fails() {
    let Some(dotnet) = Dotnet::newer("not-copied") else { return };
    let strip = r#"<Target Name="Strip" AfterTargets="ResolveAssemblyReferences"><ItemGroup><ReferenceCopyLocalPaths Remove="@(ReferenceCopyLocalPaths)" Condition="'%(Filename)' == 'Ilinst.Tracker'" /></ItemGroup></Target>"#;
    program_and_library(&dotnet, strip);
    let build = ["build", "app", "-p:Ilinst=true"];
    let (text, code) = dotnet.try_run(&build);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error ILI0033: app.dll is instrumented") && text.contains("Set IlinstEmbed to true"), "{text}");
    dotnet.run(&[&build[..], &["-p:IlinstEmbed=true"]].concat());
    let report = dotnet.profile(&mut dotnet.program("app/bin/Debug/net10.0/app.dll"), "10\n");
    assert_eq!((report.calls("Program::Sums"), report.calls("Lib.Numbers::Sum")), (1, 5));
    // Without the option nothing is checked.
    dotnet.run(&["build", "app"]);
}

/// The runtime ends a program whose composite image lists another MVID than the assembly that is loaded has.
#[test]
#[ignore = "needs .NET 10 and Crossgen2"]
fn assemblies_of_a_composite_image_are_instrumented() {
    let Some(dotnet) = Dotnet::newer("composite") else { return };
    let Some(packages) = tool("ILINST_PACKAGES") else { return println!("without: Crossgen2") };
    program_and_library(&dotnet, "");
    dotnet.run(&["build", "app"]);
    let output = dotnet.folder.join("app/bin/Debug/net10.0");
    let newest = |folder: PathBuf| {
        let paths = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        paths.flatten().map(|entry| entry.path()).max().expect("it is not empty")
    };
    let compiler = newest(packages.join("microsoft.netcore.app.crossgen2.linux-x64")).join("tools/crossgen2");
    let installed = tool("ILINST_SDK10").expect("it is there").with_file_name("shared/Microsoft.NETCore.App");
    let versions = fs::read_dir(installed).expect("it is there").flatten().map(|entry| entry.path());
    let framework = versions.filter(|path| path.ends_with("10.0") || path.to_string_lossy().contains("/10.0.")).max();
    let composite = dotnet.folder.join("composite");
    fs::create_dir(&composite).expect("a folder can be made");
    let mut compile = dotnet.command_of("sh".as_ref());
    // As packages are unpacked, it may not be executable.
    compile
        .args(["-c", r#"cp "$0" crossgen && chmod +x crossgen && ln -s "$(dirname "$0")"/*.so . && ./crossgen "$@""#])
        .arg(compiler);
    compile.args(["--composite", "--inputbubble", "--targetos=linux", "--targetarch=x64", "-o", "composite/all.r2r.dll"]);
    compile.arg("-r").arg(framework.expect(".NET 10 is there").join("*.dll"));
    let compiled = said(&compile.args(["app.dll", "Lib.dll"].map(|name| output.join(name))).output().expect("sh starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    fs::copy(output.join("app.runtimeconfig.json"), composite.join("app.runtimeconfig.json")).expect("it can be copied");
    for (patterns, calls) in [(&[][..], [1, 5]), (&["--include=[app]*"][..], [1, 0])] {
        let mut command = tests::ilinst();
        command.args(["instrument", "composite", "-q", "-o", "woven"]).args(patterns).current_dir(&dotnet.folder);
        assert_eq!(said(&command.output().expect("ilinst starts")), (String::new(), String::new(), Some(0)));
        let report = dotnet.profile(&mut dotnet.program("woven/app.dll"), "10\n");
        assert_eq!(["Program::Sums", "Lib.Numbers::Sum"].map(|name| report.calls(name)), calls, "{patterns:?}");
    }
    // The program's native code has the library's methods in it.
    let mut command = tests::ilinst();
    command.args(["instrument", "composite", "-o", "woven", "--include=[Lib]*"]).current_dir(&dotnet.folder);
    let (text, errors, code) = said(&command.output().expect("ilinst starts"));
    assert!(code == Some(0) && text.contains("app.dll: note ILI0034: "), "{text}{errors}");
}
