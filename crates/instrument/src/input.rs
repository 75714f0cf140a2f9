//! Files in: mapped, and read no further than need be.

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
    /// Those of a file.
    Mapped(Mmap),
    /// A file of no bytes cannot be mapped.
    Empty,
}

impl Input {
    /// Maps a file.
    pub fn open(path: &Path) -> Result<Self> {
        let metadata = of_file(path)?;
        let unreadable = |error: io::Error| Failure::unreadable(about(path, &error));
        let file = File::open(path).map_err(unreadable)?;
        if metadata.len() == 0 {
            return Ok(Self::Empty);
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
            Self::Mapped(map) => map,
            Self::Empty => &[],
        }
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
