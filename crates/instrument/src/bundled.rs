//! The files in a single-file program.

use std::{borrow::Cow, io::Read as _};

use crate::bundle::header_offset;
use ecma335::{Cursor, FileOffset};
use flate2::read::DeflateDecoder;

/// No assembly is larger, in bytes: what is said to be is not inflated.
const LARGEST: u64 = 1 << 30;

/// A file in a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundledFile<'a> {
    /// Its path in the program's folder.
    pub path: &'a str,
    bytes: &'a [u8],
    /// How large it is, in bytes, where it is compressed.
    inflated: Option<u64>,
}

impl<'a> BundledFile<'a> {
    /// Its bytes; none if they are damaged.
    pub fn read(&self) -> Option<Cow<'a, [u8]>> {
        let Some(size) = self.inflated else { return Some(self.bytes.into()) };
        let mut bytes = Vec::new();
        DeflateDecoder::new(self.bytes).take(size.min(LARGEST)).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == size).then(|| bytes.into())
    }
}

/// The files in a bundle, of .NET Core 3.0 (version 1 of its header), .NET 5 (2) and later (6); none of what is no bundle, and
/// those before the damage of a damaged one.
pub fn bundled_files(file: &[u8]) -> Vec<BundledFile<'_>> {
    let mut files = Vec::new();
    if let Some(at) = header_offset(file) {
        let _ = read_files(file, at, &mut files);
    }
    files
}

/// Reads what the header lists, up to what it cannot have; none at the end of the file.
fn read_files<'a>(file: &'a [u8], at: usize, files: &mut Vec<BundledFile<'a>>) -> Option<()> {
    let mut cursor = Cursor::new(file.get(at..)?, FileOffset(at as u64));
    let version = cursor.u32().ok()?;
    cursor.u32().ok()?;
    let count = cursor.u32().ok()?;
    text(&mut cursor)?;
    if version >= 2 {
        // deps.json and runtimeconfig.json, an offset and a size each, and flags.
        cursor.bytes(5 * size_of::<u64>()).ok()?;
    }
    for _ in 0..count {
        let (offset, size) = (cursor.u64().ok()?, cursor.u64().ok()?);
        let compressed = if version >= 6 { cursor.u64().ok()? } else { 0 };
        // The kind: an assembly, native code, settings.
        cursor.u8().ok()?;
        let path = text(&mut cursor)?;
        let start = usize::try_from(offset).ok()?;
        let stored = usize::try_from(if compressed > 0 { compressed } else { size }).ok()?;
        let bytes = file.get(start..start.checked_add(stored)?)?;
        files.push(BundledFile { path, bytes, inflated: (compressed > 0).then_some(size) });
    }
    Some(())
}

/// A text behind its length, seven bits a byte, the lowest first.
fn text<'a>(cursor: &mut Cursor<'a>) -> Option<&'a str> {
    let mut length = 0;
    for shift in [0, 7, 14] {
        let byte = cursor.u8().ok()?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return std::str::from_utf8(cursor.bytes(length).ok()?).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use little_endian::{ByteOrder, LE, PutNumbers};

    use super::*;
    use crate::bundle::SIGNATURE;

    #[test]
    fn files_are_found_and_inflated() {
        let (plain, large) = (b"plain".as_slice(), vec![7; 5000]);
        let mut deflated = Vec::new();
        flate2::write::DeflateEncoder::new(&mut deflated, flate2::Compression::best()).write_all(&large).unwrap();
        let mut file = [&[0; 8], SIGNATURE.as_slice(), plain, &deflated].concat();
        let (first, second) = (40, 40 + plain.len() as u64);
        let header = file.len() as u64;
        LE::write_u64(&mut file, header);
        for number in [6_u32, 0, 2] {
            file.put_u32(number);
        }
        file.extend(b"\x02id");
        file.extend([0; 40]);
        for (offset, size, compressed, path) in
            [(first, plain.len(), 0, "a.dll"), (second, large.len(), deflated.len(), "b/b.dll")]
        {
            [offset, size as u64, compressed as u64].into_iter().for_each(|number| file.put_u64(number));
            file.extend([1, path.len() as u8]);
            file.extend(path.as_bytes());
        }
        let found: Vec<_> = bundled_files(&file).iter().map(|found| (found.path, found.read().unwrap())).collect();
        assert_eq!(found, [("a.dll", plain.into()), ("b/b.dll", large.as_slice().into())]);
        // Cut short, those before the cut are found; and a size that is not the file's is damage.
        for length in header as usize..file.len() {
            assert!(bundled_files(&file[..length]).len() < 2);
        }
        let at = header as usize + 15 + 40 + 25 + 6 + 8;
        file[at] ^= 1;
        assert_eq!(bundled_files(&file)[1].read(), None);
    }
}
