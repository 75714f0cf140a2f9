//! A solution with the settings that people give theirs: versions in one place, outputs in another, strong names, warnings that
//! are errors, and projects that are no part of the program.

use std::{fs, path::PathBuf};

use little_endian::{ByteOrder, LE};
use tests::{ilinst, packages::VERSION, root, said};

use crate::dotnet::Dotnet;

const PROPS: &str = r#"<Project>
  <PropertyGroup>
    <TargetFramework>net10.0</TargetFramework>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
    <ContinuousIntegrationBuild>true</ContinuousIntegrationBuild>
    <Deterministic>true</Deterministic>
    <UseArtifactsOutput>true</UseArtifactsOutput>
    <SignAssembly>true</SignAssembly>
    <AssemblyOriginatorKeyFile>{key}</AssemblyOriginatorKeyFile>
    <PredefinedCulturesOnly>false</PredefinedCulturesOnly>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Ilinst.MSBuild" PrivateAssets="all" />
  </ItemGroup>
</Project>
"#;
const VERSIONS: &str = r#"<Project>
  <PropertyGroup>
    <ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally>
  </PropertyGroup>
  <ItemGroup>
    <PackageVersion Include="Ilinst.MSBuild" Version="{version}" />
  </ItemGroup>
</Project>
"#;
const GENERATOR: &str = r#"
using Microsoft.CodeAnalysis;

[Generator]
public class Answers : IIncrementalGenerator
{
    public void Initialize(IncrementalGeneratorInitializationContext context) =>
        context.RegisterPostInitializationOutput(output => output.AddSource("Answer.cs", Text(42)));

    static string Text(int answer) => "static class Generated { public static int Answer() { int sum = 0; for (int i = 0; i < " + answer + "; i++) sum++; return sum; } }";
}
"#;
const LIBRARY: &str = r#"
using System.Globalization;
using System.Resources;

namespace Lib;

static class Words
{
    public static string? Of(string culture) => new ResourceManager("Lib.Texts", typeof(Words).Assembly).GetString("word", new CultureInfo(culture));
}
"#;
const PROGRAM: &str = r#"
static class Program
{
    static void Main() => System.Console.WriteLine($"{Lib.Words.Of("en")} {Lib.Words.Of("de")} {Generated.Answer()} {typeof(IShape).Name}");
}
"#;

fn project(properties: &str, items: &str) -> String {
    format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\">\n<PropertyGroup>{properties}<Nullable>enable</Nullable></PropertyGroup>\n\
         <ItemGroup>{items}</ItemGroup>\n</Project>\n"
    )
}

fn resources(word: &str) -> String {
    format!(
        "<root><resheader name=\"resmimetype\"><value>text/microsoft-resx</value></resheader><resheader name=\"version\"><value>2.0</value>\
         </resheader><resheader name=\"reader\"><value>System.Resources.ResXResourceReader, System.Windows.Forms</value></resheader>\
         <resheader name=\"writer\"><value>System.Resources.ResXResourceWriter, System.Windows.Forms</value></resheader>\
         <data name=\"word\"><value>{word}</value></data></root>"
    )
}

