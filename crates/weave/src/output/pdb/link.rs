//! Links an image and its PDB through the debug directory, which names the PDB or embeds it.

use std::{borrow::Cow, io::Read as _};

use ecma335::{
    Cursor, Error, FileOffset, Image, Metadata,
    debug::{self, CodeView, DebugEntry},
    pdb_stream::PdbId,
};
use flate2::read::DeflateDecoder;

use super::new_pdb::NewPdb;
use crate::output::note::PdbTrouble;

/// The debug directory of an image, and the PDB that it names or embeds.
#[derive(Default)]
pub(crate) struct DebugInfo<'a, 'p> {
    entries: Vec<DebugEntry<'a>>,
    pdb: Option<Cow<'p, [u8]>>,
    trouble: Option<PdbTrouble>,
}

impl<'a, 'p> DebugInfo<'a, 'p> {
    /// Finds the PDB in the image, or takes the one beside it if the id matches.
    pub(crate) fn find(image: &Image<'a>, beside: Option<&'p [u8]>) -> Self {
        let entries = match DebugEntry::read_all(image) {
            Ok(entries) => entries,
            Err(error) => {
                let trouble = Some(PdbTrouble::Unreadable(error.to_string()));
                return Self { entries: Vec::new(), pdb: None, trouble };
            }
        };
        let found = match (embedded(&entries), PdbReference::find(&entries), beside) {
            (Some(embedded), ..) => embedded.map(|pdb| Some(Cow::Owned(pdb))),
            (_, None, _) => Ok(None),
            (_, Some(reference), _) if !reference.is_portable => Err(PdbTrouble::Windows),
            (_, Some(reference), None) => Err(PdbTrouble::NotFound(reference.name)),
            (_, Some(reference), Some(beside)) => match PdbReference::id_of(beside) {
                Ok(id) if id.guid() == reference.guid => Ok(Some(Cow::Borrowed(beside))),
                Ok(_) => Err(PdbTrouble::OfAnotherBuild),
                Err(trouble) => Err(trouble),
            },
        };
        let (pdb, trouble) = match found {
            Ok(pdb) => (pdb, None),
            Err(trouble) => (None, Some(trouble)),
        };
        Self { entries, pdb, trouble }
    }

    /// Takes the old PDB out.
    pub(crate) fn take_pdb(&mut self) -> Option<Cow<'p, [u8]>> {
        self.pdb.take()
    }

    /// Whether the image embeds its PDB.
    pub(crate) fn is_embedded(&self) -> bool {
        is_embedded(&self.entries)
    }

    /// Returns the result of a step. An error is recorded as the reason for writing no PDB.
    pub(crate) fn check<T>(&mut self, step: Option<Result<T, Error>>) -> Option<T> {
        let result = step?;
        result.map_err(|error| self.trouble = Some(PdbTrouble::Unreadable(error.to_string()))).ok()
    }

    /// Records the reason for writing no PDB, and returns `None`.
    pub(crate) fn give_up<T>(&mut self, why: &str) -> Option<T> {
        self.trouble = Some(PdbTrouble::Unreadable(why.to_owned()));
        None
    }

    /// Renews the debug entries for the new PDB.
    pub(crate) fn finish(self, new: Option<NewPdb>, name: Option<&str>) -> DebugOutput<'a> {
        let mut entries = self.entries;
        entries.retain(|entry| entry.kind != debug::kind::R2R_PERF_MAP);
        let Some(mut new) = new else {
            entries.retain(|entry| !names_pdb(entry));
            return (entries, None, self.trouble);
        };
        let is_embedded = is_embedded(&entries);
        let entries = entries.into_iter().map(|entry| renew_entry(entry, &mut new, name)).collect();
        (entries, (!is_embedded).then_some(new.bytes), None)
    }
}

/// The new debug directory, the PDB to write beside the image, and the reason if an existing PDB is dropped.
pub(crate) type DebugOutput<'a> = (Vec<DebugEntry<'a>>, Option<Vec<u8>>, Option<PdbTrouble>);

/// The PDB that an image embeds, or the one beside it if the id matches. `None` if the image names none.
///
/// # Errors
/// If the PDB that the image names is missing, does not match or cannot be read.
pub fn find<'p>(image: &Image<'_>, beside: Option<&'p [u8]>) -> Result<Option<Cow<'p, [u8]>>, PdbTrouble> {
    let DebugInfo { pdb, trouble, .. } = DebugInfo::find(image, beside);
    trouble.map_or(Ok(pdb), Err)
}

