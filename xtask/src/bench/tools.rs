//! The measured tools: the floor, `ilinst`, and the Cecil program on each host.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail};

use super::programs;
use crate::{
    common::target,
    toolchain::{DOTNET_ENVIRONMENT, Toolchain},
};

/// The hidden task that is the floor.
pub(crate) const FLOOR_TASK: &str = "floor";

/// The shape of the leave probe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// The default.
    Finally,
    Return,
}

impl Leave {
    pub(super) const ALL: [Self; 2] = [Self::Finally, Self::Return];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Finally => "finally",
            Self::Return => "return",
        }
    }
}

/// A tool that reads a file or folder and writes another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Floor,
    /// With default options.
    Ilinst(Leave),
    /// With options that instrument the same methods as the Cecil program.
    IlinstAsCecil(Leave),
    /// On the host with this index.
    Cecil(Leave, usize),
}

/// A runtime for the Cecil program, and its environment variables.
pub(super) struct Host {
    pub(super) name: &'static str,
    runtime: Runtime,
    environment: &'static [(&'static str, &'static str)],
}

enum Runtime {
    DotNet,
    Mono,
    /// With native code that is compiled ahead of time.
    MonoAot,
}

/// The first host is the default. The others are each the fastest for some file. No available `crossgen` could compile Cecil for
/// .NET ahead of time.
pub(super) const HOSTS: &[Host] = &[
    Host { name: ".NET 8", runtime: Runtime::DotNet, environment: &[] },
    Host { name: ".NET 8, TieredPGO=0", runtime: Runtime::DotNet, environment: &[("DOTNET_TieredPGO", "0")] },
    Host { name: ".NET 8, TieredCompilation=0", runtime: Runtime::DotNet, environment: &[("DOTNET_TieredCompilation", "0")] },
    Host { name: "Mono, 64 MiB nursery", runtime: Runtime::Mono, environment: &[("MONO_GC_PARAMS", "nursery-size=64m")] },
    Host { name: "Mono, 64 MiB nursery, AOT", runtime: Runtime::MonoAot, environment: &[("MONO_GC_PARAMS", "nursery-size=64m")] },
];

/// Selects every method with a body, and no call sites.
const AS_CECIL: [&str; 3] = ["--all", "--calls", "none"];

impl Tool {
    pub(super) fn is_ilinst(self) -> bool {
        matches!(self, Self::Ilinst(_) | Self::IlinstAsCecil(_))
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Floor => "floor".into(),
            Self::Ilinst(Leave::Finally) => "ilinst".into(),
            Self::Ilinst(Leave::Return) => "ilinst --leave return".into(),
            Self::IlinstAsCecil(leave) => format!("{} {}", Self::Ilinst(leave).name(), AS_CECIL.join(" ")),
            Self::Cecil(leave, host) => format!("Cecil, {}: {}", leave.word(), HOSTS[host].name),
        }
    }
}

/// The data needed to run the tools.
pub(super) struct Tools<'t> {
    toolchain: &'t Toolchain,
    /// The folders of assemblies that the inputs refer to.
    references: Vec<PathBuf>,
}

impl<'t> Tools<'t> {
    pub(super) fn new(toolchain: &'t Toolchain) -> Result<Self> {
        let mono = toolchain.get("ILINST_MONO_LIB")?;
        let frameworks = toolchain.sdk_root()?.join("shared");
        let mut references = vec![mono.join("4.5"), mono.join("4.5/Facades")];
        for framework in fs::read_dir(frameworks)?.flatten() {
            references.extend(fs::read_dir(framework.path())?.flatten().map(|version| version.path()));
        }
        Ok(Self { toolchain, references })
    }

    pub(super) fn command(&self, tool: Tool, input: &Path, output: &Path) -> Result<Command> {
        let mut command;
        match tool {
            Tool::Floor => {
                command = Command::new(target().join("shipped/xtask"));
                command.arg(FLOOR_TASK).arg(input).arg(output);
            }
            Tool::Ilinst(leave) | Tool::IlinstAsCecil(leave) => {
                command = Command::new(target().join("shipped/ilinst"));
                command.arg("instrument").arg(input).arg("-o").arg(output);
                if input.is_dir() {
                    command.arg("--all-assemblies");
                }
                if tool == Tool::IlinstAsCecil(leave) {
                    command.args(AS_CECIL);
                }
                if leave != Leave::Finally {
                    command.args(["--leave", leave.word()]);
                }
            }
            Tool::Cecil(leave, host) => {
                let Host { runtime, environment, .. } = &HOSTS[host];
                match runtime {
                    Runtime::DotNet => {
                        command = Command::new(self.toolchain.get("ILINST_DOTNET8")?);
                        command.arg("exec").arg(programs::cecil(programs::CECIL));
                        command.envs(DOTNET_ENVIRONMENT.iter().copied());
                    }
                    Runtime::Mono => {
                        command = Command::new(self.toolchain.get("ILINST_MONO")?);
                        command.arg(programs::cecil(programs::CECIL));
                    }
                    Runtime::MonoAot => {
                        command = Command::new(self.toolchain.get("ILINST_MONO")?);
                        // Without this, assemblies in the GAC would take precedence.
                        command.env("MONO_PATH", programs::folder(programs::CECIL_AOT)).arg(programs::cecil(programs::CECIL_AOT));
                    }
                }
                command.envs(environment.iter().copied()).arg(leave.word()).arg(input).arg(output).args(&self.references);
            }
        }
        Ok(command)
    }
}

/// Maps a file, copies it and writes the copy: the least work of any tool that rewrites files. Does so for every file of a
/// folder.
pub(crate) fn floor(arguments: &[String]) -> Result<()> {
    let [from, to] = arguments else { bail!("two files or folders are wanted") };
    copy(Path::new(from), Path::new(to))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let file = File::open(from)?;
    #[expect(unsafe_code, reason = "the file is not changed while it is mapped")]
    let map = unsafe { memmap2::Mmap::map(&file) }?;
    let copy = map.to_vec();
    Ok(File::create(to)?.write_all(&copy)?)
}
