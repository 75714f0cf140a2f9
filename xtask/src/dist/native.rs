//! Builds tools that can only be linked on their own system: macOS. Uses the pinned compiler of rustup.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use super::{PROFILE, build::Platform};
use crate::common::{quiet, root, target};

/// Builds the tool; returns a copy in a folder named after its platform.
pub(super) fn build(platform: &Platform) -> Result<PathBuf> {
    quiet(Command::new("rustup").args(["target", "add", platform.triple]).current_dir(root()))?;
    // `cargo` by its name, so that rustup chooses the toolchain.
    let mut command = Command::new("cargo");
    command.args(["build", "--profile", PROFILE, "--locked", "--package", "ilinst", "--target", platform.triple]);
    quiet(command.current_dir(root()))?;
    let folder = target().join("native").join(platform.dotnet);
    fs::create_dir_all(&folder)?;
    let (built, copy) = (target().join(platform.triple).join(PROFILE), folder.join(platform.file_name()));
    fs::copy(built.join(platform.file_name()), &copy).with_context(|| built.display().to_string())?;
    Ok(copy)
}
