//! The protocol of a launcher and the CLR profiler: the profiler's names, and the environment variables that it reads.

use std::{
    fmt,
    io::{self, BufRead, Read},
    str::FromStr,
    time::Duration,
};

use little_endian::{LE, ReadBytesExt};

/// The class id of the profiler.
pub const CLASS: u128 = 0x7D1B7A3C_9E2F_4C1D_8B65_494C494E5354;
/// The name of its library, without a platform's prefix and suffix.
pub const LIBRARY: &str = "ilinst_clr_profiler";
/// The name of the profiler for Mono (`mono --profile=NAME`). Mono calls `mono_profiler_init_NAME` in `libmono-profiler-NAME.so`.
pub const MONO_PROFILER: &str = "ilinst";

/// The variable with the options of `weave`, as text.
pub const OPTIONS: &str = "ILINST_LIVE_OPTIONS";
/// The variable that is 1 if assemblies of the framework are recorded, too.
pub const ALL_ASSEMBLIES: &str = "ILINST_LIVE_ALL_ASSEMBLIES";
/// The variable with the path of the assembly that the user named. It is recorded even if it is signed as the framework is.
pub const PROGRAM: &str = "ILINST_LIVE_PROGRAM";
/// The variable that is 1 if, in a folder whose `deps.json` lists projects, only these projects are recorded.
pub const PROJECTS_ALONE: &str = "ILINST_LIVE_PROJECTS_ALONE";
/// The variable with the tracker's path. With it, methods are instrumented when their modules are loaded.
pub const TRACKER: &str = "ILINST_LIVE_TRACKER";
/// The variable with the folder where the profiler reports its start, in a file named by the process id.
pub const STATUS: &str = "ILINST_LIVE_STATUS";
/// The variable with the launcher's version, which must be the profiler's.
pub const VERSION: &str = "ILINST_LIVE_VERSION";

/// The variable with the path of profiles, as for the tracker.
pub const OUTPUT: &str = "ILINST_OUTPUT";
/// The variable with the clock, as for the tracker: `tsc` or `stopwatch`. By default `tsc`, where the processor has one.
pub const CLOCK: &str = "ILINST_CLOCK";
/// The variable with the time in milliseconds after which an attached profiler removes its probes.
pub const DURATION: &str = "ILINST_LIVE_DURATION";
/// The longest such time: a week.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// The file in [`STATUS`]'s folder whose presence asks for the removal of probes at once. Removing the folder does the same.
pub const STOP: &str = "stop";

/// The start of the name of the pipe by which a loaded profiler is asked again. On Linux, a file in memory has this name and the
/// pipe's descriptor, and the pipe has no name. On Windows, the process id, a `-` and a random number follow.
pub const PIPE: &str = "ilinst-attach-";
/// The largest message in bytes: a pipe takes no more at once (pipe(7), `PIPE_BUF`).
const LONGEST_MESSAGE: usize = 4096;
/// The start of a request. Its size in bytes (u32) and its lines follow, as the runtime's port passes them on at first.
const REQUEST_MAGIC: [u8; 8] = *b"ILINSTA1";
/// The largest request accepted, in bytes; the runtime's port has the same limit.
pub const LARGEST_REQUEST: usize = 1 << 16;

/// The pipe's descriptor, by what a process's descriptor leads to: `/memfd:ilinst-attach-42 (deleted)`.
pub fn pipe_of(link: &str) -> Option<u32> {
    link.strip_prefix("/memfd:")?.strip_prefix(PIPE)?.strip_suffix(" (deleted)")?.parse().ok()
}

/// Returns the bytes for the unnamed pipe that make the profiler read a request from a file. `None` if its path is too long.
pub fn message(path: &[u8]) -> Option<Vec<u8>> {
    // Zeros at both ends: whatever came before, nothing of it is taken for a part of it.
    Some([&[0], path, &[0]].concat()).filter(|message| message.len() <= LONGEST_MESSAGE)
}

/// The path of the next request.
///
/// # Errors
/// If the pipe ends, or cannot be read.
pub fn read_message(mut from: impl BufRead) -> io::Result<Vec<u8>> {
    loop {
        let mut path = Vec::new();
        from.by_ref().take(LONGEST_MESSAGE as u64).read_until(0, &mut path)?;
        match path.pop() {
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(0) if !path.is_empty() => return Ok(path),
            Some(_) => {}
        }
    }
}

