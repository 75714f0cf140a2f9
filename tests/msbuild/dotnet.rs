//! The SDK with a home and a package cache of its own, and a feed that holds the package.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::SystemTime,
};

use tests::{
    Report, Sdk, ilinst,
    packages::{self, VERSION},
    said, scratch,
};

/// Warnings of the SDK for any project: it cannot hash a cache of its own on a newer runtime.
const HARMLESS: [&str; 2] = ["MSB3088", "MSB3101"];

/// A program, among the properties of a project.
pub(crate) const EXE: &str = "<OutputType>Exe</OutputType>";

/// A project of the older SDK, for .NET Core 3.1 or what `properties` says in its place.
pub(crate) fn project(properties: &str, items: &[String]) -> String {
    let framework = if properties.contains("TargetFramework") { "" } else { "<TargetFramework>netcoreapp3.1</TargetFramework>" };
    let items = items.join("\n    ");
    format!(
        r#"<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    {framework}{properties}
  </PropertyGroup>
  <ItemGroup>
    {items}
  </ItemGroup>
</Project>
"#
    )
}

/// A reference to the package.
pub(crate) fn package(attributes: &str) -> String {
    format!(r#"<PackageReference Include="Ilinst.MSBuild" Version="{VERSION}" {attributes}/>"#)
}

/// A reference to a project in a folder of its name.
pub(crate) fn reference(file: &str) -> String {
    let folder = file.split('.').next().unwrap_or_default();
    format!(r#"<ProjectReference Include="../{folder}/{file}" />"#)
}

/// The SDK, and a folder to work in.
pub(crate) struct Dotnet {
    sdk: Sdk,
    pub(crate) folder: PathBuf,
}

impl Dotnet {
    /// In an empty folder, with a feed that holds the package.
    pub(crate) fn new(name: &str) -> Option<Self> {
        Some(Self::of(Sdk::older()?, name))
    }

    /// The same with the SDK of .NET 10. Without it, a line says that the test went without.
    pub(crate) fn newer(name: &str) -> Option<Self> {
        Some(Self::of(Sdk::newer()?, name))
    }

    fn of(sdk: Sdk, name: &str) -> Self {
        let dotnet = Self { sdk, folder: scratch(&format!("msbuild-{name}")) };
        fs::create_dir(dotnet.folder.join("home")).expect("a folder can be made");
        packages::feed(&dotnet.folder);
        dotnet
    }

    /// The folder of the installation.
    pub(crate) fn root(&self) -> &Path {
        self.sdk.root()
    }

    /// The folder of the SDK itself, by its version.
    #[cfg(feature = "full")]
    pub(crate) fn newest_sdk(&self) -> PathBuf {
        let versions = fs::read_dir(self.root().join("sdk")).expect("it is there").flatten();
        versions.map(|entry| entry.path()).max().expect("there is one")
    }

    /// A file in the folder.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("it can be written");
    }

    /// `dotnet ARGUMENTS`, which has to succeed; gives what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let (text, code) = self.try_run(arguments);
        assert_eq!(code, Some(0), "dotnet {arguments:?}\n{text}");
        text
    }

    /// The same, which may fail: what it printed but for what it always warns of, and its exit code.
    pub(crate) fn try_run(&self, arguments: &[&str]) -> (String, Option<i32>) {
        let output = self.command().args(arguments).output().expect("the SDK starts");
        let (text, errors, code) = said(&output);
        let lines = text.lines().chain(errors.lines()).filter(|line| !HARMLESS.iter().any(|warning| line.contains(warning)));
        (lines.map(|line| format!("{line}\n")).collect(), code)
    }

    /// `dotnet`, ready for its arguments.
    pub(crate) fn command(&self) -> Command {
        self.command_of(&self.sdk.program)
    }

    /// Another program, with the same environment.
    pub(crate) fn command_of(&self, program: &Path) -> Command {
        self.sdk.command(program, &self.folder)
    }

    /// Runs a program, which has to print that; gives the profile that it wrote.
    pub(crate) fn profile(&self, command: &mut Command, expected: &str) -> Report {
        let profile = self.folder.join("run.ilprof");
        let _ = fs::remove_file(&profile);
        let output = command.env("ILINST_OUTPUT", &profile).output().expect("it starts");
        let (text, errors, code) = said(&output);
        assert_eq!((text.as_str(), errors.as_str(), code), (expected, "", Some(0)));
        Report::of(&profile).expect("it can be reported")
    }

    /// `dotnet PROGRAM`, to be run.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = self.command();
        command.arg(self.folder.join(program));
        command
    }

    /// Whether an assembly in the folder is woven.
    pub(crate) fn is_woven(&self, assembly: &str) -> bool {
        let output: Output = ilinst().args(["list", "--json"]).arg(self.folder.join(assembly)).output().expect("ilinst runs");
        let (text, errors, code) = said(&output);
        assert_eq!(code, Some(0), "{assembly}: {errors}");
        !serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON")["woven"].is_null()
    }

    /// The files below a folder, and when each was written.
    pub(crate) fn files(&self, below: &str) -> BTreeMap<PathBuf, SystemTime> {
        let mut files = BTreeMap::new();
        collect(&self.folder.join(below), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, SystemTime>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => collect(&path, files),
            false => {
                let written = path.metadata().and_then(|metadata| metadata.modified()).expect("it has a time");
                files.insert(path, written);
            }
        }
    }
}
