//! What a launcher and the CLR profiler know of each other: how the profiler is named, and what it is told by its environment.

use std::{
    io::{self, BufRead, Read},
    time::Duration,
};

pub use weave::Captured;

/// The profiler's class, as the runtime is told it.
pub const CLASS: u128 = 0x7D1B7A3C_9E2F_4C1D_8B65_494C494E5354;
/// The name of its library, without what platforms put before and behind.
pub const LIBRARY: &str = "ilinst_clr_profiler";

/// Which methods: `weave`'s options in words.
pub const OPTIONS: &str = "ILINST_LIVE_OPTIONS";
/// Whether assemblies of the framework are recorded, too: 1.
pub const ALL_ASSEMBLIES: &str = "ILINST_LIVE_ALL_ASSEMBLIES";
/// The assembly that the user named, by its path: it is recorded even if it is signed as the framework is.
pub const PROGRAM: &str = "ILINST_LIVE_PROGRAM";
/// Whether of a folder whose `deps.json` lists projects nothing else is recorded: 1.
pub const PROJECTS_ALONE: &str = "ILINST_LIVE_PROJECTS_ALONE";
/// Where the tracker is, if methods are to be woven when they are loaded.
pub const TRACKER: &str = "ILINST_LIVE_TRACKER";
/// The folder in which the profiler says how it began: in a file named by the process's number.
pub const STATUS: &str = "ILINST_LIVE_STATUS";
/// The launcher's version, which has to be the profiler's.
pub const VERSION: &str = "ILINST_LIVE_VERSION";

/// Where profiles go, as for the tracker.
pub const OUTPUT: &str = "ILINST_OUTPUT";
/// How long methods stay woven of a program that is attached to, in milliseconds.
pub const DURATION: &str = "ILINST_LIVE_DURATION";
/// They do not stay longer: a week.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// The file in that folder whose being there says that they are to be put back now, as does that the folder is gone.
pub const STOP: &str = "stop";

/// A profiler that stays is asked again by a pipe. On Linux it has no name: a file in memory beside it has a name of this and of the
/// pipe's descriptor. On Windows its name is this, the process's number, a `-`, and a number that nobody can guess.
pub const DOOR: &str = "ilinst-attach-";
/// More bytes than that are not written to a pipe at once (pipe(7), `PIPE_BUF`).
const LONGEST_KNOCK: usize = 4096;
/// Requests there begin with it; behind it are their size and the lines that the runtime's port passes on at first.
const DOOR_MAGIC: [u8; 8] = *b"ILINSTA1";
/// Larger requests are refused, in bytes: the runtime's port takes no larger ones either.
pub const LARGEST_REQUEST: usize = 1 << 16;
/// A client that takes longer to send a request is let go.
pub const DOOR_PATIENCE: Duration = Duration::from_secs(5);

/// The pipe's descriptor, by what a process's descriptor leads to: `/memfd:ilinst-attach-42 (deleted)`.
pub fn door_of(link: &str) -> Option<u32> {
    link.strip_prefix("/memfd:")?.strip_prefix(DOOR)?.strip_suffix(" (deleted)")?.parse().ok()
}

/// What is written to the unnamed pipe, so that a request is read from a file. None if its path is too long.
pub fn knock(path: &[u8]) -> Option<Vec<u8>> {
    // Zeros at both ends: whatever came before, nothing of it is taken for a part of it.
    Some([&[0], path, &[0]].concat()).filter(|knock| knock.len() <= LONGEST_KNOCK)
}

/// The path of the next request.
///
/// # Errors
/// If the pipe ends, or cannot be read.
pub fn read_knock(mut from: impl BufRead) -> io::Result<Vec<u8>> {
    loop {
        let mut path = Vec::new();
        from.by_ref().take(LONGEST_KNOCK as u64).read_until(0, &mut path)?;
        match path.pop() {
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(0) if !path.is_empty() => return Ok(path),
            Some(_) => {}
        }
    }
}

/// A request at the [`DOOR`], as it is sent.
pub fn request(lines: &[u8]) -> Vec<u8> {
    [&DOOR_MAGIC[..], &(lines.len() as u32).to_le_bytes(), lines].concat()
}

/// Reads the lines of a request.
///
/// # Errors
/// If it is none, too large, or cannot be read to its end.
pub fn read_request(mut from: impl Read) -> io::Result<Vec<u8>> {
    let (mut magic, mut size) = ([0; DOOR_MAGIC.len()], [0; 4]);
    from.read_exact(&mut magic)?;
    from.read_exact(&mut size)?;
    let size = u32::from_le_bytes(size) as usize;
    if magic != DOOR_MAGIC || size > LARGEST_REQUEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut lines = vec![0; size];
    from.read_exact(&mut lines)?;
    Ok(lines)
}

/// What [`STATUS`] begins with when methods are woven that ran already; behind it is how many.
pub const WOVEN: &str = "woven";
/// When they are what they were, and the runtime has let the profiler go; behind it are words on what it did not compile anew.
pub const DETACHED: &str = "detached";
/// When it does not let go; behind it is why.
pub const STAYS: &str = "stays: ";
/// When hooks record; behind it is the profile, and a line for each module of which methods are left alone, and why.
pub const RECORDING: &str = "recording";
/// When methods are woven as their modules are loaded; behind it is a line for each module that runs as it is, and why.
pub const REWRITING: &str = "rewriting";
/// When hooks record a program whose methods were to be instrumented; behind it is why they are not.
pub const BY_HOOKS: &str = "by hooks: ";
/// What [`STATUS`] begins with where the profiler could not begin.
pub const FAILED: &str = "error: ";

/// What is kept of each call: words with commas between them, of [`Captured`].
pub const CAPTURE: &str = "ILINST_LIVE_CAPTURE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_again_and_nothing_else_is() {
        let lines = b"A=1\nB=2\n";
        let sent = request(lines);
        assert_eq!(read_request(&sent[..]).expect("it is one"), lines);
        for end in 0..sent.len() {
            assert!(read_request(&sent[..end]).is_err(), "{end} bytes");
        }
        let too_large = [&DOOR_MAGIC[..], &(LARGEST_REQUEST as u32 + 1).to_le_bytes()].concat();
        // It is refused before its bytes are read, or there is room for them.
        assert_eq!(read_request((&too_large[..]).chain(io::repeat(0))).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_request(io::repeat(b'I')).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
