//! On Unix, it is a socket.

use std::{
    fs,
    io::Read as _,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::PathBuf,
    time::Duration,
};

use instrument::live;

pub(super) struct Door {
    listener: UnixListener,
}

impl Door {
    fn path() -> PathBuf {
        std::env::temp_dir().join(format!("{}{}", live::DOOR, std::process::id()))
    }

    pub(super) fn open() -> Option<Self> {
        // What a process of the same number left behind.
        let _ = fs::remove_file(Self::path());
        let listener = UnixListener::bind(Self::path()).ok()?;
        fs::set_permissions(Self::path(), fs::Permissions::from_mode(0o600)).ok()?;
        Some(Self { listener })
    }

    /// What the next one sends, of those who may.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        for stream in self.listener.incoming() {
            let mut stream = stream.ok()?;
            let mut data = Vec::new();
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            if stream.read_to_end(&mut data).is_ok() && !data.is_empty() {
                return Some(data);
            }
        }
        None
    }

    pub(super) fn close() {
        let _ = fs::remove_file(Self::path());
    }
}
