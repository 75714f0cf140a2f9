//! On Windows, it is a pipe, to which its user may write, administrators, and the system.

use std::{
    ffi::c_void,
    fs::File,
    io::Read as _,
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

const PIPE_ACCESS_DUPLEX: u32 = 3;
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
    /// To this comes the next one.
    pipe: File,
}

impl Door {
    pub(super) fn open() -> Option<Self> {
        Some(Self { pipe: make(FILE_FLAG_FIRST_PIPE_INSTANCE)? })
    }

    /// What the next one sends, of those who may.
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
            let mut pipe = std::mem::replace(&mut self.pipe, make(0)?);
            let mut data = Vec::new();
            if pipe.read_to_end(&mut data).is_ok() && !data.is_empty() {
                return Some(data);
            }
        }
    }

    /// It goes with its process.
    pub(super) fn close() {}
}

fn make(flags: u32) -> Option<File> {
    let name = format!(r"\\.\pipe\{}{}", live::DOOR, std::process::id());
    let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let (access, instances) = (PIPE_ACCESS_DUPLEX | flags, PIPE_UNLIMITED_INSTANCES);
    // SAFETY: the name ends with a zero; of a pipe that was made, the handle is the file's alone.
    unsafe {
        let pipe = CreateNamedPipeW(name.as_ptr(), access, PIPE_REJECT_REMOTE_CLIENTS, instances, 0, BUFFER, 0, null_mut());
        (pipe.addr() != INVALID_HANDLE_VALUE).then(|| File::from_raw_handle(pipe))
    }
}
