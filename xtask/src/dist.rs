//! `cargo xtask dist`: builds the files that users install, with reproducible bytes.

mod archive;
mod build;
mod dependencies;
mod native;
mod nupkg;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use self::{archive::Files, build::Platform, dependencies::Dependencies};
use crate::{
    common::{quiet, root, target},
    toolchain::sha256,
};

pub(crate) use self::build::{linux_arm64, windows};

pub(crate) const HELP: &str = "build what users install, for Linux and Windows; --target PLATFORM (as linux-x64; may be repeated) \
                               for these alone; --tool PLATFORM=FILE (may be repeated): pack a tool that is built already; \
                               --check: a second time gives the same bytes, and each crate can be published; --nupkg: the \
                               NuGet packages alone; --native PLATFORM: the tool alone, with this machine's linker, for macOS; --wine: ilinst.exe for the tests; --output DIR";

/// The cargo profile of the build.
const PROFILE: &str = "shipped";
/// The files in each archive beside the tool.
const BESIDE: [&str; 6] = ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];
const SHELLS: [(&str, &str); 4] =
    [("bash", "ilinst.bash"), ("zsh", "_ilinst"), ("fish", "ilinst.fish"), ("powershell", "ilinst.ps1")];
/// The list of third-party components and their licence texts.
const TERMS: &str = "THIRD-PARTY-LICENSES";
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The tool for a platform, with the files packed beside it.
struct Tool {
    platform: &'static Platform,
    /// The program. The CLR profiler's library is beside it, if it can be built.
    path: PathBuf,
    /// The licence texts of third-party components.
    terms: String,
    bill_of_materials: String,
}

/// The options of the command.
#[derive(Default)]
struct Request {
    /// Tools that are already built.
    tools: Vec<(&'static Platform, PathBuf)>,
    targets: Vec<&'static Platform>,
    is_nupkg: bool,
    is_check: bool,
    is_for_wine: bool,
    native: Option<&'static Platform>,
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let request = Request::parse(arguments)?;
    if request.is_for_wine {
        println!("ILINST_EXE={}", windows().build_for_wine("corpus")?.display());
        return Ok(());
    }
    if let Some(platform) = request.native {
        println!("{}", native::build(platform)?.display());
        return Ok(());
    }
    let output = request.output.clone().unwrap_or_else(|| target().join("dist"));
    if request.is_nupkg {
        fs::create_dir_all(&output)?;
        let packages = write_packages(&output, &request.build("dist-build")?)?;
        packages.iter().for_each(|path| println!("{}", path.display()));
        return Ok(());
    }
    let built = request.build_and_pack("dist-build", &output)?;
    print!("{built}");
    if request.is_check {
        let again = request.build_and_pack("another-build", &target().join("dist-again"))?;
        if built != again {
            bail!("built again in another folder, it is\n{again}");
        }
        println!("the same, built again in another folder");
        publish_for_show()?;
        println!("each crate can be published");
    }
    Ok(())
}

/// Has cargo package each crate, and build it from its package as if the others were published.
fn publish_for_show() -> Result<()> {
    // Uses a folder of its own: cargo reuses unpacked crates of the same version in the same folder.
    let folder = target().join(format!("publish-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO"));
    command.args(["publish", "--workspace", "--dry-run", "--locked", "--allow-dirty", "--target-dir"]);
    quiet(command.arg(&folder).current_dir(root()))?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Packs tools and the manual into a new folder. Returns the hashes, which are also written there.
fn pack(tools: &[Tool], manual: &Files, output: &Path) -> Result<String> {
    if output.exists() {
        fs::remove_dir_all(output)?;
    }
    fs::create_dir_all(output)?;
    let mut written = Vec::new();
    for tool in tools {
        let Tool { platform, terms, bill_of_materials, .. } = tool;
        let name = format!("ilinst-{}-{}", env!("CARGO_PKG_VERSION"), platform.triple);
        let mut files = manual.clone();
        files.extend(tool.files()?.map(|(name, bytes)| (name.to_owned(), bytes)));
        files.insert(TERMS.into(), terms.as_bytes().to_vec());
        files.insert("ilinst.cdx.json".into(), bill_of_materials.as_bytes().to_vec());
        for beside in BESIDE {
            files.insert(beside.into(), fs::read(root().join(beside)).with_context(|| beside)?);
        }
        let files: Files = files.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)).collect();
        let archive = output.join(format!("{name}.{}", if platform.is_windows() { "zip" } else { "tar.gz" }));
        let program = format!("{name}/{}", platform.file_name());
        archive::write(&archive, &files, |file| file == program)?;
        let beside = output.join(format!("{name}.cdx.json"));
        fs::write(&beside, bill_of_materials)?;
        written.extend([archive, beside]);
    }
    written.extend(write_packages(output, tools)?);
    let mut sums = String::new();
    for path in written {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        sums += &format!("{}  {name}\n", sha256(&fs::read(&path)?));
    }
    fs::write(output.join(SUMS), &sums)?;
    Ok(sums)
}

