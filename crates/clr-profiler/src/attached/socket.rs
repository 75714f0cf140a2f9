//! On Unix, it is a socket, at which this process's user and root may ask.

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher as _, Hasher as _},
    io::{self, Read},
    os::{
        fd::AsRawFd as _,
        unix::{
            fs::PermissionsExt as _,
            net::{UnixListener, UnixStream},
        },
    },
    path::PathBuf,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use instrument::live;

/// Where it is.
static PATH: OnceLock<PathBuf> = OnceLock::new();
/// The system may have no descriptors left for now.
const UNTIL_BETTER: Duration = Duration::from_secs(1);

pub(super) struct Door {
    listener: UnixListener,
}

impl Door {
    pub(super) fn open() -> io::Result<Self> {
        let folder = std::env::temp_dir();
        let own = format!("{}{}-", live::DOOR, std::process::id());
        // What a process of the same number left behind.
        for left in fs::read_dir(&folder)?.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)) {
            let _ = fs::remove_file(left.path());
        }
        let path = folder.join(format!("{own}{:016x}", RandomState::new().build_hasher().finish()));
        let listener = UnixListener::bind(&path)?;
        let path = PATH.get_or_init(|| path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener })
    }

    /// The next request of somebody who may ask.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.listener.accept().map(|(stream, _)| request(&stream)) {
                Ok(Ok(lines)) => return Some(lines),
                Ok(Err(_)) => {}
                Err(_) => thread::sleep(UNTIL_BETTER),
            }
        }
    }

    pub(super) fn close() {
        if let Some(path) = PATH.get() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Reads what somebody asks, if they may.
fn request(stream: &UnixStream) -> io::Result<Vec<u8>> {
    // SAFETY: it only gives a number.
    let own = unsafe { libc::geteuid() };
    // The mode of the file is set after others may see it.
    let peer = peer(stream)?;
    if peer != own && peer != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    live::read_request(Until { stream, end: Instant::now() + live::DOOR_PATIENCE })
}

/// A stream that is read before a time.
struct Until<'s> {
    stream: &'s UnixStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// The user on the other side.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut size = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the descriptor is open; the system writes as many bytes at most as the size says.
    let done = unsafe {
        let peer = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, peer, &raw mut size)
    };
    if done == 0 { Ok(peer.uid) } else { Err(io::Error::last_os_error()) }
}

/// The user on the other side.
#[cfg(not(target_os = "linux"))]
fn peer(stream: &UnixStream) -> io::Result<u32> {
    let (mut user, mut group) = (u32::MAX, u32::MAX);
    // SAFETY: the descriptor is open, and both numbers are there.
    let done = unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) };
    if done == 0 { Ok(user) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn an_own_request_is_read_and_nonsense_is_not() {
        let (mut one, other) = UnixStream::pair().expect("sockets");
        one.write_all(&live::request(b"A=1")).expect("there is room");
        assert_eq!(request(&other).expect("it is one"), b"A=1");
        let (mut one, other) = UnixStream::pair().expect("sockets");
        one.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("there is room");
        assert_eq!(request(&other).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    /// However often something comes, the time is over once.
    #[test]
    fn nothing_is_read_behind_the_time() {
        let (mut one, other) = UnixStream::pair().expect("sockets");
        one.write_all(b"ILINSTA1").expect("there is room");
        let read = Until { stream: &other, end: Instant::now() }.read(&mut [0; 8]);
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // Nor is waited for longer.
        let silent = live::read_request(Until { stream: &other, end: Instant::now() + Duration::from_millis(50) });
        assert!(matches!(silent.unwrap_err().kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock));
    }
}