/// A request at the [`PIPE`], as it is sent.
pub fn request(lines: &[u8]) -> Vec<u8> {
    [&REQUEST_MAGIC[..], &(lines.len() as u32).to_le_bytes(), lines].concat()
}

/// Reads the lines of a request.
///
/// # Errors
/// If the bytes are no request, too many, or cannot be read to their end.
pub fn read_request(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut magic = [0; REQUEST_MAGIC.len()];
    from.read_exact(&mut magic)?;
    let size = from.read_u32::<LE>()? as usize;
    if magic != REQUEST_MAGIC || size > LARGEST_REQUEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut lines = vec![0; size];
    from.read_exact(&mut lines)?;
    Ok(lines)
}

/// The start of the file in [`STATUS`] once running methods are instrumented. Their number follows, and a line with the reason for
/// each module with skipped methods.
pub const WOVEN: &str = "woven";
/// The start of the file in [`STATUS`] once probes are removed and the runtime has unloaded the profiler. A note on methods that
/// are not recompiled follows.
pub const DETACHED: &str = "detached";
/// The start of the file in [`STATUS`] if the runtime cannot unload the profiler; the reason follows.
pub const STAYS: &str = "stays: ";
/// The start of the file in [`STATUS`] once hooks record. The profile's path follows, and a line with the reason for each module
/// with skipped methods.
pub const RECORDING: &str = "recording";
/// The start of the file in [`STATUS`] once methods are instrumented as their modules are loaded. A line with the reason follows for
/// each module that is not instrumented.
pub const REWRITING: &str = "rewriting";
/// The start of a line of [`REWRITING`] for a module whose precompiled code is not used; its path follows.
pub const PRECOMPILED: &str = "precompiled: ";
/// The start of the file in [`STATUS`] if hooks record a program in place of instrumentation. The reason follows.
pub const BY_HOOKS: &str = "by hooks: ";
/// The start of the file in [`STATUS`] if the profiler could not begin. The reason follows.
pub const FAILED: &str = "error: ";

/// The variable with the values to capture of each call: words of weave's `Captured`, separated by commas.
pub const CAPTURE: &str = "ILINST_LIVE_CAPTURE";

/// The variable with the way to sample, as [`Sampling`] is written. Without it, the profiler takes no samples.
pub const SAMPLE: &str = "ILINST_LIVE_SAMPLE";
/// The start of the file in [`STATUS`] once a sampler records. The profile's path follows.
pub const SAMPLING: &str = "sampling";

/// The time that a sampler measures, and how often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Whether it measures elapsed time of all threads, in place of CPU time.
    pub wall: bool,
    /// Samples per second: of CPU time, or of each thread.
    pub frequency: u32,
}

impl Sampling {
    /// The most samples per second.
    pub const HIGHEST: u32 = 10_000;

    /// The time that a sample stands for.
    pub fn period(self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.frequency.max(1)))
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.wall { "wall" } else { "cpu" }, self.frequency)
    }
}

impl FromStr for Sampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: no way to sample");
        let (kind, frequency) = text.split_once(' ').ok_or_else(wrong)?;
        let frequency = frequency.parse().ok().filter(|number| (1..=Self::HIGHEST).contains(number)).ok_or_else(wrong)?;
        match kind {
            "cpu" | "wall" => Ok(Self { wall: kind == "wall", frequency }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_sample_are_read_again() {
        for sampling in [Sampling { wall: false, frequency: 1 }, Sampling { wall: true, frequency: Sampling::HIGHEST }] {
            assert_eq!(sampling.to_string().parse(), Ok(sampling));
        }
        assert!(["", "cpu", "cpu 0", "cpu 10001", "gpu 5"].iter().all(|text| text.parse::<Sampling>().is_err()));
    }

    #[test]
    fn requests_are_read_again_and_nothing_else_is() {
        let lines = b"A=1\nB=2\n";
        let sent = request(lines);
        assert_eq!(read_request(&sent[..]).expect("it is one"), lines);
        for end in 0..sent.len() {
            assert!(read_request(&sent[..end]).is_err(), "{end} bytes");
        }
        let too_large = [&REQUEST_MAGIC[..], &(LARGEST_REQUEST as u32 + 1).to_le_bytes()].concat();
        // The request is refused before its bytes are read or memory is allocated for them.
        assert_eq!(read_request((&too_large[..]).chain(io::repeat(0))).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_request(io::repeat(b'I')).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
