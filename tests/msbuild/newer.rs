//! Builds by the SDK of .NET 10.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use tests::{Report, first_in_tier, said, tool};

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

/// A consumer of the package knows nothing of ilinst: the tracker is in the package.
#[test]
#[ignore = "needs .NET 10"]
fn a_package_brings_the_tracker() {
    let Some(dotnet) = Dotnet::newer("pack") else { return };
    dotnet.write("lib/Lib.csproj", &project("Library", &ilinst()));
    dotnet.write("lib/Numbers.cs", SUM);
    dotnet.write("app/app.csproj", &project("Exe", &reference("Lib", "1.0.0")));
    dotnet.write("app/Program.cs", "System.Console.WriteLine(Lib.Numbers.Sum(5));");
    let ways = [
        &["build", "lib", "-c", "Release", "-p:Ilinst=true", "-p:GeneratePackageOnBuild=true", "-p:PackageOutputPath=../feed"][..],
        &["pack", "lib", "-p:Ilinst=true", "-o", "feed"],
    ];
    for options in first_in_tier(&ways, 1) {
        let _ = fs::remove_file(dotnet.folder.join("feed/Lib.1.0.0.nupkg"));
        let _ = fs::remove_dir_all(dotnet.folder.join("packages/lib"));
        dotnet.run(options);
        dotnet.run(&["build", "app", "--no-incremental", "--force"]);
        let report = dotnet.profile(&mut dotnet.program("app/bin/Debug/net10.0/app.dll"), "10\n");
        assert_eq!(report.calls("Lib.Numbers::Sum"), 1);
    }
    let list = |package: &str| {
        let mut list = Command::new("python3");
        list.args(["-m", "zipfile", "-l"]).arg(dotnet.folder.join(package).join("Lib.1.0.0.nupkg"));
        said(&list.output().expect("Python starts")).0
    };
    let packed = list("feed");
    assert!(packed.contains("buildTransitive/net10.0/Lib.targets") && packed.contains("/Lib.names.xml"), "{packed}");
    // Nothing is left of it without the option.
    dotnet.run(&["pack", "lib", "-o", "plain"]);
    let packed = list("plain");
    assert!(packed.contains("Lib.dll") && !packed.contains("Ilinst") && !packed.contains("Lib.names"), "{packed}");
    // A package with build files of its own keeps them, as NuGet takes one folder of them alone.
    let own = r#"<ItemGroup><None Include="Own.targets" Pack="true" PackagePath="build/Lib.targets" /></ItemGroup>"#;
    dotnet.write("lib/Own.targets", "<Project />");
    dotnet.write("lib/Lib.csproj", &project("Library", &(ilinst() + own)));
    let said = dotnet.run(&["pack", "lib", "-p:Ilinst=true", "-o", "own"]);
    assert!(said.contains("Lib has build files of its own") && said.contains("ilinst report --symbols"), "{said}");
    let packed = list("own");
    assert!(packed.contains("build/Lib.targets") && !packed.contains("buildTransitive"), "{packed}");
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
    assert!(text.contains("error ILI0033: app.dll is instrumented") && text.contains("errors.md#ili0033) "), "{text}");
    dotnet.run(&[&build[..], &["-p:IlinstEmbed=true"]].concat());
    let report = dotnet.profile(&mut dotnet.program("app/bin/Debug/net10.0/app.dll"), "10\n");
    assert_eq!((report.calls("Program::Sums"), report.calls("Lib.Numbers::Sum")), (1, 5));
    // Without the option nothing is checked.
    dotnet.run(&["build", "app"]);
}

/// All kinds of methods, and some that a trimmer takes away.
const KINDS: &str = include_str!("../truth/programs/Rewritten.cs");

/// How often those of `Rewritten.cs`, and of the library that it calls, are called.
const CALLS: [(&str, u64); 18] = [
    ("Lib.Numbers::Sum", 5),
    ("Shop.Box`1/Lid::Turn", 4),
    ("Shop.Box`1::Map", 5),
    ("Shop.Program/<>c::<Main>b__0_0", 5),
    ("Shop.Program::Main", 1),
    ("Shop.Program::Other", 1),
    ("Shop.Square::Shop.IShape.Area", 6),
    ("Shop.Square::get_Side", 2),
    ("Shop.Square::set_Side", 2),
    ("Shop.Work::Items", 9),
    ("Shop.Work::Over", 9),
    ("Shop.Work::Renamed", 7),
    ("Shop.Work::Spin", 14),
    ("Shop.Work::Step", 9),
    ("Shop.Work::Steps", 1),
    ("System.Threading.Tasks.Task::Wait", 1),
    ("System.Threading.Thread::Join", 1),
    ("System.Threading.Thread::Sleep", 3),
];

