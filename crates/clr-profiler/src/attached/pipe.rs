//! On Windows, it is a pipe, to which its user may write, administrators, and the system: the access rights that a pipe has
//! where none are given. Others may read a pipe then, but not this one, from which nothing can be read.

use std::{
    collections::hash_map::RandomState,
    ffi::c_void,
    fs::File,
    hash::{BuildHasher as _, Hasher as _},
    io,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _},
    ptr::null_mut,
};

use instrument::live;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateNamedPipeW(
        name: *const u16,
        access: u32,
        mode: u32,
        instances: u32,
        output: u32,
        input: u32,
        timeout: u32,
        security: *mut c_void,
    ) -> *mut c_void;
    fn ConnectNamedPipe(pipe: *mut c_void, overlapped: *mut c_void) -> i32;
    fn GetLastError() -> u32;
}

const PIPE_ACCESS_INBOUND: u32 = 1;
/// Of nobody else is there one of this name.
const FILE_FLAG_FIRST_PIPE_INSTANCE: u32 = 0x0008_0000;
const PIPE_REJECT_REMOTE_CLIENTS: u32 = 8;
const PIPE_UNLIMITED_INSTANCES: u32 = 255;
const INVALID_HANDLE_VALUE: usize = usize::MAX;
/// Who asks came before it was waited for, or has gone already.
const ERROR_NO_DATA: u32 = 232;
const ERROR_PIPE_CONNECTED: u32 = 535;
/// What is kept of what nobody has read yet.
const BUFFER: u32 = 64 << 10;

pub(super) struct Door {
    /// It ends with a zero.
    name: Vec<u16>,
    /// To this comes the next one.
    pipe: File,
}

impl Door {
    pub(super) fn open() -> io::Result<Self> {
        let random = RandomState::new().build_hasher().finish();
        let name = format!(r"\\.\pipe\{}{}-{random:016x}", live::DOOR, std::process::id());
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        Ok(Self { pipe: make(&name, FILE_FLAG_FIRST_PIPE_INSTANCE)?, name })
    }

    /// The next request of somebody who may ask. A client that sends nothing is not let go: reading a pipe has no time limit.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            // SAFETY: the pipe is open; nothing else is asked in between.
            let is_connected = unsafe {
                ConnectNamedPipe(self.pipe.as_raw_handle(), null_mut()) != 0
                    || matches!(GetLastError(), ERROR_NO_DATA | ERROR_PIPE_CONNECTED)
            };
            if !is_connected {
                return None;
            }
            // Before it is read, so that there is always one.
            let pipe = std::mem::replace(&mut self.pipe, make(&self.name, 0).ok()?);
            if let Ok(lines) = live::read_request(pipe) {
                return Some(lines);
            }
        }
    }

    /// It goes with its process.
    pub(super) fn close() {}
}

fn make(name: &[u16], flags: u32) -> io::Result<File> {
    let (access, instances) = (PIPE_ACCESS_INBOUND | flags, PIPE_UNLIMITED_INSTANCES);
    // SAFETY: the name ends with a zero; of a pipe that was made, the handle is the file's alone.
    unsafe {
        let pipe = CreateNamedPipeW(name.as_ptr(), access, PIPE_REJECT_REMOTE_CLIENTS, instances, 0, BUFFER, 0, null_mut());
        if pipe.addr() == INVALID_HANDLE_VALUE { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_handle(pipe)) }
    }
}
