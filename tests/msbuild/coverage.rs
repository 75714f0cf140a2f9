//! `dotnet test -p:Ilinst=true -p:IlinstLines=true`: one file of coverage for all test projects of a solution.

use std::{collections::BTreeMap, fs, path::Path};

use regex::Regex;
use tests::{first_in_tier, ilinst, packages::VERSION, said};

use crate::dotnet::Dotnet;

const LIBRARY: &str = "namespace Shop
{
    public static class Prices
    {
        public static int Net(int price)
        {
            return price - Tax(price);
        }

        public static int Tax(int price)
        {
            if (price < 0)
            {
                return 0;
            }
            return price / 5;
        }

        public static int Never(int price)
        {
            return price;
        }
    }
}
";
const UNUSED: &str = "public static class Unused
{
    public static int Twice(int number)

    {
        return number * 2;
    }
}
";
/// By line: how often the tests of both projects run it.
const RUNS: [(u32, u32); 12] =
    [(6, 1), (7, 1), (8, 1), (11, 3), (12, 3), (13, 1), (14, 1), (16, 2), (17, 3), (20, 0), (21, 0), (22, 0)];

fn tests(class: &str, calls: &str) -> String {
    format!("using Shop;\nusing Xunit;\npublic class {class}\n{{\n    [Fact]\n    public void Works() {{ {calls} }}\n}}\n")
}

/// A project for .NET 10 with the package.
fn project(items: &str) -> String {
    format!(
        r#"<Project Sdk="Microsoft.NET.Sdk">
<PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>
<ItemGroup><PackageReference Include="Ilinst.MSBuild" Version="{VERSION}" />{items}</ItemGroup>
</Project>"#
    )
}

