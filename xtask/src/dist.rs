//! `cargo xtask dist`: what users install, always to the same bytes.

mod nupkg;

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::common::{quiet, root, target};

pub(crate) const HELP: &str = "write the packages that users install; --nupkg: the NuGet packages alone; --tool PLATFORM=FILE (as \
                               linux-x64; may be repeated) for tools that are built already; --output DIR";

/// What is asked for.
struct Request {
    /// The tool by the platforms' names in .NET.
    tools: Vec<(String, PathBuf)>,
    output: PathBuf,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let request = Request::parse(arguments)?;
    fs::create_dir_all(&request.output)?;
    for package in [&nupkg::MSBUILD, &nupkg::TOOL] {
        let file = request.output.join(format!("{}.{}.nupkg", package.id, env!("CARGO_PKG_VERSION")));
        nupkg::write(package, &file, &request.tools)?;
        println!("{}", file.display());
    }
    Ok(())
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self> {
        let (mut tools, mut output) = (Vec::new(), target().join("dist"));
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--nupkg" => {}
                "--tool" => {
                    let (platform, file) = value()?.split_once('=').context("--tool wants PLATFORM=FILE")?;
                    tools.push((platform.to_owned(), file.into()));
                }
                "--output" => output = value()?.into(),
                unknown => bail!("no option '{unknown}': {HELP}"),
            }
        }
        if tools.is_empty() {
            tools.push((platform()?, build()?));
        }
        Ok(Self { tools, output })
    }
}

/// This machine's name in .NET.
fn platform() -> Result<String> {
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "windows" => "win",
        "macos" => "osx",
        other => bail!("{other}: .NET has no name for it here"),
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => bail!("{other}: .NET has no name for it here"),
    };
    Ok(format!("{system}-{architecture}"))
}

/// Builds the tool for this machine.
fn build() -> Result<PathBuf> {
    quiet(std::process::Command::new(env!("CARGO")).current_dir(root()).args(["build", "--release", "--package", "ilinst"]))?;
    Ok(target().join("release").join("ilinst").with_extension(std::env::consts::EXE_EXTENSION))
}
