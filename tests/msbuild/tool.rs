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
    assert!(text.contains("woven") && errors.is_empty() && code == Some(0), "{text}{errors}");
    assert!(dotnet.is_woven("wo ven/hello.exe"));
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
