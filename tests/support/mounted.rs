//! File systems for one test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A file system of so many KiB, as long as it is wanted.
pub struct Mounted(PathBuf);

impl Mounted {
    /// None if none can be mounted here.
    pub fn new(folder: &Path, kib: u32) -> Option<Self> {
        fs::create_dir_all(folder).expect("a folder can be made");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(folder);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then(|| Self(folder.to_owned()))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