/// Writes the NuGet packages; returns their paths.
fn write_packages(output: &Path, tools: &[Tool]) -> Result<Vec<PathBuf>> {
    let write = |package: &nupkg::Package| {
        let file = output.join(format!("{}.{}.nupkg", package.id, env!("CARGO_PKG_VERSION")));
        nupkg::write(package, &file, tools).map(|()| file)
    };
    [&nupkg::MSBUILD, &nupkg::TOOL].into_iter().map(write).collect()
}

/// Returns the manual's pages, and the completion scripts of shells.
fn manual(tool: &Path) -> Result<Files> {
    // Named for this process, since others may be packing at the same time.
    let folder = target().join(format!("man-{}", std::process::id()));
    quiet(Command::new(tool).arg("man").arg(&folder))?;
    let mut files = Files::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        files.insert(format!("man/{}", path.file_name().unwrap_or_default().to_string_lossy()), fs::read(&path)?);
    }
    fs::remove_dir_all(&folder)?;
    for (shell, name) in SHELLS {
        let output = Command::new(tool).args(["completions", shell]).output()?;
        if !output.status.success() {
            bail!("no completions for {shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
        files.insert(format!("completions/{name}"), output.stdout);
    }
    Ok(files)
}

impl Tool {
    /// Returns the files of the tool, by name.
    fn files(&self) -> Result<impl Iterator<Item = (&'static str, Vec<u8>)>> {
        let library = self.platform.library_name().map(|name| (name, self.path.with_file_name(name)));
        let library = library.filter(|(_, path)| path.is_file());
        let files = [(self.platform.file_name(), self.path.clone())].into_iter().chain(library);
        let read = |(name, path): (_, PathBuf)| Ok((name, fs::read(&path).with_context(|| path.display().to_string())?));
        Ok(files.map(read).collect::<Result<Vec<_>>>()?.into_iter())
    }
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
                "--native" => request.native = Some(Platform::find(value()?)?),
                "--target" => request.targets.push(Platform::find(value()?)?),
                "--tool" => {
                    let (platform, file) = value()?.split_once('=').context("--tool wants PLATFORM=FILE")?;
                    request.tools.push((Platform::find(platform)?, file.into()));
                }
                "--output" => request.output = Some(value()?.into()),
                unknown => bail!("no option '{unknown}': {HELP}"),
            }
        }
        if request.targets.is_empty() && request.tools.is_empty() {
            let all = Platform::built_here();
            request.targets = if request.is_nupkg { all.filter(|platform| platform.is_here()).collect() } else { all.collect() };
        }
        Ok(request)
    }

    /// Builds missing tools in a folder of `target`; returns all tools.
    fn build(&self, folder: &str) -> Result<Vec<Tool>> {
        let built = self.targets.iter().map(|platform| Ok((*platform, platform.build_in(folder, PROFILE)?)));
        let tool = |(platform, path)| {
            let dependencies = Dependencies::resolve(platform)?;
            let (terms, bill_of_materials) = (dependencies.terms()?, dependencies.bill_of_materials()?);
            Ok(Tool { platform, path, terms, bill_of_materials })
        };
        built.chain(self.tools.iter().cloned().map(Ok)).map(|built| built.and_then(tool)).collect()
    }

    fn build_and_pack(&self, folder: &str, output: &Path) -> Result<String> {
        let tools = self.build(folder)?;
        // A tool that runs on this machine prints the manual.
        let manual = match tools.iter().find(|tool| tool.platform.is_here()) {
            Some(tool) => manual(&tool.path)?,
            None => {
                let own = Platform::built_here().find(|platform| platform.is_here()).context("the manual is made on Linux")?;
                manual(&own.build_in(folder, PROFILE)?)?
            }
        };
        pack(&tools, &manual, output)
    }
}
