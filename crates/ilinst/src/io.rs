//! Files in and out: mapped when read, written whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use ecma335::{Image, Metadata};
use memmap2::Mmap;

use crate::failure::{Failure, about};

/// A file's bytes.
pub(crate) enum Input {
    Mapped(Mmap),
    /// A file of no bytes cannot be mapped.
    Empty,
}

impl Input {
    /// Maps a file.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let unreadable = |error: io::Error| Failure::unreadable(about(path, &error));
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Failure::unreadable(format_args!("{}: it is a folder, and a file was asked for", path.display())));
        }
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
pub(crate) fn read_assembly<'a>(path: &Path, bytes: &'a [u8]) -> anyhow::Result<(Image<'a>, Metadata<'a>)> {
    let read = || -> ecma335::Result<_> {
        let image = Image::parse(bytes)?;
        let metadata = Metadata::parse(image.metadata()?)?;
        Ok((image, metadata))
    };
    read().map_err(|error| not_an_assembly(path, error))
}

/// The failure of a file that is no assembly, or a damaged one.
pub(crate) fn not_an_assembly(path: &Path, error: impl std::fmt::Display) -> anyhow::Error {
    Failure::not_an_assembly(format_args!("{}: {error}", path.display()))
}

/// Files written to temporary names, which all get their own when the last one is whole. Dropped before that, they
/// are gone, and so are the folders made for them.
#[derive(Default)]
pub(crate) struct Outputs {
    pending: Vec<(PathBuf, PathBuf)>,
    folders: Vec<PathBuf>,
}

impl Outputs {
    /// Writes a file under a temporary name beside its own.
    pub(crate) fn write(&mut self, path: &Path, put: impl FnOnce(&mut File) -> io::Result<()>) -> anyhow::Result<()> {
        let unwritable = |error: io::Error| Failure::unwritable(about(path, &error));
        if path.is_dir() {
            return Err(Failure::unwritable(format_args!(
                "{}: it is a folder; name a file in it, or end it with /",
                path.display()
            )));
        }
        self.make_parent(path).map_err(unwritable)?;
        let temporary = temporary_beside(path);
        let mut file = File::create(&temporary).map_err(unwritable)?;
        self.pending.push((temporary, path.to_owned()));
        put(&mut file).and_then(|()| file.flush()).map_err(unwritable)
    }

    /// Reads what was written last.
    pub(crate) fn read_last(&self) -> anyhow::Result<Input> {
        self.pending.last().map_or(Ok(Input::Empty), |(temporary, _)| Input::open(temporary))
    }

    /// Takes over another's files.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.pending.append(&mut other.pending);
        self.folders.append(&mut other.folders);
    }

    /// The temporary name and the own of every file.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.pending.iter().map(|(temporary, path)| (temporary.as_path(), path.as_path()))
    }

    /// Copies a file, with its permissions; onto itself there is nothing to do.
    pub(crate) fn copy(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        if from == to {
            return Ok(());
        }
        let permissions = fs::metadata(from).map_err(|error| Failure::unreadable(about(from, &error)))?.permissions();
        let mut input = File::open(from).map_err(|error| Failure::unreadable(about(from, &error)))?;
        self.write(to, |out| {
            io::copy(&mut input, out)?;
            out.set_permissions(permissions)
        })
    }

    /// Makes a link.
    pub(crate) fn link(&mut self, target: &Path, path: &Path) -> anyhow::Result<()> {
        let unwritable = |error: io::Error| Failure::unwritable(about(path, &error));
        self.make_parent(path).map_err(unwritable)?;
        let temporary = temporary_beside(path);
        make_link(target, &temporary).map_err(unwritable)?;
        self.pending.push((temporary, path.to_owned()));
        Ok(())
    }

    /// Gives every file its name.
    pub(crate) fn commit(mut self) -> anyhow::Result<()> {
        for (temporary, path) in &self.pending {
            fs::rename(temporary, path).map_err(|error| Failure::unwritable(about(path, &error)))?;
        }
        self.pending.clear();
        self.folders.clear();
        Ok(())
    }

    fn make_parent(&mut self, path: &Path) -> io::Result<()> {
        let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
        let missing: Vec<PathBuf> = parent
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        fs::create_dir_all(parent)?;
        self.folders.extend(missing.into_iter().rev());
        Ok(())
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        for (temporary, _) in &self.pending {
            let _ = fs::remove_file(temporary);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A name beside a file that no other has.
fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".ilinst-{}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(unix)]
fn make_link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Windows has one kind of links to files, and one to folders.
#[cfg(windows)]
fn make_link(target: &Path, path: &Path) -> io::Result<()> {
    use std::os::windows::fs::{symlink_dir, symlink_file};
    let is_folder = path.parent().is_some_and(|parent| parent.join(target).is_dir());
    if is_folder { symlink_dir(target, path) } else { symlink_file(target, path) }
}

/// Whether two paths are the same file, also through links.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
