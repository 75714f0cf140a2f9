//! The .NET SDKs, with a home and a package cache of one test.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Compiler, packages::PATIENT_TESTS, require, tool};

/// A .NET SDK, by its host.
pub struct Sdk {
    /// `dotnet`.
    pub program: PathBuf,
    /// Its C# compiler.
    pub compiler: Compiler,
    /// Packages that are unpacked already.
    packages: Option<PathBuf>,
}

impl Sdk {
    /// The SDK that is older than .NET 9; see [`require`].
    pub fn older() -> Option<Self> {
        let program = require("ILINST_SDK")?.ancestors().nth(2).expect("it lies in an installation").join("dotnet");
        Some(Self { program, compiler: Compiler::Sdk, packages: None })
    }

    /// The SDK of .NET 10. Without it, a line says that the test went without.
    pub fn newer() -> Option<Self> {
        let Some(program) = tool("ILINST_SDK10") else {
            println!("without: .NET 10");
            return None;
        };
        Some(Self { program, compiler: Compiler::Sdk10, packages: tool("ILINST_PACKAGES") })
    }

    /// The folder of the installation.
    pub fn root(&self) -> &Path {
        self.program.parent().expect("it is in a folder")
    }

    /// Returns a program, ready for its arguments, in the folder of a test. Builds of it leave no process behind.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).env("HOME", folder.join("home")).env_remove("ILINST_TOOL");
        command.env("NUGET_PACKAGES", folder.join("packages")).env("DOTNET_ROOT", self.root());
        command.envs(self.packages.iter().map(|packages| ("NUGET_FALLBACK_PACKAGES", packages)));
        self.compiler.share(command.env("DOTNET_CLI_USE_MSBUILD_SERVER", "0").env("MSBUILDDISABLENODEREUSE", "1"));
        // No test uses the certificate that the first command makes in a new home.
        command.env("DOTNET_GENERATE_ASPNET_CERTIFICATE", "false").env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
        command.env("MSBUILDTERMINALLOGGER", "off").env("DOTNET_NOLOGO", "1").envs(PATIENT_TESTS);
        // A runtime without ICU's data takes `de` for a culture, so that MSBuild finds its resources.
        command
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .env("DOTNET_SYSTEM_GLOBALIZATION_PREDEFINED_CULTURES_ONLY", "0");
        command
    }
}
