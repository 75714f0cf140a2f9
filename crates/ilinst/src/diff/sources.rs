//! The sides of a comparison: two files, the assemblies of two folders or packages, or git's versions of one file.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    rc::Rc,
};

use ::instrument::Input;
use ecma335::FileKind;
use zip::ZipArchive;

use crate::{
    failure::Failure,
    inputs::{Bytes, Links, assemblies},
};

/// No assembly of a package may be larger, in bytes: two of them are in memory at a time.
const LARGEST: u64 = 256 << 20;
/// Nor may all of them: that is what is read, one after another.
const LARGEST_PACKAGE: u64 = 4 << 30;
/// The path that git passes for the missing side of a file.
const NOTHING: &str = "/dev/null";

/// An assembly that can be read.
#[derive(Debug)]
pub(super) struct Source {
    /// The name shown in the output.
    pub(super) shown: String,
    /// The file; of what is in a package, the package.
    pub(super) path: PathBuf,
    /// The package that it is in, and its number there.
    entry: Option<(Package, usize)>,
}

/// A package that is open for as long as something of it may be read.
type Package = Rc<RefCell<ZipArchive<File>>>;

impl Source {
    fn file(path: &Path) -> Self {
        Self { shown: path.display().to_string(), path: path.to_owned(), entry: None }
    }

    /// Whether what lies beside it can be found.
    pub(super) fn is_file(&self) -> bool {
        self.entry.is_none()
    }

    pub(super) fn read(&self) -> Result<Bytes, Failure> {
        let Some((package, entry)) = &self.entry else { return Ok(Bytes::File(Input::open(&self.path)?)) };
        let trouble = |error: &dyn std::fmt::Display| Failure::unreadable(format_args!("{}: {error}", self.shown));
        let mut package = package.borrow_mut();
        let file = package.by_index(*entry).map_err(|error| trouble(&error))?;
        // The package may say less than there is.
        let size = file.size();
        let mut bytes = Vec::new();
        file.take(size + 1).read_to_end(&mut bytes).map_err(|error| trouble(&error))?;
        if bytes.len() as u64 > size {
            return Err(trouble(&format_args!("it has more than the {size} bytes that the package says")));
        }
        Ok(Bytes::Unpacked(bytes))
    }
}

/// A source on each side, or on one only.
pub(super) type Pair = (Option<Source>, Option<Source>);

/// The pairs that two arguments mean: themselves, or what is in them by its path there.
pub(super) fn pairs(old: &Path, new: &Path) -> Result<Vec<Pair>, Failure> {
    match (is_many(old), is_many(new)) {
        (false, false) => Ok(vec![(Some(Source::file(old)), Some(Source::file(new)))]),
        (true, true) => {
            let (olds, mut news) = (inside(old)?, inside(new)?);
            let mut pairs: Vec<Pair> = olds.into_iter().map(|(below, source)| (Some(source), news.remove(&below))).collect();
            pairs.extend(news.into_values().map(|source| (None, Some(source))));
            Ok(pairs)
        }
        (is_old, _) => {
            let (many, one) = if is_old { (old, new) } else { (new, old) };
            let (many, one) = (many.display(), one.display());
            Err(Failure::usage(format_args!("{many} has many assemblies, and {one} is one: name two of a kind")))
        }
    }
}

/// The arguments of git's external diff command: a name, then the file, hash and mode of each side.
pub(super) fn of_git(name: &Path, old: &Path, new: &Path) -> Pair {
    let side = |prefix: &str, path: &Path| {
        (path != Path::new(NOTHING)).then(|| Source { shown: format!("{prefix}/{}", name.display()), ..Source::file(path) })
    };
    (side("a", old), side("b", new))
}

fn is_package(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("nupkg"))
}

/// Whether there may be more than one assembly in it.
pub(super) fn is_many(path: &Path) -> bool {
    path.is_dir() || is_package(path)
}

fn open(package: &Path) -> Result<ZipArchive<File>, Failure> {
    let file = File::open(package).map_err(|error| trouble(package, &error))?;
    ZipArchive::new(file).map_err(|error| trouble(package, &error))
}

fn trouble(package: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::unreadable(format_args!("{}: {error}", package.display()))
}