/// The public key of a pair, as attributes name it: in hex, with the header of an assembly's key (II.6.2.1.3).
fn public_key(pair: &[u8]) -> String {
    let size = LE::read_u32(&pair[12..]) as usize / 8;
    let public = [b"\x06\x02\0\0\0\x24\0\0RSA1", &pair[12..20 + size]].concat();
    let key = [b"\0\x24\0\0\x04\x80\0\0", &(public.len() as u32).to_le_bytes()[..], &public].concat();
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
#[ignore = "needs .NET 10"]
fn settings_of_solutions_hold() {
    let Some(dotnet) = Dotnet::newer("settings") else { return };
    let key = root().join("tracker-runtime/ilinst.snk");
    let public = public_key(&fs::read(&key).expect("it is there"));
    dotnet.write("Directory.Build.props", &PROPS.replace("{key}", &key.to_string_lossy()));
    dotnet.write("Directory.Packages.props", &VERSIONS.replace("{version}", VERSION));
    let compiler = dotnet.newest_sdk().join("Roslyn/bincore/Microsoft.CodeAnalysis.dll");
    let compiler = format!(r#"<Reference Include="{}" Private="false" />"#, compiler.display());
    dotnet.write("gen/Gen.csproj", &project("<IsRoslynComponent>true</IsRoslynComponent>", &compiler));
    dotnet.write("gen/Answers.cs", GENERATOR);
    dotnet.write("shapes/Shapes.csproj", &project("", ""));
    dotnet.write("shapes/IShape.cs", "public interface IShape { int Area(); }");
    dotnet.write("lib/Lib.csproj", &project("", &format!(r#"<InternalsVisibleTo Include="app" Key="{public}" />"#)));
    dotnet.write("lib/Words.cs", LIBRARY);
    dotnet.write("lib/Texts.resx", &resources("word"));
    dotnet.write("lib/Texts.de.resx", &resources("Wort"));
    dotnet.write("tool/Tool.csproj", &project("<OutputType>Exe</OutputType>", ""));
    dotnet.write("tool/Program.cs", "static class Program { static void Main() => System.Console.WriteLine(1); }");
    let references = r#"
        <ProjectReference Include="../lib/Lib.csproj" />
        <ProjectReference Include="../shapes/Shapes.csproj" />
        <ProjectReference Include="../tool/Tool.csproj" ReferenceOutputAssembly="false" />
        <ProjectReference Include="../gen/Gen.csproj" OutputItemType="Analyzer" ReferenceOutputAssembly="false" />"#;
    dotnet.write("app/app.csproj", &project("<OutputType>Exe</OutputType>", references));
    dotnet.write("app/Program.cs", PROGRAM);

    let (build, output) = (["build", "app", "-p:Ilinst=true"], "artifacts/bin/app/debug");
    dotnet.run(&build);
    let report = dotnet.profile(&mut dotnet.program(&format!("{output}/app.dll")), "word Wort 42 IShape\n");
    let calls = ["Program::Main", "Lib.Words::Of", "Generated::Answer"].map(|name| report.calls(name));
    assert_eq!(calls, [1, 2, 1]);
    for (assembly, is_woven) in [("app", true), ("Lib", true), ("Tool", true), ("Gen", false)] {
        assert_eq!(dotnet.is_woven(&format!("artifacts/bin/{assembly}/debug/{assembly}.dll")), is_woven, "{assembly}");
    }
    let (said_of_it, errors, code) = said(&ilinst().arg("doctor").arg(dotnet.folder.join(output)).output().expect("ilinst runs"));
    assert!(code == Some(0) && said_of_it.ends_with("nothing is wrong\n"), "{said_of_it}{errors}");
    let before = dotnet.files("artifacts/bin");
    dotnet.run(&build);
    assert!(dotnet.files("artifacts/bin") == before, "nothing is written again");
    // Embedded, the program's references stay the same, so the compiler makes nothing anew without the switch.
    dotnet.run(&[&build[..], &["-p:IlinstEmbed=true"]].concat());
    dotnet.run(&["publish", "app", "-c", "Debug", "-p:Ilinst=true", "-p:IlinstEmbed=true", "-o", "out"]);
    let report = dotnet.profile(&mut dotnet.program("out/app.dll"), "word Wort 42 IShape\n");
    assert_eq!(report.calls("Lib.Words::Of"), 2);
    dotnet.run(&["publish", "app", "-c", "Debug", "-o", "out"]);
    assert!(!dotnet.is_woven("out/app.dll") && !dotnet.is_woven("out/Lib.dll"));
    dotnet.run(&["clean", "app"]);
    let left: Vec<PathBuf> = dotnet.files("artifacts").into_keys().collect();
    assert!(!left.iter().any(|path| path.to_string_lossy().contains("ilinst/")), "{left:?}");
}
