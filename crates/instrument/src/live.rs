//! The protocol of a launcher and the CLR profiler: the profiler's names, and the environment variables that it reads.

use std::{
    io::{self, Read},
    time::Duration,
};

pub use weave::Captured;

/// The class id of the profiler.
pub const CLASS: u128 = 0x7D1B7A3C_9E2F_4C1D_8B65_494C494E5354;
/// The name of its library, without a platform's prefix and suffix.
pub const LIBRARY: &str = "ilinst_clr_profiler";

/// The variable with the options of `weave`, as text.
pub const OPTIONS: &str = "ILINST_LIVE_OPTIONS";
/// The variable that is 1 if assemblies of the framework are recorded, too.
pub const ALL_ASSEMBLIES: &str = "ILINST_LIVE_ALL_ASSEMBLIES";
/// The variable with the tracker's path, if methods are instrumented when they are loaded.
pub const TRACKER: &str = "ILINST_LIVE_TRACKER";
/// The variable with the folder where the profiler reports its start, in a file named by the process id.
pub const STATUS: &str = "ILINST_LIVE_STATUS";
/// The variable with the launcher's version, which must be the profiler's.
pub const VERSION: &str = "ILINST_LIVE_VERSION";

/// The variable with the path of profiles, as for the tracker.
pub const OUTPUT: &str = "ILINST_OUTPUT";
/// The variable with the time in milliseconds after which an attached profiler removes its probes.
pub const DURATION: &str = "ILINST_LIVE_DURATION";
/// The longest such time: a week.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// The file in [`STATUS`]'s folder whose presence asks for the removal of probes at once. Removing the folder does the same.
pub const STOP: &str = "stop";

/// The prefix of the name of the socket by which a loaded profiler takes new requests. The process id, a `-`, and a random number
/// follow, so that nobody can take the name before. The socket is in the folder for temporary files; on Windows it is a pipe.
pub const DOOR: &str = "ilinst-attach-";
/// The first bytes of a request at the socket. Its size follows, then the lines that the runtime's port passes on for a first
/// request.
const DOOR_MAGIC: [u8; 8] = *b"ILINSTA1";
/// The largest request accepted, in bytes; the runtime's port has the same limit.
pub const LARGEST_REQUEST: usize = 1 << 16;
/// The time after which a client that has not sent its request is disconnected.
pub const DOOR_PATIENCE: Duration = Duration::from_secs(5);

/// Returns the bytes of a request at the [`DOOR`].
pub fn request(lines: &[u8]) -> Vec<u8> {
    [&DOOR_MAGIC[..], &(lines.len() as u32).to_le_bytes(), lines].concat()
}

/// Reads the lines of a request.
///
/// # Errors
/// If the bytes are no request, too many, or cannot be read to their end.
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

/// The start of the file in [`STATUS`] once running methods are instrumented; their number follows.
pub const WOVEN: &str = "woven";
/// The start of the file in [`STATUS`] once probes are removed and the runtime has unloaded the profiler. A note on methods that
/// are not recompiled follows.
pub const DETACHED: &str = "detached";
/// The start of the file in [`STATUS`] if the runtime cannot unload the profiler; the reason follows.
pub const STAYS: &str = "stays: ";
/// The start of the file in [`STATUS`] if methods are instrumented as their modules are loaded. A line follows for each skipped
/// module, with the reason.
pub const REWRITING: &str = "rewriting";
/// The start of the file in [`STATUS`] if the profiler could not start.
pub const FAILED: &str = "error: ";

/// The variable with the values to capture of each call: words of [`Captured`], separated by commas.
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
        // The request is refused before its bytes are read or memory is allocated for them.
        assert_eq!(read_request((&too_large[..]).chain(io::repeat(0))).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_request(io::repeat(b'I')).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
