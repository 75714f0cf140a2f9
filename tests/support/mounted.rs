//! File systems for one test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A file system of a given size in KiB, unmounted when dropped.
pub struct Mounted(PathBuf);

impl Mounted {
    /// Mounts the file system. Returns `None` if that is not possible here.
    pub fn new(folder: &Path, kib: u32) -> Option<Self> {
        fs::create_dir_all(folder).expect("a folder can be made");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(folder);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then(|| Self(folder.to_owned()))
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
