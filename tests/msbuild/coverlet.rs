//! Lines that ran, as `ilinst` and coverlet see them in one test run: a solution of three projects with 200 tests.

use std::{collections::BTreeMap, fs, path::PathBuf};

use regex::Regex;
use tests::packages::VERSION;

use crate::dotnet::Dotnet;

const SOURCES: [(&str, &str); 3] = [
    ("Words/Words.cs", include_str!("coverage/Words.cs")),
    ("Store/Store.cs", include_str!("coverage/Store.cs")),
    ("Store.Tests/StoreTests.cs", include_str!("coverage/StoreTests.cs")),
];

/// A project for .NET 10 with the package, and the packages of tests if it has some.
fn project(properties: &str, items: &str) -> String {
    format!(
        r#"<Project Sdk="Microsoft.NET.Sdk">
<PropertyGroup><TargetFramework>net10.0</TargetFramework><Nullable>enable</Nullable>{properties}</PropertyGroup>
<ItemGroup><PackageReference Include="Ilinst.MSBuild" Version="{VERSION}" />{items}</ItemGroup>
</Project>"#
    )
}

/// By source file and line, how often it ran.
fn counts(xml: &str) -> BTreeMap<String, BTreeMap<u32, u64>> {
    let file = Regex::new(r#"filename="([^"]+)""#).expect("it is one");
    let line = Regex::new(r#"<line number="(\d+)" hits="(\d+)""#).expect("it is one");
    let mut files = BTreeMap::<String, BTreeMap<u32, u64>>::new();
    for class in xml.split("<class ").skip(1) {
        let lines = files.entry(file.captures(class).expect("a class has a file")[1].to_owned()).or_default();
        for found in line.captures_iter(class.split("</methods>").nth(1).expect("a class has lines")) {
            let count = lines.entry(found[1].parse().expect("a number")).or_default();
            *count = (*count).max(found[2].parse().expect("a number"));
        }
    }
    files
}

fn of_coverlet(dotnet: &Dotnet) -> PathBuf {
    let runs = fs::read_dir(dotnet.folder.join("Store.Tests/TestResults")).expect("there are results").flatten();
    runs.map(|run| run.path().join("coverage.cobertura.xml")).find(|file| file.exists()).expect("coverlet wrote a file")
}

#[test]
#[ignore = "needs .NET 10"]
fn lines_that_ran_are_those_of_coverlet() {
    let Some(dotnet) = Dotnet::newer("coverlet") else { return };
    let tests = r#"<PackageReference Include="Microsoft.NET.Test.Sdk" Version="18.11.0" />
<PackageReference Include="xunit" Version="2.9.3" /><PackageReference Include="xunit.runner.visualstudio" Version="3.1.5" />
<PackageReference Include="coverlet.collector" Version="10.0.1" />
<ProjectReference Include="../Words/Words.csproj" /><ProjectReference Include="../Store/Store.csproj" />"#;
    dotnet.write("Words/Words.csproj", &project("", ""));
    dotnet.write("Store/Store.csproj", &project("<AllowUnsafeBlocks>true</AllowUnsafeBlocks>", ""));
    dotnet.write("Store.Tests/Store.Tests.csproj", &project("", tests));
    for (path, text) in SOURCES {
        dotnet.write(path, text);
    }
    let said = dotnet.run(&[
        "test",
        "Store.Tests",
        "-p:Ilinst=true",
        "-p:IlinstLines=true",
        "-p:IlinstResults=results",
        "--collect",
        "XPlat Code Coverage",
    ]);
    assert!(said.contains("Passed:   200"), "{said}");
    let read = |path: PathBuf| counts(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    let mut own = read(dotnet.folder.join("Store.Tests/results/coverage.cobertura.xml"));
    let coverlet = read(of_coverlet(&dotnet));
    // coverlet leaves out the assembly of the tests themselves.
    let of_tests = own.remove("Store.Tests/StoreTests.cs").expect("the tests have lines");
    assert!(of_tests.values().all(|count| *count > 0), "{of_tests:?}");
    assert_eq!(own.keys().collect::<Vec<_>>(), coverlet.keys().collect::<Vec<_>>());
    for (file, lines) in &own {
        let ran =
            |lines: &BTreeMap<u32, u64>| -> Vec<(u32, bool)> { lines.iter().map(|(line, count)| (*line, *count > 0)).collect() };
        assert_eq!(ran(lines), ran(&coverlet[file]), "{file}");
        // coverlet adds up the statements of a line.
        for (line, count) in lines {
            assert!(*count <= coverlet[file][line], "{file}:{line}: {count}, {}", coverlet[file][line]);
        }
    }
    let never = |file: &str| own[file].values().filter(|count| **count == 0).count();
    assert_eq!((never("Words/Words.cs"), never("Store/Store.cs")), (5, 9));
}
