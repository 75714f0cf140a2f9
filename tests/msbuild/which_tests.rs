//! `ilinst tests`: the tests that reach a method, held against a record that the tests keep themselves.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Output},
};

use serde_json::Value;
use tests::{ilinst, said};

use crate::dotnet::Dotnet;

const LIBRARY: &str = include_str!("which_tests/Orders.cs");
const TESTS: &str = include_str!("which_tests/OrderTests.cs");

const PROJECT: &str = r#"<Project Sdk="Microsoft.NET.Sdk">
<PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>
<ItemGroup>
<PackageReference Include="Microsoft.NET.Test.Sdk" Version="18.11.0" />
<PackageReference Include="xunit" Version="2.9.3" />
<PackageReference Include="xunit.runner.visualstudio" Version="3.1.5" />
<ProjectReference Include="../Orders/Orders.csproj" />
ILINST
</ItemGroup>
</Project>"#;

const LIBRARY_PROJECT: &str = r#"<Project Sdk="Microsoft.NET.Sdk">
<PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>
<ItemGroup>ILINST</ItemGroup>
</Project>"#;

/// `ilinst tests run.ilprof OPTIONS` in the solution's folder.
fn found(dotnet: &Dotnet, options: &[&str]) -> Output {
    ilinst().current_dir(&dotnet.folder).args(["tests", "run.ilprof"]).args(options).output().expect("ilinst runs")
}

/// The tests of `ilinst tests --json`, by name.
fn names(dotnet: &Dotnet, options: &[&str]) -> BTreeSet<String> {
    let (text, errors, code) = said(&found(dotnet, &[options, &["--json"]].concat()));
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{options:?}: {error}\n{text}{errors}"));
    let rows = document["tests"].as_array().expect("a list");
    assert_eq!(code, Some(i32::from(rows.is_empty())), "{options:?}: {errors}");
    rows.iter().map(|row| row["test"].as_str().expect("a name").to_owned()).collect()
}

fn git(dotnet: &Dotnet, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(&dotnet.folder).args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments);
    let output = git.output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

/// The number of a file's line with a text, from 1.
fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).expect("it is there") + 1
}

#[test]
#[ignore = "needs .NET 10"]
fn tests_that_reach_a_method_are_those_that_say_so() {
    let Some(dotnet) = Dotnet::newer("which-tests") else { return };
    let package = format!(r#"<PackageReference Include="Ilinst.MSBuild" Version="{}" />"#, tests::packages::VERSION);
    dotnet.write("Orders/Orders.csproj", &LIBRARY_PROJECT.replace("ILINST", &package));
    dotnet.write("Orders/Orders.cs", LIBRARY);
    dotnet.write("Orders.Tests/Orders.Tests.csproj", &PROJECT.replace("ILINST", &package));
    dotnet.write("Orders.Tests/OrderTests.cs", TESTS);
    git(&dotnet, &["init", "-q", "."]);
    git(&dotnet, &["add", "Orders", "Orders.Tests"]);
    git(&dotnet, &["commit", "-q", "-m", "Orders"]);
    let mut run = dotnet.command();
    run.args(["test", "Orders.Tests", "-p:Ilinst=true"]).env("ILINST_OUTPUT", dotnet.folder.join("run.ilprof"));
    let (text, errors, code) =
        said(&run.env("ORDERS_RECORD", dotnet.folder.join("record.txt")).output().expect("the SDK starts"));
    assert_eq!(code, Some(0), "{text}{errors}");

    // Each line of the record is `METHOD TEST`.
    let record = fs::read_to_string(dotnet.folder.join("record.txt")).expect("the tests wrote it");
    let record: BTreeSet<(&str, &str)> = record.lines().filter_map(|line| line.split_once(' ')).collect();
    let recorded = |method: &str| -> BTreeSet<String> {
        record.iter().filter(|(of, _)| *of == method).map(|(_, test)| (*test).to_owned()).collect()
    };
    let line = |part: &str| format!("Orders/Orders.cs:{}", line_of(LIBRARY, part));
    let methods: BTreeSet<&str> = record.iter().map(|(method, _)| *method).collect();
    assert_eq!(methods.len(), 6, "{methods:?}");
    for method in methods {
        assert_eq!(names(&dotnet, &["--method", &format!("Orders.{method}")]), recorded(method), "{method}");
        let line = line(&format!("Record(\"{method}\")"));
        assert_eq!(names(&dotnet, &["--line", &line]), recorded(method), "{line}");
    }
    let (_, errors, code) = said(&found(&dotnet, &["--method", "Order.Lonely"]));
    assert!(errors.contains("--method Order.Lonely: no method of this name ran") && code == Some(2), "{errors}");
    assert_eq!(names(&dotnet, &["--line", &line("/* lonely */")]), BTreeSet::new());
    let (_, errors, code) = said(&found(&dotnet, &["--line", &line("/* short */")]));
    assert!(errors.contains("its method has no probes") && code == Some(2), "{errors}");

    // A test that fails a filter is not run.
    let (filter, errors, code) = said(&found(&dotnet, &["--method", "Orders.Order.Rounded", "--filter-expression"]));
    assert_eq!(code, Some(0), "{errors}");
    let chosen =
        dotnet.run(&["test", "Orders.Tests", "--no-build", "--filter", filter.trim(), "--logger", "console;verbosity=normal"]);
    let passed = recorded("Order.Rounded");
    assert_eq!(passed.len(), 3, "{passed:?}");
    for test in &passed {
        assert!(chosen.replace('+', ".").contains(&format!("Passed {test}")), "{test}: {chosen}");
    }
    // The theory of three cases counts as three.
    assert!(chosen.contains("Total tests: 5"), "{chosen}");

    // Changes of a method that tests run, of one that none runs, of one without probes, and of a line of no method.
    let changes = [("/* rounded */", "+ 0"), ("/* lonely */", "^ 1"), ("/* short */", "+ 0"), ("// Prices", "// All prices")];
    let changed = changes.iter().fold(LIBRARY.to_owned(), |text, (from, to)| text.replace(from, to));
    dotnet.write("Orders/Orders.cs", &changed);
    assert_eq!(names(&dotnet, &["--changed-since", "HEAD"]), passed);
    let (text, errors, code) = said(&found(&dotnet, &["--changed-since", "HEAD"]));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("no ")).collect();
    let unprobed = format!("no probes in {}: instrument with --all", line("/* short */"));
    assert_eq!(notes, [format!("no test reached {}", line("/* lonely */")), unprobed]);
}