/// The counts of a source file's lines in a Cobertura file.
fn counts(xml: &str, file: &str) -> BTreeMap<u32, u32> {
    let class = xml.split("<class ").find(|class| class.contains(&format!("filename=\"{file}\""))).expect("the file is there");
    let lines = class.split("</methods>").nth(1).expect("a class has lines");
    let line = Regex::new(r#"<line number="(\d+)" hits="(\d+)""#).expect("it is one");
    line.captures_iter(lines).map(|found| (found[1].parse().expect("a number"), found[2].parse().expect("a number"))).collect()
}

/// Writes a solution: a library, another one that no test loads, and two projects of tests.
fn write_solution(dotnet: &Dotnet, tests_project: &str) {
    dotnet.write("Shop/Shop.csproj", &project(""));
    dotnet.write("Shop/Prices.cs", LIBRARY);
    dotnet.write("Unused/Unused.csproj", &project(""));
    dotnet.write("Unused/Unused.cs", UNUSED);
    for (name, calls) in [
        ("Net", "Assert.Equal(80, Prices.Net(100));"),
        ("Tax", "Assert.Equal(20, Prices.Tax(100)); Assert.Equal(0, Prices.Tax(-1));"),
    ] {
        dotnet.write(&format!("{name}.Tests/{name}.Tests.csproj"), tests_project);
        dotnet.write(&format!("{name}.Tests/{name}Tests.cs"), &tests(&format!("{name}Tests"), calls));
    }
    dotnet.write(
        "Shop.slnx",
        r#"<Solution>
<Project Path="Shop/Shop.csproj" /><Project Path="Net.Tests/Net.Tests.csproj" /><Project Path="Tax.Tests/Tax.Tests.csproj" />
</Solution>"#,
    );
}

/// The SDK runs no target of a build after such tests.
#[test]
#[ignore = "needs .NET 10"]
fn tests_that_are_programs_write_one_file() {
    let Some(dotnet) = Dotnet::newer("platform coverage") else { return };
    dotnet.write("global.json", r#"{ "test": { "runner": "Microsoft.Testing.Platform" } }"#);
    let packages = r#"<PackageReference Include="xunit.v3" Version="4.0.2" />
<ProjectReference Include="../Shop/Shop.csproj" /><ProjectReference Include="../Unused/Unused.csproj" />"#;
    let project = project(packages).replace("</PropertyGroup>", "<OutputType>Exe</OutputType></PropertyGroup>");
    write_solution(&dotnet, &project);
    let words = ["test", "--solution", "Shop.slnx", "-p:Ilinst=true", "-p:IlinstLines=true"];
    let file = dotnet.folder.join("TestResults/coverage.cobertura.xml");
    // Tests that fail have run lines too.
    let outcomes = [("Assert.Equal(1, Prices.Net(100));", 2, 1), ("Assert.Equal(80, Prices.Net(100));", 0, 2)];
    let outcomes = first_in_tier(&outcomes, 1);
    for (calls, code, succeeded) in outcomes {
        dotnet.write("Net.Tests/NetTests.cs", &tests("NetTests", calls));
        let (said, ended) = dotnet.try_run(&words);
        assert!(ended == Some(*code) && said.contains(&format!("succeeded: {succeeded}")), "{ended:?} {said}");
        let xml = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(counts(&xml, "Shop/Prices.cs"), BTreeMap::from(RUNS), "{xml}");
        assert_eq!(counts(&xml, "Unused/Unused.cs"), BTreeMap::from([(5, 0), (6, 0), (7, 0)]), "{xml}");
        fs::remove_file(&file).expect("it is there");
    }

    // Without the switch the package instruments nothing, and `ilinst run` does.
    let ilinst = |words: &[&str]| {
        let mut command = dotnet.command_of(Path::new(ilinst().get_program()));
        command.env("ILINST_CACHE", dotnet.folder.join("cache")).args(words);
        command
    };
    let mut tested = ilinst(&["run", "--lines", "--mode", "none", "--keep=kept", "--no-report", "--"]);
    tested.arg(dotnet.command().get_program()).args(["test", "--solution", "Shop.slnx"]);
    let (text, errors, code) = said(&tested.output().expect("it starts"));
    assert_eq!(code, outcomes.last().map(|(_, code, _)| *code), "{text}{errors}");
    let written = ilinst(&["export", "kept", "-o", "kept.cobertura.xml", "-q"]).output().expect("it starts");
    assert_eq!(said(&written), (String::new(), String::new(), Some(0)));
    let xml = fs::read_to_string(dotnet.folder.join("kept.cobertura.xml")).expect("it is written");
    assert_eq!(counts(&xml, "Shop/Prices.cs"), BTreeMap::from(RUNS), "{xml}");
    assert_eq!(counts(&xml, "Unused/Unused.cs"), BTreeMap::from([(5, 0), (6, 0), (7, 0)]), "{xml}");
}

#[test]
#[ignore = "needs .NET 10"]
fn the_tests_of_a_solution_write_one_file() {
    let Some(dotnet) = Dotnet::newer("it's coverage") else { return };
    let packages = r#"<PackageReference Include="Microsoft.NET.Test.Sdk" Version="18.11.0" />
<PackageReference Include="xunit" Version="2.9.3" /><PackageReference Include="xunit.runner.visualstudio" Version="3.1.5" />
<ProjectReference Include="../Shop/Shop.csproj" /><ProjectReference Include="../Unused/Unused.csproj" />"#;
    write_solution(&dotnet, &project(packages));
    let file = dotnet.folder.join("TestResults/coverage.cobertura.xml");
    // A second run replaces the first.
    for options in first_in_tier(&[&[][..], &["--no-build"]], 1) {
        let said = dotnet.run(&[&["test", "Shop.slnx", "-p:Ilinst=true", "-p:IlinstLines=true"][..], *options].concat());
        assert!(said.contains("coverage.cobertura.xml"), "{said}");
        let xml = fs::read_to_string(&file).expect("it is written");
        assert_eq!(counts(&xml, "Shop/Prices.cs"), BTreeMap::from(RUNS), "{xml}");
        assert_eq!(counts(&xml, "Unused/Unused.cs"), BTreeMap::from([(5, 0), (6, 0), (7, 0)]), "{xml}");
        assert!(counts(&xml, "Net.Tests/NetTests.cs").values().all(|count| *count == 1), "{xml}");
    }
    // Tests that fail have run lines too.
    fs::remove_file(&file).expect("it is there");
    dotnet.write("Net.Tests/NetTests.cs", &tests("NetTests", "Assert.Equal(1, Prices.Net(100));"));
    let (said, code) = dotnet.try_run(&["test", "Shop.slnx", "-p:Ilinst=true", "-p:IlinstLines=true"]);
    assert_eq!(code, Some(1), "{said}");
    let xml = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(counts(&xml, "Shop/Prices.cs"), BTreeMap::from(RUNS), "{xml}");
}