fn is_embedded(entries: &[DebugEntry<'_>]) -> bool {
    entries.iter().any(|entry| entry.kind == debug::kind::EMBEDDED_PORTABLE_PDB)
}

/// Updates a debug entry with the new PDB's id and hash, or with the PDB itself if the entry embedded the old one.
fn renew_entry<'e>(mut entry: DebugEntry<'e>, new: &mut NewPdb, name: Option<&str>) -> DebugEntry<'e> {
    match entry.kind {
        debug::kind::CODE_VIEW => {
            entry.time_date_stamp = new.id.stamp();
            let name = name.filter(|name| PdbReference::parse(&entry).is_some_and(|old| old.name != *name));
            CodeView::renew(entry.data.to_mut(), new.id.guid(), name);
        }
        debug::kind::PDB_CHECKSUM => {
            let mut data = b"SHA256\0".to_vec();
            data.extend_from_slice(&new.hash);
            entry.data = Cow::Owned(data);
        }
        debug::kind::EMBEDDED_PORTABLE_PDB => {
            entry.data = Cow::Owned(std::mem::take(&mut new.embedded));
        }
        _ => {}
    }
    entry
}

/// Whether an entry is useless without its PDB.
fn names_pdb(entry: &DebugEntry<'_>) -> bool {
    matches!(entry.kind, debug::kind::CODE_VIEW | debug::kind::EMBEDDED_PORTABLE_PDB | debug::kind::PDB_CHECKSUM)
}

/// The PDB that a debug directory embeds, if it does.
fn embedded(entries: &[DebugEntry<'_>]) -> Option<Result<Vec<u8>, PdbTrouble>> {
    let entry = entries.iter().find(|entry| entry.kind == debug::kind::EMBEDDED_PORTABLE_PDB)?;
    let pdb = debug::embedded_pdb(&entry.data).ok_or("it is embedded, and does not begin as one").and_then(inflate);
    Some(pdb.map_err(|what| PdbTrouble::Unreadable(what.into())))
}

/// Inflates an embedded PDB up to its stated size, as its readers do.
fn inflate((size, deflated): (u32, &[u8])) -> Result<Vec<u8>, &'static str> {
    /// The maximum of bytes that one compressed byte yields: a match of 258 bytes takes at least two bits (RFC 1951).
    const MAX_RATIO: usize = 258 * 8 / 2;
    let size = size as usize;
    if size / MAX_RATIO > deflated.len() {
        return Err("it is embedded, and states a size that it cannot have");
    }
    let mut pdb = Vec::with_capacity(size);
    match DeflateDecoder::new(deflated).take(size as u64).read_to_end(&mut pdb) {
        Ok(_) if pdb.len() == size => Ok(pdb),
        Ok(_) => Err("it is embedded, and shorter than it states"),
        Err(_) => Err("it is embedded, and cannot be decompressed"),
    }
}

/// The PDB that a CodeView entry names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PdbReference {
    /// The file name, without the folder of the build.
    pub name: String,
    /// The PDB's GUID.
    pub guid: [u8; 16],
    /// Whether the entry is of a portable PDB. Otherwise it is of a Windows PDB.
    pub is_portable: bool,
}

impl PdbReference {
    /// The id of a file beside an image that has the name of a PDB.
    fn id_of(bytes: &[u8]) -> Result<PdbId, PdbTrouble> {
        if bytes.starts_with(b"Microsoft C/C++ MSF") {
            return Err(PdbTrouble::Windows);
        }
        let metadata = Metadata::parse(Cursor::new(bytes, FileOffset(0)));
        let metadata = metadata.map_err(|error| PdbTrouble::Unreadable(error.to_string()))?;
        metadata.pdb.map(|pdb| pdb.id).ok_or_else(|| PdbTrouble::Unreadable("it has no #Pdb stream".into()))
    }

    /// The first CodeView entry of a debug directory.
    pub fn find(entries: &[DebugEntry<'_>]) -> Option<Self> {
        Self::parse(entries.iter().find(|entry| entry.kind == debug::kind::CODE_VIEW)?)
    }

    fn parse(entry: &DebugEntry<'_>) -> Option<Self> {
        let CodeView { guid, path, .. } = CodeView::parse(&entry.data)?;
        let path = String::from_utf8_lossy(path);
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        Some(Self { name, guid, is_portable: entry.version.1 == debug::PORTABLE_CODE_VIEW })
    }
}
