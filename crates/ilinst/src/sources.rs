//! Source files: on the disk, or else in the PDB.

mod pdb;

use std::{
    cell::OnceCell,
    fs,
    path::{Path, PathBuf},
};

use profile::{
    Profile,
    lines::{HashAlgorithm, SourceFile, SourceHash},
};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use self::pdb::PdbSources;
use crate::symbols;

/// No source file is larger than this.
const MAX_SOURCE: u64 = 1 << 26;

/// The source of a file whose lines were counted.
pub(crate) struct Source {
    pub(crate) text: String,
    /// Whether it is what was compiled. None if its PDB does not tell.
    pub(crate) is_same: Option<bool>,
}

impl Source {
    fn new(file: &SourceFile, bytes: &[u8]) -> Self {
        let is_same = file.hash.as_ref().and_then(|hash| is_hash_of(hash, bytes));
        let text = String::from_utf8_lossy(bytes);
        Self { text: text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(), is_same }
    }
}

/// The places of a profile's source files.
pub(crate) struct Places<'p> {
    pub(crate) profile: &'p Profile,
    /// The file of the profile.
    path: &'p Path,
    /// Further folders with instrumented assemblies.
    symbols: &'p [PathBuf],
    /// The folder of the sources, if they have moved.
    root: Option<&'p Path>,
    pdbs: OnceCell<Vec<PdbSources>>,
}

impl<'p> Places<'p> {
    pub(crate) fn new(profile: &'p Profile, path: &'p Path, symbols: &'p [PathBuf], root: Option<&'p Path>) -> Self {
        Self { profile, path, symbols, root, pdbs: OnceCell::new() }
    }

    /// The source of a file: on the disk, or else in a PDB. One that was compiled comes before one that has changed.
    pub(crate) fn find(&self, file: &SourceFile) -> Option<Source> {
        let is_same = |source: &Source| source.is_same != Some(false);
        let on_disk = read(&file.path, self.root).map(|bytes| Source::new(file, &bytes));
        let in_pdb = || self.pdbs().iter().find_map(|pdb| Some(Source::new(file, &pdb.text(&file.path)?)).filter(is_same));
        if on_disk.as_ref().is_some_and(is_same) { on_disk } else { in_pdb().or(on_disk) }
    }

    /// Source Link's address of a file.
    pub(crate) fn link(&self, file: &SourceFile) -> Option<String> {
        self.pdbs().iter().find_map(|pdb| pdb.link(&file.path))
    }

    fn pdbs(&self) -> &[PdbSources] {
        self.pdbs.get_or_init(|| {
            let mut pdbs = Vec::new();
            symbols::read_pdbs(self.profile, self.path, self.symbols, |pdb| pdbs.extend(PdbSources::read(pdb).ok()));
            pdbs
        })
    }
}

/// A document's bytes: at its own path, else under the root at as much of its path as is there.
pub(crate) fn read(path: &str, root: Option<&Path>) -> Option<Vec<u8>> {
    fs::read(place_of(path, root)?).ok()
}

/// Where a document is: at its own path, else under the root at as much of its path as is there.
pub(crate) fn place_of(path: &str, root: Option<&Path>) -> Option<PathBuf> {
    let is_source = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_SOURCE);
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let mut under = root
        .into_iter()
        .flat_map(|root| (0..parts.len()).map(move |first| (root, first)))
        .map(|(root, first)| root.join(parts.iter().skip(first).collect::<PathBuf>()));
    Some(PathBuf::from(path)).filter(is_source).or_else(|| under.find(is_source))
}

/// Whether bytes have a hash, or would have it with other ends of lines, as git may have changed them.
fn is_hash_of(hash: &SourceHash, bytes: &[u8]) -> Option<bool> {
    let digest: fn(&[u8]) -> Vec<u8> = match hash.algorithm {
        HashAlgorithm::Sha1 => |bytes| Sha1::digest(bytes).to_vec(),
        HashAlgorithm::Sha256 => |bytes| Sha256::digest(bytes).to_vec(),
        HashAlgorithm::Other(_) => return None,
    };
    let with_line_feeds = || bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>();
    let with_both = || {
        let pairs = with_line_feeds().into_iter().flat_map(|byte| [(byte == b'\n').then_some(b'\r'), Some(byte)]);
        pairs.flatten().collect::<Vec<u8>>()
    };
    let is = |bytes: &[u8]| digest(bytes) == hash.bytes;
    Some(is(bytes) || is(&with_line_feeds()) || is(&with_both()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines_may_differ() {
        let hash = |text: &[u8]| SourceHash { algorithm: HashAlgorithm::Sha256, bytes: Sha256::digest(text).to_vec() };
        for (compiled, found, expected) in [
            (&b"a\nb\n"[..], &b"a\nb\n"[..], true),
            (b"a\nb\n", b"a\r\nb\r\n", true),
            (b"a\r\nb\r\n", b"a\nb\n", true),
            (b"a\nb\n", b"a\nc\n", false),
        ] {
            assert_eq!(is_hash_of(&hash(compiled), found), Some(expected), "{found:?}");
        }
        let other = SourceHash { algorithm: HashAlgorithm::Other([1; 16]), bytes: vec![1] };
        assert_eq!(is_hash_of(&other, b"a"), None);
    }
}
