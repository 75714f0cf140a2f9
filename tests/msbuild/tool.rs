//! The command line as `dotnet tool install` has it.

use std::fs;

use tests::{
    packages::{self, VERSION},
    root, said,
};

use crate::dotnet::Dotnet;

#[test]
#[ignore = "needs the .NET SDK"]
fn the_tool_is_installed_and_is_itself() {
    let Some(dotnet) = Dotnet::new("tool") else { return };
    dotnet.run(&["tool", "install", "ilinst", "--tool-path", "tools", "--version", VERSION]);
    let ilinst = |arguments: &[&str]| {
        let mut command = dotnet.command_of(&dotnet.folder.join("tools/ilinst"));
        said(&command.args(arguments).output().expect("it starts"))
    };
    assert_eq!(ilinst(&["--version"]), (format!("ilinst {VERSION}\n"), String::new(), Some(0)));
    // Arguments arrive as they are, an empty one too, and its exit code is the command's.
    let (_, errors, code) = ilinst(&["list", "no \"such\" file\\.dll", ""]);
    assert_eq!(code, Some(2), "{errors}");
    let (_, errors, code) = ilinst(&["list", "no \"such\" file\\.dll"]);
    assert_eq!((errors.as_str(), code), ("ilinst: error ILI0010: no \"such\" file\\.dll: No such file or directory\n", Some(3)));
    let hello = root().join("samples/hello/bin/hello.exe");
    let (text, errors, code) = ilinst(&["instrument", &hello.to_string_lossy(), "-o", "wo ven/"]);
    assert!(text.contains("instrumented") && errors.is_empty() && code == Some(0), "{text}{errors}");
    assert!(dotnet.is_woven("wo ven/hello.exe"));
}

/// By a manifest, for all, and without an installation.
#[test]
#[ignore = "needs .NET 10"]
fn the_tool_is_installed_and_run_in_each_way_of_the_newer_sdk() {
    let Some(dotnet) = Dotnet::newer("tool-10") else { return };
    // As `dotnet new tool-manifest` writes it.
    dotnet.write(".config/dotnet-tools.json", r#"{ "version": 1, "isRoot": true, "tools": {} }"#);
    dotnet.run(&["tool", "install", "ilinst", "--local", "--add-source", "feed"]);
    dotnet.run(&["tool", "install", "ilinst", "--global", "--add-source", "feed"]);
    dotnet.write("app/app.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net10.0</TargetFramework></PropertyGroup></Project>");
    let program = "static class Program { static int Main() { int sum = 0; for (int i = 0; i < 5; i++) sum += i; System.Console.WriteLine(sum); return 7; } }";
    dotnet.write("app/Program.cs", program);
    let global = dotnet.command_of(&dotnet.folder.join("home/.dotnet/tools/ilinst"));
    let mut local = dotnet.command();
    local.args(["tool", "run", "ilinst", "--"]);
    let mut short = dotnet.command();
    short.arg("ilinst");
    let mut once = dotnet.command();
    once.args(["dnx", "--yes", "ilinst", "--"]);
    for (mut command, options) in [(global, &["--live"][..]), (local, &[]), (short, &[]), (once, &[])] {
        command.env("ILINST_CACHE", dotnet.folder.join("cache")).args(["run", "--limit=2"]).args(options);
        let path = std::env::join_paths([dotnet.root()]).expect("it can be one of a path");
        let output = command.args(["--", "dotnet", "run", "--project", "app"]).env("PATH", &path).output().expect("it starts");
        let (text, errors, code) = said(&output);
        assert_eq!((text.as_str(), code), ("10\n", Some(7)), "{command:?}: {errors}");
        assert!(errors.contains("Program.Main"), "{command:?}: {errors}");
    }
}

#[test]
#[ignore = "needs the .NET SDK"]
fn packages_are_the_same_bytes_each_time() {
    let Some(dotnet) = Dotnet::new("bytes") else { return };
    packages::make(&dotnet.folder.join("again"));
    for package in [format!("Ilinst.MSBuild.{VERSION}.nupkg"), format!("ilinst.{VERSION}.nupkg")] {
        let read = |folder: &str| fs::read(dotnet.folder.join(folder).join(&package)).expect("it is there");
        assert!(read("feed") == read("again"), "{package}");
    }
}
