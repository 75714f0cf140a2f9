//! Linux uses an unnamed pipe: it exists in no folder and ends with the process. Clients find it among the process's
//! descriptors (proc(5), `/proc/pid/fd`), which only its user and root can open. The name of a memory file next to it
//! identifies it.

use std::{
    ffi::CString,
    fs::{File, OpenOptions},
    io::{self, BufReader},
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    },
    path::Path,
    thread,
    time::Duration,
};

/// The delay before a retry: the system may be out of descriptors for a while.
const UNTIL_BETTER: Duration = Duration::from_secs(1);

pub(super) struct RequestPipe {
    messages: BufReader<File>,
    /// Held open so that readers of the pipe never see its end.
    _other_end: File,
    /// The memory file whose name holds the pipe's descriptor number.
    _name: OwnedFd,
}

impl RequestPipe {
    pub(super) fn open() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: there is room for two descriptors.
        given(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
        // SAFETY: the descriptors are new and have no other owner.
        let [messages, other_end] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        let name = CString::new(format!("{}{}", live::PIPE, messages.as_raw_fd()))?;
        // SAFETY: the name is zero-terminated.
        let name = given(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })?;
        // SAFETY: the descriptor is new and has no other owner.
        let name = unsafe { OwnedFd::from_raw_fd(name) };
        Ok(Self { messages: BufReader::new(messages), _other_end: other_end, _name: name })
    }

    /// The next request.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match live::read_message(&mut self.messages).map(|path| request(&path)) {
                Ok(Ok(lines)) => return Some(lines),
                Ok(Err(_)) => {}
                Err(_) => thread::sleep(UNTIL_BETTER),
            }
        }
    }

    /// The system closes the pipe with its process.
    pub(super) fn close() {}
}

fn given(descriptor: libc::c_int) -> io::Result<libc::c_int> {
    if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(descriptor) }
}

/// Reads a request's file. Others may have replaced it, so the kind and size are not trusted.
fn request(path: &[u8]) -> io::Result<Vec<u8>> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    if !path.is_absolute() || !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    live::read_request(file)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use super::*;

    /// The targets of the process's descriptors, as a client sees them.
    #[test]
    fn requests_come_by_the_pipe_and_nonsense_does_not() {
        let mut requests = RequestPipe::open().expect("a pipe");
        let links =
            fs::read_dir("/proc/self/fd").expect("it is there").flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        let numbers: Vec<_> = links.filter_map(|link| live::pipe_of(&link.to_string_lossy())).collect();
        assert_eq!(numbers, [requests.messages.get_ref().as_raw_fd() as u32]);
        let folder = std::env::temp_dir().join(format!("ilinst-pipe-{}", std::process::id()));
        fs::create_dir(&folder).expect("it can be made");
        let file = folder.join("request");
        fs::write(&file, live::request(b"A=1")).expect("it can be written");
        let mut pipe = OpenOptions::new().write(true).open(format!("/proc/self/fd/{}", numbers[0])).expect("it can be opened");
        let absent = live::message(folder.join("absent").as_os_str().as_bytes()).expect("it is short");
        for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &absent, &live::message(b"/dev/zero").expect("it is short")] {
            pipe.write_all(nonsense).expect("there is room");
        }
        let message = live::message(file.as_os_str().as_bytes()).expect("it is short");
        pipe.write_all(&message).expect("there is room");
        assert_eq!(requests.next().expect("a request"), b"A=1");
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
