//! The files that users install, packed by `cargo xtask dist` from built tools, and the workflows that test and release them.

mod archives;
#[cfg(feature = "full")]
mod bill;
mod crates;
mod steps;
#[cfg(feature = "full")]
mod workflow;

use std::path::{Path, PathBuf};

use tests::{ilinst, is_full, require, said, scratch, xtask};

/// The version of the tool and of the packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Packs tools, given by their platforms' names in .NET, into a folder.
fn pack(tools: &[(&str, PathBuf)], folder: &Path) {
    let mut command = xtask();
    command.arg("dist");
    for (platform, tool) in tools {
        command.arg("--tool").arg(format!("{platform}={}", tool.display()));
    }
    let (_, errors, code) = said(&command.arg("--output").arg(folder).output().expect("xtask starts"));
    assert_eq!(code, Some(0), "{errors}");
}

/// Returns a tool for each platform: a real one for this machine, and for Windows in the full tier.
fn tools(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let stand_in = folder.join("stand-in");
    std::fs::write(&stand_in, "a program for another machine\n").expect("it can be written");
    let mut tools = vec![("linux-x64", ilinst().get_program().into())];
    tools.extend(is_full().then(|| require("ILINST_EXE")).flatten().map(|exe| ("win-x64", exe)));
    tools.extend(["linux-arm64", "osx-arm64", "osx-x64"].map(|platform| (platform, stand_in.clone())));
    tools
}

/// Packs all files into a folder of the test's own; returns the folder.
fn pack_all(name: &str) -> PathBuf {
    let folder = scratch(&format!("dist-{name}"));
    pack(&tools(&folder), &folder.join("dist"));
    folder
}
