//! Builds tools for other platforms, with Debian's compiler, which can build Rust's library for any target that has a linker
//! here.

use std::{
    env::consts::{ARCH, OS},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{
    common::{quiet, root, target},
    toolchain,
};

/// A platform to build the tool for.
pub(crate) struct Platform {
    /// The target triple of Rust.
    pub(crate) triple: &'static str,
    /// The runtime identifier of .NET.
    pub(crate) dotnet: &'static str,
    /// The compiler that links for the platform here, and the Debian packages of it and of its C library.
    linker: Option<(&'static str, &'static [&'static str])>,
}

/// All platforms, this machine's first. A platform without a linker is built elsewhere.
pub(crate) const PLATFORMS: [Platform; 5] = [
    Platform::new("x86_64-unknown-linux-gnu", "linux-x64", Some(("gcc", &["gcc", "libc6-dev"]))),
    Platform::new(
        "aarch64-unknown-linux-gnu",
        "linux-arm64",
        Some(("aarch64-linux-gnu-gcc", &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"])),
    ),
    Platform::new("x86_64-pc-windows-gnu", "win-x64", Some(("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64"]))),
    Platform::new("aarch64-apple-darwin", "osx-arm64", None),
    Platform::new("x86_64-apple-darwin", "osx-x64", None),
];
/// The compiler, with the source of its library.
const COMPILER: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const LIBRARY: &str = "/usr/lib/rustlib/src/rust/library";

/// Returns the platform for Windows.
pub(crate) fn windows() -> &'static Platform {
    &PLATFORMS[2]
}

/// Linux's for arm64.
pub(crate) fn linux_arm64() -> &'static Platform {
    &PLATFORMS[1]
}

impl Platform {
    const fn new(triple: &'static str, dotnet: &'static str, linker: Option<(&'static str, &'static [&'static str])>) -> Self {
        Self { triple, dotnet, linker }
    }

    /// Finds a platform by either of its names.
    pub(crate) fn find(name: &str) -> Result<&'static Self> {
        let known = || PLATFORMS.map(|platform| format!("{} ({})", platform.dotnet, platform.triple)).join(", ");
        let mut platforms = PLATFORMS.iter();
        platforms
            .find(|platform| platform.triple == name || platform.dotnet == name)
            .with_context(|| format!("there is no platform '{name}', but {}", known()))
    }

    /// Returns the platforms that are built here.
    pub(crate) fn built_here() -> impl Iterator<Item = &'static Self> {
        PLATFORMS.iter().filter(|platform| platform.linker.is_some())
    }

    fn linker(&self) -> Result<(&'static str, &'static [&'static str])> {
        self.linker.with_context(|| format!("the tool for {} is built elsewhere: give it by --tool", self.dotnet))
    }

    /// Returns whether this machine can run the platform's programs.
    pub(crate) fn is_here(&self) -> bool {
        self.triple.starts_with(ARCH) && self.triple.contains(OS)
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.dotnet.starts_with("win-")
    }

    /// Returns the tool's file name on the platform.
    pub(crate) fn file_name(&self) -> &'static str {
        if self.is_windows() { "ilinst.exe" } else { "ilinst" }
    }

    /// Installs the packages that the build needs.
    pub(crate) fn prepare(&self) -> Result<()> {
        let (linker, packages) = self.linker()?;
        toolchain::of_debian(&[RUSTC, CARGO, LIBRARY], &COMPILER)?;
        toolchain::of_debian(&[&format!("/usr/bin/{linker}")], packages)
    }

    /// The name of the CLR profiler's library. Those that are `None` are not shipped: arm64's has only run under an emulator.
    pub(crate) fn library_name(&self) -> Option<&'static str> {
        match self.dotnet {
            "linux-x64" => Some("libilinst_clr_profiler.so"),
            "win-x64" => Some("ilinst_clr_profiler.dll"),
            _ => None,
        }
    }

    /// Builds the tool with a cargo profile, and the library beside it where there is one. Returns the tool's path.
    pub(crate) fn build(&self, profile: &str) -> Result<PathBuf> {
        self.build_in("dist-build", profile)
    }

    /// Builds in a folder of `target`. The bytes do not depend on the folder.
    pub(crate) fn build_in(&self, folder: &str, profile: &str) -> Result<PathBuf> {
        self.prepare()?;
        let folder = target().join(folder);
        let is_static = ["-Ctarget-feature=+crt-static"];
        quiet(&mut self.cargo(&folder, profile, "ilinst", &is_static)?)?;
        if self.library_name().is_some() {
            self.build_profiler_in(&folder, profile)?;
        }
        Ok(folder.join(self.triple).join(profile).join(self.file_name()))
    }

    /// Builds the CLR profiler alone, for tests of it on Linux; gives its library.
    pub(crate) fn build_profiler(&self, profile: &str) -> Result<PathBuf> {
        self.prepare()?;
        let folder = target().join("dist-build");
        self.build_profiler_in(&folder, profile)?;
        Ok(folder.join(self.triple).join(profile).join("libilinst_clr_profiler.so"))
    }

    fn build_profiler_in(&self, folder: &Path, profile: &str) -> Result<()> {
        // It is loaded into a program that on Linux has a C library.
        let flags = if self.is_windows() { &["-Ctarget-feature=+crt-static"][..] } else { &[] };
        quiet(&mut self.cargo(folder, profile, "ilinst-clr-profiler", flags)?)
    }

    /// Debian's cargo, ready to build one of the packages.
    fn cargo(&self, folder: &Path, profile: &str, package: &str, flags: &[&str]) -> Result<Command> {
        let linker = format!("CARGO_TARGET_{}_LINKER", self.triple.to_uppercase().replace('-', "_"));
        // Sorted by precedence: the last match wins.
        let places = [(root(), "."), (toolchain::cargo_home()?, "/cargo"), (folder.to_owned(), "/target")];
        let mut flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        flags.extend(places.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())));
        if self.is_windows() {
            // Without it, the file contains the time of linking.
            flags.push("-Clink-arg=-Wl,--no-insert-timestamp".into());
        }
        let mut command = Command::new(CARGO);
        command.current_dir(root()).args(["build", "--locked", "--package", package, "--profile", profile]);
        command.args(["--target", self.triple, "-Zbuild-std=std,panic_abort", "--target-dir"]).arg(folder);
        command.env("RUSTC", RUSTC).env("PATH", "/usr/local/bin:/usr/bin:/bin").env(linker, self.linker()?.0);
        // Allows unstable options, which building the library needs, with a stable compiler.
        command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        for ours in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_MANIFEST_DIR", "LD_LIBRARY_PATH"] {
            command.env_remove(ours);
        }
        Ok(command)
    }

    /// Builds the tool with a replacement for a library that Wine lacks.
    pub(crate) fn build_for_wine(&self, profile: &str) -> Result<PathBuf> {
        let tool = self.build(profile)?;
        let folder = target().join("windows");
        fs::create_dir_all(&folder)?;
        let copy = folder.join(self.file_name());
        for name in self.library_name().into_iter().chain([self.file_name()]) {
            fs::copy(tool.with_file_name(name), folder.join(name))?;
        }
        make_random_numbers(self.linker()?.0, &folder)?;
        Ok(copy)
    }
}

/// Builds `bcryptprimitives.dll`, which Wine 8 lacks: Rust seeds its hash maps from it.
fn make_random_numbers(compiler: &str, folder: &Path) -> Result<()> {
    let source = root().join("tests/windows/bcryptprimitives.c");
    let library = folder.join("bcryptprimitives.dll");
    quiet(Command::new(compiler).arg("-shared").arg("-o").arg(library).arg(source).arg("-ladvapi32"))
}
