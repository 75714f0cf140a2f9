//! Files in: read as they are at one moment, as others may change them meanwhile.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use ecma335::{Image, Metadata};
use memmap2::Mmap;

use crate::failure::{Failure, Result, about};

/// A file's bytes.
pub enum Input {
    /// A copy: who cuts a file short ends those that have it mapped.
    Read(Vec<u8>),
    /// Those of a file that nobody else changes, or that is too large to be copied.
    Mapped(Mmap),
}

/// Larger files are mapped, in bytes: few of the pages of what is that large are looked at, if it is no assembly.
const TOO_LARGE_TO_COPY: u64 = 1 << 30;

impl Input {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self> {
        if of_file(path)?.len() > TOO_LARGE_TO_COPY {
            return Self::map(path);
        }
        fs::read(path).map(Self::Read).map_err(|error| Failure::unreadable(about(path, &error)))
    }

    /// Maps a file that nobody else changes.
    pub(crate) fn map(path: &Path) -> Result<Self> {
        let unreadable = |error: io::Error| Failure::unreadable(about(path, &error));
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.len() == 0 {
            return Ok(Self::Read(Vec::new()));
        }
        #[expect(unsafe_code, reason = "a mapping is sound as long as nobody changes the file, as with any reader of it")]
        let map = unsafe { Mmap::map(&file) }.map_err(unreadable)?;
        Ok(Self::Mapped(map))
    }
}

impl std::ops::Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} bytes", self.len())
    }
}

/// Reads the headers and the metadata of an assembly.
///
/// # Errors
/// If it is none, or a damaged one.
pub fn read_assembly<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Image<'a>, Metadata<'a>)> {
    parse_assembly(bytes).map_err(|error| not_an_assembly(path, error))
}

/// The same, of bytes that have no path.
pub(crate) fn parse_assembly(bytes: &[u8]) -> ecma335::Result<(Image<'_>, Metadata<'_>)> {
    let image = Image::parse(bytes)?;
    let metadata = Metadata::parse(image.metadata()?)?;
    Ok((image, metadata))
}

/// The failure of a file that is no assembly, or a damaged one.
pub fn not_an_assembly(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::not_an_assembly(format_args!("{}: {error}", path.display()))
}

/// What the system says of a file, before it is opened: that would wait for whoever writes into a pipe.
pub(crate) fn of_file(path: &Path) -> Result<fs::Metadata> {
    let metadata = fs::metadata(path).map_err(|error| Failure::unreadable(about(path, &error)))?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    let what = if metadata.is_dir() { "a folder" } else { "no regular file" };
    Err(Failure::unreadable(format_args!("{}: it is {what}, and a file was asked for", path.display())))
}
