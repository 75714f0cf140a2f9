//! Windows uses a named pipe with default access rights: its user, administrators and the system may write to it.
//! Default rights let others read a pipe, but this one is inbound only.

use std::{
    collections::hash_map::RandomState,
    ffi::c_void,
    fs::File,
    hash::{BuildHasher as _, Hasher as _},
    io,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _},
    ptr::null_mut,
};

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
/// Fails if a pipe with this name already exists.
const FILE_FLAG_FIRST_PIPE_INSTANCE: u32 = 0x0008_0000;
const PIPE_REJECT_REMOTE_CLIENTS: u32 = 8;
const PIPE_UNLIMITED_INSTANCES: u32 = 255;
const INVALID_HANDLE_VALUE: usize = usize::MAX;
/// The client connected before the server waited, or has already disconnected.
const ERROR_NO_DATA: u32 = 232;
const ERROR_PIPE_CONNECTED: u32 = 535;
/// The size of the pipe's input buffer in bytes.
const BUFFER: u32 = 64 << 10;

pub(super) struct RequestPipe {
    /// Zero-terminated.
    name: Vec<u16>,
    /// The pipe instance for the next client.
    pipe: File,
}

impl RequestPipe {
    pub(super) fn open() -> io::Result<Self> {
        let random = RandomState::new().build_hasher().finish();
        let name = format!(r"\\.\pipe\{}{}-{random:016x}", live::PIPE, std::process::id());
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        Ok(Self { pipe: make(&name, FILE_FLAG_FIRST_PIPE_INSTANCE)?, name })
    }

    /// The next request of a permitted client. A client that sends nothing blocks the pipe: reads have no time limit.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            // SAFETY: the pipe is open, and no other operation runs on it.
            let is_connected = unsafe {
                ConnectNamedPipe(self.pipe.as_raw_handle(), null_mut()) != 0
                    || matches!(GetLastError(), ERROR_NO_DATA | ERROR_PIPE_CONNECTED)
            };
            if !is_connected {
                return None;
            }
            // Made before the read, so that an instance always exists.
            let pipe = std::mem::replace(&mut self.pipe, make(&self.name, 0).ok()?);
            if let Ok(lines) = live::read_request(pipe) {
                return Some(lines);
            }
        }
    }

    /// The system closes the pipe with its process.
    pub(super) fn close() {}
}

fn make(name: &[u16], flags: u32) -> io::Result<File> {
    let (access, instances) = (PIPE_ACCESS_INBOUND | flags, PIPE_UNLIMITED_INSTANCES);
    // SAFETY: the name is zero-terminated. The file is the only owner of the handle of a new pipe.
    unsafe {
        let pipe = CreateNamedPipeW(name.as_ptr(), access, PIPE_REJECT_REMOTE_CLIENTS, instances, 0, BUFFER, 0, null_mut());
        if pipe.addr() == INVALID_HANDLE_VALUE { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_handle(pipe)) }
    }
}
