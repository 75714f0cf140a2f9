//! Input files, read at one moment, since other programs may change them.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use ecma335::{FileKind, Image, Metadata};
use memmap2::Mmap;

use crate::{
    bundle::NativeProgram,
    failure::{Failure, Result, about},
};

/// A file's bytes.
pub enum Input {
    /// A copy: a mapped file that another program truncates would crash this process.
    Read(Vec<u8>),
    /// A mapping, for a file that no other program changes, or that is too large to copy.
    Mapped(Mmap),
}

/// The size in bytes from which files are mapped. Of such a file, few pages are read unless it is an assembly.
const TOO_LARGE_TO_COPY: u64 = 1 << 30;

impl Input {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self> {
        if of_file(path)?.len() > TOO_LARGE_TO_COPY {
            return Self::map(path);
        }
        fs::read(path).map(Self::Read).map_err(|error| Failure::unreadable(about(path, &error)))
    }

    /// Maps a file that no other program changes.
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

/// Reads a small file that the user names: a regular file, or a pipe, such as a shell's `<(COMMAND)`.
///
/// # Errors
/// If the file is of another kind, such as a device without an end. If it has more than `most` bytes, or cannot be read.
pub fn read_small(path: &Path, most: u64) -> Result<Vec<u8>> {
    let unreadable = |error: io::Error| Failure::unreadable(about(path, &error));
    let file = File::open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?.file_type();
    #[cfg(unix)]
    let is_pipe = std::os::unix::fs::FileTypeExt::is_fifo(&kind);
    #[cfg(not(unix))]
    let is_pipe = false;
    if !kind.is_file() && !is_pipe {
        let what = if kind.is_dir() { "a folder" } else { "neither a regular file nor a pipe" };
        return Err(Failure::unreadable(format_args!("{}: it is {what}, and a file was asked for", path.display())));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        let text = format_args!("{}: it has more than {most} bytes, the most that such a file may have", path.display());
        return Err(Failure::unreadable(text));
    }
    Ok(bytes)
}

/// Reads the headers and the metadata of an assembly.
///
/// # Errors
/// If the file is no assembly, or a damaged one.
pub fn read_assembly<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Image<'a>, Metadata<'a>)> {
    ecma335::open(bytes).map_err(|error| not_an_assembly(path, format_args!("{error}{}", host_hint(path, bytes))))
}

/// A .NET Core program is a library, beside a native host of the same name: people name the host.
pub(crate) fn host_hint(path: &Path, bytes: &[u8]) -> String {
    if let Some(what) = NativeProgram::find(bytes) {
        return format!("; it is {what}");
    }
    let library = path.with_extension(FileKind::Library.extension());
    let is_host = library != path && library.is_file();
    if is_host { format!("; it may be the host of {}: instrument that file", library.display()) } else { String::new() }
}

/// The failure of a file that is no assembly, or a damaged one.
pub fn not_an_assembly(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::not_an_assembly(format_args!("{}: {error}", path.display()))
}

/// Returns the metadata of a regular file. This precedes opening it, since opening a pipe waits for a writer.
pub(crate) fn of_file(path: &Path) -> Result<fs::Metadata> {
    let metadata = fs::metadata(path).map_err(|error| Failure::unreadable(about(path, &error)))?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    let what = if metadata.is_dir() { "a folder" } else { "no regular file" };
    Err(Failure::unreadable(format_args!("{}: it is {what}, and a file was asked for", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_has_an_end() {
        let path = std::env::temp_dir().join(format!("ilinst-small-{}", std::process::id()));
        fs::write(&path, b"12345").expect("it can be written");
        assert_eq!(read_small(&path, 5).expect("it is as long as that"), b"12345");
        let error = read_small(&path, 4).unwrap_err();
        assert!(error.message.contains("more than 4 bytes"), "{error}");
        fs::remove_file(&path).expect("it is there");
        assert!(read_small(&std::env::temp_dir(), 5).is_err());
    }

    /// Fails at once where a test runner without a time limit would hang.
    #[cfg(unix)]
    #[test]
    fn devices_are_not_read() {
        let error = read_small(Path::new("/dev/zero"), u64::MAX - 1).unwrap_err();
        assert!(error.message.contains("neither a regular file nor a pipe"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_are_read_to_their_end_or_the_limit() {
        use std::{io::Write as _, os::fd::AsRawFd as _};
        for (most, expected) in [(5, Some(b"12345".to_vec())), (4, None)] {
            let (reader, mut writer) = io::pipe().expect("a pipe");
            writer.write_all(b"12345").expect("there is room");
            drop(writer);
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            assert_eq!(read_small(Path::new(&path), most).ok(), expected);
        }
    }
}
