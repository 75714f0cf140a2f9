//! `cargo xtask dist`: what users install, always to the same bytes.

mod archive;
mod build;
mod dependencies;
mod nupkg;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use self::{
    archive::Files,
    build::{PLATFORMS, Platform},
    dependencies::Dependencies,
};
use crate::{
    common::{quiet, root, target},
    toolchain::sha256,
};

pub(crate) use self::build::windows;

pub(crate) const HELP: &str = "build what users install, for Linux and Windows; --target TRIPLE (may be repeated) for these \
                               alone; --check: a second time gives the same bytes; --nupkg: the NuGet packages alone, with \
                               --tool PLATFORM=FILE (as linux-x64; may be repeated) as their tools; --wine: ilinst.exe for \
                               the tests; --output DIR";

/// The profile that is built by.
const PROFILE: &str = "release";
/// What each archive has beside the tool.
const BESIDE: [&str; 6] = ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];
const SHELLS: [(&str, &str); 4] =
    [("bash", "ilinst.bash"), ("zsh", "_ilinst"), ("fish", "ilinst.fish"), ("powershell", "ilinst.ps1")];
const SUMS: &str = "SHA256SUMS";

/// What is asked for.
#[derive(Default)]
struct Request {
    /// The tool by the platforms' names in .NET.
    tools: Vec<(String, PathBuf)>,
    targets: Vec<&'static Platform>,
    is_nupkg: bool,
    is_check: bool,
    is_for_wine: bool,
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut request = Request::parse(arguments)?;
    if request.is_for_wine {
        println!("ILINST_EXE={}", windows().build_for_wine("corpus")?.display());
        return Ok(());
    }
    let output = request.output.clone().unwrap_or_else(|| target().join("dist"));
    fs::create_dir_all(&output)?;
    if request.is_nupkg {
        if request.tools.is_empty() {
            request.tools.push((PLATFORMS[0].dotnet.into(), PLATFORMS[0].build(PROFILE)?));
        }
        write_packages(&output, &request.tools)?.iter().for_each(|path| println!("{}", path.display()));
        return Ok(());
    }
    let built = build_all(&request.targets, &output, "dist-build")?;
    print!("{built}");
    if request.is_check {
        let again = build_all(&request.targets, &target().join("dist-again"), "another-build")?;
        if built != again {
            bail!("built again in another folder, it is\n{again}");
        }
        println!("the same, built again in another folder");
    }
    Ok(())
}

/// Builds for platforms, all if there are none, by way of a folder in `target`; gives the hashes, which lie beside what was
/// written.
fn build_all(targets: &[&'static Platform], output: &Path, folder: &str) -> Result<String> {
    let targets = if targets.is_empty() { PLATFORMS.iter().collect() } else { targets.to_vec() };
    if output.exists() {
        fs::remove_dir_all(output)?;
    }
    fs::create_dir_all(output)?;
    // What this machine can run, to ask it for its manual.
    let own = PLATFORMS[0].build_in(folder, PROFILE)?;
    let manual = manual(&own)?;
    let (mut tools, mut written) = (Vec::new(), Vec::new());
    for platform in targets {
        let tool = platform.build_in(folder, PROFILE)?;
        let dependencies = Dependencies::of(platform)?;
        let name = format!("ilinst-{}-{}", env!("CARGO_PKG_VERSION"), platform.triple);
        let bill = dependencies.bill_of_materials()?;
        let mut files = manual.clone();
        files.insert(platform.file_name().into(), fs::read(&tool)?);
        files.insert("THIRD-PARTY-LICENSES".into(), dependencies.terms().into_bytes());
        files.insert("ilinst.cdx.json".into(), bill.clone().into_bytes());
        for beside in BESIDE {
            files.insert(beside.into(), fs::read(root().join(beside)).with_context(|| beside)?);
        }
        let files: Files = files.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)).collect();
        let archive = output.join(format!("{name}.{}", if platform.is_windows() { "zip" } else { "tar.gz" }));
        archive::write(&archive, &files, |file| file.ends_with(platform.file_name()))?;
        let beside = output.join(format!("{name}.cdx.json"));
        fs::write(&beside, bill)?;
        written.extend([archive, beside]);
        tools.push((platform.dotnet.to_owned(), tool));
    }
    written.extend(write_packages(output, &tools)?);
    let mut sums = String::new();
    for path in written {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        sums += &format!("{}  {name}\n", sha256(&fs::read(&path)?));
    }
    fs::write(output.join(SUMS), &sums)?;
    Ok(sums)
}

/// The NuGet packages; gives their paths.
fn write_packages(output: &Path, tools: &[(String, PathBuf)]) -> Result<Vec<PathBuf>> {
    let write = |package: &nupkg::Package| {
        let file = output.join(format!("{}.{}.nupkg", package.id, env!("CARGO_PKG_VERSION")));
        nupkg::write(package, &file, tools).map(|()| file)
    };
    [&nupkg::MSBUILD, &nupkg::TOOL].into_iter().map(write).collect()
}

/// The manual's pages, and what shells complete by.
fn manual(tool: &Path) -> Result<Files> {
    let folder = target().join("man");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    quiet(Command::new(tool).arg("man").arg(&folder))?;
    let mut files = Files::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        files.insert(format!("man/{}", path.file_name().unwrap_or_default().to_string_lossy()), fs::read(&path)?);
    }
    for (shell, name) in SHELLS {
        let output = Command::new(tool).args(["completions", shell]).output()?;
        if !output.status.success() {
            bail!("no completions for {shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
        files.insert(format!("completions/{name}"), output.stdout);
    }
    Ok(files)
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut request = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--nupkg" => request.is_nupkg = true,
                "--check" => request.is_check = true,
                "--wine" => request.is_for_wine = true,
                "--target" => request.targets.push(Platform::find(value()?)?),
                "--tool" => {
                    let (platform, file) = value()?.split_once('=').context("--tool wants PLATFORM=FILE")?;
                    request.tools.push((platform.to_owned(), file.into()));
                }
                "--output" => request.output = Some(value()?.into()),
                unknown => bail!("no option '{unknown}': {HELP}"),
            }
        }
        Ok(request)
    }
}
