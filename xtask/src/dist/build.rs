//! Tools for other platforms than this, by Debian's compiler, which builds its library for whatever it can link.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{
    common::{quiet, root, target},
    toolchain,
};

/// What the tool is built for.
pub(crate) struct Platform {
    /// As Rust calls it.
    pub(crate) triple: &'static str,
    /// As .NET does.
    pub(crate) dotnet: &'static str,
    linker: &'static str,
    /// Debian's package of that.
    package: &'static str,
}

/// Those that are built on Linux.
pub(crate) const PLATFORMS: [Platform; 3] = [
    Platform { triple: "x86_64-unknown-linux-gnu", dotnet: "linux-x64", linker: "gcc", package: "gcc" },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        dotnet: "linux-arm64",
        linker: "aarch64-linux-gnu-gcc",
        package: "gcc-aarch64-linux-gnu",
    },
    Platform {
        triple: "x86_64-pc-windows-gnu",
        dotnet: "win-x64",
        linker: "x86_64-w64-mingw32-gcc",
        package: "gcc-mingw-w64-x86-64",
    },
];
/// A compiler that has its library's source.
const COMPILER: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const LIBRARY: &str = "/usr/lib/rustlib/src/rust/library";

/// Windows's.
pub(crate) fn windows() -> &'static Platform {
    &PLATFORMS[2]
}

impl Platform {
    pub(crate) fn find(triple: &str) -> Result<&'static Self> {
        let known = || PLATFORMS.map(|platform| platform.triple).join(", ");
        PLATFORMS.iter().find(|platform| platform.triple == triple).with_context(|| format!("{triple}: there is {}", known()))
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.dotnet.starts_with("win-")
    }

    /// What the tool is called there.
    pub(crate) fn file_name(&self) -> &'static str {
        if self.is_windows() { "ilinst.exe" } else { "ilinst" }
    }

    /// Has what it is built with installed.
    pub(crate) fn prepare(&self) -> Result<()> {
        toolchain::of_debian(&[RUSTC, CARGO, LIBRARY], &COMPILER)?;
        toolchain::of_debian(&[&format!("/usr/bin/{}", self.linker)], &[self.package])
    }

    /// Builds the tool by one of cargo's profiles; gives it.
    pub(crate) fn build(&self, profile: &str) -> Result<PathBuf> {
        self.build_in("dist-build", profile)
    }

    /// The same by way of a folder in `target`. The bytes say nothing of where it was built.
    pub(crate) fn build_in(&self, folder: &str, profile: &str) -> Result<PathBuf> {
        self.prepare()?;
        let linker = format!("CARGO_TARGET_{}_LINKER", self.triple.to_uppercase().replace('-', "_"));
        let folder = target().join(folder);
        // In the order in which they are tried: the last that fits.
        let places = [(root(), "."), (toolchain::cargo_home()?, "/cargo"), (folder.clone(), "/target")];
        let mut flags: Vec<String> =
            places.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect();
        flags.push("-Ctarget-feature=+crt-static".into());
        if self.is_windows() {
            // The time of the link.
            flags.push("-Clink-arg=-Wl,--no-insert-timestamp".into());
        }
        let mut command = Command::new(CARGO);
        command.current_dir(root()).args(["build", "--locked", "--package", "ilinst", "--profile", profile]);
        command.args(["--target", self.triple, "-Zbuild-std=std,panic_abort", "--target-dir"]).arg(&folder);
        command.env("RUSTC", RUSTC).env("PATH", "/usr/local/bin:/usr/bin:/bin").env(linker, self.linker);
        // What a stable compiler has for who builds the library.
        command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        for ours in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_MANIFEST_DIR", "LD_LIBRARY_PATH"] {
            command.env_remove(ours);
        }
        quiet(command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols"))?;
        Ok(folder.join(self.triple).join(profile).join(self.file_name()))
    }

    /// The same, with what Wine lacks of Windows beside it.
    pub(crate) fn build_for_wine(&self, profile: &str) -> Result<PathBuf> {
        let tool = self.build(profile)?;
        let folder = target().join("windows");
        fs::create_dir_all(&folder)?;
        let copy = folder.join(self.file_name());
        fs::copy(tool, &copy)?;
        make_random_numbers(self.linker, &folder)?;
        Ok(copy)
    }
}

/// Wine 8 has no `bcryptprimitives.dll`, from which Rust takes the seeds of its hash maps.
fn make_random_numbers(compiler: &str, folder: &Path) -> Result<()> {
    let source = root().join("tests/windows/bcryptprimitives.c");
    let library = folder.join("bcryptprimitives.dll");
    quiet(Command::new(compiler).arg("-shared").arg("-o").arg(library).arg(source).arg("-ladvapi32"))
}
