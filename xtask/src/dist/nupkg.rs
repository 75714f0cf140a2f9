//! NuGet packages: zip archives (ECMA-376-2, Open Packaging Conventions) with a `.nuspec`.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::{
    TERMS, Tool,
    archive::{self, Files},
};
use crate::common::root;

/// A package: its name and description.
pub(super) struct Package {
    pub(super) id: &'static str,
    description: &'static str,
    tags: &'static str,
    /// Further elements of the `.nuspec`.
    metadata: &'static str,
    /// Source paths in the repository and destinations; a folder stands for all files in it.
    files: &'static [(&'static str, &'static str)],
    /// The folder of the tools, by platform.
    tools: &'static str,
}

/// The package that instruments assemblies in builds.
pub(super) const MSBUILD: Package = Package {
    id: "Ilinst.MSBuild",
    description: "Profiles .NET programs: adds timing code to the assemblies that a project builds. Build with -p:Ilinst=true.",
    tags: "profiler instrumentation weaving performance msbuild",
    metadata: "<developmentDependency>true</developmentDependency>",
    files: &[
        ("msbuild/build", "build"),
        ("msbuild/buildTransitive", "buildTransitive"),
        ("msbuild/README.md", "README.md"),
        ("tracker-runtime/bin/Ilinst.Tracker.dll", "tracker/Ilinst.Tracker.dll"),
        ("tracker-runtime/coverage/bin/Ilinst.Coverage.dll", "tracker/Ilinst.Coverage.dll"),
        ("tracker-runtime/activity/bin/Ilinst.Activity.dll", "tracker/Ilinst.Activity.dll"),
    ],
    tools: "tools",
};
/// The package of the command line, for `dotnet tool install`.
pub(super) const TOOL: Package = Package {
    id: "ilinst",
    description: "Profiles .NET programs by adding timing code to their compiled assemblies: ilinst run -- dotnet app.dll.",
    tags: "profiler instrumentation weaving performance",
    metadata: "<packageTypes><packageType name=\"DotnetTool\" /></packageTypes>",
    files: &[("dotnet-tool/README.md", "README.md"), ("dotnet-tool/bin", "tools/netcoreapp2.1/any")],
    tools: "tools/netcoreapp2.1/any",
};
/// The licence files of each package.
const LICENSES: [(&str, &str); 3] =
    [("LICENSE", "LICENSE"), ("LICENSE-APACHE", "LICENSE-APACHE"), ("LICENSE-MIT", "LICENSE-MIT")];
/// The content types of parts by extension, which NuGet requires.
const CONTENT_TYPES: [(&str, &str); 10] = [
    ("rels", "application/vnd.openxmlformats-package.relationships+xml"),
    ("nuspec", "application/octet"),
    ("props", "application/octet"),
    ("targets", "application/octet"),
    ("json", "application/octet"),
    ("md", "application/octet"),
    ("xml", "application/octet"),
    ("dll", "application/octet"),
    ("exe", "application/octet"),
    ("so", "application/octet"),
];

/// Writes a package with a tool for each platform.
pub(super) fn write(package: &Package, file: &Path, tools: &[Tool]) -> Result<()> {
    let mut parts = Files::new();
    for (from, to) in package.files.iter().chain(&LICENSES) {
        let from = root().join(from);
        if from.is_file() {
            parts.insert((*to).into(), read(&from)?);
            continue;
        }
        for entry in fs::read_dir(&from).with_context(|| from.display().to_string())? {
            let path = entry?.path();
            parts.insert(format!("{to}/{}", path.file_name().unwrap_or_default().display()), read(&path)?);
        }
    }
    for tool in tools {
        let folder = format!("{}/{}", package.tools, tool.platform.dotnet);
        parts.extend(tool.files()?.map(|(name, bytes)| (format!("{folder}/{name}"), bytes)));
        parts.insert(format!("{folder}/{TERMS}"), tool.terms.as_bytes().to_vec());
    }
    let nuspec = format!("{}.nuspec", package.id);
    let content_types = content_types(parts.keys());
    parts.insert(nuspec.clone(), package.nuspec().into_bytes());
    parts.insert("_rels/.rels".into(), relationships(&nuspec).into_bytes());
    parts.insert("[Content_Types].xml".into(), content_types.into_bytes());
    archive::write(file, &parts, |name| name.ends_with("/ilinst") || name.ends_with(".exe"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

impl Package {
    fn nuspec(&self) -> String {
        let Self { id, description, tags, metadata, .. } = self;
        let (version, repository) = (env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_REPOSITORY"));
        let license = env!("CARGO_PKG_LICENSE");
        format!(
            r#"<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{id}</id>
    <version>{version}</version>
    <authors>The ilinst authors</authors>
    <description>{description}</description>
    <license type="expression">{license}</license>
    <readme>README.md</readme>
    <projectUrl>{repository}</projectUrl>
    <repository type="git" url="{repository}" />
    <tags>{tags}</tags>
    {metadata}
  </metadata>
</package>
"#
        )
    }
}

fn relationships(nuspec: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{nuspec}" Id="manifest" />
</Relationships>
"#
    )
}

/// Returns the content types by extension; parts without an extension are listed by name.
fn content_types<'a>(parts: impl Iterator<Item = &'a String>) -> String {
    let defaults =
        CONTENT_TYPES.map(|(extension, kind)| format!("  <Default Extension=\"{extension}\" ContentType=\"{kind}\" />\n"));
    let plain = parts.filter(|part| Path::new(part).extension().is_none());
    let overrides = plain.map(|part| format!("  <Override PartName=\"/{part}\" ContentType=\"application/octet\" />\n"));
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\n\
         {}{}</Types>\n",
        defaults.concat(),
        overrides.collect::<String>()
    )
}