/// The assemblies in a folder or package, by their paths there.
fn inside(path: &Path) -> Result<BTreeMap<PathBuf, Source>, Failure> {
    if !is_package(path) {
        let files = assemblies(&[path.to_owned()], Links::All)?.into_iter();
        return Ok(files.map(|each| (each.below, Source::file(&each.path))).collect());
    }
    let mut archive = open(path)?;
    let (mut entries, mut all) = (Vec::new(), 0_u64);
    for number in 0..archive.len() {
        let file = archive.by_index_raw(number).map_err(|error| trouble(path, &error))?;
        let (name, size) = (file.name().to_owned(), file.size());
        if FileKind::by_name(Path::new(&name)).is_none() {
            continue;
        }
        all = all.saturating_add(size);
        let most = if size > LARGEST { Some(("an assembly", LARGEST)) } else { None };
        if let Some((what, most)) = most.or((all > LARGEST_PACKAGE).then_some(("all assemblies", LARGEST_PACKAGE))) {
            let text = format!("{name}: of a package, {what} may have {most} bytes: unpack it, and name the folder");
            return Err(trouble(path, &text));
        }
        entries.push((name, number));
    }
    let package = Rc::new(RefCell::new(archive));
    let source = |(name, number): (String, usize)| {
        let shown = format!("{}/{name}", path.display());
        (PathBuf::from(name), Source { shown, path: path.to_owned(), entry: Some((Rc::clone(&package), number)) })
    };
    let found: BTreeMap<PathBuf, Source> = entries.into_iter().map(source).collect();
    match found.is_empty() {
        true => Err(Failure::unreadable(format_args!("{}: no assembly in this package", path.display()))),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use little_endian::{ByteOrder, LE};

    use super::*;

    /// A package with one assembly of that many zeros, of which its directory says another size.
    fn package(name: &str, zeros: usize, said: u32) -> PathBuf {
        package_of(name, 1, zeros, said)
    }

    fn package_of(name: &str, assemblies: usize, zeros: usize, said: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ilinst-{name}-{}.nupkg", std::process::id()));
        let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for number in 0..assemblies {
            writer.start_file(format!("lib/net8.0/a{number}.dll"), SimpleFileOptions::default()).expect("a file");
            writer.write_all(&vec![0; zeros]).expect("there is room");
        }
        let mut bytes = writer.finish().expect("it ends").into_inner();
        let entries: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"PK\x01\x02")).collect();
        for entry in entries {
            // APPNOTE.TXT, 4.3.12: the size that it had, 24 bytes behind the signature.
            LE::write_u32(&mut bytes[entry + 24..], said);
        }
        fs::write(&path, bytes).expect("it can be written");
        path
    }

    fn opened(path: &Path) -> Result<BTreeMap<PathBuf, Source>, Failure> {
        let found = inside(path);
        fs::remove_file(path).expect("it is there");
        found
    }

    #[test]
    fn an_assembly_of_a_package_is_read() {
        let found = opened(&package("read", 5000, 5000)).expect("a package");
        let source = found.values().next().expect("an assembly");
        assert_eq!(source.read().expect("it can be read").len(), 5000);
        assert_eq!(source.read().expect("again").len(), 5000);
    }

    #[test]
    fn packages_that_are_too_large_are_refused_before_they_are_read() {
        let error = opened(&package("large", 5000, u32::MAX - 1)).expect_err("it is too large");
        assert!(error.message.contains("268435456 bytes") && error.message.contains("unpack it"), "{error}");
        // Each of them may be that large, and 16 of them: 4 GiB.
        assert_eq!(opened(&package_of("full", 16, 10, 256 << 20)).expect("a package").len(), 16);
        let error = opened(&package_of("sum", 17, 10, 256 << 20)).expect_err("they are too large");
        assert!(error.message.contains("all assemblies may have 4294967296 bytes"), "{error}");
    }

    #[test]
    fn no_more_is_read_than_the_package_says() {
        let found = opened(&package("false", 1 << 20, 10)).expect("a package");
        let error = found.values().next().expect("an assembly").read().err().expect("it has more");
        assert!(error.message.contains("more than the 10 bytes"), "{error}");
    }
}
