//! The NuGet package `Ilinst.MSBuild`: a zip archive (ECMA-376-2, Open Packaging Conventions) with a `.nuspec`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use crate::common::root;

/// What it is called.
pub(super) const ID: &str = "Ilinst.MSBuild";
/// Beside what is in `msbuild/`: from where in the repository, and where to.
const FILES: [(&str, &str); 4] = [
    ("tracker-runtime/bin/Ilinst.Tracker.dll", "tracker/Ilinst.Tracker.dll"),
    ("LICENSE", "LICENSE"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
];
/// What NuGet asks of each part's name.
const CONTENT_TYPES: [(&str, &str); 7] = [
    ("rels", "application/vnd.openxmlformats-package.relationships+xml"),
    ("nuspec", "application/octet"),
    ("props", "application/octet"),
    ("targets", "application/octet"),
    ("md", "application/octet"),
    ("dll", "application/octet"),
    ("exe", "application/octet"),
];

/// Writes it, with a tool for each platform.
pub(super) fn write(package: &Path, tools: &[(String, PathBuf)]) -> Result<()> {
    let mut parts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for folder in ["build", "buildTransitive"] {
        for entry in fs::read_dir(root().join("msbuild").join(folder))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            parts.insert(format!("{folder}/{name}"), read(&path)?);
        }
    }
    parts.insert("README.md".into(), read(&root().join("msbuild/README.md"))?);
    for (from, to) in FILES {
        parts.insert(to.into(), read(&root().join(from))?);
    }
    for (platform, tool) in tools {
        let name = if platform.starts_with("win-") { "ilinst.exe" } else { "ilinst" };
        parts.insert(format!("tools/{platform}/{name}"), read(tool)?);
    }
    let nuspec = format!("{ID}.nuspec");
    let content_types = content_types(parts.keys());
    parts.insert(nuspec.clone(), self::nuspec().into_bytes());
    parts.insert("_rels/.rels".into(), relationships(&nuspec).into_bytes());
    parts.insert("[Content_Types].xml".into(), content_types.into_bytes());
    write_archive(package, &parts)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// The parts in the order of their names, with one time for all.
fn write_archive(package: &Path, parts: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut archive = ZipWriter::new(File::create(package).with_context(|| package.display().to_string())?);
    for (name, bytes) in parts {
        let is_tool = name.starts_with("tools/");
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(if is_tool { 0o755 } else { 0o644 });
        archive.start_file(name, options)?;
        archive.write_all(bytes)?;
    }
    archive.finish()?.sync_all()?;
    Ok(())
}

fn nuspec() -> String {
    let (version, repository) = (env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_REPOSITORY"));
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{ID}</id>
    <version>{version}</version>
    <authors>The ilinst authors</authors>
    <description>Weaves enter and leave probes into what a project builds, so that the program measures itself: build with -p:Ilinst=true.</description>
    <license type="expression">{}</license>
    <readme>README.md</readme>
    <projectUrl>{repository}</projectUrl>
    <repository type="git" url="{repository}" />
    <tags>profiler instrumentation weaving performance msbuild</tags>
    <developmentDependency>true</developmentDependency>
  </metadata>
</package>
"#,
        env!("CARGO_PKG_LICENSE")
    )
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

/// By extension; what has none is named.
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