/// Runs what was published, and holds the names in the profile against what is called: with the files that ran, and without.
fn names_are_right(dotnet: &Dotnet, folder: &str, runtime: &str) {
    let published = dotnet.folder.join(folder);
    let with_files = dotnet.profile(&mut dotnet.command_of(&published.join("app")), "done\n");
    fs::rename(&published, dotnet.folder.join("gone")).expect("it can be renamed");
    let alone = Report::of(&dotnet.folder.join("run.ilprof")).expect("it can be reported");
    fs::rename(dotnet.folder.join("gone"), &published).expect("it can be renamed");
    for (what, report) in [("with the files", with_files), ("alone", alone)] {
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &report.rows {
            *calls.entry(row["rawName"].as_str().unwrap_or("?")).or_default() += row["calls"].as_u64().expect("calls");
        }
        assert_eq!(calls, CALLS.into(), "{folder}, {what}");
        let said = report.document["runtime"].as_str().expect("it has a runtime");
        assert!(said.ends_with(runtime), "{folder}: {said}");
    }
}

/// The trimmer and the native compiler find nothing in the tracker to warn of, and methods keep their names, those of a package too.
#[test]
#[ignore = "needs .NET 10"]
fn trimming_with_warnings_as_errors_succeeds() {
    let Some(dotnet) = Dotnet::newer("warnings") else { return };
    dotnet.write("lib/Lib.csproj", &project("Library", &ilinst()));
    dotnet.write(
        "lib/Numbers.cs",
        &SUM.replace("class Numbers\n{", "class Numbers\n{\n    public static int Unused(int count) => Sum(count) + Sum(1);\n"),
    );
    let library = reference("Lib", "1.0.0").replace(r#" PrivateAssets="all""#, "");
    let define = "<PropertyGroup><DefineConstants>LIBRARY</DefineConstants></PropertyGroup>";
    dotnet.write("app/app.csproj", &project("Exe", &format!("{}{}{define}", ilinst(), library)));
    dotnet.write("app/Program.cs", KINDS);
    dotnet.run(&["pack", "lib", "-p:Ilinst=true", "-o", "feed"]);
    let common = [
        "publish",
        "app",
        "-p:Ilinst=true",
        "-p:IlinstLines=true",
        "-r",
        "linux-x64",
        "-warnaserror",
        "-p:TrimmerSingleWarn=false",
    ];
    let ways = [
        (
            "trimmed",
            ", trimmed",
            &["--self-contained", "-p:PublishTrimmed=true", "-p:TrimMode=full", "-p:SuppressTrimAnalysisWarnings=false"][..],
        ),
        ("single", "Unix", &["--self-contained", "-p:PublishSingleFile=true", "-p:EnableSingleFileAnalyzer=true"]),
        ("native", ", native AOT", &["-p:PublishAot=true"]),
    ];
    for (folder, runtime, options) in first_in_tier(&ways, 1) {
        dotnet.run(&[&common[..], *options, &["-o", *folder]].concat());
        names_are_right(&dotnet, folder, runtime);
        let profile = fs::read(dotnet.folder.join("run.ilprof")).expect("it is there");
        let profile = tests::parsed(&profile::unpacked(&profile).expect("it is one"));
        let methods = || profile.lines.iter().flat_map(|file| &file.methods);
        let most = |name: &str| {
            methods().filter(|method| method.name == name).flat_map(|method| &method.points).map(|point| point.count).max()
        };
        // The condition of the loop in `Steps` is met nine times, and then not.
        assert_eq!((most("Step"), most("Steps")), (Some(9), Some(10)), "{folder}");
    }
    // Lines are those of the file that was instrumented, which the build keeps: of the first statement, behind the brace.
    let folder = dotnet.folder.join("app/obj/Release/net10.0/linux-x64/ilinst");
    let report = Report::with(&dotnet.folder.join("run.ilprof"), &["--symbols", &folder.to_string_lossy()]).expect("it can be");
    let renamed = report.of_method("Shop.Work::Renamed").next().expect("it was called");
    let line = 1 + KINDS.lines().position(|line| line.contains("int Renamed(")).expect("it is there");
    assert!(renamed["line"].as_u64().is_some_and(|found| (0..=2).contains(&(found - line as u64))), "{renamed}");
}

/// The other ways to trim, and a library of the same solution.
#[cfg(feature = "full")]
#[test]
#[ignore = "needs .NET 10"]
fn trimmed_programs_of_a_solution_keep_their_names() {
    let Some(dotnet) = Dotnet::newer("trimmed") else { return };
    program_and_library(&dotnet, "<PropertyGroup><DefineConstants>LIBRARY</DefineConstants></PropertyGroup>");
    dotnet.write("app/Program.cs", KINDS);
    let common = ["publish", "app", "-p:Ilinst=true", "-r", "linux-x64", "--self-contained"];
    for (folder, options) in [
        ("partial", &["-p:PublishTrimmed=true", "-p:TrimMode=partial"][..]),
        ("single", &["-p:PublishTrimmed=true", "-p:TrimMode=full", "-p:PublishSingleFile=true"]),
        ("precompiled", &["-p:PublishTrimmed=true", "-p:TrimMode=full", "-p:PublishReadyToRun=true"]),
        ("native", &["-p:PublishAot=true"]),
    ] {
        let runtime = if folder == "native" { ", native AOT" } else { ", trimmed" };
        dotnet.run(&[&common[..], options, &["-o", folder]].concat());
        names_are_right(&dotnet, folder, runtime);
    }
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
